//! The private server starts by itself and is gone after the process, however that one ends.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use landonce_testkit::{crash, postgres, wait};
use tempfile::TempDir;

/// Tells a second process of these tests to start a private server.
const INNER: &str = "LANDONCE_TESTKIT_INNER";

/// These tests again, as another process whose temporary files go to `temp`.
fn inner(test: &str, temp: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("private_server::{test}"), "--nocapture"]);
    command.env(INNER, "1").env("TMPDIR", temp).env_remove(postgres::VARIABLE);
    command
}

/// A temporary folder that the server's owner can enter too.
fn temp() -> TempDir {
    let temp = tempfile::tempdir().unwrap();
    std::fs::set_permissions(temp.path(), PermissionsExt::from_mode(0o777)).unwrap();
    temp
}

fn entries(path: &Path) -> usize {
    std::fs::read_dir(path).unwrap().count()
}

async fn wait_until_empty(path: &Path) {
    wait::until(30, "the private server to be gone", async || (entries(path) == 0).then_some(())).await;
}

#[tokio::test]
async fn a_private_server_is_gone_after_the_process_is_killed() {
    if std::env::var_os(INNER).is_some() {
        let database = postgres::database().await;
        assert!(database.url().starts_with("postgres://postgres@127.0.0.1:"));
        eprintln!("landonce: at failpoint server is up");
        std::future::pending::<()>().await;
    }
    let temp = temp();
    let command = inner("a_private_server_is_gone_after_the_process_is_killed", temp.path());
    let parked = crash::park(command, "server is up").await.unwrap();
    assert_eq!(entries(temp.path()), 1);
    parked.kill().await;
    wait_until_empty(temp.path()).await;
}

#[tokio::test]
async fn a_private_server_is_gone_after_the_process_has_ended() {
    if std::env::var_os(INNER).is_some() {
        let database = postgres::database().await;
        let folder: String =
            database.client().await.query_one("SHOW data_directory", &[]).await.unwrap().get(0);
        println!("it was in {folder}");
        return;
    }
    let temp = temp();
    let output = inner("a_private_server_is_gone_after_the_process_has_ended", temp.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains(&format!("it was in {}", temp.path().display())), "{said}");
    wait_until_empty(temp.path()).await;
}

#[tokio::test]
async fn without_server_programs_the_message_says_what_to_do() {
    if std::env::var_os(INNER).is_some() {
        postgres::database().await;
        return;
    }
    let temp = temp();
    let output = inner("without_server_programs_the_message_says_what_to_do", temp.path())
        .env("LANDONCE_POSTGRES_BIN", temp.path())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no PostgreSQL server programs"), "{said}");
    assert!(said.contains("run scripts/test"), "{said}");
}
