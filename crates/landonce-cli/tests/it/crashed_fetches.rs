//! A fetch killed with SIGKILL at every step of its second piece, and while it awaits a page (F4, F5): what stands are whole pieces,
//! and the next run goes on behind them.

use std::process::Command;

use landonce_testkit::dump::{self, Dump, Tables};
use landonce_testkit::postgres::{self, TestDatabase};
use landonce_testkit::source::{Does, Server};
use landonce_testkit::{crash, wait};

use crate::fetched::{honest, page, roster};
use crate::folder::Folder;

/// A run that is killed, in one of the stores.
struct Scene {
    folder: Folder,
    database: Option<TestDatabase>,
}

impl Scene {
    fn command(&self) -> Command {
        let store = self.database.as_ref().map_or_else(|| "sqlite:test.db".to_owned(), TestDatabase::url);
        self.folder.command(&["run", "roster.yaml", "--store", &store, "--no-progress"])
    }

    fn run(&self) {
        let output = self.command().output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// The target's rows and where the feed stands, whatever the runs were called.
    async fn state(&self) -> Dump {
        let (dump, system, roster) = match &self.database {
            None => (dump::sqlite(self.folder.path("test.db")), "landonce_", "roster"),
            Some(database) => {
                let client = database.client().await;
                dump::assert_no_leftovers(&client).await;
                (dump::postgres(&client, Tables::All).await, "landonce.", "public.roster")
            }
        };
        let position = format!("{system}position");
        let others: Vec<String> =
            dump.tables().filter(|name| *name != roster && *name != position).map(str::to_owned).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let of_the_run = ["epoch", "owner", "run_id", "mark", "taken_at", "moved_at"];
        of_the_run
            .iter()
            .fold(dump.without_tables(&others), |dump, column| dump.without(&[(&position, column)]))
            .without(&[(roster, "landonce_run_id")])
    }

    async fn reset(&self) {
        match &self.database {
            None => {
                for file in ["test.db", "test.db-wal", "test.db-shm", "test.db-journal"] {
                    let _ = std::fs::remove_file(self.folder.path(file));
                }
            }
            Some(database) => {
                let gone = "DROP SCHEMA IF EXISTS landonce CASCADE; DROP TABLE IF EXISTS roster";
                database.client().await.batch_execute(gone).await.unwrap();
            }
        }
    }
}

async fn killed_at_every_failpoint(database: Option<TestDatabase>) {
    let server = honest();
    let scene = Scene { folder: roster(&server), database };
    scene.run();
    let whole = scene.state().await;
    for name in landonce::failpoint::ALL.iter().chain(landonce::failpoint::ADVANCE) {
        scene.reset().await;
        // A piece comes to it twice: its records, and their end.
        let nth = if *name == "staged_some" { 3 } else { 2 };
        let killed = crash::at_failpoint(scene.command(), &format!("{name}:{nth}")).await;
        assert!(killed.is_ok(), "never came to `{name}` again: {killed:?}");
        let rows = scene.state().await.rows(roster_name(&scene));
        let expected = if *name == "committed" { 20 } else { 10 };
        assert_eq!(rows, Some(expected), "{name}");
        scene.run();
        whole.assert_same(&scene.state().await);
    }
}

fn roster_name(scene: &Scene) -> &'static str {
    if scene.database.is_some() { "public.roster" } else { "roster" }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_killed_at_any_failpoint_of_its_second_piece_is_finished_by_the_next_run_on_sqlite() {
    killed_at_every_failpoint(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_killed_at_any_failpoint_of_its_second_piece_is_finished_by_the_next_run_on_postgres() {
    killed_at_every_failpoint(Some(postgres::database().await)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_killed_while_a_page_is_awaited_goes_on_behind_what_has_landed() {
    let server = Server::start(|asked, before| match asked.number("cursor") {
        20 if before < 3 => Does::Silent,
        _ => page(asked),
    });
    let scene = Scene { folder: roster(&server), database: None };
    let mut child = scene.command().spawn().unwrap();
    let is_asked = async || (server.asked().len() == 3).then_some(());
    wait::until(60, "the third page to be asked for", is_asked).await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(scene.state().await.rows("roster"), Some(10));
    scene.run();
    assert_eq!(server.asked()[3].param("cursor").as_deref(), Some("10"), "it went on at the second page");
    let like = Scene { folder: roster(&honest()), database: None };
    let honest = honest();
    like.folder.write(
        "roster.yaml",
        std::fs::read_to_string(scene.folder.path("roster.yaml"))
            .unwrap()
            .replace(&server.url("/"), &honest.url("/")),
    );
    like.run();
    let position = ["landonce_position"];
    like.state().await.without_tables(&position).assert_same(&scene.state().await.without_tables(&position));
}
