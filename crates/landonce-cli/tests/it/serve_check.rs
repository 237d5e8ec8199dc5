//! `serve check` says by its exit code whether a server is ready; secrets come from files where a variable names one.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::folder::Folder;

#[test]
fn a_server_is_ready_or_is_not() {
    let folder = Folder::new();
    folder.write("p.yaml", "{pipeline: p, identity: [id], target: {table: t}}");
    folder.write("store", format!("sqlite:{}\n", folder.path("by-file.db").display()));
    let mut command = folder.command(&["serve", "p.yaml", "--listen", "127.0.0.1:0"]);
    command.env("LANDONCE_STORE_FILE", folder.path("store")).stderr(Stdio::piped()).stdout(Stdio::null());
    let mut server = command.spawn().unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    let url = loop {
        let line = lines.next().unwrap().unwrap();
        if let Some(url) = line.strip_prefix("listening on ") {
            break url.to_owned();
        }
    };
    let ready = folder.run(&["serve", "check", &format!("{url}/readyz")]);
    let nothing = folder.run(&["serve", "check", &format!("{url}/nothing")]);
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!((ready.code, ready.stdout.as_str()), (0, ""), "{ready}");
    assert_eq!(nothing.code, 1, "{nothing}");
    assert!(nothing.stderr.contains("answered 404"), "{nothing}");
    let gone = folder.run(&["serve", "check", &format!("{url}/readyz")]);
    assert_eq!(gone.code, 1, "{gone}");
    assert!(folder.path("by-file.db").exists(), "the store is the one that the file names");
}

#[test]
fn what_can_not_be_asked_is_refused() {
    for url in ["https://127.0.0.1:1/", "127.0.0.1:8080", "http://localhost", "http://a b:1/"] {
        let ran = Folder::new().run(&["serve", "check", url]);
        assert_eq!(ran.code, 2, "{ran}");
    }
}

#[test]
fn a_store_in_a_file_that_is_not_there_is_no_other_store() {
    let folder = Folder::new();
    let mut command = folder.command(&["status"]);
    command.env("LANDONCE_STORE_FILE", folder.path("no-such"));
    let ran = crate::folder::Ran::of(command);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("LANDONCE_STORE_FILE"), "{ran}");
}
