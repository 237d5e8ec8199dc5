//! Keeps secrets out of what is told: an answer, or a link in it, may repeat what was sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::form_urlencoded;

/// What stands where a secret stood.
const HIDDEN: &str = "…";

/// The values that may not be told, in the forms in which they are sent.
#[derive(Clone, Default)]
pub(super) struct Veil(Vec<String>);

impl Veil {
    /// One more secret.
    pub(super) fn add(&mut self, value: &str) {
        if value.is_empty() {
            return;
        }
        let encoded: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
        self.0.extend([value.to_owned(), encoded, STANDARD.encode(value)]);
        // The longest first, so that no rest of one stays.
        self.0.sort_by_key(|form| std::cmp::Reverse(form.len()));
        self.0.dedup();
    }

    /// Whether the text holds one.
    pub(super) fn hides(&self, text: &str) -> bool {
        self.0.iter().any(|form| text.contains(form))
    }

    /// The text without them.
    pub(super) fn clean(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, form| text.replace(form, HIDDEN))
    }

    /// The beginning of a body for a message: on one line, without secrets and without what could change a terminal.
    pub(super) fn beginning(&self, body: &[u8]) -> String {
        let text = self.clean(&String::from_utf8_lossy(body));
        let plain: String =
            text.chars().map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c }).collect();
        let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        let told: String = line.chars().take(200).collect();
        if told.len() < line.len() { format!("{told} …") } else { told }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_secret_is_hidden() {
        let mut veil = Veil::default();
        veil.add("s3/cr&t");
        for text in ["key s3/cr&t.", "?k=s3%2Fcr%26t", "Basic czMvY3ImdA=="] {
            assert!(veil.hides(text), "{text}");
            assert!(veil.clean(text).contains(HIDDEN), "{text}");
            assert!(!veil.hides(&veil.clean(text)), "{text}");
        }
        assert_eq!(veil.beginning(b"<html>\n\x1b[1m s3/cr&t"), "<html> [1m …");
    }
}
