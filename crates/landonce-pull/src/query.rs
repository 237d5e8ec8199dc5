//! A query to another database: each row a record, read at one moment, in a transaction that can't write.
//!
//! - `row` makes records, exactly; `postgres`, `mysql` and `sqlite` read, each by its database's own means; `reader` lets them run ahead;
//! - `mark` is how far a query has been read: the highest value of its growing column that has landed;
//! - `bound` are the values of a query's places. They are bound, never pasted.
//!
//! The place moves behind rows that have landed, never behind such as may still come: at the end of the fetch, or, where the rows come in
//! order, with each piece.

mod bound;
mod mark;
mod mysql;
mod postgres;
mod reader;
mod row;
mod sqlite;

use std::cmp::Ordering;
use std::path::PathBuf;
use std::time::Duration;

use landonce::Pipeline;
use landonce::environment::expand;
use landonce_core::pipeline::QueryFeed;
use sha2::{Digest as _, Sha256};

use crate::error::Error;
use crate::fetch::{Fetch, Limits, Pending, Piece};
use crate::gather::Gathered;
use bound::Bound;
use mark::Mark;
use reader::{Failure, Reader};
use row::Row;

/// How often a query is asked, as long as nothing of it has been given away.
const ATTEMPTS: u32 = 4;
/// The pause before it is asked again; each is three times the one before.
const PAUSE: Duration = Duration::from_millis(300);

/// A query that is fetched.
pub(crate) struct QueryFetch {
    feed: QueryFeed,
    place: Place,
    shown: String,
    source: String,
    max_record: u64,
    /// What the last run has left.
    landed: Option<Mark>,
    /// The highest value of the rows so far.
    highest: Option<Mark>,
    since: Option<Bound>,
    reader: Option<Reader>,
    /// The row that didn't fit the last piece.
    ahead: Option<Row>,
    count: u64,
    pieces: u64,
    is_over: bool,
    /// A fetch that has failed gives no more, and never an end.
    is_failed: bool,
}

/// Where to ask. Holds the secrets of its URL.
enum Place {
    Postgres(String),
    Mysql(String),
    Sqlite(PathBuf),
}

impl QueryFetch {
    /// What a pipeline declares.
    pub(crate) fn new(pipeline: &Pipeline, feed: &QueryFeed) -> Result<Self, Error> {
        let url = expand("source.query.url", &feed.url)?;
        let (place, shown) = if let Some(path) = url.strip_prefix("sqlite:") {
            (Place::Sqlite(pipeline.folder().join(path)), format!("sqlite:{path}"))
        } else if url.starts_with("mysql://") || url.starts_with("mariadb://") {
            let shown = mysql::place(&url)?;
            (Place::Mysql(url), shown)
        } else {
            let shown = postgres::place(&url)?;
            (Place::Postgres(url), shown)
        };
        // Another query, or another column, begins anew: what the old one passed over the new one may want.
        let mut asked = Sha256::new();
        let place_of =
            |piece: &_| format!("{{{}}}", u8::from(*piece == landonce_core::pipeline::QueryPiece::Since));
        asked.update(feed.sql(place_of));
        asked.update(feed.since.as_ref().map(|since| since.column.clone()).unwrap_or_default());
        let source = format!("query {shown}, sql {}", hex::encode(&asked.finalize()[..4]));
        Ok(Self {
            feed: feed.clone(),
            place,
            shown,
            source,
            max_record: pipeline.declared().source().max_record,
            landed: None,
            highest: None,
            since: None,
            reader: None,
            ahead: None,
            count: 0,
            pieces: 0,
            is_over: false,
            is_failed: false,
        })
    }

    fn from(&mut self, next: Option<&str>) -> Result<(), Error> {
        let Some(since) = &self.feed.since else { return Ok(()) };
        self.landed = next.map(serde_json::from_str).transpose().map_err(|_| {
            Error::Inconsistent(format!(
                "{}: the position isn't one of a query; nothing was read",
                self.shown
            ))
        })?;
        self.highest.clone_from(&self.landed);
        self.since = Some(match &self.landed {
            None => Bound::declared(&since.start),
            Some(mark) => mark
                .less(since.overlap)
                .map_err(|why| Error::Declared(format!("source.query.since.overlap: {why}")))?
                .into(),
        });
        Ok(())
    }

