//! One opaque error: a kind to branch on, a code with a page of its own (`landonce explain L0401`), the cause behind it.

mod code;

pub use code::{Code, PAGES};

use landonce_core::bad_record::BadRecord;
use landonce_core::pipeline::PipelineError;
use landonce_core::plan::PlanError;
use landonce_core::retry::{self, Advice};
use landonce_core::spec::SpecError;
use landonce_store::held::Hold;
use landonce_store::position::{Advance, Advanced};

use crate::decode::DecodeError;
use crate::payload::PayloadError;

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The pipeline's declaration is at fault.
    Pipeline,
    /// The pipeline doesn't fit the target table.
    Target,
    /// The payload can't be read, isn't whole, or isn't of its format.
    Payload,
    /// Records are bad and the pipeline says that this fails the batch.
    BadRecords,
    /// The batch id has landed before with other content.
    BatchMismatch,
    /// Another delivery of the same batch is under way; nothing is known of it yet.
    InProgress,
    /// Another worker has taken the part of the source over, or somebody has put it elsewhere: what was read isn't ours to land.
    Fenced,
    /// The store can't be reached.
    Connect,
    /// The database refused, and a retry would not help.
    Database,
    /// Every attempt failed for a passing reason.
    Exhausted,
    /// A disk is full.
    NoSpace,
    /// COMMIT was sent, no answer came, and the inbox could not be asked.
    Unresolved,
    /// A snapshot is incomplete or implausible, and there is nothing to hold it with: a plan, or a caller's own
    /// transaction.
    Held,
    /// A repair can't be made as asked; nothing was changed.
    Repair,
    /// It was interrupted.
    Interrupted,
    /// The archive of source bytes can't be written or read, or bytes of it may not be applied.
    Archive,
    /// A promise of landonce's own was broken: a bug. Nothing was written.
    Internal,
}

/// A failure. Nothing of the batch has landed, except with [`Kind::Unresolved`], which says that nobody knows.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(pub(crate) Box<Repr>);

/// One bad record of a failed batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The record's line or index.
    pub number: u64,
    /// Why it is bad.
    pub bad: BadRecord,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("{path}: {source}")]
    Spec { path: String, source: SpecError },
    #[error("{path}: {source}")]
    Pipeline { path: String, source: PipelineError },
    #[error("{0}")]
    Declaration(String),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Payload(#[from] PayloadError),
    #[error("{name}: {source}")]
    Decode { name: String, source: DecodeError },
    #[error(
        "{name}: not complete, as `source.complete` asks: {detail}; nothing was written. Deliver it again when it is whole"
    )]
    Incomplete { name: String, detail: String },
    #[error("{}", bad_records(.source_name, .found, *.total))]
    BadRecords { source_name: String, found: Vec<Located>, total: u64 },
    #[error("{source_name}: {bad} of {read} records are bad, more than `on_bad_record.quarantine.max` allows; nothing was written\n{}", listing(.found, *.bad))]
    OverCeiling { source_name: String, bad: u64, read: u64, found: Vec<Located> },
    #[error(
        "batch `{batch_id}` of pipeline `{pipeline}` has landed before with other content: then SHA-256 {then}, now {now}; nothing was \
         written. If this is a new batch, give it a new id; if it corrects the old one, give it an id of its own as well"
    )]
    Mismatch { pipeline: String, batch_id: String, then: String, now: String },
    #[error(
        "batch `{batch_id}` of pipeline `{pipeline}` is being landed by another delivery, which hasn't ended within {waited_ms} ms; \
         nothing was written by this one. Deliver it again under the same id in a moment"
    )]
    InProgress { pipeline: String, batch_id: String, waited_ms: u128 },
    #[error("{}", fenced(.advance, .lost))]
    Fenced { advance: Box<Advance>, lost: Box<Advanced> },
    #[error(
        "{source_name}: no good record at all, and the period {period} has {rows} {} in `{table}`; nothing was written. If the period \
         really is empty now, say so with `write.allow_empty: true`",
        if *.rows == 1 { "row" } else { "rows" }
    )]
    EmptyPeriod { source_name: String, period: String, rows: u64, table: String },
    #[error(
        "`{table}`, period {period}: the query {told}. Nothing of this period was written, and it stays due"
    )]
    DerivedRows { table: String, period: String, told: String },
    #[error(
        "{source_name}: `apply` (statement {nth}) fails for the record {record}: {told}; nothing was written"
    )]
    Applied { source_name: String, nth: usize, record: String, told: String },
    #[error(transparent)]
    Store(#[from] landonce_store::Error),
    #[error("gave up after {attempts} {} in {elapsed_ms} ms; the last one: {last}", if *.attempts == 1 { "attempt" } else { "attempts" })]
    Exhausted { attempts: u32, elapsed_ms: u128, last: landonce_store::Error },
    #[error(
        "COMMIT was sent and no answer came, and the inbox could not be asked whether it landed ({last}). Deliver the same batch again: \
         if it has landed, that is a skipped duplicate"
    )]
    Unresolved { last: String },
    #[error(
        "an earlier delivery of the event has landed, and the inbox couldn't be asked what became of it. Deliver it again: then the \
         inbox tells"
    )]
    Unasked,
    #[error(
        "another load of the period has landed meanwhile as `{batch_id}`; roll back, and run the whole transaction again"
    )]
    Overtaken { batch_id: String },
    #[error("the snapshot is held, and nothing was written\n{}", reasons(.0))]
    Held(Box<Hold>),
    #[error("the bytes of batch `{batch_id}` can't be archived, so the batch was not landed: {source}")]
    NotArchived { batch_id: String, source: landonce_archive::Error },
    #[error(transparent)]
    Archive(#[from] landonce_archive::Error),
    #[error("{0}")]
    Replay(String),
    #[error("{0}")]
    Repair(String),
    #[error("interrupted; nothing was written")]
    Interrupted,
    #[error("a bug in landonce: {0}; nothing was written. Please report it")]
    Internal(String),
}

