//! A body's values, found by the way to them, without reading what is beside: records are scanned by the engine, one by one, so that
//! one that is bad doesn't make its page unreadable.

use landonce_core::pipeline::http::{Path, Step};

/// What stands at the end of a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found<'b> {
    /// A value's text as written.
    Value(&'b [u8]),
    /// Nothing, in a place where it could be: the object that would have it is there.
    Absent,
    /// Not even the place; the name that is missing, or that is no object or list, is the n-th step.
    Lost(usize),
}

/// Checks that a body is one JSON value whose brackets close, with nothing behind it. Returns it, without a mark or space around.
pub(super) fn whole(body: &[u8]) -> Result<&[u8], &'static str> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let start = space(body, 0);
    if start == body.len() {
        return Err("its body is empty");
    }
    let end = value(body, start).ok_or("its body isn't JSON, or isn't whole")?;
    if space(body, end) < body.len() {
        return Err("its body isn't JSON: something stands behind the value");
    }
    Ok(&body[start..end])
}

/// Goes the way from a value of [`whole`].
pub(super) fn find<'b>(json: &'b [u8], path: &Path) -> Found<'b> {
    let mut at = json;
    for (nth, step) in path.steps().iter().enumerate() {
        if at == b"null" && nth > 0 {
            return Found::Absent;
        }
        let next = match step {
            Step::Name(name) if at.starts_with(b"{") => member(at, name),
            Step::Where(name, wanted) if at.starts_with(b"[") => items(at).find(|item| {
                item.starts_with(b"{") && member(item, name).and_then(text).as_deref() == Some(wanted)
            }),
            Step::Name(_) | Step::Where(..) => return Found::Lost(nth),
        };
        at = match next {
            Some(next) => next,
            None if nth + 1 == path.steps().len() || matches!(step, Step::Where(..)) => return Found::Absent,
            None => return Found::Lost(nth),
        };
    }
    Found::Value(at)
}

/// A scalar's text: a string's value, a number's or a boolean's lexeme. `None` for null, lists and objects.
pub(super) fn text(json: &[u8]) -> Option<String> {
    match json.first()? {
        b'"' => serde_json::from_slice(json).ok(),
        b'{' | b'[' | b'n' => None,
        _ => std::str::from_utf8(json).ok().map(str::to_owned),
    }
}

fn member<'b>(object: &'b [u8], wanted: &str) -> Option<&'b [u8]> {
    let mut at = space(object, 1);
    while object.get(at) == Some(&b'"') {
        let end = value(object, at)?;
        let is_wanted = text(&object[at..end]).as_deref() == Some(wanted);
        at = space(object, end);
        if object.get(at) != Some(&b':') {
            return None;
        }
        at = space(object, at + 1);
        let end = value(object, at)?;
        if is_wanted {
            return Some(&object[at..end]);
        }
        at = space(object, end);
        if object.get(at) == Some(&b',') {
            at = space(object, at + 1);
        }
    }
    None
}

fn items(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = space(list, 1);
    std::iter::from_fn(move || {
        let end = value(list, at).filter(|end| *end > at)?;
        let item = &list[at..end];
        at = space(list, end);
        if list.get(at) == Some(&b',') {
            at = space(list, at + 1);
        }
        Some(item)
    })
}

/// Where the value that begins here ends.
fn value(text: &[u8], start: usize) -> Option<usize> {
    match *text.get(start)? {
        b'"' => string(text, start),
        b'{' | b'[' => nested(text, start),
        _ => {
            let is_end = |byte: &u8| matches!(byte, b',' | b':' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
            let len = text[start..].iter().position(is_end).unwrap_or(text.len() - start);
            (len > 0 && is_scalar(&text[start..start + len])).then_some(start + len)
        }
    }
}

fn is_scalar(text: &[u8]) -> bool {
    matches!(text, b"true" | b"false" | b"null")
        || (matches!(text[0], b'-' | b'0'..=b'9')
            && text
                .iter()
                .all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')))
}

fn string(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match *text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn nested(text: &[u8], start: usize) -> Option<usize> {
    let mut open = Vec::new();
    let mut at = start;
    loop {
        match *text.get(at)? {
            b'"' => {
                at = string(text, at)?;
                continue;
            }
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            close @ (b'}' | b']') => {
                if open.pop() != Some(close) {
                    return None;
                }
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

fn space(text: &[u8], start: usize) -> usize {
    let is_other = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    text.get(start..).and_then(|rest| rest.iter().position(is_other)).map_or(text.len(), |at| start + at)
}

#[cfg(test)]
mod tests {
    use landonce_core::pipeline::{Feed, Pipeline};
    use landonce_core::spec::Spec;

    use super::*;

    fn path(text: &str) -> Path {
        let yaml = format!(
            "pipeline: p\nidentity: [id]\ntarget: {{table: t}}\nsource: {{http: {{url: 'https://a', records: '{text}'}}}}"
        );
        let pipeline = Pipeline::new(Spec::parse(&yaml).unwrap()).unwrap();
        let Feed::Http(http) = &pipeline.source().feed else { panic!("http") };
        http.records.clone().unwrap()
    }

    fn found(body: &str, way: &str) -> String {
        match find(whole(body.as_bytes()).unwrap(), &path(way)) {
            Found::Value(value) => String::from_utf8(value.to_vec()).unwrap(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn values_are_the_text_as_written() {
        let body = r#" {"a": {"x\u0062": [1.50, {"k":"]}\"" }]}, "b":"é", "links":[{"rel":"self","href":"s"},{"rel":"next","href":"n"}]} "#;
        assert_eq!(found(body, "a.xb"), r#"[1.50, {"k":"]}\"" }]"#);
        assert_eq!(found(body, "b"), "\"é\"");
        assert_eq!(found(body, "links[rel=next].href"), "\"n\"");
        assert_eq!(found(body, "links[rel=last].href"), "Absent");
    }

    #[test]
    fn absent_and_lost_are_two_things() {
        assert_eq!(found(r#"{"meta":{}}"#, "meta.next"), "Absent");
        assert_eq!(found(r#"{"meta":null}"#, "meta.next"), "Absent");
        assert_eq!(found(r#"{"error":"no"}"#, "meta.next"), "Lost(0)");
        assert_eq!(found(r#"{"meta":"x"}"#, "meta.next"), "Lost(1)");
        assert_eq!(found("[]", "meta"), "Lost(0)");
    }

    #[test]
    fn what_is_cut_or_no_json_is_refused_wherever_it_was_cut() {
        let body = r#"{"a":[{"k":"v"},{"k":"\\"}],"n":12}"#;
        assert!(whole(body.as_bytes()).is_ok());
        for end in 0..body.len() {
            assert!(whole(&body.as_bytes()[..end]).is_err(), "{}", &body[..end]);
        }
        for wrong in ["", "  \n", "<html>", "{} {}", "[}", "OK", "{\"a\":[}"] {
            assert!(whole(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
