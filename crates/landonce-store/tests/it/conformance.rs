//! The suite that every store passes: one function per promise of `seam.rs`, on a database of its own.
//!
//! A store brings a [`Bench`] and names it to `every_promise!`, which makes a test of each function. What a store can't
//! promise is left out there by name, with the reason.

pub(crate) mod absent;
mod bench;
pub(crate) mod deletes;
pub(crate) mod derives;
pub(crate) mod events;
pub(crate) mod held;
pub(crate) mod inbox;
pub(crate) mod ledger;
pub(crate) mod names;
pub(crate) mod notices;
pub(crate) mod outbox;
pub(crate) mod positions;
pub(crate) mod quarantine;
pub(crate) mod reads;
pub(crate) mod refused;
pub(crate) mod repairs;
pub(crate) mod repeats;
pub(crate) mod reports;
pub(crate) mod retires;
pub(crate) mod sameness;
pub(crate) mod scopes;
pub(crate) mod snapshots;
pub(crate) mod transactions;
pub(crate) mod values;
pub(crate) mod versions;
pub(crate) mod writing;

pub(crate) use bench::{
    Bench, Dialect, Record, by_columns, claim, int, land, land_claimed, land_in, look_in, plan, plan_on, put,
    row, run_id, set_up, text, things,
};

