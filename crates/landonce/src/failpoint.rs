//! Failpoints: the named places at which the crash tests stop a real process and kill it.
//!
//! Only with the feature `failpoints`; otherwise [`at`] is empty. The names are the steps of the batch transaction.

/// Every failpoint, in the order of the transaction.
pub const ALL: &[&str] = &[
    "connected",
    "archived",
    "begun",
    "claimed",
    "stage_opened",
    "staged_some",
    "staged",
    "folded",
    "classified",
    "written_some",
    "written",
    "bad_kept",
    "settled",
    "checked",
    "committed",
];

/// A repair's, in the order of its transaction.
pub const REPAIR: &[&str] = &["repair_marked", "repair_changed", "repair_scripted", "repair_committed"];

/// Those of pipelines with derived tables: behind a batch's marks, then in each period's transaction.
pub const DERIVE: &[&str] = &["marked", "base_owned", "computed", "applied", "derived"];

/// Those of pipelines with notifications: behind the messages of a round.
pub const NOTIFY: &[&str] = &["enqueued"];

/// Those of batches that move a part of their source: behind the move.
pub const ADVANCE: &[&str] = &["advanced"];

/// Those of events that go the short way, in the order of their transaction.
pub const EVENTS: &[&str] = &["events_begun", "events_written", "events_applied", "events_committed"];

/// At a failpoint: when `LANDONCE_FAILPOINT` names it, says so on stderr and stops there for ever, to be killed. `written:3` is
/// the third time that the process comes to `written`.
#[cfg(feature = "failpoints")]
pub fn at(name: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static TIMES: AtomicU32 = AtomicU32::new(0);

    debug_assert!(
        [ALL, REPAIR, DERIVE, NOTIFY, ADVANCE, EVENTS].iter().any(|names| names.contains(&name)),
        "{name} isn't listed"
    );
    let Ok(wanted) = std::env::var("LANDONCE_FAILPOINT") else { return };
    let (wanted_name, nth) = wanted.split_once(':').unwrap_or((&wanted, "1"));
    if wanted_name == name && TIMES.fetch_add(1, Ordering::Relaxed) + 1 >= nth.parse().unwrap_or(1) {
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "landonce: at failpoint {wanted}");
        loop {
            std::thread::park();
        }
    }
}

/// Nothing: the feature `failpoints` is off.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn at(_: &str) {}
