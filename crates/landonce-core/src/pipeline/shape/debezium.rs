//! Debezium's change events: `{before, after, op, source, ts_ms}`, with or without the wrapper of Kafka Connect's JSON converter.

use super::key::unwrapped;
use super::write::Record;
use super::{Said, object};
use crate::bad_record::{BadKind, BadRecord, shorten};
use crate::json::{Json, Kind};

/// What stands for a value that the database didn't write into its log, because it hasn't changed: as a text, and as the base64 of it
/// in columns of bytes.
const UNAVAILABLE: [&str; 2] = ["__debezium_unavailable_value", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="];

/// What an event says.
pub(super) fn open(value: Json<'_>) -> Result<Said<'_>, BadRecord> {
    let whole = unwrapped(value);
    if whole.kind() == Kind::Null {
        return Ok(Said::Delete { row: None, whole: None }); // a tombstone in the converter's wrapper
    }
    let whole = object(whole)?;
    let Some(op) = whole.member("op") else {
        // A heartbeat is `{"ts_ms": …}`.
        let is_heartbeat = whole.members().count() == 1 && whole.member("ts_ms").is_some();
        return if is_heartbeat {
            Ok(Said::Nothing)
        } else {
            Err(bad(
                "op",
                "it is no change event of Debezium's: it has no `op`; a topic of flat records is read with `envelope: none`",
            ))
        };
    };
    let op = op.string().unwrap_or_default();
    let there = |name: &str| whole.member(name).filter(|value| value.kind() != Kind::Null);
    match &*op {
        "c" | "r" | "u" => match there("after") {
            Some(after) => Ok(Said::Put { base: object(after).map_err(|bad| bad.under("after"))?, whole }),
            None => Err(bad("after", "the row as it is after the change is absent")),
        },
        "d" => {
            let row = there("before").map(object).transpose().map_err(|bad| bad.under("before"))?;
            Ok(Said::Delete { row, whole: Some(whole) })
        }
        "t" => Err(bad(
            "op",
            "the table was truncated at its source, which no record can say; empty the target by hand, or let Debezium skip it \
             (`skipped.operations: t`)",
        )),
        "m" => Err(bad(
            "op",
            "a message of the database's log, and no change of a row; leave its topic out of `source`",
        )),
        other => Err(bad("op", &format!("`{}` isn't known; c, r, u and d are", shorten(other)))),
    }
}

/// Ends a put's record: fields whose value Debezium doesn't have are left out, all others stand as they were written.
pub(super) fn finish(mut record: Record<'_>, after: Json<'_>, takes_partial: bool) -> Result<(), BadRecord> {
    if !after.members().any(|(_, value)| is_unavailable(value)) {
        record.rest(after);
        return Ok(());
    }
    for (name, value) in after.members() {
        if !is_unavailable(value) {
            record.raw(name.raw(), value.raw());
        } else if !takes_partial {
            return Err(bad(
                &name.string().unwrap_or_default(),
                "Debezium doesn't have the value, which hasn't changed; declare `write.absent: keep`, so that what is there stays, or \
                 give the table REPLICA IDENTITY FULL",
            ));
        }
    }
    record.end();
    Ok(())
}

fn is_unavailable(value: Json<'_>) -> bool {
    let is_text = |value: Json<'_>| value.string().is_some_and(|text| UNAVAILABLE.contains(&&*text));
    is_text(value) || value.items().any(is_text) || value.members().any(|(name, _)| is_text(name))
}

fn bad(field: &str, detail: &str) -> BadRecord {
    BadRecord::new(BadKind::Syntax, field, detail)
}
