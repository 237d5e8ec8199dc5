//! What a dbt model's `config(…)` says, for the rules that judge models.

use super::facts::tables::Name;
use crate::code::{Span, Unit};
use crate::file::Language;

/// The `config(…)` of a model, read as a list of words and quoted texts.
pub(super) struct Config {
    pub(super) span: Span,
    text: String,
}

impl Config {
    pub(super) fn of(unit: &Unit) -> Option<Self> {
        if unit.language != Language::Dbt {
            return None;
        }
        let start = unit.text.find("config(")?;
        let mut depth = 0_u32;
        let mut quote = None;
        for (at, byte) in unit.text.bytes().enumerate().skip(start + "config".len()) {
            match (quote, byte) {
                (Some(open), byte) if open == byte => quote = None,
                (Some(_), _) => {}
                (None, b'\'' | b'"') => quote = Some(byte),
                (None, b'(') => depth += 1,
                (None, b')') => {
                    depth -= 1;
                    if depth == 0 {
                        let span = Span { start, end: at + 1 };
                        return Some(Self { span, text: unit.text[start..=at].to_owned() });
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The value after a name, as written.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let mut from = 0;
        while let Some(found) = self.text[from..].find(name) {
            let at = from + found;
            let is_start =
                self.text[..at].chars().next_back().is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
            let rest = self.text[at + name.len()..].trim_start();
            if is_start && let Some(value) = rest.strip_prefix('=') {
                let value = value.trim_start();
                let end = match value.chars().next() {
                    Some(quote @ ('\'' | '"')) => value[1..].find(quote).map(|at| at + 2),
                    Some('[') => value.find(']').map(|at| at + 1),
                    _ => value.find([',', ')', '\n']),
                };
                return Some(value[..end.unwrap_or(value.len())].trim_matches(['\'', '"', ' ']));
            }
            from = at + name.len();
        }
        None
    }
}

/// The model's name: its file's.
pub(super) fn model(unit: &Unit) -> Name {
    Name::text(unit.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("model"))
}
