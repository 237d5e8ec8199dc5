//! What the scanner takes and what it refuses.

use proptest::prelude::*;

use super::*;
use crate::bad_record::BadKind;

fn fault(text: &str) -> (BadKind, String) {
    let bad = Tape::default().scan(text.as_bytes()).map(|_| ()).expect_err(text);
    (bad.kind, bad.field)
}

#[test]
fn spans_are_the_text_given() {
    let mut tape = Tape::default();
    let json = tape
        .scan(br#" {"a": [1, -2.50e+3, "x\n\u00e9\ud83d\ude00"], "b": {"c": null}, "d": true} "#)
        .unwrap();
    let items: Vec<_> = json.member("a").unwrap().items().map(Json::raw).collect();
    assert_eq!(items, ["1", "-2.50e+3", r#""x\n\u00e9\ud83d\ude00""#]);
    assert_eq!(json.member("a").unwrap().items().nth(2).unwrap().string().unwrap(), "x\né😀");
    assert_eq!(json.member("b").unwrap().member("c").unwrap().kind(), Kind::Null);
    assert_eq!(json.member("d").unwrap().kind(), Kind::True);
    assert!(json.member("e").is_none());
}

#[test]
fn repeated_names_are_refused_wherever_they_stand() {
    assert_eq!(fault(r#"{"amount":1,"amount":2}"#), (BadKind::DuplicateName, String::new()));
    assert_eq!(fault(r#"{"a":{"b":1,"b":1}}"#), (BadKind::DuplicateName, "a".into()));
    assert_eq!(fault(r#"{"a":[{},{"b":1,"\u0062":1}]}"#), (BadKind::DuplicateName, "a[1]".into()));
    let many: String = (0..40).map(|at| format!(r#""n{at}":{at},"#)).collect();
    assert_eq!(fault(&format!(r#"{{{many}"n7":1}}"#)), (BadKind::DuplicateName, String::new()));
}

#[test]
fn what_no_store_can_hold_is_refused_with_its_path() {
    assert_eq!(fault(r#"{"a":"x\u0000y"}"#), (BadKind::Nul, "a".into()));
    assert_eq!(fault(r#"{"p":{"tags":["ok",{"deep":"\u0000"}]}}"#), (BadKind::Nul, "p.tags[1].deep".into()));
    assert_eq!(fault(r#"{"a":"\ud800"}"#), (BadKind::LoneSurrogate, "a".into()));
    assert_eq!(fault(r#"{"a":"\udc00\ud800"}"#), (BadKind::LoneSurrogate, "a".into()));
    assert_eq!(fault(r#"{"a":"\ud800\u0041"}"#), (BadKind::LoneSurrogate, "a".into()));
}

#[test]
fn syntax_is_rfc_8259_to_the_letter() {
    for text in [
        "",
        " ",
        "{",
        "}",
        "[",
        "]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "01",
        "-",
        "1.",
        ".5",
        "+1",
        "1e",
        "1e+",
        "0x1",
        "NaN",
        "Infinity",
        "tru",
        "nul",
        "\"",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\t\"",
        "1 2",
        "{}{}",
        "[1]]",
        "\u{feff}1",
        "[1}",
        "{\"a\":1]",
        "// c\n1",
        "-01",
        "2.e3",
        "\"a\nb\"",
    ] {
        assert_eq!(fault(text).0, BadKind::Syntax, "{text:?}");
    }
    for text in ["0", "-0", "1e5", "1E-5", "\"\"", "[]", "{}", "[[],{}]", "\"\\/\"", "\"\u{7f}\"", " [ ] "] {
        assert!(Tape::default().scan(text.as_bytes()).is_ok(), "{text:?}");
    }
}

#[test]
fn depth_is_bounded() {
    let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(Tape::default().scan(deep(MOST_DEPTH).as_bytes()).is_ok());
    assert_eq!(fault(&deep(MOST_DEPTH + 1)).0, BadKind::TooDeep);
    assert_eq!(fault(&"[".repeat(1_000_000)).0, BadKind::TooDeep);
}

#[test]
fn bytes_that_are_not_utf8_are_refused() {
    let bad = Tape::default().scan(b"{\"a\":\"\xff\"}").map(|_| ()).unwrap_err();
    assert_eq!(bad.kind, BadKind::Encoding);
}

proptest! {
    #[test]
    fn agrees_with_serde_json_where_that_is_strict(text in "[\\[\\]{},:\"a1\\\\u0e.\\- tn]{0,24}") {
        let ours = Tape::default().scan(text.as_bytes()).map(|_| ()).map_err(|bad| bad.kind);
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        match ours {
            Ok(()) => prop_assert!(theirs, "we took what isn't JSON: {text}"),
            Err(BadKind::Syntax) => prop_assert!(!theirs, "we refused JSON: {text}"),
            Err(_) => {} // stricter on purpose
        }
    }

    #[test]
    fn any_string_comes_back(value in any::<String>().prop_filter("no NUL", |s| !s.contains('\0'))) {
        let text = serde_json::to_string(&value).unwrap();
        let mut tape = Tape::default();
        prop_assert_eq!(tape.scan(text.as_bytes()).unwrap().string().unwrap(), value);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = Tape::default().scan(&bytes).map(|_| ());
    }
}
