//! What a piece is known by.
//!
//! A file that comes again is the same batch: its bytes say so. A feed that gives the same bytes again may have given others in
//! between, and then they must land again (A → B → A). So a piece's batch has an id of its own run, and the position remembers the
//! digest and the id of the piece that landed last: a piece that is equal to that one is that batch again, is skipped, and writes
//! nothing. Periods and snapshots have turns for the same purpose; theirs need no id.

use sha2::{Digest as _, Sha256};

use landonce::position::{Advance, Part, Taken};
use landonce::{Batch, Options};

use crate::fetch::Piece;

const DIGEST: usize = 32;

/// The batches of one run.
#[derive(Debug)]
pub(crate) struct Batches {
    part: Part,
    epoch: u64,
    run: Vec<u8>,
    from: Option<String>,
    mark: Option<Vec<u8>>,
    is_whole: bool,
    count: u64,
}

impl Batches {
    /// Of a part as it was taken. `is_whole` says that the payload is a period or a snapshot.
    pub(crate) fn new(part: Part, taken: Taken, options: &Options, is_whole: bool) -> Self {
        let run = options.run_id.map(|run| run.as_bytes().to_vec()).unwrap_or_default();
        Self { part, epoch: taken.epoch, run, from: taken.next, mark: taken.mark, is_whole, count: 0 }
    }

    /// The batch of the next piece, which begins where the last one that landed has ended; and where it ends.
    pub(crate) fn batch(&mut self, piece: Piece) -> (Batch, String) {
        let Piece { payload, next, is_all } = piece;
        let to = next.or_else(|| self.from.clone()).unwrap_or_default();
        let mut batch = Batch::from_payload(payload);
        let mut mark = None;
        if !self.is_whole {
            let known = self.mark.take().filter(|mark| mark.starts_with(&batch.digest()));
            let known = known.filter(|mark| mark.len() > DIGEST);
            let known = known.unwrap_or_else(|| [batch.digest(), self.id(&batch.digest())].concat());
            batch = batch.with_id(hex::encode(&known[DIGEST..]));
            mark = Some(known);
        }
        self.count += 1;
        let (part, from) = (self.part.clone(), self.from.clone());
        let advance = Advance { part, epoch: self.epoch, from, to: to.clone(), mark };
        batch = batch.advancing(advance);
        if let Some(how) = is_all {
            batch = batch.shown_complete(how);
        }
        (batch, to)
    }

    /// The piece has landed, and the position stands behind it.
    pub(crate) fn landed(&mut self, to: String) {
        self.from = Some(to);
    }

    fn id(&self, digest: &[u8]) -> [u8; DIGEST] {
        let mut hash = Sha256::new();
        let parts = [
            self.part.source.as_bytes(),
            self.part.part.as_bytes(),
            &self.run,
            &self.epoch.to_be_bytes(),
            &self.count.to_be_bytes(),
            digest,
        ];
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}
