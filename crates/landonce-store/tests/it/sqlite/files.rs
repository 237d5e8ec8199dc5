//! The file: made only by a run, not changed by one byte by a look, locked by one writer at a time.

use std::path::Path;
use std::time::Duration;

use landonce_core::retry::{Advice, Code};
use landonce_store::inbox::Claimed;
use landonce_store::seam::{Access, Connection, Work};
use landonce_store::sqlite::Database;

use super::{Folder, fresh};
use crate::conformance::transactions::a_plan_sees_all_and_writes_nothing;
use crate::conformance::{
    Bench, claim, int, land, land_claimed, land_in, look_in, put, set_up, text, things,
};

fn bytes(folder: &Folder) -> Vec<u8> {
    std::fs::read(folder.path()).unwrap()
}

fn journal_mode(folder: &Folder) -> String {
    folder.open().pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn looking_changes_not_one_byte() {
    for mode in ["DELETE", "WAL"] {
        let mut folder = fresh().await;
        folder.run(&format!("PRAGMA journal_mode={mode}; CREATE TABLE mine (a)")).await;
        let records: Vec<_> = (0..500).map(|id| put([int(id), text("v")])).collect();
        land(&mut folder.connect().await, &things(), "b1", &records).await;
        let before = bytes(&folder);

        let mut connection = folder.connect_to_look().await;
        assert!(connection.look_up(&claim("b1").key()).await.unwrap().is_some());
        connection.begin(Access::ReadOnly).await.unwrap();
        let changed: Vec<_> = (0..900).map(|id| put([int(id), text("other")])).collect();
        let found = look_in(&mut connection.work(), &things(), &changed).await;
        assert_eq!((found.classified.changed, found.classified.new), (500, 400));
        connection.rollback().await;
        drop(connection);
        assert_eq!(bytes(&folder), before, "{mode}");

        // A redelivery that is known is a look as well, though the connection may write.
        let mut connection = folder.connect().await;
        assert!(connection.look_up(&claim("b1").key()).await.unwrap().is_some());
        drop(connection);
        assert_eq!(bytes(&folder), before, "{mode}");
        assert_eq!(
            folder.files(),
            ["a.db"],
            "the next writer takes away what a reader leaves beside the file"
        );
        assert_eq!(journal_mode(&folder), mode.to_lowercase(), "an existing database keeps its journal mode");
        a_plan_sees_all_and_writes_nothing(&mut fresh().await).await;
    }
}

#[tokio::test]
async fn looking_makes_no_file() {
    let mut folder = fresh().await;
    let mut connection = folder.connect_to_look().await;
    assert_eq!(connection.shape(&things().table).await.unwrap(), None);
    connection.begin(Access::ReadOnly).await.unwrap();
    assert_eq!(
        look_in(&mut connection.work(), &things(), &[put([int(1), text("a")])]).await.classified.new,
        1
    );
    connection.rollback().await;
    assert!(folder.files().is_empty());
}

#[tokio::test]
async fn a_session_that_may_write_lays_it_down_for_a_plan() {
    let mut folder = fresh().await;
    let mut connection = folder.connect().await;
    let records = [put([int(1), text("a")])];
    land(&mut connection, &things(), "b1", &records).await;
    connection.begin(Access::ReadOnly).await.unwrap();
    assert_eq!(look_in(&mut connection.work(), &things(), &records).await.classified.unchanged, 1);
    connection.rollback().await;
    assert_eq!(land(&mut connection, &things(), "b2", &records).await.counts().2, 1);

    let mut connection = folder.connect_to_look().await;
    for error in [
        connection.begin(Access::Write).await.unwrap_err(),
        connection.migrate().await.unwrap_err(),
        connection.create_target(&things()).await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("opened to look only"), "{error}");
    }
}

