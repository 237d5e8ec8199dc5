//! Whether a text repeats a secret, in any form that a receiver is likely to give it.
//!
//! A text that does is not told at all: masking one form of it leaves what another form, or a neighbour of it, gives away.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// What a signing secret begins with.
const SIGNING: &str = "whsec_";
/// From so many bytes on the end of a text counts as the beginning of a secret that was cut.
const PART: usize = 4;
/// From so many characters on a piece of base64 tells one value from others.
const CORE: usize = 6;

/// The forms of some secrets.
#[derive(Clone, Default)]
pub(crate) struct Veil(Vec<String>);

impl std::fmt::Debug for Veil {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Veil(…)")
    }
}

impl Veil {
    /// Of these values; empty ones are none.
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut forms = Vec::new();
        for value in values {
            add(&mut forms, value);
        }
        forms.retain(|form| !form.is_empty());
        forms.sort_unstable();
        forms.dedup();
        Self(forms)
    }

    /// Whether nothing of the text may be told: a secret is in it, or it ends in the beginning of one, as a text does that was cut
    /// while it was read, and that end is among the first `shown` bytes.
    pub(crate) fn hides(&self, text: &[u8], shown: usize) -> bool {
        if self.0.is_empty() || text.is_empty() {
            return false;
        }
        let raw = String::from_utf8_lossy(text);
        let views = [unpercented(text), unescaped(&raw), raw.into_owned()];
        views.iter().any(|view| {
            // A character that was cut is no reason not to see what is before it.
            let end = view.trim_end_matches(|c: char| c == '\u{fffd}' || c.is_whitespace()).as_bytes();
            self.0.iter().any(|form| view.contains(form.as_str()) || is_cut(end, form, shown))
        })
    }
}

/// The passwords in a connection string, as written and with percent signs undone: `scheme://user:PASSWORD@host`, `password=…`.
pub(crate) fn passwords(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Some((_, rest)) = text.split_once("://")
        && let Some((user, _)) = rest.rsplit_once('@')
        && let Some((_, password)) = user.split_once(':')
    {
        found.push(password);
    }
    for rest in text.split("password=").skip(1) {
        let end = rest.find(|c: char| c == '&' || c.is_whitespace()).unwrap_or(rest.len());
        found.push(rest[..end].trim_matches('\''));
    }
    found.iter().flat_map(|one| [(*one).to_owned(), unpercented(one.as_bytes())]).collect()
}

/// Whether the text ends in the beginning of a form, and that is among what is shown.
fn is_cut(text: &[u8], form: &str, shown: usize) -> bool {
    (open(form) + PART..form.len())
        .any(|long| text.ends_with(&form.as_bytes()[..long]) && text.len() - long < shown)
}

/// How much of the beginning of a form everybody knows: `whsec_`, `postgres://`.
fn open(form: &str) -> usize {
    let scheme = form.find("://").map(|at| at + 3);
    scheme.or(form.starts_with(SIGNING).then_some(SIGNING.len())).unwrap_or_default()
}

fn add(forms: &mut Vec<String>, value: &str) {
    forms.push(value.to_owned());
    // So that a value with line ends is found where they have become spaces.
    forms.push(value.trim().to_owned());
    if value.len() < PART {
        // In another form it would be found in every text.
        return;
    }
    encoded(forms, value.as_bytes());
    forms.push(STANDARD_NO_PAD.encode(format!("Bearer {value}")));
    forms.push(URL_SAFE_NO_PAD.encode(format!("Bearer {value}")));
    if let Some(key) = value.strip_prefix(SIGNING) {
        forms.push(key.to_owned());
        encoded(forms, key.as_bytes());
        if let Ok(key) = STANDARD.decode(key) {
            encoded(forms, &key);
        }
    }
}

/// Hex and base64. What is padded begins with what isn't. Percent signs and escapes are undone in the text.
fn encoded(forms: &mut Vec<String>, bytes: &[u8]) {
    forms.extend([hex::encode(bytes), hex::encode_upper(bytes)]);
    forms.extend([STANDARD_NO_PAD.encode(bytes), URL_SAFE_NO_PAD.encode(bytes)]);
    // Inside of other text (`Bearer …`, `user:…`) base64 looks different, by where the value begins; of each way what hangs on the
    // value only.
    for before in 0..3 {
        let mut shifted = vec![0; before];
        shifted.extend_from_slice(bytes);
        let whole = shifted.len() / 3 * 4;
        let from = [0, 2, 3][before];
        for text in [STANDARD_NO_PAD.encode(&shifted), URL_SAFE_NO_PAD.encode(&shifted)] {
            forms.extend(text.get(from..whole).filter(|core| core.len() >= CORE).map(str::to_owned));
        }
    }
}

