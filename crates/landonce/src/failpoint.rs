//! Failpoints: the named places at which the crash tests stop a real process and kill it.
//!
//! Only with the feature `failpoints`; otherwise [`at`] is empty. The names are the steps of the batch transaction.

/// Every failpoint, in the order of the transaction.
pub const ALL: &[&str] = &[
    "connected",
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

/// At a failpoint: when `LANDONCE_FAILPOINT` names it, says so on stderr and stops there for ever, to be killed.
#[cfg(feature = "failpoints")]
pub fn at(name: &str) {
    debug_assert!(ALL.contains(&name), "{name} isn't listed");
    if std::env::var("LANDONCE_FAILPOINT").is_ok_and(|wanted| wanted == name) {
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "landonce: at failpoint {name}");
        loop {
            std::thread::park();
        }
    }
}

/// Nothing: the feature `failpoints` is off.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn at(_: &str) {}