#[tokio::test]
async fn a_database_that_landonce_makes_can_be_read_while_it_is_written() {
    let mut folder = fresh().await;
    let mut writer = folder.connect().await;
    land(&mut writer, &things(), "b1", &[put([int(1), text("a")])]).await;
    assert_eq!(journal_mode(&folder), "wal");
    writer.begin(Access::Write).await.unwrap();
    land_in(&mut writer.work(), &things(), "b2", &[put([int(2), text("b")])]).await;
    assert_eq!(folder.rows("SELECT id FROM things").await, [["1"]]);
    writer.commit().await.unwrap();
    assert_eq!(folder.rows("SELECT count(*) FROM things").await, [["2"]]);
}

#[tokio::test]
async fn a_place_that_cannot_be_opened_says_why() {
    let folder = fresh().await;
    let inside = folder.path().parent().unwrap().to_owned();
    std::fs::write(
        inside.join("text.db"),
        "this is no database, and long enough to be looked at: ".repeat(40),
    )
    .unwrap();
    for (path, says) in [
        (inside.join("missing/a.db"), "missing doesn't exist"),
        (inside.clone(), "is a folder"),
        (inside.join("text.db"), "no SQLite database"),
        (Path::new(":memory:").to_owned(), "a file is due"),
    ] {
        let error = Database::new(&path).connect().unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.is_connect && error.advice() == Advice::Never, "{error}");
    }
    let error = Database::new(inside.join("text.db")).connect_read_only().unwrap_err();
    assert_eq!(error.code, Code::Sqlite(26), "{error}");
}

#[tokio::test]
async fn a_writer_that_waits_too_long_may_go_again() {
    let mut folder = fresh().await;
    let mut first = folder.connect().await;
    set_up(&mut first, &things()).await;
    first.begin(Access::Write).await.unwrap();
    let mut second = folder.database().with_busy_timeout(Duration::from_millis(20)).connect().unwrap();
    let error = second.begin(Access::Write).await.unwrap_err();
    assert_eq!((&error.code, error.advice()), (&Code::Sqlite(5), Advice::Again), "{error}");
    assert!(error.to_string().contains("another process holds the database's lock"), "{error}");
    first.rollback().await;
    second.begin(Access::Write).await.unwrap();
    second.rollback().await;
}

#[tokio::test]
async fn of_twins_one_lands_and_the_other_finds_it() {
    let mut folder = fresh().await;
    set_up(&mut folder.connect().await, &things()).await;
    let twin = |database: Database| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut connection = database.connect().unwrap();
            connection.begin(Access::Write).await.unwrap();
            let mut work = connection.work();
            let is_new = work.claim(&claim("b1")).await.unwrap() == Claimed::New;
            if is_new {
                land_claimed(&mut work, &things(), &claim("b1"), &[put([int(1), text("a")])]).await;
            }
            drop(work);
            connection.commit().await.unwrap();
            u64::from(is_new)
        })
    };
    let twins: Vec<_> = (0..8)
        .map(|_| {
            let database = folder.database();
            std::thread::spawn(move || twin(database))
        })
        .collect();
    let landed: u64 = twins.into_iter().map(|twin| twin.join().unwrap()).sum();
    assert_eq!(landed, 1);
    assert_eq!(folder.rows("SELECT id, landonce_revision FROM things").await, [["1", "1"]]);
}

#[tokio::test]
async fn several_processes_make_one_database_at_once() {
    let mut folder = fresh().await;
    let makers: Vec<_> = (0..6)
        .map(|_| {
            let database = folder.database();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(async {
                    let mut connection = database.connect().unwrap();
                    set_up(&mut connection, &things()).await;
                });
            })
        })
        .collect();
    for maker in makers {
        maker.join().unwrap();
    }
    assert_eq!(journal_mode(&folder), "wal");
    assert_eq!(
        folder.rows("SELECT version FROM landonce_migration").await,
        [["1"], ["2"], ["3"], ["4"], ["5"], ["6"], ["7"], ["8"], ["9"]]
    );
}
