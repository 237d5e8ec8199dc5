//! Where a feed stands: the text that is kept as its position, in the transaction of the rows that were read up to there.

use serde::{Deserialize, Serialize};

use super::ask::Validators;
use super::mark::Mark;
use crate::error::Error;

/// Where a feed stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Place {
    /// The highest value of `since.field` of all runs that have come to their end.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// The highest one of a run that hasn't come to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<String>,
    /// The page that such a run would have read next: a cursor or an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) page: Option<String>,
    /// How many records were on the pages before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) read: Option<u64>,
    /// When such a run began, in microseconds since 1970 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) started: Option<i64>,
    /// What the only page was marked with (`ETag`).
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    /// When it was changed last (`Last-Modified`).
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
}

impl Place {
    /// From the position's text.
    pub(super) fn parse(text: Option<&str>) -> Result<Self, Error> {
        let Some(text) = text else { return Ok(Self::default()) };
        serde_json::from_str(text).map_err(|error| {
            Error::Declared(format!(
                "the feed's position `{text}` isn't one of `source.http` ({error}); put it back to its beginning to read everything anew"
            ))
        })
    }

    /// The end of a run.
    pub(super) fn end(since: Option<&Mark>, validators: Validators) -> Self {
        let since = since.map(|mark| mark.text().to_owned());
        Self { since, etag: validators.etag, modified: validators.modified, ..Self::default() }
    }

    /// In the middle of a run that began here.
    pub(super) fn middle(&self, high: Option<&Mark>, page: String, read: u64, started: i64) -> Self {
        let high = high.map(|mark| mark.text().to_owned());
        Self {
            since: self.since.clone(),
            high,
            page: Some(page),
            read: Some(read),
            started: Some(started),
            ..Self::default()
        }
    }

    /// Its text; empty where there is nothing to remember.
    pub(super) fn text(&self) -> String {
        if *self == Self::default() {
            return String::new();
        }
        // Texts and a number are always JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The highest value of the runs that have come to their end.
    pub(super) fn since(&self) -> Option<Mark> {
        self.since.clone().map(Mark::read)
    }

    /// The highest value of all that has been read.
    pub(super) fn high(&self) -> Option<Mark> {
        self.high.clone().or_else(|| self.since.clone()).map(Mark::read)
    }

    pub(super) fn validators(&self) -> Validators {
        Validators { etag: self.etag.clone(), modified: self.modified.clone() }
    }

    /// The same without the page in the middle: a run from the beginning.
    pub(super) fn beginning(&self) -> Self {
        Self { high: None, page: None, read: None, started: None, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_as_it_was() {
        let began = Place::end(Some(&Mark::read("2026-03-01T00:00:00Z".into())), Validators::default());
        let middle = began.middle(Some(&Mark::read("2026-03-02T00:00:00Z".into())), "abc".into(), 40, 7);
        let again = Place::parse(Some(&middle.text())).unwrap();
        assert_eq!(again, middle);
        assert_eq!(again.beginning(), began);
        assert_eq!(again.high().unwrap().text(), "2026-03-02T00:00:00Z");
        assert_eq!(Place::default().text(), "");
        assert!(Place::parse(Some("kafka")).is_err());
    }
}
