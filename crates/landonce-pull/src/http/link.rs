//! The `Link` header (RFC 8288): the address under a relation.

use hyper::HeaderMap;
use hyper::header::LINK;

/// The target of the first link with this relation, as written.
pub(super) fn target(headers: &HeaderMap, relation: &str) -> Option<String> {
    let values = headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| pieces(value, ',')).find_map(|link| {
        let (target, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        // Only the first `rel` counts.
        let relations = pieces(parameters, ';').into_iter().find_map(|one| {
            let (name, value) = one.split_once('=')?;
            name.trim().eq_ignore_ascii_case("rel").then(|| value.trim().trim_matches('"'))
        })?;
        let is_it = relations.split_whitespace().any(|has| has.eq_ignore_ascii_case(relation));
        is_it.then(|| target.trim().to_owned())
    })
}

/// The pieces between the separators that are neither in quotes nor in an address.
fn pieces(text: &str, separator: char) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut is_quoted, mut is_address, mut is_escaped) = (0, false, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' if !is_address => is_quoted = !is_quoted,
            '<' if !is_quoted => is_address = true,
            '>' if !is_quoted => is_address = false,
            _ if c == separator && !is_quoted && !is_address => {
                pieces.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    pieces.push(&text[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_found_among_others() {
        let mut headers = HeaderMap::new();
        assert_eq!(target(&headers, "next"), None);
        headers.append(
            LINK,
            "<https://a/?p=1>; rel=\"prev\", </b?x=1,2>; title=\"a, b; rel=next\"; rel=\"last\""
                .parse()
                .unwrap(),
        );
        assert_eq!(target(&headers, "next"), None);
        headers.append(LINK, "<https://a/?p=9>; REL=\"last Next\"".parse().unwrap());
        assert_eq!(target(&headers, "next").as_deref(), Some("https://a/?p=9"));
        assert_eq!(target(&headers, "last").as_deref(), Some("/b?x=1,2"));
    }
}
