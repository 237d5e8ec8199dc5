//! Values that are bound to a query's places.

use landonce_core::pipeline::{QueryFeed, QueryPiece};

use super::mark::Mark;

/// A value of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Bound {
    /// A whole number.
    Number(i128),
    /// Any other, as a text.
    Text(String),
}

impl Bound {
    /// As it is declared: a whole number is one.
    pub(super) fn declared(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Text(text.to_owned()), Self::Number)
    }

    /// Its text.
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl From<Mark> for Bound {
    fn from(mark: Mark) -> Self {
        match mark {
            Mark::Number(number) => Self::Number(number),
            Mark::Time(text) | Mark::Text(text) => Self::Text(text),
        }
    }
}

/// The values of a query's places, in their order.
pub(super) fn values(feed: &QueryFeed, since: Option<&Bound>) -> Vec<Bound> {
    let value = |piece: &QueryPiece| match piece {
        QueryPiece::Sql(_) => None,
        QueryPiece::Since => since.cloned(),
        QueryPiece::Period(value) => Some(Bound::Text(value.clone())),
    };
    feed.pieces.iter().filter_map(value).collect()
}
