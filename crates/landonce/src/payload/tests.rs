//! A payload's bytes are the same ones at every reading, or it says so.

use std::fs;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;

use super::*;

const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("batch.ndjson");
    fs::write(&path, bytes).unwrap();
    (dir, path)
}

fn contents(payload: &Payload) -> Vec<u8> {
    let mut bytes = Vec::new();
    payload.stored().reader(payload.len()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Gives one byte at a time, and an interruption before each.
struct Dribble<'a>(&'a [u8], bool);

impl Read for Dribble<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.0.read(&mut into[..1])
    }
}

/// Gives some bytes, then fails.
struct Failing(bool);

impl Read for Failing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.0 {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        self.0 = true;
        into[0] = b'x';
        Ok(1)
    }
}

#[test]
fn the_digest_is_what_sha256sum_prints_whatever_the_way_in() {
    let (_dir, path) = file(b"abc");
    let opened = Payload::open(&path).unwrap();
    let spooled = Payload::spool("stdin", Dribble(b"abc", false), None).unwrap();
    let held = Payload::from_bytes("body", b"abc".to_vec());
    for payload in [&opened, &spooled, &held] {
        assert_eq!(hex::encode(payload.digest()), ABC);
        assert_eq!(payload.len(), 3);
        assert!(!payload.is_empty());
        assert_eq!(contents(payload), b"abc");
        assert_eq!(contents(payload), b"abc", "a second reading gives the same bytes");
        payload.check_unchanged().unwrap();
    }
    assert_eq!(opened.name(), path.display().to_string());
    assert_eq!(spooled.name(), "stdin");
}

#[test]
fn bytes_longer_than_a_chunk_are_hashed_whole() {
    let bytes: Vec<u8> = (0..3 * CHUNK + 7).map(|at| at as u8).collect();
    let (_dir, path) = file(&bytes);
    let opened = Payload::open(&path).unwrap();
    assert_eq!(opened.digest(), <[u8; 32]>::from(Sha256::digest(&bytes)));
    assert_eq!(Payload::spool("pipe", &bytes[..], None).unwrap().digest(), opened.digest());
}

#[test]
fn compression_is_seen_in_the_bytes_not_in_the_name() {
    for (bytes, want) in [
        (&b"\x1f\x8b\x08"[..], Compression::Gzip),
        (b"\x28\xb5\x2f\xfd\x00", Compression::Zstd),
        (b"\x50\x2a\x4d\x18\x00", Compression::Zstd),
        (b"\x1f", Compression::None),
        (b"\x28\xb5\x2f", Compression::None),
        (b"{}", Compression::None),
        (b"", Compression::None),
    ] {
        assert_eq!(Payload::from_bytes("plain.txt", bytes.to_vec()).compression(), want);
        assert_eq!(Payload::spool("x.gz", bytes, None).unwrap().compression(), want);
        let (_dir, path) = file(bytes);
        assert_eq!(Payload::open(&path).unwrap().compression(), want);
    }
}

#[test]
fn what_cannot_be_opened_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let missing = Payload::open(dir.path().join("no.csv")).unwrap_err();
    assert!(matches!(missing, PayloadError::Missing { .. }), "{missing:?}");
    assert!(missing.to_string().contains("no.csv"), "{missing}");

    let folder = Payload::open(dir.path()).unwrap_err();
    assert!(matches!(folder, PayloadError::Folder { .. }), "{folder:?}");

    let device = Payload::open("/dev/null").unwrap_err();
    assert!(matches!(device, PayloadError::NotAFile { .. }), "{device:?}");

    let (_dir, path) = file(b"x");
    let below = Payload::open(path.join("deeper")).unwrap_err();
    assert!(matches!(below, PayloadError::Missing { .. }), "{below:?}");
}

#[test]
fn a_forbidden_file_is_told_from_a_missing_one() {
    // Root may read everything, so the operating system's answer is made up here.
    let denied = PayloadError::opening(Path::new("secret.csv"), io::ErrorKind::PermissionDenied.into());
    assert!(matches!(denied, PayloadError::Denied { .. }));
    assert!(denied.to_string().contains("no permission to read `secret.csv`"), "{denied}");
}

