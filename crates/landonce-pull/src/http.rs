//! An HTTP API, read with GET, page by page.

mod address;
mod ask;
mod body;
mod client;
mod envelope;
mod link;
mod mark;
mod pause;
mod place;
mod reading;
mod records;
mod veil;

use std::cmp::Ordering;
use std::time::SystemTime;

use landonce::Pipeline;
use landonce::decode::Format;
use landonce_core::pipeline::http::Http;
use landonce_core::spec::FormatSpec;

use self::address::Address;
use self::ask::{Asker, Validators};
use self::body::{Sink, is_delimited};
use self::mark::Mark;
use self::place::Place;
use self::reading::{Page, Reading, Verdict, validators_of};
use self::records::higher;
use self::veil::Veil;
use crate::error::Error;
use crate::fetch::{Fetch, Limits, Pending, Piece};
use crate::gather::{Gathered, spooling};
use crate::spool::Spool;

/// How often a feed is read from its beginning when rows come and go meanwhile.
const READINGS: u32 = 3;

/// A feed over HTTP.
pub(crate) struct HttpFetch {
    http: Http,
    asker: Asker,
    format: Format,
    record_limit: u32,
    is_of_period: bool,
    keeps_repeats: bool,
    began: Place,
    at: At,
}

/// What becomes of a reading at its end.
enum Ended {
    /// It is the end of the fetch, with a last piece if there is anything to land.
    With(Option<Piece>),
    /// The pages have moved meanwhile: it begins anew.
    Again,
}

/// How far the fetch is.
struct At {
    reading: Option<Reading>,
    readings: u32,
    gathered: Gathered,
    /// A page that didn't fit into the last piece.
    pending: Option<Page>,
    /// The highest value of `since.field` so far.
    high: Option<Mark>,
    /// When the run began, in microseconds since 1970 in UTC: that in which its first page was read.
    started: i64,
    /// How many records have been read in this run.
    records: u64,
    first_page: u64,
    is_done: bool,
}

impl HttpFetch {
    /// What a pipeline declares.
    pub(crate) fn new(http: &Http, pipeline: &Pipeline) -> Result<Self, Error> {
        let mut veil = Veil::default();
        let address = Address::new(http, &mut veil)?;
        let (headers, own_headers) = client::headers(http, &mut veil)?;
        let declared = pipeline.declared();
        let source = declared.source();
        let record_limit = u32::try_from(source.max_record).unwrap_or(u32::MAX - 1);
        Ok(Self {
            asker: Asker {
                client: client::client(http, pipeline.folder())?,
                address,
                veil,
                headers,
                own_headers,
                redirects: http.redirects,
                timeout: http.timeout,
                deadline: http.deadline,
                retry: http.retry,
                pace: http.pace,
                next_at: None,
            },
            http: http.clone(),
            format: match source.format {
                Some(FormatSpec::Ndjson) => Format::Ndjson,
                Some(FormatSpec::Geojson) => Format::GeoJson,
                Some(FormatSpec::Csv) => Format::Csv(landonce::decode::CsvOptions::default()),
                // `source.http` refuses Parquet, as it is declared.
                Some(FormatSpec::Json | FormatSpec::Parquet) | None => Format::Json,
            },
            record_limit,
            is_of_period: declared.period().is_some(),
            keeps_repeats: declared.identity().keeps_repeats,
            began: Place::default(),
            at: At::new(record_limit),
        })
    }

    async fn piece(&mut self, limits: Limits) -> Result<Option<Piece>, Error> {
        if self.at.is_done {
            return Ok(None);
        }
        if self.http.is_one_body() {
            self.at.is_done = true;
            return self.one_body().await;
        }
        let is_whole = limits == Limits::NONE;
        if self.at.reading.is_none() {
            self.at.reading = Some(self.reading(is_whole)?);
        }
        loop {
            let page = match self.at.pending.take() {
                Some(page) => page,
                None => match self.page(is_whole).await? {
                    Some(page) => page,
                    None => return Ok(None),
                },
            };
            let gathered = &self.at.gathered;
            let is_full = gathered.count() + page.records.count() > limits.records
                || gathered.bytes().saturating_add(page.records.bytes()) > limits.bytes;
            if is_full && gathered.count() > 0 {
                let place = page.resume.clone().map(|resume| {
                    self.began.middle(self.at.high.as_ref(), resume, page.before, self.at.started)
                });
                self.at.pending = Some(page);
                return self.give(place.map(|place| place.text()), None).map(Some);
            }
            page.records.add_to(&mut self.at.gathered, self.at.records + 1)?;
            self.at.records += page.records.count();
            self.at.high = higher(self.at.high.take(), page.high).map_err(Error::Unreadable)?;
            let Some(how) = page.end else { continue };
            if let Ended::With(piece) = self.end(how, page.validators, is_whole)? {
                return Ok(piece);
            }
        }
    }

