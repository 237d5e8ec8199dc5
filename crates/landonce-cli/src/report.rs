//! What is said: data on stdout, talk on stderr, and how a command ends.

mod batch;
mod counts;
mod derived;
mod failed;
mod out;
mod periods;
mod plain;
mod plan;
mod table;

use crate::args::OutputForm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::{IsWritten, Signal};

pub(crate) use batch::{BackfillReport, BatchReport, Batches, LoadReport, Way};
pub(crate) use counts::{counts, moment, short};
pub(crate) use derived::{CheckReport, DerivedReport, WithDerived};
pub(crate) use failed::{ErrorReport, tell as failure};
pub(crate) use out::{bytes, copy, json, print, say};
pub(crate) use periods::PeriodsReport;
pub(crate) use plain::{line, tail, text};
pub(crate) use plan::{PlanReport, Plans};
pub(crate) use table::Table;

/// Ends a command: its own verdict, or the failure told.
pub(crate) fn end(form: OutputForm, done: Result<Exit, Failure>) -> Exit {
    match done {
        Ok(exit) => exit,
        Err(failure) => {
            self::failure(&failure);
            if form.is_json() {
                // Nothing better can be done if stdout is gone as well: the exit code tells.
                let _ = json(&failed::Only::new(&failure));
            }
            Exit::CouldNot
        }
    }
}

/// Ends a command that a signal stopped.
pub(crate) fn interrupted(signal: Signal, is_written: IsWritten) -> Exit {
    say(match is_written {
        IsWritten::No => "interrupted; nothing of this batch was written",
        IsWritten::Yes => "interrupted; what is reported above was written, nothing else was begun",
        IsWritten::Cleared => "interrupted; the clones are dropped",
        IsWritten::Unsettled => {
            "interrupted while messages were under way; they are sent again when their leases have run out, each with the same id"
        }
        IsWritten::Unknown => {
            "interrupted while a COMMIT was unanswered: it may have landed or not; deliver the same batch again (if it has landed, \
             that is a skipped duplicate)"
        }
    });
    Exit::Signal(signal.number())
}
