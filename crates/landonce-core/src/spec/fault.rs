//! What is wrong with a pipeline file, and where.

use std::fmt;

use serde_saphyr::Error as Yaml;

/// A fault in a pipeline file's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecError {
    /// The line, from 1; 0 when not known.
    pub line: u64,
    /// The column, from 1; 0 when not known.
    pub column: u64,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl SpecError {
    pub(super) fn new(error: &Yaml) -> Self {
        let error = error.without_snippet();
        let place = error.location();
        let (message, hint) = match error {
            Yaml::SerdeUnknownField { field, expected, .. } => {
                (format!("unknown key `{field}`"), Some(suggest(field, expected)))
            }
            Yaml::SerdeUnknownVariant { variant, expected, .. } => {
                (format!("unknown value `{variant}`"), Some(suggest(variant, expected)))
            }
            Yaml::SerdeMissingField { field, .. } => (format!("the key `{field}` is missing"), None),
            Yaml::SerdeInvalidType { unexpected, expected, .. } => {
                (format!("found {unexpected}, expected {expected}"), None)
            }
            Yaml::DuplicateMappingKey { key: Some(key), .. } => (format!("duplicate key `{key}`"), None),
            Yaml::Message { msg, .. } => (msg.clone(), None),
            other => {
                // The location is told by us, in one form.
                let text = other.to_string();
                (text.split(" at line ").next().unwrap_or(&text).to_owned(), None)
            }
        };
        Self {
            line: place.map_or(0, |place| place.line()),
            column: place.map_or(0, |place| place.column()),
            message,
            hint,
        }
    }
}

/// The nearest of the known words, or all of them.
fn suggest(word: &str, known: &[&'static str]) -> String {
    let nearest = known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(word, known), known))
        .min()
        .filter(|(distance, known)| *distance <= 1 + known.len() / 3);
    match nearest {
        Some((_, known)) => format!("did you mean `{known}`?"),
        None => format!("known here: {}", known.join(", ")),
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}, column {}: ", self.line, self.column)?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SpecError {}
