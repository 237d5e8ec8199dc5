//! Notifications as they are meant: which changes are told, in which order, and what is said of them. Columns are looked for when
//! the target is known ([`crate::notice::Teller`]).

mod template;

use super::check::{Checked, fault};
use crate::spec::{ChangeKind, NotifySpec, OrderSpec, ValueSpec};

pub use template::{Piece, Reference, Template};

/// The longest topic, in bytes.
const MAX_TOPIC: usize = 200;

/// Changes that become messages of one topic.
#[derive(Debug, Clone, PartialEq)]
pub struct Notify {
    /// The topic.
    pub topic: String,
    /// What is told.
    pub on: Vec<ChangeKind>,
    /// An update is told only if one of these columns changed; any when there are none.
    pub columns: Vec<String>,
    /// Columns, and the values of which each must have one.
    pub conditions: Vec<(String, Vec<ValueSpec>)>,
    /// What is delivered in order.
    pub order: Order,
    /// What is sent; everything about the change when there is none.
    pub payload: Option<Template<Reference>>,
}

/// What is delivered in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// The messages of one entity.
    Entity,
    /// Those of which these columns are equal.
    Columns(Vec<String>),
    /// All of the topic.
    Topic,
}

pub(super) fn resolve(specs: Vec<NotifySpec>) -> Checked<Vec<Notify>> {
    specs.into_iter().map(one).collect()
}

fn one(spec: NotifySpec) -> Checked<Notify> {
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-');
    if spec.topic.is_empty() || spec.topic.len() > MAX_TOPIC || !spec.topic.bytes().all(is_plain) {
        return fault(
            "notify.topic",
            format!(
                "`{}`: 1 to {MAX_TOPIC} of `a` to `z`, `0` to `9`, `.`, `_` and `-` are due",
                spec.topic.escape_debug()
            ),
        );
    }
    let on = spec.on.unwrap_or_else(|| ChangeKind::ALL.to_vec());
    if on.is_empty() {
        return fault(
            "notify.on",
            "nothing is told; name at least one kind of change, or leave it out for all",
        );
    }
    if let Some(columns) = &spec.columns {
        distinct("notify.columns", columns)?;
        if !on.contains(&ChangeKind::Updated) {
            return fault("notify.columns", "goes with `updated`: it tells which updates count");
        }
    }
    for (column, values) in &spec.conditions.0 {
        if values.is_empty() {
            return fault("notify.where", format!("`{column}` has no value to have; give one"));
        }
    }
    let order = match spec.order_by {
        None => Order::Entity,
        Some(OrderSpec::All) => Order::Topic,
        Some(OrderSpec::Columns(columns)) => {
            distinct("notify.order_by", &columns)?;
            Order::Columns(columns)
        }
    };
    let payload = match &spec.payload {
        Some(written) => Some(
            Template::parse(written)
                .or_else(|message| fault("notify.payload", format!("topic `{}`: {message}", spec.topic)))?,
        ),
        None => None,
    };
    Ok(Notify {
        topic: spec.topic,
        on,
        columns: spec.columns.unwrap_or_default(),
        conditions: spec.conditions.0,
        order,
        payload,
    })
}

fn distinct(key: &'static str, columns: &[String]) -> Checked<()> {
    if columns.is_empty() {
        return fault(key, "at least one column is due");
    }
    match columns.iter().enumerate().find(|(at, column)| columns[..*at].contains(column)) {
        Some((_, column)) => fault(key, format!("`{column}` stands twice")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
