//! The outbox: messages about changes, enqueued in the transaction of the change, delivered by workers apart from it.
//!
//! A program of your own enqueues in a transaction of its own:
//!
//! ```
//! use landonce::Store;
//! use landonce::outbox::{Notice, Which, enqueue_in};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("shop.db");
//! # let url = format!("sqlite:{}", path.display());
//! let store = Store::open(&url)?; // or postgres://…
//! store.migrate().await?; // landonce's own tables, once
//!
//! let mut connection = rusqlite::Connection::open(&path)?; // or a tokio_postgres::Client
//! connection.execute_batch("CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT)")?;
//! let notice =
//!     Notice::new("shop", "orders", r#"{"id":7}"#, "paid", r#"{"id":7,"state":"paid"}"#).kind("inserted");
//! for enqueued in [1, 0] {
//!     let mut transaction = connection.transaction()?;
//!     transaction.execute("INSERT OR REPLACE INTO orders VALUES (7, 'paid')", [])?;
//!     // The same change once more is no other message.
//!     assert_eq!(enqueue_in(&mut transaction, std::slice::from_ref(&notice)).await?, enqueued);
//!     transaction.commit()?;
//! }
//!
//! let messages = store.outbox().messages(&Which::default(), 10).await?;
//! assert_eq!(messages.len(), 1);
//! assert_eq!(messages[0].message.payload, r#"{"id":7,"state":"paid"}"#);
//! # Ok(())
//! # }
//! ```
//!
//! `landonce deliver` delivers; what it does it does by the verbs of an [`Outbox`], on either store.

mod attempts;
mod kept;
mod notice;

use std::time::Duration;

use landonce_store::outbox::Outbox as _;
use landonce_store::seam::Access;
use landonce_store::{postgres, sqlite};

pub use landonce_store::outbox::{
    Act, Depth, Entry, Fate, Lease, Leased, Message, Parcel, State, Verdict, Want, Which,
};
pub use notice::{Notice, enqueue_in};

use crate::retry::RetryPolicy;
use crate::store::Pending;
use attempts::{Attempts, patience};
use kept::Kept;

/// A store's outbox, on one connection that is kept open between calls; after it was lost the next call connects anew.
///
/// Each verb is a transaction of its own. What fails in passing (a deadlock, a busy database, a connection that was lost) is
/// tried again a few times; what fails for longer, or for good, is an error, and nothing was changed then. One exception:
/// when COMMIT's answer is lost the verb is run again, so that a [`Outbox::lease`] may leave messages leased to nobody until
/// their lease runs out, and an [`Outbox::act`] or [`Outbox::prune`] may count what its first attempt has done as not done.
///
/// A call that isn't waited for to its end may have happened or not.
#[derive(Debug)]
pub struct Outbox {
    kept: Kept,
    retry: RetryPolicy,
}

/// Runs a verb on either store's session, again when it fails in passing. `$given` are its owned arguments.
macro_rules! verb {
    ($outbox:ident, $access:expr, [$($given:ident),*], |$session:ident| $verb:expr) => {
        Box::pin(async move {
            let mut attempts = Attempts::new(&$outbox.retry);
            loop {
                let told = match &mut $outbox.kept {
                    Kept::Postgres(kept) => match kept.session().await {
                        Ok($session) => {
                            let told = $verb.await;
                            if told.is_err() {
                                kept.let_go();
                            }
                            told
                        }
                        Err(error) => Err(error),
                    },
                    Kept::Sqlite(kept) => {
                        let mut moved = kept.take();
                        $(let $given = $given.clone();)*
                        let (back, told) = crate::store::blocking(move || async move {
                            let told = match moved.session($access) {
                                Ok($session) => $verb.await,
                                Err(error) => Err(error),
                            };
                            if told.is_err() {
                                moved.let_go();
                            }
                            Ok((moved, told))
                        })
                        .await?;
                        *kept = back;
                        told
                    }
                };
                match told {
                    Ok(told) => return Ok(told),
                    Err(error) => attempts.wait_after(error).await?,
                }
            }
        })
    };
}

