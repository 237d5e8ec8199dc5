//! One reading of a feed, page by page, from its beginning or from a page in the middle to a proved end.

use std::collections::HashSet;

use landonce::decode::Format;
use landonce_core::pipeline::http::{CursorFrom, Http, Page as Paging, Path};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::address::set;
use super::ask::{Answer, Asker, Validators};
use super::body::{Sink, is_delimited};
use super::envelope::{self, Found};
use super::link;
use super::mark::Mark;
use super::records::Framed;
use crate::error::Error;

/// One reading.
pub(super) struct Reading {
    next: Url,
    /// How that page is asked for when it is asked for later; `None` where it can't be.
    resume: Option<String>,
    number: u64,
    read: u64,
    pages: u64,
    /// What the first page said, and the last.
    totals: Option<(u64, u64)>,
    asked: HashSet<[u8; 32]>,
    last: Option<[u8; 32]>,
    /// Every record of pages that are found by counting, where all of them are one payload.
    rows: Option<HashSet<[u8; 16]>>,
    repeats: u64,
}

/// A page.
pub(super) struct Page {
    pub(super) records: Framed,
    /// The highest value of `since.field` on it.
    pub(super) high: Option<Mark>,
    /// How it can be asked for again later.
    pub(super) resume: Option<String>,
    /// How many records were before it.
    pub(super) before: u64,
    /// How it is known to be the last one.
    pub(super) end: Option<String>,
    /// What the next conditional request is about.
    pub(super) validators: Validators,
}

/// What a reading that has come to its end is worth.
pub(super) enum Verdict {
    /// All there is; how that is known beyond the end, if anything says so.
    Sound(Option<String>),
    /// The pages don't fit together: rows came or went while they were read.
    Shifted(String),
}

/// Where the next page is.
enum Next {
    Page(Url, Option<String>),
    End(String),
}

impl Reading {
    /// From the first page, or from the one that `resume` names.
    pub(super) fn new(
        asker: &Asker,
        http: &Http,
        since: Option<&str>,
        resume: Option<(&str, u64)>,
    ) -> Result<Self, Error> {
        let mut url = asker.address.url.clone();
        let mut number = 0;
        match &http.page {
            Paging::Number { param, start, size, .. } => {
                if let Some(size) = size {
                    set(&mut url, &size.param, &size.value.to_string());
                }
                number = *start;
                set(&mut url, param, &number.to_string());
            }
            Paging::Offset { param, limit } => {
                if let Some(limit) = limit {
                    set(&mut url, &limit.param, &limit.value.to_string());
                }
                set(&mut url, param, "0");
            }
            Paging::One | Paging::Cursor { .. } | Paging::Header(_) | Paging::Link(_) => {}
        }
        if let (Some(since), Some(text)) = (&http.since, since) {
            set(&mut url, &since.param, text);
        }
        let mut reading = Self {
            next: url,
            resume: None,
            number,
            read: 0,
            pages: 0,
            totals: None,
            asked: HashSet::new(),
            last: None,
            rows: None,
            repeats: 0,
        };
        if let Some((at, read)) = resume {
            if let Paging::Cursor { param, .. } = &http.page {
                set(&mut reading.next, param, at);
            } else {
                let next = asker.address.joined(&asker.address.url, at);
                let next = next.filter(|next| asker.address.is_ours(next));
                reading.next =
                    next.ok_or_else(|| Error::Declared(format!("the position `{at}` is no page")))?;
            }
            reading.resume = Some(at.to_owned());
            reading.read = read;
        }
        Ok(reading)
    }

    /// Looks for records that come on two pages.
    pub(super) fn watching_repeats(mut self) -> Self {
        self.rows = Some(HashSet::new());
        self
    }

    /// How many pages there have been.
    pub(super) const fn pages(&self) -> u64 {
        self.pages
    }

