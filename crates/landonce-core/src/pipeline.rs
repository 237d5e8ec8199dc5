//! A pipeline as it is meant: resolved, checked as a whole, nothing left to re-check.

mod apply;
mod archive;
mod check;
mod command;
mod complete;
mod derive;
mod feed;
mod hook;
pub mod http;
mod kafka;
mod nats;
mod notify;
mod query;
mod shape;
mod whole;

pub use apply::{Apply, ApplyPiece};
pub use archive::Archive;

use crate::canonical::Exclusions;
use crate::column::Type;
use crate::period::Period;
use crate::plan::{Absent, KeyForm, TableName, WriteMode};
pub use whole::fits;
pub use whole::{AbsentRow, PeriodOf, Plausible, SnapshotOf, Whole};

use crate::spec::{FormatSpec, ManagedSpec, Normalize, Spec};

pub use command::CommandFeed;
pub use complete::{Proof, SideFile};
pub use derive::{Base, Derived, Part, QUARTER, Query};
pub use feed::{Cut, Feed};
pub use hook::{Added, AddedFrom, EventId, Hook, NoEvent, NoSecret, Taken};
pub use kafka::Kafka;
pub use nats::{Nats, NatsAuth};
pub use notify::{Notify, Order, Piece, Reference, Template};
pub use query::{Overlap, QueryFeed, QueryPiece, Since};
pub use shape::{Codec, MARKER, Message, RegistryAt, Shape, Shaped};

/// A declared pipeline.
#[derive(Debug, Clone)]
pub struct Pipeline {
    pub(crate) name: String,
    pub(crate) source: Source,
    pub(crate) identity: Identity,
    pub(crate) volatile: Vec<String>,
    pub(crate) target: Target,
    pub(crate) write: Write,
    pub(crate) on_bad: OnBad,
    /// Each behind what it is computed from.
    pub(crate) derived: Vec<Derived>,
    /// The period of this run, once it is given.
    pub(crate) period: Option<Period>,
    pub(crate) archive: Option<Archive>,
    pub(crate) notify: Vec<Notify>,
    pub(crate) hook: Option<Hook>,
    pub(crate) apply: Vec<Apply>,
}

/// What a pipeline reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// A file or a glob.
    pub file: Option<String>,
    /// The format, if declared.
    pub format: Option<FormatSpec>,
    /// The CSV delimiter, if declared.
    pub delimiter: Option<u8>,
    /// CSV column names for files without a header.
    pub header: Option<Vec<String>>,
    /// CSV texts that mean null.
    pub nulls: Vec<String>,
    /// The longest record, in bytes.
    pub max_record: u64,
    /// What proves that a payload is complete, all of it; empty when nothing is declared.
    pub complete: Vec<Proof>,
    /// What is read, where it isn't files.
    pub feed: Feed,
    /// With a stream or a fetch: where a batch ends.
    pub cut: Cut,
    /// With a stream: how messages become records.
    pub shape: Shape,
}

/// What makes two records the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Where it comes from.
    pub from: IdentityFrom,
    /// The key's form, if declared.
    pub form: Option<DeclaredForm>,
    /// What is done to text fields first, in order.
    pub normalize: Vec<Normalize>,
    /// Null and absent are values.
    pub null_is_value: bool,
    /// Texts that stand for no identity.
    pub nulls: Vec<String>,
    /// A record that comes again in one payload is one more row.
    pub keeps_repeats: bool,
}

/// Where an identity comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityFrom {
    /// Named fields, in order; with a separator, the plain SHA-256 of their joined texts.
    Fields {
        /// The fields.
        names: Vec<String>,
        /// The separator.
        joined: Option<String>,
    },
    /// The sender's id.
    SenderId(String),
    /// The content: all fields (`None`) or some, less the volatile ones.
    Content(Option<Vec<String>>),
}

/// The key's form as declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclaredForm {
    /// A hashed key in its own column.
    Key(KeyForm),
    /// The natural key's own columns.
    Columns,
}

/// Where records go.
#[derive(Debug, Clone)]
pub struct Target {
    /// The table.
    pub table: TableName,
    /// The declared columns.
    pub columns: Vec<DeclaredColumn>,
    /// What becomes of fields without a column.
    pub rest: Rest,
    /// The names of the columns that landonce fills.
    pub managed: ManagedSpec,
}

/// A declared column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredColumn {
    /// Its name.
    pub name: String,
    /// The field it takes.
    pub field: String,
    /// Its type.
    pub ty: Type,
    /// Geometry: decimal places that count.
    pub round: Option<u8>,
}

