//! Why a record can't be taken: one closed list of kinds, with the field and a shortened value.
//!
//! A bad record is data, not a failure of landonce: the engine decides whether it fails the batch or goes to the
//! quarantine. Nothing here knows about either.

use std::fmt;

/// A record that can't be taken, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRecord {
    /// The kind of fault, from the closed list.
    pub kind: BadKind,
    /// The path of the field (`payload.tags[2]`), or empty when the record as a whole is at fault.
    pub field: String,
    /// What was found and what would fit, in one sentence without a full stop. Values are shortened.
    pub detail: String,
}

/// The closed list of faults a record can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BadKind {
    /// The text isn't JSON (RFC 8259) or isn't a JSON object.
    Syntax,
    /// The bytes aren't UTF-8.
    Encoding,
    /// One object holds the same name twice, also when equal only after unescaping.
    DuplicateName,
    /// A `\uD800`–`\uDFFF` escape without its partner.
    LoneSurrogate,
    /// U+0000 in a text: PostgreSQL can't hold it, so no store takes it.
    Nul,
    /// Nested deeper than the limit.
    TooDeep,
    /// Longer than the record limit.
    TooLarge,
    /// A CSV row with another number of fields than the header.
    RaggedRow,
    /// An identity field is null.
    NullKey,
    /// An identity field is absent.
    AbsentKey,
    /// A joined key whose part holds the separator: two identities would share one key.
    AmbiguousKey,
    /// The version field is null or absent.
    NoVersion,
    /// The value isn't of the column's type.
    WrongType,
    /// The value is of the type but doesn't fit the column exactly.
    OutOfRange,
    /// The text is longer than the column allows.
    TooLong,
    /// The record has a field that no column takes.
    UnmappedField,
    /// The database refused the row (a constraint, a domain, another unique index, a trigger).
    Refused,
    /// The row belongs to another period than the run's, or to none.
    OutsidePeriod,
    /// The row belongs to another owner than the pipeline's.
    OtherOwner,
    /// Same identity and same version as a row that is already there, but other content.
    Conflict,
}

impl BadKind {
    /// Every kind.
    pub const ALL: &'static [Self] = &[
        Self::Syntax,
        Self::Encoding,
        Self::DuplicateName,
        Self::LoneSurrogate,
        Self::Nul,
        Self::TooDeep,
        Self::TooLarge,
        Self::RaggedRow,
        Self::NullKey,
        Self::AbsentKey,
        Self::AmbiguousKey,
        Self::NoVersion,
        Self::WrongType,
        Self::OutOfRange,
        Self::TooLong,
        Self::UnmappedField,
        Self::Refused,
        Self::OutsidePeriod,
        Self::OtherOwner,
        Self::Conflict,
    ];

    /// The stable name, as it appears in reports and in the quarantine.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Encoding => "encoding",
            Self::DuplicateName => "duplicate name",
            Self::LoneSurrogate => "lone surrogate",
            Self::Nul => "nul character",
            Self::TooDeep => "too deep",
            Self::TooLarge => "too large",
            Self::RaggedRow => "ragged row",
            Self::NullKey => "null key",
            Self::AbsentKey => "absent key",
            Self::AmbiguousKey => "ambiguous key",
            Self::NoVersion => "no version",
            Self::WrongType => "wrong type",
            Self::OutOfRange => "out of range",
            Self::TooLong => "too long",
            Self::UnmappedField => "unmapped field",
            Self::Refused => "refused by the database",
            Self::OutsidePeriod => "outside the period",
            Self::OtherOwner => "another owner's",
            Self::Conflict => "conflict",
        }
    }
}

impl BadKind {
    /// The kind of a stable name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }

    /// Whether the record has no identity at all, so that no row can be its.
    pub const fn is_without_identity(self) -> bool {
        matches!(self, Self::NullKey | Self::AbsentKey)
    }
}

impl BadRecord {
    /// A fault in `field` (a path; empty for the whole record).
    pub fn new(kind: BadKind, field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { kind, field: field.into(), detail: detail.into() }
    }

    /// The same fault, seen from one level further out: `outer` is put before the path.
    #[must_use]
    pub fn under(mut self, outer: &str) -> Self {
        self.field = match self.field.as_str() {
            "" => outer.to_owned(),
            inner if inner.starts_with('[') => format!("{outer}{inner}"),
            inner => format!("{outer}.{inner}"),
        };
        self
    }
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            write!(f, "{}: {}", self.kind.as_str(), self.detail)
        } else {
            write!(f, "{}: `{}`: {}", self.kind.as_str(), self.field, self.detail)
        }
    }
}

/// The most characters of a value that a message shows.
const SHOWN: usize = 60;

/// A value shortened for a message: at most 60 characters, control characters escaped.
pub fn shorten(value: &str) -> String {
    let mut out: String = value.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    let rest = value.chars().skip(SHOWN).count();
    if rest > 0 {
        out.push_str(&format!("… ({rest} more characters)"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_grow_outwards() {
        let bad = BadRecord::new(BadKind::Nul, "", "x").under("[2]").under("tags").under("payload");
        assert_eq!(bad.field, "payload.tags[2]");
        assert_eq!(bad.to_string(), "nul character: `payload.tags[2]`: x");
    }

    #[test]
    fn long_values_are_shortened_and_escaped() {
        assert_eq!(shorten("a\nb"), "a\\nb");
        assert!(shorten(&"x".repeat(100)).ends_with("… (40 more characters)"));
    }
}
