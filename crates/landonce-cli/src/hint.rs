//! The likeliest slip on a first run: an identity field that no record has. What the records do have tells what was meant.

use landonce::{Batch, Error, Pipeline};
use landonce_core::bad_record::BadKind;
use landonce_core::json::Tape;

/// How many fields are listed.
const SHOWN: usize = 20;

/// What to do about a batch whose bad records all lack one identity field: name the field that was probably meant.
pub(crate) fn absent_key(error: &Error, pipeline: &Pipeline, batch: &Batch) -> Option<String> {
    let (first, others) = error.bad_records().split_first()?;
    let is_same = |bad: &landonce::error::Located| {
        bad.bad.kind == BadKind::AbsentKey && bad.bad.field == first.bad.field
    };
    if !is_same(first) || !others.iter().all(is_same) {
        return None;
    }
    let mut records = batch.records(pipeline).ok()?;
    let mut tape = Tape::default();
    let fields = loop {
        let item = records.next().ok()??;
        if item.number == first.number {
            let json = tape.scan(item.text.ok()?).ok()?;
            break json
                .members()
                .filter_map(|(name, _)| name.string().map(String::from))
                .collect::<Vec<String>>();
        }
    };
    let wanted = &first.bad.field;
    let distance =
        |field: &String| strsim::damerau_levenshtein(&wanted.to_lowercase(), &field.to_lowercase());
    let nearest = fields
        .iter()
        .min_by_key(|field| distance(field))
        .filter(|field| distance(field) <= 1 + field.len() / 3);
    let meant = nearest.map_or_else(String::new, |field| format!("did you mean `{field}` by `{wanted}`? "));
    let more = if fields.len() > SHOWN { ", …" } else { "" };
    let shown = fields.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    Some(format!("{meant}Record {} has the fields {shown}{more}", first.number))
}