    /// Asks for the next page. A page in the middle that the source doesn't know any more is no failure: the reading begins anew.
    async fn page(&mut self, is_whole: bool) -> Result<Option<Page>, Error> {
        let validators = if self.is_conditional() { self.began.validators() } else { Validators::default() };
        loop {
            let Some(mut reading) = self.at.reading.take() else { return Ok(None) };
            let is_resumed = self.began.page.is_some() && reading.pages() == 0 && self.at.readings == 1;
            let framing = (&self.format, self.record_limit);
            let first = self.at.records + 1;
            let asked = reading.page(&mut self.asker, &self.http, framing, &validators, first).await;
            match asked {
                Err(Error::Refused(told)) if is_resumed => {
                    tracing::info!(told, "the page to go on at is gone; reading from the beginning");
                    self.began = self.began.beginning();
                    self.at.high = self.began.since();
                    self.at.readings = 0;
                    self.at.reading = Some(self.reading(is_whole)?);
                }
                asked => {
                    self.at.reading = Some(reading);
                    return asked;
                }
            }
        }
    }

    /// A reading from the page that the position names, or from the first one.
    fn reading(&mut self, is_whole: bool) -> Result<Reading, Error> {
        self.at.readings += 1;
        let since = match &self.http.since {
            None => None,
            Some(since) => match self.began.since() {
                Some(mark) => Some(
                    mark.less(since.overlap)
                        .map_err(|told| Error::Declared(format!("source.http.since: {told}")))?,
                ),
                None => since.start.clone(),
            },
        };
        let resume = self.began.page.as_deref().filter(|_| self.at.readings == 1);
        let resume = resume.map(|page| (page, self.began.read.unwrap_or_default()));
        let reading = Reading::new(&self.asker, &self.http, since.as_deref(), resume)?;
        let is_watching = is_whole && self.http.page.is_counted() && !self.keeps_repeats;
        Ok(if is_watching { reading.watching_repeats() } else { reading })
    }

    /// The end of a reading.
    fn end(&mut self, how: String, validators: Validators, is_whole: bool) -> Result<Ended, Error> {
        let Some(reading) = &self.at.reading else { return Ok(Ended::With(None)) };
        let proof = match reading.verdict(&self.http) {
            Verdict::Sound(proof) => proof,
            Verdict::Shifted(told) if self.at.readings < READINGS => {
                tracing::info!(told, "the pages have moved; reading again from the beginning");
                if is_whole {
                    self.at.gathered = self.gathered();
                    self.at.records = 0;
                }
                self.at.reading = Some(self.reading(is_whole)?);
                return Ok(Ended::Again);
            }
            Verdict::Shifted(told) => {
                return Err(Error::Inconsistent(format!(
                    "{}: {told}, also when it was read again ({READINGS} times)",
                    self.source()
                )));
            }
        };
        if let Some(since) = &self.http.since
            && self.at.high.is_none()
            && self.at.records > 0
        {
            return Err(Error::Unreadable(format!(
                "{}: none of {} records has a `{}` (`since.field`)",
                self.source(),
                self.at.records,
                since.field
            )));
        }
        self.at.is_done = true;
        let validators = if self.is_conditional() { validators } else { Validators::default() };
        let since = self.http.since.as_ref().and_then(|_| self.since());
        let place = Place::end(since.as_ref(), validators);
        if self.at.gathered.count() == 0 && !is_whole && place == self.began {
            return Ok(Ended::With(None));
        }
        let is_all = match proof {
            Some(proof) => format!("{how}, and {proof}"),
            None => how,
        };
        self.give(Some(place.text()), Some(is_all).filter(|_| is_whole)).map(|piece| Ended::With(Some(piece)))
    }

