//! How many transactions have been committed in a WAL, read from the file itself while others write it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes before the first frame, and before each frame's page.
const HEAD: u64 = 32;
const FRAME: u64 = 24;

/// A WAL, and how far it has been read.
#[derive(Debug)]
pub(super) struct Wal {
    path: PathBuf,
    /// Two numbers that are others after each restart of the WAL; frames with old ones are left from before.
    salts: [u8; 8],
    /// The next frame.
    next: u64,
}

impl Wal {
    pub(super) fn beside(file: &Path) -> Self {
        let mut path = file.as_os_str().to_owned();
        path.push("-wal");
        Self { path: path.into(), salts: [0; 8], next: 0 }
    }

    /// Reads on. A WAL that isn't there has no commits.
    pub(super) fn new_commits(&mut self) -> u64 {
        let mut head = [0; HEAD as usize];
        let Ok(file) = File::open(&self.path) else { return 0 };
        if file.read_exact_at(&mut head, 0).is_err() {
            return 0;
        }
        let page = u64::from(u32::from_be_bytes([head[8], head[9], head[10], head[11]]));
        if head[16..24] != self.salts {
            self.salts.copy_from_slice(&head[16..24]);
            self.next = 0;
        }
        let mut commits = 0;
        let mut frame = [0; FRAME as usize];
        while file.read_exact_at(&mut frame, HEAD + self.next * (FRAME + page)).is_ok()
            && frame[8..16] == self.salts
        {
            // A frame that commits says how large the database is then.
            commits += u64::from(frame[4..8] != [0; 4]);
            self.next += 1;
        }
        commits
    }
}
