//! How one page leads to the next, as it is meant.

use super::path::Path;
use crate::pipeline::check::{Checked, fault};
use crate::spec::{CursorSpec, LinkSpec, PageSizeSpec, PageSpec};

/// How one page leads to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// It doesn't: one answer is all there is.
    One,
    /// By a cursor that the next request gives back.
    Cursor {
        /// The parameter that takes it.
        param: String,
        /// Where it comes from.
        from: CursorFrom,
        /// Where the body says whether there are more pages.
        more: Option<Path>,
    },
    /// By the address in the `Link` header under this relation.
    Header(String),
    /// By the address in the body.
    Link(Path),
    /// By its number.
    Number {
        /// The parameter that takes it.
        param: String,
        /// The first page's.
        start: u64,
        /// How many records a page is to have.
        size: Option<Size>,
        /// Where the body says how many pages there are.
        pages: Option<Path>,
    },
    /// By the number of records before it.
    Offset {
        /// The parameter that takes it.
        param: String,
        /// How many records a page is to have.
        limit: Option<Size>,
    },
}

/// Where a cursor comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CursorFrom {
    /// The body.
    Body(Path),
    /// The page's last record.
    Record(Path),
}

/// How many records a page is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    /// The parameter that takes it.
    pub param: String,
    /// The number.
    pub value: u64,
}

impl Page {
    pub(super) fn resolve(spec: Option<&PageSpec>) -> Checked<Self> {
        let Some(spec) = spec else { return Ok(Self::One) };
        let mut found = Vec::new();
        if let Some(spec) = &spec.cursor {
            found.push(cursor(spec)?);
        }
        match &spec.link {
            Some(LinkSpec::Relation(relation)) => {
                found.push(Self::Header(named("source.http.page.link", relation)?));
            }
            Some(LinkSpec::Map(map)) => {
                found.push(Self::Link(Path::parse("source.http.page.link.from", &map.from)?));
            }
            None => {}
        }
        if let Some(spec) = &spec.number {
            found.push(Self::Number {
                param: named("source.http.page.number.param", &spec.param)?,
                start: spec.start.unwrap_or(1),
                size: spec
                    .size
                    .as_ref()
                    .map(|spec| size("source.http.page.number.size", spec))
                    .transpose()?,
                pages: spec
                    .pages
                    .as_deref()
                    .map(|text| Path::parse("source.http.page.number.pages", text))
                    .transpose()?,
            });
        }
        if let Some(spec) = &spec.offset {
            found.push(Self::Offset {
                param: named("source.http.page.offset.param", &spec.param)?,
                limit: spec
                    .limit
                    .as_ref()
                    .map(|spec| size("source.http.page.offset.limit", spec))
                    .transpose()?,
            });
        }
        match (found.pop(), found.is_empty()) {
            (Some(page), true) => Ok(page),
            _ => fault("source.http.page", "one of `cursor`, `link`, `number` and `offset` is due"),
        }
    }

    /// A page is found by counting: rows that come or go meanwhile move the others from page to page.
    pub const fn is_counted(&self) -> bool {
        matches!(self, Self::Number { .. } | Self::Offset { .. })
    }
}

fn cursor(spec: &CursorSpec) -> Checked<Page> {
    let param = named("source.http.page.cursor.param", &spec.param)?;
    let path = |key, text: &Option<String>| text.as_deref().map(|text| Path::parse(key, text)).transpose();
    let more = path("source.http.page.cursor.more", &spec.more)?;
    let from = path("source.http.page.cursor.from", &spec.from)?;
    let record = path("source.http.page.cursor.record", &spec.record)?;
    let from = match (from, record) {
        (Some(from), None) => CursorFrom::Body(from),
        (None, Some(_)) if more.is_none() => {
            return fault(
                "source.http.page.cursor",
                "`record` goes with `more`: every page has a last record, so it can't tell which page is the last",
            );
        }
        (None, Some(record)) => CursorFrom::Record(record),
        _ => {
            return fault(
                "source.http.page.cursor",
                "one of `from` (where the body has the cursor) and `record` (the last record's field) is due",
            );
        }
    };
    Ok(Page::Cursor { param, from, more })
}

fn size(key: &'static str, spec: &PageSizeSpec) -> Checked<Size> {
    if spec.value == 0 {
        return fault(key, "a page has at least one record: a number of 1 or more is due");
    }
    Ok(Size { param: named(key, &spec.param)?, value: spec.value })
}

fn named(key: &'static str, text: &str) -> Checked<String> {
    if text.trim().is_empty() {
        return fault(key, "is empty; a name is due");
    }
    Ok(text.trim().to_owned())
}
