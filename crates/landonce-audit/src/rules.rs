//! The rules, one file each; [`facts`] is what they ask of the code, [`dbt`] what they ask of a dbt model's config.

mod check_then_insert;
mod commit_per_row;
mod conflict_on_constraint;
mod counter_without_inbox;
mod dbt;
mod delete_by_absence;
pub(crate) mod facts;
mod generated_identity;
mod joined_key_without_separator;
mod nullable_unique;
mod period_from_clock;
mod retry_on_constraint_error;
mod side_effect_in_task;
mod statement_retry;
mod unconditional_append;
mod unguarded_upsert;
mod volatile_key;

use crate::rule::Rule;

/// Every rule, in the order of the documentation.
pub(crate) const ALL: &[&Rule] = &[
    &generated_identity::RULE,
    &unconditional_append::RULE,
    &delete_by_absence::RULE,
    &side_effect_in_task::RULE,
    &check_then_insert::RULE,
    &unguarded_upsert::RULE,
    &counter_without_inbox::RULE,
    &volatile_key::RULE,
    &period_from_clock::RULE,
    &nullable_unique::RULE,
    &joined_key_without_separator::RULE,
    &conflict_on_constraint::RULE,
    &commit_per_row::RULE,
    &statement_retry::RULE,
    &retry_on_constraint_error::RULE,
];
