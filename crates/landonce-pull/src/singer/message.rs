//! One message of a tap: a line with a JSON object. What it holds is passed on as it is written, digit by digit.

use std::borrow::Cow;

use landonce_core::bad_record::shorten;
use landonce_core::json::{Json, Kind, Tape};

/// A message.
pub(super) enum Message<'t> {
    /// A line with nothing on it.
    Blank,
    /// What a stream's records are, and the fields that tell them apart.
    Schema { stream: Cow<'t, str>, keys: Vec<String> },
    /// A record, as it is written.
    Record { stream: Cow<'t, str>, record: &'t str },
    /// How far the tap is, as it is written.
    State(&'t str),
    /// A stream has been read anew.
    Version { stream: Cow<'t, str> },
}

/// Reads messages.
#[derive(Default)]
pub(super) struct Reader {
    tape: Tape,
}

impl Reader {
    /// The message on a line, or why there is none.
    pub(super) fn read<'t>(&'t mut self, line: &'t [u8]) -> Result<Message<'t>, String> {
        if line.trim_ascii().is_empty() {
            return Ok(Message::Blank);
        }
        let message = self.tape.scan(line).map_err(|bad| {
            format!("it isn't a Singer message ({bad}): `{}`", shorten(&String::from_utf8_lossy(line)))
        })?;
        let ty = text(message, "type")?;
        Ok(match &*ty {
            "RECORD" => {
                let record = member(message, "record")?;
                if record.kind() != Kind::Object {
                    return Err("the `record` of a RECORD isn't an object".to_owned());
                }
                Message::Record { stream: text(message, "stream")?, record: record.raw() }
            }
            "STATE" => Message::State(member(message, "value")?.raw()),
            "SCHEMA" => {
                let keys = message.member("key_properties");
                let keys = keys.into_iter().flat_map(Json::items).filter_map(Json::string);
                Message::Schema {
                    stream: text(message, "stream")?,
                    keys: keys.map(Cow::into_owned).collect(),
                }
            }
            "ACTIVATE_VERSION" => Message::Version { stream: text(message, "stream")? },
            other => {
                return Err(format!(
                    "messages of type `{}` aren't known here; SCHEMA, RECORD, STATE and ACTIVATE_VERSION are",
                    shorten(other)
                ));
            }
        })
    }
}

fn member<'t>(message: Json<'t>, name: &str) -> Result<Json<'t>, String> {
    message.member(name).ok_or_else(|| format!("the message has no `{name}`"))
}

fn text<'t>(message: Json<'t>, name: &str) -> Result<Cow<'t, str>, String> {
    member(message, name)?.string().ok_or_else(|| format!("the message's `{name}` is no text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_message_holds_keeps_its_digits() {
        let mut reader = Reader::default();
        let line = br#"{"stream": "a", "record": {"n": 12345678901234567890.10, "t":"\u00e9"}, "type": "RECORD", "version": 3}"#;
        let Message::Record { stream, record } = reader.read(line).unwrap() else { panic!() };
        assert_eq!((&*stream, record), ("a", r#"{"n": 12345678901234567890.10, "t":"\u00e9"}"#));
        let Message::State(state) = reader.read(br#"{"type":"STATE","value":{"b": 1.0}}"#).unwrap() else {
            panic!()
        };
        assert_eq!(state, r#"{"b": 1.0}"#);
    }

    #[test]
    fn what_is_no_message_says_why() {
        let mut reader = Reader::default();
        for (line, want) in [
            ("INFO started", "isn't a Singer message"),
            (r#"{"type":"RECORD","stream":"a","record":{"#, "isn't a Singer message"),
            (r#"{"type":"RECORD","stream":"a"}"#, "no `record`"),
            (r#"{"type":"RECORD","stream":"a","record":[1]}"#, "isn't an object"),
            (r#"{"type":"BATCH","stream":"a"}"#, "`BATCH` aren't known"),
            (r#"{"stream":"a"}"#, "no `type`"),
        ] {
            let told = reader.read(line.as_bytes()).err().unwrap();
            assert!(told.contains(want), "{line}: {told}");
        }
        assert!(matches!(reader.read(b" \r"), Ok(Message::Blank)));
    }
}