/// The text with every `%41` undone; one that is cut at the end is dropped.
fn unpercented(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let digits = text.get(at + 1..at + 3).unwrap_or_default();
        let decoded = hex::decode(digits).ok().filter(|decoded| byte == b'%' && decoded.len() == 1);
        if byte == b'%' && at + 3 > text.len() {
            break;
        }
        out.push(decoded.as_ref().map_or(byte, |decoded| decoded[0]));
        at += if decoded.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The text with the escapes of JSON undone, as in a string of it; one that is cut at the end is dropped.
fn unescaped(text: &str) -> String {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        units.extend(rest[..at].encode_utf16());
        let mut after = rest[at + 1..].chars();
        let one = match after.next() {
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('u') => {
                let digits = after.as_str().get(..4);
                if let Some(unit) = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
                    units.push(unit);
                    rest = &after.as_str()[4..];
                    continue;
                }
                if after.as_str().len() < 4 {
                    return String::from_utf16_lossy(&units);
                }
                'u'
            }
            Some(other) => other,
            None => return String::from_utf16_lossy(&units),
        };
        units.extend(one.encode_utf16(&mut [0; 2]).iter());
        rest = after.as_str();
    }
    units.extend(rest.encode_utf16());
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::URL_SAFE;

    use super::*;

    const TOKEN: &str = "t0k/\"en+é s3kr3t~";
    const SIGN: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn veil() -> Veil {
        Veil::new([TOKEN, SIGN, ""])
    }

    #[test]
    fn every_form_of_a_secret_is_found_wherever_it_is() {
        let key = STANDARD.decode(&SIGN[6..]).unwrap();
        let percented: String = TOKEN.bytes().map(|byte| format!("%{byte:02x}")).collect();
        for form in [
            TOKEN.to_owned(),
            SIGN.into(),
            SIGN[6..].into(),
            hex::encode(TOKEN),
            hex::encode_upper(TOKEN),
            hex::encode(&key),
            hex::encode_upper(&key),
            hex::encode(SIGN),
            STANDARD.encode(TOKEN),
            STANDARD_NO_PAD.encode(TOKEN),
            URL_SAFE.encode(TOKEN),
            URL_SAFE_NO_PAD.encode(TOKEN),
            STANDARD.encode(SIGN),
            URL_SAFE_NO_PAD.encode(&key),
            STANDARD.encode(format!("Bearer {TOKEN}")),
            URL_SAFE.encode(format!("Bearer {TOKEN}")),
            STANDARD.encode(format!("user:{TOKEN}")),
            STANDARD.encode(format!("{{\"x\":\"{TOKEN}\"}}")),
            percented.to_uppercase(),
            percented,
            "t0k%2F\"en%2B%C3%A9%20s3kr3t~".into(),
            serde_json::to_string(TOKEN).unwrap(),
            r#"t0k\/\"en+\u00e9 s3kr3t~"#.into(),
        ] {
            for text in [form.clone(), format!("<{form}>"), format!("{}{form} and more", "x ".repeat(9_000))]
            {
                assert!(veil().hides(text.as_bytes(), 200), "{form}");
            }
        }
        for fine in ["", "401: no such token", "whsec_", "100%", "a \\", "Bearer", "%4", "\\u00"] {
            assert!(!veil().hides(fine.as_bytes(), 200), "{fine}");
        }
        assert!(!Veil::new(["postgres://u:p@h"]).hides(b"can't post", 200), "everybody knows that");
        assert!(Veil::new(["postgres://u:p@h"]).hides(b"no postgres://u:p@", 200));
        assert!(!Veil::default().hides(b"anything", 200));
    }

    #[test]
    fn a_secret_that_was_cut_at_the_end_is_found_where_it_would_be_shown() {
        let base64 = STANDARD.encode(format!("Bearer {TOKEN}"));
        for end in ["t0k/", "t0k/\"en+\u{e9} s3k", "MfKQ", &base64[..9], "t0k%2F%2", "t0k\\/\\", "t0k/ \n"] {
            assert!(veil().hides(format!("no: {end}").as_bytes(), 200), "{end}");
        }
        assert!(veil().hides(b"no: t0k/\"en+\xc3", 200), "in the middle of a character");
        assert!(!veil().hides(b"no: t0k", 200), "three are too few to tell");
        let behind = format!("{} t0k/", "x".repeat(300));
        assert!(!veil().hides(behind.as_bytes(), 200), "nobody sees it");
    }

    #[test]
    fn passwords_of_connection_strings_are_found() {
        for text in [
            "postgres://u:p%40ss@h/d",
            "host=h password='p%40ss' user=u",
            "mysql://h/d?user=u&password=p%40ss&x=1",
        ] {
            assert_eq!(passwords(text), ["p%40ss", "p@ss"], "{text}");
        }
        assert!(passwords("sqlite:x.db").is_empty() && passwords("postgres://u@h").is_empty());
    }

    #[test]
    fn nothing_shows_it() {
        assert_eq!(format!("{:?}", veil()), "Veil(…)");
    }
}