#[test]
fn a_file_that_grows_shrinks_or_is_rewritten_is_changed() {
    for rewrite in [&b"abcd"[..], b"ab", b"xyz"] {
        let (_dir, path) = file(b"abc");
        let payload = Payload::open(&path).unwrap();
        // Set the time far off, since two writes within one tick of the file system's clock look alike.
        fs::write(&path, rewrite).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        let error = payload.check_unchanged().unwrap_err();
        assert!(matches!(error, PayloadError::Changed { .. }), "{error:?}");
    }
}

#[test]
fn a_file_replaced_or_removed_under_its_name_is_changed() {
    let (dir, path) = file(b"abc");
    let payload = Payload::open(&path).unwrap();
    let other = dir.path().join("other");
    fs::write(&other, b"abc").unwrap();
    fs::rename(&other, &path).unwrap();
    assert!(matches!(payload.check_unchanged(), Err(PayloadError::Changed { .. })));
    assert_eq!(contents(&payload), b"abc", "the open file is still the one that was hashed");

    let payload = Payload::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(matches!(payload.check_unchanged(), Err(PayloadError::Changed { .. })));
}

#[test]
fn a_link_that_points_elsewhere_is_changed() {
    let (dir, path) = file(b"abc");
    let other = dir.path().join("other");
    fs::write(&other, b"abc").unwrap();
    let link = dir.path().join("current");
    symlink(&path, &link).unwrap();
    let payload = Payload::open(&link).unwrap();
    payload.check_unchanged().unwrap();
    fs::remove_file(&link).unwrap();
    symlink(&other, &link).unwrap();
    assert!(matches!(payload.check_unchanged(), Err(PayloadError::Changed { .. })));
}

#[test]
fn a_file_cut_down_is_a_failed_read_not_a_shorter_payload() {
    let (_dir, path) = file(b"abcdef");
    let payload = Payload::open(&path).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(2).unwrap();
    let mut reader = payload.stored().reader(payload.len());
    let mut bytes = Vec::new();
    let error = reader.read_to_end(&mut bytes).unwrap_err();
    assert!(error.to_string().contains("shorter"), "{error}");
    assert!(reader.take_failure().is_some());
    assert_eq!(bytes, b"ab");
}

#[test]
fn a_full_disk_while_spooling_is_its_own_error() {
    // /dev/full answers every write with ENOSPC.
    let full = File::options().read(true).write(true).open("/dev/full").unwrap();
    let error = Payload::copy_to(full, "stdin".into(), &b"abc"[..], Path::new("/tmp")).unwrap_err();
    assert!(matches!(error, PayloadError::NoSpace { .. }), "{error:?}");
    assert!(error.to_string().contains("make room"), "{error}");
}

#[test]
fn a_spool_folder_that_is_missing_is_no_missing_payload() {
    let error = Payload::spool("stdin", &b"abc"[..], Some(Path::new("/no/such/folder"))).unwrap_err();
    assert!(matches!(error, PayloadError::Spool { .. }), "{error:?}");
}

#[test]
fn a_pipe_that_fails_half_way_is_no_payload() {
    let error = Payload::spool("stdin", Failing(false), None).unwrap_err();
    assert!(matches!(error, PayloadError::Read { .. }), "{error:?}");
}

#[test]
fn a_spool_leaves_nothing_in_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let payload = Payload::spool("stdin", &b"abc"[..], Some(dir.path())).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    assert_eq!(contents(&payload), b"abc");
}

#[test]
fn a_pipe_named_by_a_path_is_spooled() {
    let (reader, mut writer) = io::pipe().unwrap();
    writer.write_all(b"abc").unwrap();
    drop(writer);
    let payload = Payload::open(format!("/proc/self/fd/{}", reader.as_raw_fd())).unwrap();
    assert_eq!(hex::encode(payload.digest()), ABC);
    payload.check_unchanged().unwrap();
}

#[test]
fn a_file_that_was_hashed_while_it_was_written_is_taken_as_it_is() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"\x1f\x8b rest").unwrap();
    let digest = Sha256::digest(b"\x1f\x8b rest").into();
    let payload = Payload::from_spool("http: shop.ndjson", file, digest).unwrap();
    assert_eq!((payload.len(), payload.digest()), (7, digest));
    assert_eq!(payload.compression(), Compression::Gzip);
    assert_eq!(contents(&payload), b"\x1f\x8b rest", "wherever the writer's cursor stood");
}
