//! Fixtures are the same bytes for the same seed, and hold exactly what they say.

use std::collections::{BTreeMap, BTreeSet};

use landonce_testkit::fixture::{Events, Written};
use sha2::{Digest, Sha256};

fn lines(events: Events) -> (Written, Vec<String>) {
    let mut out = Vec::new();
    let written = events.write_to(&mut out).unwrap();
    assert_eq!(written.bytes, out.len() as u64);
    let text = String::from_utf8(out).unwrap();
    assert!(text.ends_with('\n'));
    (written, text.lines().map(str::to_owned).collect())
}

/// The text up to `carrier`: the identity's fields come first.
fn identity(line: &str) -> &str {
    line.split_once(",\"carrier\"").unwrap().0
}

#[test]
fn a_seed_gives_the_same_bytes_for_ever() {
    let (_, lines) = lines(Events::new(1, 1000).duplicated(0.05));
    assert_eq!(
        hex::encode(Sha256::digest(lines.join("\n"))),
        "a56fcfd86c045776432cc26c0d7371b8f5905610a7d12dd7129d3cbd0bf1ca3e"
    );
    assert_ne!(Events::new(1, 10).event(3), Events::new(2, 10).event(3));
}

#[test]
fn every_event_has_an_identity_of_its_own_and_about_350_bytes() {
    let (written, lines) = lines(Events::new(7, 40_000));
    assert_eq!((written.events, written.changed, written.duplicates), (40_000, 0, 0));
    let identities: BTreeSet<&str> = lines.iter().map(|line| identity(line)).collect();
    assert_eq!(identities.len(), 40_000);
    let mean = written.bytes / written.lines();
    assert!((340..=360).contains(&mean), "{mean}");
}

#[test]
fn the_changed_share_changes_content_and_nothing_else() {
    let before = Events::new(7, 20_000);
    let ((_, old), (written, new)) = (lines(before), lines(before.changed(0.01)));
    let changed: Vec<_> = old.iter().zip(&new).filter(|(old, new)| old != new).collect();
    assert_eq!(changed.len() as u64, written.changed);
    assert!((150..250).contains(&written.changed), "{}", written.changed);
    for (old, new) in changed {
        assert_eq!(identity(old), identity(new));
        let version = |line: &str| line.split_once("updated_at").unwrap().1.to_owned();
        assert!(version(old) < version(new), "{old} {new}");
    }
}

#[test]
fn the_duplicated_share_comes_twice_to_the_byte() {
    let (written, lines) = lines(Events::new(7, 20_000).duplicated(0.05));
    let mut times = BTreeMap::new();
    for line in &lines {
        *times.entry(line).or_insert(0) += 1;
    }
    assert_eq!(lines.len() as u64, written.lines());
    assert_eq!(times.len(), 20_000);
    assert_eq!(times.values().filter(|&&count| count == 2).count() as u64, written.duplicates);
    assert!((850..1150).contains(&written.duplicates), "{}", written.duplicates);
}

#[test]
fn a_file_holds_what_the_events_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.ndjson");
    let events = Events::new(3, 500);
    assert_eq!(events.write_file(&path).lines(), 500);
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.lines().enumerate().all(|(number, line)| line == events.event(number as u64)));
}
