//! What a receiver said, made fit to be kept: one short line, without control characters, without secrets.

/// The most characters that are kept.
const LONGEST: usize = 200;

/// The first line that says anything, at most [`LONGEST`] characters; every secret in it is left out.
pub(crate) fn first_line(said: &[u8], secrets: &[String]) -> String {
    let text = String::from_utf8_lossy(said);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut line = line.to_owned();
    // The longest first: one secret may be a part of another.
    let mut secrets: Vec<&String> = secrets.iter().filter(|secret| !secret.is_empty()).collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    for secret in secrets {
        line = line.replace(secret.as_str(), "…");
    }
    let mut short: String =
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    if line.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_short_line_without_secrets_is_left() {
        assert_eq!(first_line(b"\n  \n no\tway: tok\x1b[31m \nmore", &[]), "no way: tok [31m");
        let secrets = ["tok".to_owned(), "token".into(), String::new()];
        assert_eq!(first_line(b"bad token, tok", &secrets), "bad …, …");
        assert_eq!(first_line("é".repeat(300).as_bytes(), &[]).chars().count(), LONGEST + 1);
        assert_eq!(first_line(b"\xff", &[]), "\u{fffd}");
    }
}
