//! Warnings about identities that are two as written and probably one in the world: one instant under several offsets,
//! texts that differ in case or white space only, `1` beside `"1"`.
//!
//! A run keeps them apart, since it never guesses; this only tells. The declared type, or `normalize`, makes them one.

use std::collections::{BTreeMap, HashMap};

use landonce::{Batch, Pipeline};
use landonce_core::identity::Key;
use landonce_core::pipeline::IdentityFrom;
use landonce_core::plan::{From, Guard, KeyForm, Match, TablePlan};
use landonce_core::record::{RecordReader, Wanted};
use landonce_core::time;
use landonce_core::value::Value;
use unicode_normalization::UnicodeNormalization as _;

use crate::failure::Failure;

/// How many identities are compared with each other: a bound on the memory, not a promise.
const MOST: usize = 200_000;

/// The warnings for a batch, in one more pass over it.
pub(super) fn warnings(pipeline: &Pipeline, plan: &TablePlan, batch: &Batch) -> Result<Vec<String>, Failure> {
    let fields: &[String] = match &pipeline.declared().identity().from {
        IdentityFrom::Fields { names, .. } => names,
        IdentityFrom::SenderId(field) => std::slice::from_ref(field),
        IdentityFrom::Content(_) => return Ok(Vec::new()),
    };
    let column =
        |field: &String| plan.columns.iter().position(|column| column.from == From::Field(field.clone()));
    let columns: Vec<usize> = fields.iter().filter_map(column).collect();
    let mut hashing = plan.clone();
    hashing.matching = Match::Key { column: String::new(), form: KeyForm::Uuid };
    hashing.guard = Guard::Columns;
    let mut reader = RecordReader::new(pipeline.declared(), &hashing, false);
    let mut records = batch.records(pipeline)?;
    let mut seen = Seen::default();
    // What can't be read is told by the plan itself.
    while let Ok(Some(item)) = records.next() {
        let Ok(text) = item.text else { continue };
        let Ok(row) = reader.read(text, Wanted::Identity) else { continue };
        let values: Vec<&Value<'_>> = columns.iter().map(|&at| &row.values[at]).collect();
        if let Some(key) = row.key {
            seen.record(item.number, key, &values);
        }
    }
    let names: Vec<&str> = columns.iter().map(|&at| plan.columns[at].name.as_str()).collect();
    Ok(seen.warnings(&names))
}

/// What a pass over the records has shown.
#[derive(Default)]
struct Seen {
    /// For each identity field: the offsets of texts that are instants, and how often each came.
    offsets: Vec<BTreeMap<String, u64>>,
    /// For each identity without its accidents: the first key, and the record that had it.
    folded: HashMap<String, (Key, u64)>,
    /// Records whose identity is another one's but for accidents; and the first such pair.
    near: u64,
    pair: Option<(u64, u64)>,
}

impl Seen {
    fn record(&mut self, number: u64, key: Key, values: &[&Value<'_>]) {
        self.offsets.resize_with(values.len(), BTreeMap::new);
        let mut folded = String::new();
        for (value, offsets) in values.iter().zip(&mut self.offsets) {
            if let Value::Text(text) = value {
                if let Some(offset) = offset(text) {
                    *offsets.entry(offset.to_owned()).or_default() += 1;
                }
                folded.extend(text.trim().nfc().flat_map(char::to_lowercase));
            } else {
                folded.push_str(&format!("{value:?}"));
            }
            folded.push('\u{1f}');
        }
        match self.folded.get(&folded) {
            Some((first, _)) if *first == key => {}
            Some((_, before)) => {
                self.near += 1;
                self.pair.get_or_insert((*before, number));
            }
            None if self.folded.len() < MOST => {
                self.folded.insert(folded, (key, number));
            }
            None => {}
        }
    }

    fn warnings(&self, names: &[&str]) -> Vec<String> {
        let mut told = Vec::new();
        for (name, offsets) in names.iter().zip(&self.offsets).filter(|(_, offsets)| offsets.len() > 1) {
            let counted: Vec<String> = offsets
                .iter()
                .map(|(offset, count)| {
                    format!("{offset} in {count} record{}", if *count == 1 { "" } else { "s" })
                })
                .collect();
            told.push(format!(
                "the identity field `{name}` holds instants under several offsets ({}): as text, one instant under two of them is two \
                 events. Declare it, and it is one: `{name}: timestamptz` under `target.columns`, or --column {name}:timestamptz",
                counted.join(", ")
            ));
        }
        if let Some((one, other)) = self.pair {
            let records = if self.near == 1 { "1 record has" } else { "records have" };
            let count = if self.near == 1 { String::new() } else { format!("{} ", self.near) };
            told.push(format!(
                "{count}{records} an identity that differs from another one only in case, white space, Unicode form or type (records {one} \
                 and {other}, for example): they are kept apart. If they are one event, say so with \
                 `identity: {{fields: […], normalize: [trim, nfc, lowercase]}}`, or declare the column's type"
            ));
        }
        told
    }
}

/// The offset of a text that is an instant, as written.
fn offset(text: &str) -> Option<&str> {
    time::timestamptz(text).ok()?;
    let at = text.rfind(['Z', 'z', '+', '-'])?;
    Some(&text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(lines: &str, columns: &str) -> Vec<String> {
        let yaml = format!("pipeline: p\nidentity: [a, at]\ntarget: {{table: t, columns: {{{columns}}}}}\n");
        let pipeline = Pipeline::from_yaml(&yaml).unwrap();
        let plan = landonce_core::plan::resolve(pipeline.declared(), None).unwrap();
        warnings(&pipeline, &plan, &Batch::from_bytes("x.ndjson", lines)).unwrap()
    }

    const OFFSETS: &str =
        "{\"a\":1,\"at\":\"2026-06-01T06:30:00-06:00\"}\n{\"a\":1,\"at\":\"2026-06-01T12:30:00Z\"}\n";

    #[test]
    fn one_instant_under_two_offsets_is_warned_of_as_text_and_not_when_typed() {
        let told = warned(OFFSETS, "");
        assert_eq!(told.len(), 1);
        assert!(
            told[0].contains("`at` holds instants under several offsets (-06:00 in 1 record, Z in 1 record)"),
            "{told:?}"
        );
        assert!(warned(OFFSETS, "at: timestamptz").is_empty());
    }

    #[test]
    fn identities_that_differ_by_accident_are_warned_of() {
        let told = warned("{\"a\":\"B6\",\"at\":\"x\"}\n{\"a\":\"b6 \",\"at\":\"x\"}\n", "");
        assert!(told[0].contains("records 1 and 2"), "{told:?}");
        let told = warned("{\"a\":1,\"at\":\"x\"}\n{\"a\":\"1\",\"at\":\"x\"}\n", "");
        assert_eq!(told.len(), 1, "a number and the text of it");
    }

    #[test]
    fn equal_identities_and_equal_numbers_are_no_accident() {
        assert!(
            warned("{\"a\":1,\"at\":\"x\"}\n{\"a\":1.0,\"at\":\"x\"}\n{\"a\":2,\"at\":\"x\"}\n", "")
                .is_empty()
        );
    }
}
