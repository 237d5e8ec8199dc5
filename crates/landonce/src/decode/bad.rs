//! The faults of a record that framing finds.

use landonce_core::bad_record::{BadKind, BadRecord};

/// How much is kept of a record that is too large: enough to recognise it by.
pub(super) const KEPT: usize = 64 * 1024;

/// A record beyond the limit.
pub(super) fn too_large(len: u64, limit: u32) -> BadRecord {
    BadRecord::new(
        BadKind::TooLarge,
        "",
        format!("is {len} bytes long, the limit is {limit}: split it, or raise the limit (`max_record`)"),
    )
}

/// A record that isn't what its place asks for.
pub(super) fn syntax(field: &str, detail: impl Into<String>) -> BadRecord {
    BadRecord::new(BadKind::Syntax, field, detail)
}
