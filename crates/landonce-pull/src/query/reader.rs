//! Rows on their way: read by a task of their own (or a thread, for SQLite), a few ahead, so that memory stays bounded and a
//! database is heard while a piece lands.

use std::time::Duration;

use tokio::sync::mpsc;

use super::row::Row;
use crate::error::Error;

/// How many rows are read ahead.
const AHEAD: usize = 64;

/// Why rows stopped.
#[derive(Debug)]
pub(super) struct Failure {
    /// What to tell.
    pub(super) error: Error,
    /// Asking again may help.
    pub(super) is_passing: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let is_passing = matches!(error, Error::Away(_));
        Self { error, is_passing }
    }
}

/// Where a database puts its rows; `None` says that there are no more.
pub(super) type Rows = mpsc::Sender<Result<Option<Row>, Failure>>;

/// Rows being read. Dropping it ends the reading.
#[derive(Debug)]
pub(super) struct Reader {
    rows: mpsc::Receiver<Result<Option<Row>, Failure>>,
    silence: Duration,
    place: String,
}

impl Reader {
    /// A reader, and where its rows are to be put. `silence` is the longest wait for one.
    pub(super) fn new(place: &str, silence: Duration) -> (Rows, Self) {
        let (to, rows) = mpsc::channel(AHEAD);
        (to, Self { rows, silence, place: place.to_owned() })
    }

    /// The next row; `None` behind the last one.
    pub(super) async fn next(&mut self) -> Result<Option<Row>, Failure> {
        match tokio::time::timeout(self.silence, self.rows.recv()).await {
            Ok(Some(row)) => row,
            Ok(None) => Err(Error::Away(format!("{}: the reading broke off", self.place)).into()),
            // Asked again, it would be as silent for as long.
            Err(_) => Err(Failure {
                error: Error::Away(format!(
                    "{}: no row within {} s (`source.query.timeout`)",
                    self.place,
                    self.silence.as_secs_f32()
                )),
                is_passing: false,
            }),
        }
    }
}
