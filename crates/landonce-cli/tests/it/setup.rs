//! `setup` makes what a run would make; `--print` connects to nothing and hides secrets.

use crate::folder::{FLAGS, Folder};

#[test]
fn the_printed_ddl_needs_no_database() {
    let folder = Folder::new();
    let url = "postgres://app:hunter2@127.0.0.1:1/none";
    let printed = folder.run(&[&["setup", "--print", "--store", url][..], &FLAGS].concat());
    assert_eq!(printed.code, 0, "{printed}");
    assert!(printed.stdout.contains("duty_event") && printed.stdout.contains("landonce"), "{printed}");
    assert!(!printed.to_string().contains("hunter2"));
    let sqlite = folder.run(&["setup", "--print"]);
    assert!(sqlite.stdout.contains("landonce_inbox"), "{sqlite}");
    assert!(folder.names().is_empty());
}

#[test]
fn a_run_after_setup_lands() {
    let folder = Folder::with_events();
    assert_eq!(
        folder.with_flags(&["setup"]).stdout,
        "landonce's tables and the table duty_event are ready in sqlite:landonce.db\n"
    );
    assert_eq!(folder.with_flags(&["setup"]).code, 0, "twice is no harm");
    assert_eq!(folder.with_flags(&["run", "events.ndjson", "--output", "json"]).json()["inserted"], 3);
}