    fn start(&self) -> Reader {
        let (rows, reader) = Reader::new(&self.shown, self.feed.silence);
        let (feed, since) = (self.feed.clone(), self.since.clone());
        match &self.place {
            Place::Postgres(url) => drop(tokio::spawn(postgres::read(url.clone(), feed, since, rows))),
            Place::Mysql(url) => drop(tokio::spawn(mysql::read(url.clone(), feed, since, rows))),
            Place::Sqlite(path) => {
                let path = path.clone();
                drop(tokio::task::spawn_blocking(move || sqlite::read(&path, &feed, since.as_ref(), &rows)));
            }
        }
        reader
    }

    async fn row(&mut self) -> Result<Option<Row>, Failure> {
        if let Some(row) = self.ahead.take() {
            return Ok(Some(row));
        }
        if self.reader.is_none() {
            self.reader = Some(self.start());
        }
        match &mut self.reader {
            Some(reader) => reader.next().await,
            None => Ok(None),
        }
    }

    /// A piece, if all goes well; may be asked again from the beginning as long as none was given.
    async fn piece(&mut self, limits: Limits) -> Result<Option<Piece>, Failure> {
        let is_one = limits == Limits::NONE;
        let mut gathered = Gathered::with_limit(self.max_record);
        loop {
            let Some(row) = self.row().await? else {
                self.is_over = true;
                break;
            };
            if gathered.count() > 0
                && (gathered.count() >= limits.records || gathered.bytes() >= limits.bytes)
            {
                self.ahead = Some(row);
                break;
            }
            self.count += 1;
            if let Some(mark) = row.mark {
                self.pass(mark)?;
            }
            match row.text {
                Ok(text) => gathered.record(self.count, &text)?,
                Err((why, text)) => gathered.bad(self.count, &why, &text)?,
            }
        }
        if gathered.count() == 0 && !(is_one && self.pieces == 0) {
            return Ok(None);
        }
        let is_ordered = self.feed.since.as_ref().is_some_and(|since| since.is_ordered);
        let next = self.highest.as_ref().filter(|_| self.is_over || is_ordered);
        // Texts and numbers always serialise.
        let next = next.map(|mark| serde_json::to_string(mark).unwrap_or_default());
        let is_all = is_one && self.is_over;
        Ok(Some(Piece {
            payload: gathered.into_payload(&self.source)?,
            next,
            is_all: is_all.then(|| "the query was read to its end".to_owned()),
        }))
    }

    /// Takes note of a value of the growing column.
    fn pass(&mut self, mark: Mark) -> Result<(), Error> {
        let fault = |why| Error::Unreadable(format!("{}: source.query.since.column: {why}", self.shown));
        let order = self.highest.as_ref().map(|highest| mark.compare(highest)).transpose().map_err(fault)?;
        let is_ordered = self.feed.since.as_ref().is_some_and(|since| since.is_ordered);
        match order {
            // Behind an overlap the first rows are below what had landed.
            Some(Ordering::Less) if is_ordered && self.highest != self.landed => {
                Err(Error::Inconsistent(format!(
                    "{}: row {} comes out of order, and `source.query.since.ordered` says that there is one: `ORDER BY` the column, or \
                     leave `ordered` out",
                    self.shown, self.count
                )))
            }
            Some(Ordering::Less | Ordering::Equal) => Ok(()),
            Some(Ordering::Greater) | None => {
                self.highest = Some(mark);
                Ok(())
            }
        }
    }

    fn again(&mut self) {
        (self.reader, self.ahead, self.count, self.is_over) = (None, None, 0, false);
        self.highest.clone_from(&self.landed);
    }
}

impl Fetch for QueryFetch {
    fn source(&self) -> String {
        self.source.clone()
    }

    fn begin(&mut self, next: Option<&str>) -> Pending<'_, ()> {
        let begun = self.from(next);
        Box::pin(async move { begun })
    }

    fn next(&mut self, limits: Limits) -> Pending<'_, Option<Piece>> {
        Box::pin(async move {
            if self.is_failed {
                return Err(Error::Inconsistent(format!("{}: the fetch has failed before", self.shown)));
            }
            if self.is_over {
                return Ok(None);
            }
            let mut pause = PAUSE;
            for attempt in 1.. {
                match self.piece(limits).await {
                    Ok(piece) => {
                        self.pieces += 1;
                        return Ok(piece);
                    }
                    Err(failure) if failure.is_passing && self.pieces == 0 && attempt < ATTEMPTS => {
                        tracing::info!(error = %failure.error, attempt, "the query is asked again");
                        tokio::time::sleep(pause).await;
                        pause *= 3;
                        self.again();
                    }
                    Err(failure) => {
                        (self.reader, self.is_failed) = (None, true);
                        return Err(failure.error);
                    }
                }
            }
            Ok(None)
        })
    }
}
