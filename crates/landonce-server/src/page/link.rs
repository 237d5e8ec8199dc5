//! Addresses of pages. Names and ids are anybody's text: each is percent-encoded whole.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands for itself in a segment and in a query.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A text as a segment of a path, or a value in a query.
pub(super) fn part(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// A batch's page. An id of dots alone can't be a segment: browsers take it for a way up.
pub(super) fn batch(pipeline: &str, id: &str) -> String {
    if [pipeline, id].iter().any(|text| matches!(*text, "." | "..")) {
        return format!("/batch?pipeline={}&id={}", part(pipeline), part(id));
    }
    format!("/batches/{}/{}", part(pipeline), part(id))
}

/// The batches of a pipeline.
pub(super) fn batches(pipeline: &str) -> String {
    format!("/batches?pipeline={}", part(pipeline))
}

/// A page of a pipeline: `periods`, `records`.
pub(super) fn of(page: &str, pipeline: &str) -> String {
    format!("/{page}/{}", part(pipeline))
}

/// A held run.
pub(super) fn held(pipeline: &str, digest: &[u8; 32]) -> String {
    format!("/held/{}/{}", part(pipeline), hex::encode(digest))
}

/// An address with a query of what is given.
pub(super) fn query(path: &str, given: &[(&str, Option<&str>)]) -> String {
    let pairs: Vec<String> = given
        .iter()
        .filter_map(|(name, value)| Some(format!("{}={}", part(name), part((*value)?))))
        .collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leaves_its_segment() {
        assert_eq!(batch("a/b", "x#1?y=ü"), "/batches/a%2Fb/x%231%3Fy%3D%C3%BC");
        assert_eq!(batch("p", ".."), "/batch?pipeline=p&id=..");
        assert_eq!(query("/q", &[("a", Some("1&2")), ("b", None)]), "/q?a=1%262");
    }
}