    /// What the next run asks from: the highest value, but no time behind the beginning of this run. What was changed while it read may
    /// have gone by it, and a record's time may be wrong. It never goes back.
    fn since(&self) -> Option<Mark> {
        let capped = self.at.high.as_ref()?.no_later_than(self.at.started);
        let before = self.began.since();
        before.filter(|before| before.compare(&capped) == Some(Ordering::Greater)).or(Some(capped))
    }

    /// The piece of what is gathered.
    fn give(&mut self, next: Option<String>, is_all: Option<String>) -> Result<Piece, Error> {
        let pages = self.at.reading.as_ref().map_or(0, Reading::pages);
        let last = pages - u64::from(self.at.pending.is_some());
        let first = std::mem::replace(&mut self.at.first_page, last + 1).min(last);
        let name = match (first, last) {
            (1, 1) if is_all.is_some() || self.at.is_done => self.shown(),
            (first, last) if first == last => format!("{} (page {last})", self.shown()),
            (first, last) => format!("{} (pages {first} to {last})", self.shown()),
        };
        let empty = self.gathered();
        let gathered = std::mem::replace(&mut self.at.gathered, empty);
        Ok(Piece { payload: gathered.into_payload(&name)?, next, is_all })
    }

    /// All there is in one answer, of any length.
    async fn one_body(&mut self) -> Result<Option<Piece>, Error> {
        let url = self.asker.address.url.clone();
        let validators = if self.is_conditional() { self.began.validators() } else { Validators::default() };
        let mut sink = Sink::File(Spool::new().map_err(|error| spooling(&error))?);
        let answer = self.asker.ask(&url, &validators, &mut sink).await?;
        let Sink::File(spool) = sink else { return Ok(None) };
        if answer.is_unchanged {
            return Ok(None);
        }
        let unreadable = |told: &str| Error::Unreadable(format!("{}: {told}", self.asker.shown(&url)));
        if spool.len() == 0 {
            return Err(unreadable("its body is empty"));
        }
        if !is_delimited(&answer.headers) && !matches!(self.format, Format::Json | Format::GeoJson) {
            return Err(unreadable(
                "the answer has no length, so that a cut body can't be told from a whole one",
            ));
        }
        let payload = spool.into_payload(self.shown())?;
        let head = payload.first_bytes().map_err(|error| unreadable(&error.to_string()))?;
        let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).trim_ascii_start();
        if self.format == Format::Json && !start.starts_with(b"[") {
            let told =
                format!("its body is no list of records; it begins `{}`", self.asker.veil.beginning(&head));
            return Err(unreadable(&told));
        }
        if start.is_empty() || start.starts_with(b"<") {
            let told =
                format!("its body isn't what was declared; it begins `{}`", self.asker.veil.beginning(&head));
            return Err(unreadable(&told));
        }
        let validators = if self.is_conditional() { validators_of(&answer) } else { Validators::default() };
        let next = Place::end(None, validators).text();
        Ok(Some(Piece {
            payload,
            next: Some(next),
            is_all: Some("the answer was read to its end".to_owned()),
        }))
    }

    /// The one answer may be as it was: a period's is asked for anyway, since its ledger wants to know.
    fn is_conditional(&self) -> bool {
        self.http.page == landonce_core::pipeline::http::Page::One
            && self.http.since.is_none()
            && !self.is_of_period
    }

    fn gathered(&self) -> Gathered {
        Gathered::with_limit(u64::from(self.record_limit))
    }

    /// The address without its parameters.
    fn shown(&self) -> String {
        let name = self.asker.address.name();
        name.split('?').next().unwrap_or(name).to_owned()
    }
}

/// In microseconds since 1970 in UTC.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl At {
    fn new(limit: u32) -> Self {
        Self {
            reading: None,
            readings: 0,
            gathered: Gathered::with_limit(u64::from(limit)),
            pending: None,
            high: None,
            started: now(),
            records: 0,
            first_page: 1,
            is_done: false,
        }
    }
}

impl Fetch for HttpFetch {
    fn source(&self) -> String {
        format!("http {}", self.asker.address.name())
    }

    fn begin(&mut self, next: Option<&str>) -> Pending<'_, ()> {
        let began = Place::parse(next);
        Box::pin(async move {
            self.began = began?;
            self.at = At::new(self.record_limit);
            self.at.high = self.began.high();
            self.at.started = self.began.started.unwrap_or(self.at.started);
            Ok(())
        })
    }

    fn next(&mut self, limits: Limits) -> Pending<'_, Option<Piece>> {
        Box::pin(self.piece(limits))
    }
}
