//! Folders of trials whose proof was killed before it could remove them: known by a lock file that nobody holds any more.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::{PREFIX, folder};

/// The file in a trial's own folder that its proof keeps locked.
const FILE: &str = "lock";

/// A folder may be looked at before it is locked; one that is so old isn't.
const AGE: Duration = Duration::from_mins(1);

/// Locks a trial's folder. Where that can't be done there is no file, and nobody will take the folder for left over.
pub(super) fn lock(root: &Path) -> Option<File> {
    let path = root.join(FILE);
    let file = File::create(&path).ok()?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        // Nothing is lost by a file too many.
        let _ = fs::remove_file(&path);
        return None;
    }
    Some(file)
}

/// Removes what killed proofs have left in a folder for temporary ones. What can't be removed is left.
pub(crate) fn remove(temporary: &Path) {
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let root = entry.path();
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_left_over(&root) {
            folder::make_writable(&root);
            let _ = fs::remove_dir_all(&root);
        }
    }
}

fn is_left_over(root: &Path) -> bool {
    let Ok(file) = File::open(root.join(FILE)) else { return false };
    let is_old = file
        .metadata()
        .and_then(|facts| facts.modified())
        .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > AGE));
    is_old && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_folder_is_removed_once_its_proof_is_gone_and_not_before() {
        let temporary = tempfile::tempdir().unwrap();
        let (dead, alive) =
            (temporary.path().join("landonce-prove-a"), temporary.path().join("landonce-prove-b"));
        let (young, other) = (temporary.path().join("landonce-prove-c"), temporary.path().join("else"));
        for root in [&dead, &alive, &young, &other] {
            fs::create_dir(root).unwrap();
        }
        let old = SystemTime::now() - AGE * 2;
        lock(&dead).unwrap().set_modified(old).unwrap();
        lock(&other).unwrap().set_modified(old).unwrap();
        let held = lock(&alive).unwrap();
        held.set_modified(old).unwrap();
        drop(lock(&young).unwrap());
        remove(temporary.path());
        assert_eq!([&dead, &alive, &young, &other].map(|root| root.exists()), [false, true, true, true]);
    }
}