    /// The next page; `None` when it is as it was at the time of `validators`.
    pub(super) async fn page(
        &mut self,
        asker: &mut Asker,
        http: &Http,
        (format, limit): (&Format, u32),
        validators: &Validators,
        first: u64,
    ) -> Result<Option<Page>, Error> {
        let shown = asker.shown(&self.next);
        if self.pages >= http.max_pages {
            return Err(Error::Inconsistent(format!(
                "{shown}: {} pages have been read, and there is still another; allow more (`max_pages`) if that is right",
                self.pages
            )));
        }
        if !self.asked.insert(Sha256::digest(self.next.as_str()).into()) {
            return Err(Error::Inconsistent(format!(
                "{shown}: page {} leads to a page that has been read before: the pages go round in a circle",
                self.pages
            )));
        }
        let mut sink = Sink::Memory(Vec::new(), http.max_page);
        let answer = asker.ask(&self.next, validators, &mut sink).await?;
        let Sink::Memory(body, _) = sink else { return Ok(None) };
        if answer.is_unchanged {
            return Ok(None);
        }
        let unreadable = |told: &str| Error::Unreadable(format!("{shown}: {told}"));
        let beginning =
            |told: &str| unreadable(&format!("{told}; it begins `{}`", asker.veil.beginning(&body)));
        let json = match format {
            Format::Json | Format::GeoJson => envelope::whole(&body)
                .map_err(|told| if body.is_empty() { unreadable(told) } else { beginning(told) })?,
            _ if body.trim_ascii().is_empty() => return Err(unreadable("its body is empty")),
            _ if !is_delimited(&answer.headers) => {
                return Err(unreadable(
                    "the answer has no length, so that a cut body can't be told from a whole one",
                ));
            }
            _ => &[],
        };
        let list = match (&http.records, format) {
            (Some(path), Format::Json) => match envelope::find(json, path) {
                Found::Value(list) => list,
                Found::Absent | Found::Lost(_) => {
                    return Err(beginning(&format!("its body has no `{path}`")));
                }
            },
            (None, Format::Json) => json,
            _ => body.as_slice(),
        };
        if *format == Format::Json && !list.starts_with(b"[") {
            let place =
                http.records.as_ref().map_or_else(|| "its body".to_owned(), |path| format!("`{path}`"));
            return Err(beginning(&format!("{place} is no list of records")));
        }
        let records = Framed::of(list, format, limit).map_err(|error| unreadable(&error.to_string()))?;
        self.pages += 1;
        self.note_repeats(&records, &shown)?;
        let before = self.read;
        self.read += records.count();
        if let Some(path) = &http.total {
            let total =
                number(json, path).ok_or_else(|| beginning(&format!("`{path}` is no number of records")))?;
            self.totals = Some((self.totals.map_or(total, |(first, _)| first), total));
        }
        let high = match &http.since {
            Some(since) => records.highest(&since.field, first).map_err(|told| unreadable(&told))?,
            None => None,
        };
        let next = self.next_of(asker, http, &answer, json, &records).map_err(|told| match told {
            Told::Unreadable(told) => beginning(&told),
            Told::Inconsistent(told) => Error::Inconsistent(format!("{shown}: {told}")),
            Told::Refused(told) => Error::Refused(format!("{shown}: {told}")),
        })?;
        let resume = self.resume.take();
        let end = match next {
            Next::Page(url, resume) => {
                (self.next, self.resume) = (url, resume);
                None
            }
            Next::End(how) => Some(how),
        };
        Ok(Some(Page { records, high, resume, before, end, validators: validators_of(&answer) }))
    }

    /// What it is worth, at its end.
    pub(super) fn verdict(&self, http: &Http) -> Verdict {
        if let (Some(path), Some((first, last))) = (&http.total, self.totals) {
            if first != last {
                return Verdict::Shifted(format!(
                    "`{path}` went from {first} to {last} while the pages were read"
                ));
            }
            if last != self.read {
                return Verdict::Shifted(format!(
                    "`{path}` says {last} records, and {} were read",
                    self.read
                ));
            }
            if self.repeats > 0 {
                return Verdict::Shifted(self.repeated());
            }
            return Verdict::Sound(Some(format!("`{path}` says {last} records, and so many were read")));
        }
        match self.repeats {
            0 => Verdict::Sound(None),
            _ => Verdict::Shifted(self.repeated()),
        }
    }

    fn repeated(&self) -> String {
        format!("{} of the records came twice", self.repeats)
    }

    fn note_repeats(&mut self, records: &Framed, shown: &str) -> Result<(), Error> {
        if records.count() == 0 {
            return Ok(());
        }
        let digest = records.digest();
        if self.last.replace(digest) == Some(digest) {
            return Err(Error::Inconsistent(format!(
                "{shown}: page {} has the same records as the one before; is the page's parameter named rightly?",
                self.pages
            )));
        }
        if let Some(rows) = &mut self.rows {
            self.repeats += records.digests().filter(|digest| !rows.insert(*digest)).count() as u64;
        }
        Ok(())
    }