fn reasons(hold: &Hold) -> String {
    hold.reasons.iter().map(|reason| format!("  {reason}")).collect::<Vec<_>>().join("\n")
}

fn fenced(advance: &Advance, lost: &Advanced) -> String {
    let part = format!("{} {}", advance.part.source, advance.part.part);
    let at = |next: &Option<String>| next.clone().unwrap_or_else(|| "its beginning".to_owned());
    let found = match lost {
        Advanced::Lost { epoch: None, .. } => "is in no table of positions any more".to_owned(),
        Advanced::Lost { epoch: Some(epoch), owner, next } if *epoch == advance.epoch => {
            format!("stands at {} (epoch {epoch}, {owner})", at(next))
        }
        Advanced::Lost { epoch: Some(epoch), owner, next } => {
            format!("has been taken by {owner} meanwhile (epoch {epoch}, at {})", at(next))
        }
        Advanced::Moved | Advanced::Already => "is ours".to_owned(),
    };
    format!(
        "{}: the batch begins at {} in epoch {}, but the part {found}; nothing was written by this worker",
        part.trim_end(),
        at(&advance.from),
        advance.epoch
    )
}

fn bad_records(name: &str, found: &[Located], total: u64) -> String {
    let noun = if total == 1 { "record is" } else { "records are" };
    format!("{name}: {total} {noun} bad; nothing was written\n{}", listing(found, total))
}

fn listing(found: &[Located], total: u64) -> String {
    let mut out: Vec<String> =
        found.iter().map(|located| format!("  record {}: {}", located.number, located.bad)).collect();
    if total > found.len() as u64 {
        out.push(format!("  … and {} more", total - found.len() as u64));
    }
    out.join("\n")
}

impl Error {
    pub(crate) fn declaration(message: impl Into<String>) -> Self {
        Repr::Declaration(message.into()).into()
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Repr::Internal(message.into()).into()
    }

    /// Another load of the period has landed while a caller's own transaction was at it: only the caller can begin again.
    pub(crate) fn overtaken(batch_id: &str) -> Self {
        Repr::Overtaken { batch_id: batch_id.to_owned() }.into()
    }

    /// The failure of somebody's interrupt.
    pub fn interrupted() -> Self {
        Repr::Interrupted.into()
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        match &*self.0 {
            Repr::Spec { .. } | Repr::Pipeline { .. } | Repr::Declaration(_) => Kind::Pipeline,
            Repr::Plan(_) | Repr::DerivedRows { .. } => Kind::Target,
            Repr::Payload(PayloadError::NoSpace { .. })
            | Repr::Decode { source: DecodeError::NoSpace { .. }, .. } => Kind::NoSpace,
            Repr::Payload(_) | Repr::Decode { .. } | Repr::EmptyPeriod { .. } | Repr::Incomplete { .. } => {
                Kind::Payload
            }
            Repr::BadRecords { .. } | Repr::OverCeiling { .. } | Repr::Applied { .. } => Kind::BadRecords,
            Repr::Mismatch { .. } | Repr::Overtaken { .. } => Kind::BatchMismatch,
            Repr::InProgress { .. } => Kind::InProgress,
            Repr::Fenced { .. } => Kind::Fenced,
            Repr::Store(error) | Repr::Exhausted { last: error, .. } if error.advice() == Advice::NoSpace => {
                Kind::NoSpace
            }
            Repr::Store(error) if is_connect(error) => Kind::Connect,
            Repr::Store(_) => Kind::Database,
            Repr::Exhausted { last, .. } if is_connect(last) => Kind::Connect,
            Repr::Exhausted { .. } => Kind::Exhausted,
            Repr::Unresolved { .. } | Repr::Unasked => Kind::Unresolved,
            Repr::Held(_) => Kind::Held,
            Repr::NotArchived { source, .. } | Repr::Archive(source) if source.is_no_space() => Kind::NoSpace,
            Repr::NotArchived { .. } | Repr::Archive(_) | Repr::Replay(_) => Kind::Archive,
            Repr::Repair(_) => Kind::Repair,
            Repr::Interrupted => Kind::Interrupted,
            Repr::Internal(_) => Kind::Internal,
        }
    }

