//! What a receiver said, made fit to be kept: one short line, without control characters, and nothing where it repeats a secret.

use crate::veil::Veil;

/// The most characters that are kept.
const LONGEST: usize = 200;
/// What is kept of words that repeat a secret.
pub(crate) const HIDDEN: &str = "(what it said repeats a secret)";

/// The first line that says anything, at most [`LONGEST`] characters. When anything of what was said repeats a secret, also behind
/// what would be kept, none of it is.
pub(crate) fn first_line(said: &[u8], veil: &Veil) -> String {
    let text = String::from_utf8_lossy(said);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut short: String =
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    // Where the line begins: nothing but space is before it.
    let before = text.len() - text.trim_start().len();
    if veil.hides(said, before + short.len()) {
        return HIDDEN.to_owned();
    }
    if line.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_short_line_is_left() {
        let none = Veil::default();
        assert_eq!(first_line(b"\n  \n no\tway: tok\x1b[31m \nmore", &none), "no way: tok [31m");
        assert_eq!(first_line("é".repeat(300).as_bytes(), &none).chars().count(), LONGEST + 1);
        assert_eq!(first_line(b"\xff", &none), "\u{fffd}");
    }

    #[test]
    fn nothing_is_left_where_a_secret_is_repeated() {
        let veil = Veil::new(["token-s3kr3t", ""]);
        let cut = format!("{}token-s3kr3t", "x".repeat(LONGEST - 5));
        for said in
            ["bad token-s3kr3t", "bad\nno: token-s3kr3t", &cut, " \n bad toke", "746f6b656e2d73336b723374"]
        {
            assert_eq!(first_line(said.as_bytes(), &veil), HIDDEN, "{said}");
        }
        assert_eq!(first_line(b"bad token", &Veil::new(["s3kr3t"])), "bad token");
        assert_eq!(first_line(b"bad\nmore toke", &veil), "bad");
    }
}