impl Outbox {
    pub(crate) fn on_postgres(database: postgres::Database) -> Self {
        Self { kept: Kept::Postgres(kept::Lasting::new(database)), retry: patience() }
    }

    pub(crate) fn on_sqlite(database: sqlite::Database) -> Self {
        Self { kept: Kept::Sqlite(kept::Sqlite::new(database)), retry: patience() }
    }

    /// The same outbox, with another policy for what fails in passing; five attempts within ten seconds by default.
    #[must_use]
    pub fn with_retry(self, retry: RetryPolicy) -> Self {
        Self { retry, ..self }
    }

    /// Leases messages that are due: of each lane the first, and those behind it. Nothing where there are no tables of
    /// landonce's yet.
    pub fn lease<'a>(&'a mut self, want: &'a Want<'a>) -> Pending<'a, Leased> {
        let (topics, worker) = (want.topics.to_vec(), want.worker.to_owned());
        let Want { lease, most, most_of_a_lane, behind, .. } = *want;
        verb!(self, Access::Write, [topics, worker], |session| async {
            let want = Want { topics: &topics, worker: &worker, lease, most, most_of_a_lane, behind };
            session.lease(&want).await
        })
    }

    /// Holds leases for so much longer, from now. Returns those that are lost.
    pub fn renew<'a>(&'a mut self, leases: &'a [Lease], lease: Duration) -> Pending<'a, Vec<Lease>> {
        let leases = leases.to_vec();
        verb!(self, Access::Write, [leases], |session| session.renew(&leases, lease))
    }

    /// Says what became of leased messages, all in one transaction. Returns the leases that are lost: what was said of them
    /// doesn't count.
    pub fn settle<'a>(&'a mut self, verdicts: &'a [Verdict]) -> Pending<'a, Vec<Lease>> {
        let verdicts = verdicts.to_vec();
        verb!(self, Access::Write, [verdicts], |session| session.settle(&verdicts))
    }

    /// No message of a topic is leased for so long, by anybody; an earlier, longer pause stays.
    pub fn pause<'a>(&'a mut self, topic: &'a str, lasting: Duration, reason: &'a str) -> Pending<'a, ()> {
        let (topic, reason) = (topic.to_owned(), reason.to_owned());
        verb!(self, Access::Write, [topic, reason], |session| session.pause(&topic, lasting, &reason))
    }

    /// Ends a topic's pause.
    pub fn resume<'a>(&'a mut self, topic: &'a str) -> Pending<'a, ()> {
        let topic = topic.to_owned();
        verb!(self, Access::Write, [topic], |session| session.resume(&topic))
    }

    /// How long until a message of these topics can be leased: zero when one can now, `None` when none is pending.
    pub fn next_due<'a>(&'a mut self, topics: &'a [String]) -> Pending<'a, Option<Duration>> {
        let topics = topics.to_vec();
        verb!(self, Access::ReadOnly, [topics], |session| session.next_due(&topics))
    }

    /// Messages, newest first. None where there are no tables of landonce's yet.
    pub fn messages<'a>(&'a mut self, which: &'a Which, most: usize) -> Pending<'a, Vec<Entry>> {
        let which = which.clone();
        verb!(self, Access::ReadOnly, [which], |session| session.messages(&which, most))
    }

    /// Does something with messages; returns how many it was done with.
    pub fn act<'a>(&'a mut self, which: &'a Which, act: Act) -> Pending<'a, u64> {
        let which = which.clone();
        verb!(self, Access::Write, [which], |session| session.act(&which, act))
    }

    /// The figures of every topic that has pending or dead messages, or pauses, by name. None where there are no tables of
    /// landonce's yet.
    pub fn depth(&mut self) -> Pending<'_, Vec<Depth>> {
        verb!(self, Access::ReadOnly, [], |session| session.depth())
    }

    /// Deletes messages that were sent or discarded so long ago, the oldest first, at most so many; returns how many. What is
    /// deleted is forgotten: the same change would be told again.
    pub fn prune(&mut self, older_than: Duration, most: u32) -> Pending<'_, u64> {
        verb!(self, Access::Write, [], |session| session.prune(older_than, most))
    }
}