    /// The code: stable, with a page of its own.
    pub fn code(&self) -> Code {
        match (&*self.0, self.kind()) {
            (Repr::Spec { .. }, _) => Code::L0101,
            (_, Kind::Pipeline) => Code::L0102,
            (Repr::DerivedRows { .. }, _) => Code::L0202,
            (_, Kind::Target) => Code::L0201,
            (Repr::Payload(PayloadError::Changed { .. }), _) => Code::L0303,
            (Repr::Incomplete { .. }, _) => Code::L0305,
            (Repr::Payload(_), Kind::Payload) => Code::L0301,
            (Repr::EmptyPeriod { .. }, _) => Code::L0304,
            (Repr::Decode { source: DecodeError::OverLimit { .. }, .. }, _) => Code::L0306,
            (_, Kind::Payload) => Code::L0302,
            (Repr::OverCeiling { .. }, _) => Code::L0402,
            (_, Kind::BadRecords) => Code::L0401,
            (Repr::Overtaken { .. }, _) => Code::L0502,
            (_, Kind::BatchMismatch) => Code::L0501,
            (_, Kind::InProgress) => Code::L0503,
            (_, Kind::Fenced) => Code::L0504,
            (_, Kind::Connect) => Code::L0601,
            (_, Kind::Database) => Code::L0602,
            (_, Kind::Exhausted) => Code::L0603,
            (_, Kind::NoSpace) => Code::L0604,
            (_, Kind::Unresolved) => Code::L0605,
            (_, Kind::Interrupted) => Code::L0701,
            (_, Kind::Held) => Code::L0801,
            (Repr::Replay(_), _) => Code::L0813,
            (Repr::NotArchived { source, .. } | Repr::Archive(source), Kind::Archive)
                if source.is_damage() =>
            {
                Code::L0812
            }
            (_, Kind::Archive) => Code::L0811,
            (_, Kind::Repair) => Code::L0851,
            (_, Kind::Internal) => Code::L0901,
        }
    }

    /// The bad records that failed the batch, up to a limit; empty for other kinds.
    pub fn bad_records(&self) -> &[Located] {
        match &*self.0 {
            Repr::BadRecords { found, .. } | Repr::OverCeiling { found, .. } => found,
            _ => &[],
        }
    }

    /// Whether the same again may succeed later, without anybody changing what was asked for: the database is away, busy or full, or a
    /// twin is under way. With [`Kind::Unresolved`] it is the same batch that has to come again.
    pub fn may_pass(&self) -> bool {
        match self.kind() {
            // The server has answered, and no waiting gives the database or the role that it doesn't know.
            Kind::Connect => {
                !self.store_code().is_some_and(|state| state == "3D000" || state.starts_with("28"))
            }
            Kind::Exhausted | Kind::Unresolved | Kind::InProgress | Kind::NoSpace => true,
            // Of what isn't run again by itself, such as a look.
            _ => {
                matches!(&*self.0, Repr::Store(error) if matches!(error.advice(), Advice::Again | Advice::Resolve))
            }
        }
    }

    /// The SQLSTATE of the database, where it has told one.
    fn store_code(&self) -> Option<&str> {
        let (Repr::Store(error) | Repr::Exhausted { last: error, .. }) = &*self.0 else { return None };
        match &error.code {
            landonce_core::retry::Code::SqlState(state) => Some(state),
            _ => None,
        }
    }

    /// Whether it is a rule of the database that the data broke (a deferred foreign key, a trigger), rather than a right or an
    /// object that is missing. Of [`Kind::Database`].
    pub fn blames_data(&self) -> bool {
        matches!(&*self.0, Repr::Store(error) if retry::blames_row(&error.code))
    }

    pub(crate) fn repr(&self) -> &Repr {
        &self.0
    }
}

fn is_connect(error: &landonce_store::Error) -> bool {
    error.is_connect
}

impl<R: Into<Repr>> From<R> for Error {
    fn from(repr: R) -> Self {
        Self(Box::new(repr.into()))
    }
}
