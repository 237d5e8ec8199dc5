//! The text of a record: what is added, then the message's own members as they were written.

use crate::json::Json;

/// A JSON object under way.
pub(super) struct Record<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl<'o> Record<'o> {
    /// An object without members.
    pub(super) fn new(out: &'o mut Vec<u8>) -> Self {
        out.clear();
        out.push(b'{');
        Self { out, is_empty: true }
    }

    /// A member; `value` is JSON.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        self.raw(&quoted(name), value);
    }

    /// A member, its name as JSON, too.
    pub(super) fn raw(&mut self, name: &str, value: &str) {
        if !std::mem::replace(&mut self.is_empty, false) {
            self.out.push(b',');
        }
        self.out.extend_from_slice(name.as_bytes());
        self.out.push(b':');
        self.out.extend_from_slice(value.as_bytes());
    }

    /// All members of an object, byte for byte, and the end.
    pub(super) fn rest(self, object: Json<'_>) {
        if !self.is_empty && object.members().next().is_some() {
            self.out.push(b',');
        }
        self.out.extend_from_slice(object.raw().strip_prefix('{').unwrap_or("}").as_bytes());
    }

    /// The end.
    pub(super) fn end(self) {
        self.out.push(b'}');
    }
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