    fn next_of(
        &mut self,
        asker: &Asker,
        http: &Http,
        answer: &Answer,
        json: &[u8],
        records: &Framed,
    ) -> Result<Next, Told> {
        let counted = |reading: &Self, param: &str, value: u64| {
            let mut url = reading.next.clone();
            set(&mut url, param, &value.to_string());
            Next::Page(url, None)
        };
        let is_all = self.totals.is_some_and(|(_, total)| self.read >= total);
        Ok(match &http.page {
            Paging::One => Next::End("the answer was read to its end".to_owned()),
            Paging::Cursor { param, from, more } => {
                let has_more = more.as_ref().map(|path| is_true(json, path)).transpose()?;
                let cursor = match from {
                    CursorFrom::Body(path) => named(json, path)?,
                    CursorFrom::Record(field) => records.last(field),
                };
                match (has_more, cursor, more) {
                    (Some(false), _, Some(more)) => Next::End(format!("`{more}` is false")),
                    (Some(true), None, _) => {
                        return Err(Told::Unreadable(
                            "it says that there are more pages, and names no cursor".into(),
                        ));
                    }
                    (_, None, _) => Next::End("it names no further page".to_owned()),
                    (_, Some(cursor), _) => {
                        let mut url = self.next.clone();
                        set(&mut url, param, &cursor);
                        Next::Page(url, Some(cursor).filter(|cursor| !asker.veil.hides(cursor)))
                    }
                }
            }
            Paging::Header(relation) => linked(asker, answer, link::target(&answer.headers, relation))?,
            Paging::Link(path) => linked(asker, answer, named(json, path)?)?,
            Paging::Number { param, start, pages, .. } => {
                let count = match pages {
                    Some(path) => Some(
                        number(json, path)
                            .ok_or_else(|| Told::Unreadable(format!("`{path}` is no number of pages")))?,
                    ),
                    None => None,
                };
                match count {
                    Some(count) if self.number - start + 1 >= count => {
                        Next::End(format!("page {} of {count} was read", self.number - start + 1))
                    }
                    _ if is_all => Next::End("as many records were read as there are".to_owned()),
                    None if records.count() == 0 => {
                        Next::End("the page behind the last one is empty".to_owned())
                    }
                    _ => {
                        self.number += 1;
                        counted(self, param, self.number)
                    }
                }
            }
            Paging::Offset { .. } if is_all => Next::End("as many records were read as there are".to_owned()),
            Paging::Offset { .. } if records.count() == 0 => {
                Next::End("the page behind the last one is empty".to_owned())
            }
            Paging::Offset { param, .. } => counted(self, param, self.read),
        })
    }
}

/// What is wrong with an answer.
enum Told {
    Unreadable(String),
    Inconsistent(String),
    Refused(String),
}

fn linked(asker: &Asker, answer: &Answer, target: Option<String>) -> Result<Next, Told> {
    let Some(target) = target else { return Ok(Next::End("it names no further page".to_owned())) };
    let told = asker.veil.clean(target.split('?').next().unwrap_or_default());
    let Some(url) = asker.address.joined(&answer.url, &target) else {
        return Err(Told::Inconsistent(format!("the next page's address `{told}` is none")));
    };
    if !asker.address.is_ours(&url) {
        return Err(Told::Refused(format!(
            "the next page is at another place, {told}: it isn't followed, since the credentials would go there"
        )));
    }
    let resume = Some(url.as_str().to_owned()).filter(|url| !asker.veil.hides(url));
    Ok(Next::Page(url, resume))
}

/// The text of a cursor or an address; `None` where the body says that there is none.
fn named(json: &[u8], path: &Path) -> Result<Option<String>, Told> {
    match envelope::find(json, path) {
        Found::Value(b"null") | Found::Absent => Ok(None),
        Found::Value(value) => match envelope::text(value) {
            Some(text) => Ok(Some(text).filter(|text| !text.is_empty())),
            None => Err(Told::Unreadable(format!("`{path}` is neither a text nor null"))),
        },
        Found::Lost(_) => Err(Told::Unreadable(format!("its body has no place for `{path}`"))),
    }
}

fn is_true(json: &[u8], path: &Path) -> Result<bool, Told> {
    match envelope::find(json, path) {
        Found::Value(b"true") => Ok(true),
        Found::Value(b"false") => Ok(false),
        _ => Err(Told::Unreadable(format!("`{path}` is neither true nor false"))),
    }
}

fn number(json: &[u8], path: &Path) -> Option<u64> {
    match envelope::find(json, path) {
        Found::Value(value) => envelope::text(value)?.parse().ok(),
        Found::Absent | Found::Lost(_) => None,
    }
}

pub(super) fn validators_of(answer: &Answer) -> Validators {
    let header = |name: hyper::header::HeaderName| {
        let value = answer.headers.get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    Validators { etag: header(hyper::header::ETAG), modified: header(hyper::header::LAST_MODIFIED) }
}
