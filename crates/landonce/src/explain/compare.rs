//! Two records side by side: one event or two, one content or two, and which fields say so.

use landonce_core::json::{Json, Tape};
use landonce_core::pipeline::{IdentityFrom, Pipeline as Declared};
use serde::Serialize;

use super::{Explained, Part, Seen, encoded, fields, spelling};

/// Whether two records are one event, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// They have one key.
    pub is_same_event: bool,
    /// Why, in one sentence.
    pub reason: String,
    /// The identity's fields, in order; empty when the identity is the content.
    pub identity: Vec<PartCompared>,
    /// They have one content digest.
    pub is_same_content: bool,
    /// The fields in which their contents differ.
    pub differing: Vec<FieldDifference>,
}

/// A field of two identities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartCompared {
    /// The field.
    pub field: String,
    /// Equal or not.
    pub verdict: Verdict,
    /// The first record's JSON; `None` when absent.
    pub first: Option<String>,
    /// The second's.
    pub second: Option<String>,
    /// What makes them equal, or would.
    pub note: Option<String>,
}

/// How two identity fields stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Written the same.
    Equal,
    /// Written differently, and one value by the type or the normalisation declared.
    EqualOnceRead,
    /// Two values now, and one under another declaration (see the note).
    DiffersInSpelling,
    /// Two values.
    Differs,
}

/// A top-level field in which two contents differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldDifference {
    /// The field.
    pub field: String,
    /// The first record's JSON; `None` when absent.
    pub first: Option<String>,
    /// The second's.
    pub second: Option<String>,
}

/// `None` when one of them is bad.
pub(super) fn compare(declared: &Declared, one: &Seen, two: &Seen) -> Option<Comparison> {
    let (first, second) = (one.explained.key.as_ref()?, two.explained.key.as_ref()?);
    let (mut first_tape, mut second_tape) = (Tape::default(), Tape::default());
    // Both have been read already: neither scan fails.
    let (one_json, two_json) = (first_tape.scan(&one.text).ok()?, second_tape.scan(&two.text).ok()?);
    let identity: Vec<PartCompared> = one
        .explained
        .identity
        .iter()
        .zip(&two.explained.identity)
        .map(|(a, b)| part(declared, (a, one_json), (b, two_json)))
        .collect();
    let is_same_event = first.sha256 == second.sha256;
    let differing = differing((one, one_json), (two, two_json));
    let is_same_content = digest(&one.explained) == digest(&two.explained);
    Some(Comparison {
        is_same_event,
        reason: reason(declared, is_same_event, &identity),
        identity,
        is_same_content,
        differing,
    })
}

fn digest(explained: &Explained) -> Option<&str> {
    explained.content.as_ref().map(|content| content.sha256.as_str())
}

fn part(
    declared: &Declared,
    (one, one_json): (&Part, Json<'_>),
    (two, two_json): (&Part, Json<'_>),
) -> PartCompared {
    let column = declared.target().columns.iter().find(|column| column.field == one.field);
    let ty = column.map(|column| &column.ty);
    let (verdict, note) = if one.canonical == two.canonical {
        if one.written == two.written {
            (Verdict::Equal, None)
        } else {
            (Verdict::EqualOnceRead, Some(once_read(declared, one)))
        }
    } else {
        let values = one_json.member(&one.field).zip(two_json.member(&two.field));
        match values.and_then(|(a, b)| spelling::hint(a, b, ty)) {
            Some(hint) => (Verdict::DiffersInSpelling, Some(hint)),
            None => (Verdict::Differs, None),
        }
    };
    PartCompared {
        field: one.field.clone(),
        verdict,
        first: one.written.clone(),
        second: two.written.clone(),
        note,
    }
}

/// Why two spellings are one value.
fn once_read(declared: &Declared, part: &Part) -> String {
    let is_text = part.ty.as_deref().is_none_or(|ty| ty == "text" || ty.starts_with("varchar"));
    match &part.ty {
        Some(ty) if !is_text => format!("equal as {ty}"),
        _ if !declared.identity().normalize.is_empty() => "equal only after normalising".to_owned(),
        _ => "one value, spelled differently".to_owned(),
    }
}

fn differing(one: (&Seen, Json<'_>), two: (&Seen, Json<'_>)) -> Vec<FieldDifference> {
    let (first, second) = (encoded::members(&one.0.content), encoded::members(&two.0.content));
    let mut names: Vec<&String> = first.iter().chain(&second).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .filter(|name| {
            let of = |members: &[(String, encoded::Encoded<'_>)]| {
                members.iter().find(|(has, _)| has == *name).map(|(_, value)| value.whole.to_vec())
            };
            of(&first) != of(&second)
        })
        .map(|name| FieldDifference {
            field: name.clone(),
            first: one.1.member(name).map(|value| value.raw().to_owned()),
            second: two.1.member(name).map(|value| value.raw().to_owned()),
        })
        .collect()
}

fn reason(declared: &Declared, is_same: bool, identity: &[PartCompared]) -> String {
    if fields(declared).is_empty() {
        let what = match &declared.identity().from {
            IdentityFrom::Content(Some(only)) => format!("content of {}", only.join(", ")),
            _ => "content".to_owned(),
        };
        return if is_same {
            format!("one event: the identity is the {what}, and it is equal")
        } else {
            format!("two events: the identity is the {what}, and it differs")
        };
    }
    let those = |wanted: &[Verdict]| {
        let names: Vec<&str> = identity
            .iter()
            .filter(|part| wanted.contains(&part.verdict))
            .map(|part| part.field.as_str())
            .collect();
        names.join(", ")
    };
    if is_same {
        let once_read = those(&[Verdict::EqualOnceRead]);
        return if once_read.is_empty() {
            "one event: every field of the identity is equal".to_owned()
        } else {
            format!(
                "one event: every field of the identity is equal once read ({once_read} is spelled differently)"
            )
        };
    }
    let (differ, spelled) = (those(&[Verdict::Differs]), those(&[Verdict::DiffersInSpelling]));
    match (differ.is_empty(), spelled.is_empty()) {
        (true, _) => format!("two events only by spelling: {spelled}"),
        (false, true) => format!("two events: the identity differs in {differ}"),
        (false, false) => {
            format!("two events: the identity differs in {differ}, and in the spelling of {spelled}")
        }
    }
}
