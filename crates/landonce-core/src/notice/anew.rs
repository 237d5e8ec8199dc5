//! What tells one change of an entity from another. A row's revision does, together with what was and what is: A→B→A→B are four
//! states under four revisions, and the same batch landed again into an emptied table makes the same changes once more.
//!
//! Where the pipeline itself may delete rows, that isn't enough. A row that goes and comes again begins with revision 1, and to
//! come again is news: there the batch counts too, by its inbox key, which a redelivery has as well.

use sha2::{Digest as _, Sha256};

use super::Occasion;
use crate::pipeline::{AbsentRow, Pipeline, Whole};
use crate::plan::TablePlan;
use crate::spec::ChangeKind;

/// Before what is hashed, so that no other hash of this project gives the same bytes.
const LABEL: &[u8] = b"landonce change 1\0";

/// Whether the pipeline may delete rows.
pub(super) fn may(pipeline: &Pipeline, plan: &TablePlan) -> bool {
    (plan.has_deletes && plan.tombstone.is_none())
        || match pipeline.whole() {
            Some(Whole::Period(_)) => true,
            Some(Whole::Snapshot(of)) => of.absent == AbsentRow::Delete,
            None => false,
        }
}

/// The mark of a change: SHA-256 over what happened, the revision, and the old and the new content.
pub(super) fn mark(
    kind: ChangeKind,
    revision: i64,
    contents: &[Option<Vec<u8>>; 2],
    on: Option<Occasion<'_>>,
) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(LABEL);
    let mut part = |bytes: Option<&[u8]>| {
        hash.update([u8::from(bytes.is_some())]);
        let bytes = bytes.unwrap_or_default();
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    part(Some(kind.as_str().as_bytes()));
    part(Some(&revision.to_be_bytes()));
    for content in contents {
        part(content.as_deref());
    }
    if let Some(on) = on {
        part(Some(on.batch));
        part(Some(&on.round.to_be_bytes()));
    }
    hash.finalize().to_vec()
}