/// Makes a test of every promise. `$fresh` makes a bench on a database that holds nothing.
macro_rules! every_promise {
    ($fresh:ident) => {
        $crate::conformance::every_promise! { $fresh;
            absent: absent_fields_keep_what_is_there, a_null_that_is_given_is_written, the_rest_is_merged,
                a_new_row_of_a_change_has_what_it_brings;
            deletes: a_put_a_delete_and_a_put_keep_their_order, deleting_what_is_not_there_changes_nothing,
                an_older_delete_is_stale, a_delete_of_the_same_version_deletes;
            derives: the_old_and_the_new_values_of_what_changes_are_told, a_mark_goes_with_its_transaction_and_is_taken_once,
                a_period_is_applied_as_the_difference_that_it_is, rows_that_can_not_be_a_periods_are_told;
            events: events_share_a_transaction_and_each_is_claimed_once, events_are_told_apart_by_the_guard_of_batches,
                an_event_that_is_there_is_left_alone, claims_are_settled_anew_in_their_transaction,
                what_the_short_way_can_not_do_goes_the_long_way, a_refused_event_is_its_own_failure;
            held: a_held_payload_is_kept_to_the_byte_and_once, a_decision_drops_the_payload, a_decision_goes_with_its_transaction,
                what_was_let_in_is_held_again_and_what_was_rejected_stays, a_look_for_held_runs_needs_no_tables,
                earlier_loads_come_newest_first_back_to_a_release, an_assertion_is_asked_and_writes_nothing;
            inbox: a_batch_is_claimed_once, a_claim_goes_with_its_transaction, a_look_needs_no_tables,
                an_outcome_is_kept_as_it_was, a_batch_settles_once;
            ledger: a_load_is_entered_and_read_back, a_load_that_came_in_between_is_seen, a_failure_keeps_what_is_loaded,
                an_entry_goes_with_its_transaction, periods_come_by_their_start, a_look_into_the_ledger_needs_no_tables,
                names_are_compared_by_their_bytes;
            names: any_name_works, a_name_that_says_sql_is_a_name, a_table_tells_whether_it_has_rows;
            notices: what_was_and_what_is_are_told_in_key_order_and_pages, what_vanishes_and_comes_again_is_told,
                a_row_of_another_run_is_not_told, without_a_revision_nothing_can_be_told, a_plan_remembers_nothing;
            outbox: a_lane_is_leased_in_order_and_others_go_on, a_walk_over_lanes_goes_on_where_it_ended, a_retry_blocks_its_lane_only,
                who_was_taken_over_is_told_and_changes_nothing, what_is_said_twice_counts_once,
                a_pause_stops_a_topic_and_the_longer_one_stays, a_dead_letter_lets_its_lane_go_on,
                people_retry_redrive_resend_and_discard, messages_are_found_by_what_is_asked,
                the_depth_counts_what_is_pending_and_dead, pruning_takes_what_was_done_with_long_ago,
                a_look_at_the_outbox_needs_no_tables, two_at_once_lease_each_message_once_and_in_order;
            positions: a_part_goes_on_where_its_last_batch_ended, who_was_taken_over_moves_nothing, a_move_goes_with_its_transaction,
                a_person_puts_a_part_elsewhere_and_its_owner_loses_it;
            quarantine: a_bad_record_is_kept_once, a_bad_record_that_lands_is_marked_once;
            reads: batches_come_page_by_page_newest_first, figures_are_sums_by_the_hour, events_are_found_by_what_they_are_about,
                what_waits_is_counted_by_pipeline, rows_are_found_by_key_by_columns_and_by_run, what_was_done_by_hand_is_kept_once,
                without_tables_there_is_nothing_to_look_at;
            refused: a_check_names_the_row_and_the_others_land, another_unique_index_protects_its_row,
                a_foreign_key_names_the_row, a_missing_value_names_its_column, all_rows_may_be_refused;
            repairs: copies_are_marked_and_two_nulls_are_equal, a_look_can_not_delete, deleted_rows_come_back_by_the_script,
                a_constraint_takes_two_nulls_for_one, what_was_not_committed_leaves_no_mark, a_table_that_is_not_there_is_none;
            repeats: the_last_of_one_identity_counts, insert_once_keeps_the_first, false_suspicions_fold_nothing,
                identities_are_columns_or_their_hash;
            reports: batches_and_bad_records_are_listed, a_prefix_of_several_ids_is_refused, without_tables_there_is_nothing_to_show;
            sameness: equal_content_under_another_id_is_told, equal_content_inside_a_batch_is_told;
            retires: a_delete_marks_the_row_once_and_a_put_restores_it, a_newer_delete_keeps_an_older_put_away,
                a_table_without_the_second_column_retires;
            scopes: a_period_holds_exactly_the_batch, an_equal_period_is_not_touched, other_periods_and_owners_are_out_of_reach,
                an_empty_batch_empties_its_period, a_row_that_came_in_between_is_out_of_reach_too;
            snapshots: an_absent_row_is_marked_once_by_its_run, an_equal_row_that_comes_again_is_restored,
                an_equal_snapshot_is_not_written, another_owners_rows_stand, without_a_tombstone_an_absent_row_is_deleted,
                a_look_at_a_snapshot_counts_the_same;
            transactions: a_rollback_leaves_nothing, a_stage_can_be_closed_and_opened_again,
                a_plan_sees_all_and_writes_nothing, a_plan_needs_no_table, a_plan_is_kept_from_writing,
                tables_are_made_once;
            values: values_are_exact_and_equal_to_themselves, json_is_compared_by_value, null_is_a_value_like_others;
            versions: a_newer_version_wins_and_an_older_is_stale, the_same_version_with_other_content_is_a_conflict,
                the_highest_version_in_a_batch_counts, versions_compare_exactly;
            writing: every_mode_match_and_guard_lands_once, an_equal_rerun_touches_no_row, only_what_changed_is_written,
                what_changes_per_attempt_is_no_change, a_table_of_keys_alone_takes_part, rows_come_in_key_order_and_in_pages, a_long_batch_adds_up;
        }
    };
    ($fresh:ident; $($module:ident: $($promise:ident),+;)+) => {
        $(
            mod $module {
                $(
                    #[tokio::test]
                    async fn $promise() {
                        $crate::conformance::$module::$promise(&mut super::$fresh().await).await;
                    }
                )+
            }
        )+
    };
}
pub(crate) use every_promise;