/// What becomes of fields without a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rest {
    /// Not declared: `payload` where there is (or can be) one, else refuse.
    Default,
    /// This JSON column takes them.
    Column(String),
    /// They are dropped, knowingly.
    Ignore,
    /// They make a record bad.
    Refuse,
}

/// How records are written.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// The mode.
    pub mode: WriteMode,
    /// The version field.
    pub version: Option<String>,
    /// What an absent field means, if declared.
    pub absent: Option<Absent>,
    /// The field and the texts that make a record a delete.
    pub delete_when: Option<(String, Vec<String>)>,
    /// A delete marks its row as retired, and doesn't delete it.
    pub retires_deleted: bool,
    /// What a run speaks for beside its records.
    pub whole: Option<Whole>,
}

impl Write {
    /// The mode's spelling in pipelines and reports.
    pub const fn mode_name(&self) -> &'static str {
        match &self.whole {
            Some(whole) => whole.mode_name(),
            None => self.mode.as_str(),
        }
    }
}

/// What a bad record does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OnBad {
    /// Fails the batch.
    Fail,
    /// Is kept, up to a ceiling.
    Quarantine(Ceiling),
}

/// How many bad records a batch may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ceiling {
    /// So many.
    Count(u64),
    /// A share of the records read, 0 to 1.
    Share(f64),
}

impl Ceiling {
    /// Whether so many bad records of so many read are too many.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    pub fn is_over(self, bad: u64, read: u64) -> bool {
        match self {
            Self::Count(most) => bad > most,
            Self::Share(share) => bad as f64 > share * read as f64,
        }
    }
}

/// Why a pipeline makes no sense as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct PipelineError {
    /// The key that is at fault, as a path (`write.version`).
    pub key: &'static str,
    /// What is wrong and what to do.
    pub message: String,
}

impl Pipeline {
    /// Checks a pipeline as a whole.
    pub fn new(spec: Spec) -> Result<Self, PipelineError> {
        check::resolve(spec)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it reads.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// What makes two records the same.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Where records go.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// How records are written.
    pub fn write(&self) -> &Write {
        &self.write
    }

    /// The period of this run ([`Pipeline::in_period`]).
    pub fn period(&self) -> Option<&Period> {
        self.period.as_ref()
    }

    /// What a bad record does.
    pub fn on_bad(&self) -> OnBad {
        self.on_bad
    }

    /// The tables that are computed from the target, each behind what it is computed from.
    pub fn derived(&self) -> &[Derived] {
        &self.derived
    }

    /// Where each batch's source bytes are kept, if anywhere.
    pub fn archive(&self) -> Option<&Archive> {
        self.archive.as_ref()
    }

    /// The changes that others are told of.
    pub fn notifications(&self) -> &[Notify] {
        &self.notify
    }

    /// How a sender's webhooks come in, if they do.
    pub fn hook(&self) -> Option<&Hook> {
        self.hook.as_ref()
    }

    /// What each newly inserted record brings about, in the transaction of its row.
    pub fn applied(&self) -> &[Apply] {
        &self.apply
    }

    /// The fields that change per attempt.
    pub fn volatile(&self) -> &[String] {
        &self.volatile
    }

    /// What the content digest leaves out: the volatile fields, and the sender's id where that is the identity (so that
    /// equal content under two ids has one digest, G3).
    pub fn digest_exclusions(&self) -> Exclusions {
        let mut paths: Vec<&str> = self.volatile.iter().map(String::as_str).collect();
        if let IdentityFrom::SenderId(field) = &self.identity.from {
            paths.push(field);
        }
        Exclusions::new(paths)
    }

    /// The same pipeline for entries of its quarantine (`quarantine retry`): what is still bad is kept, and what was declared
    /// of the source's payloads, their format and what proves them complete, doesn't hold for an array of entries.
    #[must_use]
    pub fn quarantining(mut self) -> Self {
        self.on_bad = OnBad::Quarantine(Ceiling::Share(1.0));
        self.source.format = None;
        self.source.complete.clear();
        self
    }

    /// The same pipeline for a quarantined record that somebody has corrected: as [`Pipeline::quarantining`], but a record that is
    /// still bad fails, so that nothing is written and the entry stays.
    #[must_use]
    pub fn correcting(self) -> Self {
        Self { on_bad: OnBad::Fail, ..self.quarantining() }
    }

    /// The same pipeline for events that arrive one by one: each is a JSON object by itself, whole as it is, and one that is bad is
    /// all of its batch.
    #[must_use]
    pub fn of_events(mut self) -> Self {
        if let OnBad::Quarantine(Ceiling::Share(share)) = self.on_bad
            && share > 0.0
        {
            self.on_bad = OnBad::Quarantine(Ceiling::Share(1.0));
        }
        self.source.format = None;
        self.source.complete.clear();
        self
    }
}
