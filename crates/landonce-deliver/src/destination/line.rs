//! A message as one line of JSON: what a log file and a table get of it.

use landonce_store::outbox::Parcel;
use serde::Serialize;
use serde_json::value::RawValue;

use super::Answer;

/// A message, its entity and its payload as they are: numbers keep every digit.
#[derive(Serialize)]
struct Line<'a> {
    id: String,
    topic: &'a str,
    kind: &'a str,
    entity: &'a RawValue,
    payload: &'a RawValue,
}

/// Puts the message's line, with its end, behind `out`; or says why it has none.
pub(super) fn append(parcel: &Parcel, out: &mut Vec<u8>) -> Result<(), Answer> {
    let [entity, payload] = [("entity", &parcel.entity), ("payload", &parcel.payload)].map(|(what, text)| {
        // Between the tokens of a JSON text a line's end is a space like any other, and within them it can't be.
        let text = if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text.clone() };
        RawValue::from_string(text)
            .map_err(|error| Answer::Never { told: format!("its {what} is no JSON: {error}") })
    });
    let (entity, payload) = (entity?, payload?);
    let line = Line {
        id: parcel.id.to_string(),
        topic: &parcel.topic,
        kind: &parcel.kind,
        entity: &entity,
        payload: &payload,
    };
    // Texts and raw values always serialise.
    if let Ok(mut line) = serde_json::to_vec(&line) {
        out.append(&mut line);
        out.push(b'\n');
    }
    Ok(())
}
