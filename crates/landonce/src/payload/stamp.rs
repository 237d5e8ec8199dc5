//! What a file system tells of a file's identity and last change.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// A file at one moment. Two equal stamps of one path mean that nobody wrote to it in between, as far as the file system's
/// clock can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds; writing sets it, but anybody may set it back.
    modified_at: (i64, i64),
    /// Seconds and nanoseconds; any change sets it, and nobody can set it back.
    changed_at: (i64, i64),
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified_at: (metadata.mtime(), metadata.mtime_nsec()),
            changed_at: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// What differs, the plainest first.
    pub(super) fn difference(&self, now: &Self) -> Option<&'static str> {
        if (self.device, self.inode) != (now.device, now.inode) {
            Some("another file has taken its place")
        } else if self.size != now.size {
            Some("its size is another")
        } else if self.modified_at != now.modified_at {
            Some("it was written to")
        } else if self.changed_at != now.changed_at {
            Some("its owner, mode, name or links were changed")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_stamp_counts() {
        let then = Stamp { device: 1, inode: 2, size: 3, modified_at: (4, 5), changed_at: (6, 7) };
        assert_eq!(then.difference(&then), None);
        for (now, want) in [
            (Stamp { device: 9, ..then }, "another file"),
            (Stamp { inode: 9, ..then }, "another file"),
            (Stamp { size: 9, ..then }, "size"),
            (Stamp { modified_at: (4, 9), ..then }, "written"),
            // Its time was set back after a write: only this tells.
            (Stamp { changed_at: (6, 9), ..then }, "owner"),
        ] {
            assert!(then.difference(&now).unwrap().contains(want), "{now:?}");
        }
    }
}
