//! Rows that are one by their natural key: which stays, what points at them, what stands in the way.

use landonce_testkit::wait;

use super::Scene;
use crate::folder::Ran;

const FIRST: &str = "0190b6f2-0000-7000-8000-000000000001";
const SECOND: &str = "0190b6f3-0000-7000-8000-000000000002";

/// A pipeline that appended a delivery twice, under two runs; `count` rows each.
fn doubled(count: u32) -> String {
    format!(
        "CREATE TABLE event (id KEY!, flight TEXT NOT NULL, kind TEXT NOT NULL, gate TEXT, landonce_run_id TEXT NOT NULL);
         WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count})
         INSERT INTO event (flight, kind, gate, landonce_run_id) SELECT 'F' || n, 'departure', 'G' || n, '{SECOND}' FROM n;
         WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count})
         INSERT INTO event (flight, kind, gate, landonce_run_id) SELECT 'F' || n, 'departure', 'G' || n, '{FIRST}' FROM n;"
    )
}

const EVENT: [&str; 5] = ["dedupe", "--table", "event", "--key", "flight,kind"];

#[tokio::test]
async fn a_table_doubled_by_a_second_run_keeps_the_rows_of_the_first() {
    // The second run's rows lie first in the table: only its id tells that it was later.
    for scene in Scene::both(&doubled(40)).await {
        scene
            .round_trip(&EVENT, async |scene| {
                assert_eq!(scene.value("SELECT count(*) FROM event").await, "40");
                let others = format!("SELECT count(*) FROM event WHERE landonce_run_id <> '{FIRST}'");
                assert_eq!(scene.value(&others).await, "0");
            })
            .await;
    }
}

#[tokio::test]
async fn what_stays_and_why_is_told_and_the_json_says_the_same() {
    for scene in Scene::both(&doubled(2)).await {
        let told = scene.repair(&EVENT);
        for word in
            ["2 identities", "2 rows would be deleted", "earliest landonce_run_id", "nothing was written"]
        {
            assert!(told.stdout.contains(word), "{word}: {told}");
        }
        let json = scene.repair(&[&EVENT[..], &["--output", "json"]].concat());
        assert_eq!(json.code, 1);
        let json = json.json();
        assert_eq!(json["status"], "planned");
        assert_eq!(
            (&json["groups"], &json["duplicates"], &json["differing"]),
            (&2.into(), &2.into(), &0.into())
        );
        assert_eq!(json["constraint"]["state"], "missing");
        assert_eq!(json["first_groups"][0]["goes"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn the_constraint_that_was_added_keeps_the_next_copy_out() {
    for scene in Scene::both(&doubled(2)).await {
        for constraint in ["after", "inside"] {
            let applied = scene.repair(&[&EVENT[..], &["--apply", "--constraint", constraint]].concat());
            assert_eq!(applied.code, 0, "{applied}");
            let unique = scene.state().await.1;
            assert!(unique.contains("event_flight_kind_once"), "{unique}");
            for script in scene.scripts() {
                let script = scene.folder.path(&script);
                scene.sql(&std::fs::read_to_string(&script).unwrap()).await;
                std::fs::remove_file(script).unwrap();
            }
            assert!(!scene.state().await.1.contains("event_flight_kind_once"));
        }
    }
}

#[tokio::test]
async fn without_a_constraint_only_rows_are_repaired() {
    for scene in Scene::both(&doubled(3)).await {
        let args = [&EVENT[..], &["--constraint", "none"]].concat();
        scene
            .round_trip(&args, async |scene| {
                assert!(!scene.state().await.1.contains("event_flight_kind_once"));
            })
            .await;
    }
}

#[tokio::test]
async fn nulls_are_equal_and_three_copies_become_one() {
    let sql = "CREATE TABLE t (id KEY!, a TEXT, b INT, loaded_at TEXT, note TEXT);
        INSERT INTO t (a, b, loaded_at, note) VALUES
          (NULL, 1, '2024-03-01', 'third'), (NULL, 1, '2024-01-01', 'first'), (NULL, 1, '2024-02-01', 'second'),
          (NULL, NULL, '2024-02-01', 'x'), (NULL, NULL, '2024-02-01', 'y'), ('a', 1, '2024-02-01', 'alone'), ('', 1, NULL, 'empty');";
    for scene in Scene::both(sql).await {
        scene
            .round_trip(
                &["dedupe", "--table", "t", "--key", "a,b", "--keep", "earliest:loaded_at"],
                async |scene| {
                    let left = "SELECT count(*) FROM t WHERE note IN ('first', 'x', 'alone', 'empty')";
                    assert_eq!(scene.value(left).await, "4");
                    assert_eq!(scene.value("SELECT count(*) FROM t").await, "4");
                },
            )
            .await;
        let latest = ["dedupe", "--table", "t", "--key", "a,b", "--keep", "latest:loaded_at", "--apply"];
        std::fs::remove_file(scene.folder.path(&scene.scripts()[0])).unwrap();
        assert_eq!(scene.repair(&latest).code, 0);
        assert_eq!(scene.value("SELECT count(*) FROM t WHERE note = 'third'").await, "1");
    }
}

#[tokio::test]
async fn a_null_safe_constraint_keeps_a_second_null_out() {
    let sql = "CREATE TABLE t (id KEY!, a TEXT); INSERT INTO t (a) VALUES (NULL), (NULL), ('x');";
    for scene in Scene::both(sql).await {
        assert_eq!(scene.repair(&["dedupe", "--table", "t", "--key", "a", "--apply"]).code, 0);
        let planned = scene.repair(&["dedupe", "--table", "t", "--key", "a"]);
        assert_eq!(planned.code, 0, "{planned}");
        let refused = match &scene.database {
            None => rusqlite::Connection::open(scene.folder.path("test.db"))
                .unwrap()
                .execute("INSERT INTO t (a) VALUES (NULL)", [])
                .is_err(),
            Some(database) => {
                database.client().await.batch_execute("INSERT INTO t (a) VALUES (NULL)").await.is_err()
            }
        };
        assert!(refused);
    }
}

const REFERENCED: &str = "
    CREATE TABLE parent (id KEY!, k TEXT NOT NULL, over INT REFERENCES parent(id));
    INSERT INTO parent (id, k) VALUES (1, 'a'), (2, 'a'), (3, 'a'), (4, 'b');
    UPDATE parent SET over = 2 WHERE id IN (1, 4); UPDATE parent SET over = 3 WHERE id = 2;
    CREATE TABLE child (id KEY!, parent INT NOT NULL REFERENCES parent(id) ON DELETE CASCADE, n INT);
    INSERT INTO child (parent, n) VALUES (1, 1), (2, 2), (3, 3), (4, 4), (3, 5);
    CREATE TABLE pair (parent INT REFERENCES parent(id), tag TEXT, PRIMARY KEY (parent, tag));
    INSERT INTO pair VALUES (1, 'x'), (2, 'y'), (4, 'x');";
const PARENT: [&str; 5] = ["dedupe", "--table", "parent", "--key", "k"];

#[tokio::test]
async fn references_point_at_the_row_that_stays() {
    for scene in Scene::both(REFERENCED).await {
        scene
            .round_trip(&PARENT, async |scene| {
                assert_eq!(scene.value("SELECT count(*) FROM child WHERE parent = 1").await, "4");
                assert_eq!(scene.value("SELECT count(*) FROM child").await, "5");
                assert_eq!(scene.value("SELECT count(*) FROM pair WHERE parent = 1").await, "2");
                assert_eq!(scene.value("SELECT count(*) FROM parent WHERE over = 1").await, "2");
            })
            .await;
    }
}

#[tokio::test]
async fn references_that_would_collide_are_named_and_nothing_is_changed() {
    for scene in Scene::both(REFERENCED).await {
        scene.sql("INSERT INTO pair VALUES (3, 'x')").await;
        let before = scene.state().await;
        let refused = scene.repair(&[&PARENT[..], &["--apply"]].concat());
        assert_eq!(refused.code, 2, "{refused}");
        let rows = match scene.database {
            None => "(1, x), the rows whose (rowid) is 1 | 4",
            Some(_) => "(1, x), the rows whose (parent, tag) is 1, x | 3, x",
        };
        assert!(refused.stdout.contains(rows), "{refused}");
        scene.assert_state(&before).await;
        assert!(scene.scripts().is_empty(), "{:?}", scene.scripts());
        let json = scene.repair(&[&PARENT[..], &["--apply", "--output", "json"]].concat()).json();
        assert_eq!(json["status"], "refused");
    }
}

#[tokio::test]
async fn a_writer_that_does_not_end_is_waited_for_and_then_told() {
    let [sqlite, postgres] = Scene::both(&doubled(2)).await;
    let args = [&EVENT[..], &["--apply", "--lock-timeout", "1"]].concat();
    let before = postgres.state().await;
    let writer = postgres.database.as_ref().unwrap().client().await;
    writer.batch_execute("BEGIN; UPDATE event SET gate = 'Z' WHERE id = 1").await.unwrap();
    let refused = postgres.repair(&args);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("did not end within 1 s"), "{refused}");
    writer.batch_execute("ROLLBACK").await.unwrap();
    drop(writer);
    postgres.assert_state(&before).await;
    assert!(postgres.scripts().is_empty());

    let before = sqlite.state().await;
    let writer = rusqlite::Connection::open(sqlite.folder.path("test.db")).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = sqlite.repair(&args);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("--lock-timeout"), "{refused}");
    drop(writer);
    sqlite.assert_state(&before).await;
}

#[cfg(feature = "failpoints")]
#[tokio::test]
async fn killed_at_any_point_all_or_nothing_is_done() {
    for scene in Scene::both(REFERENCED).await {
        let before = scene.state().await;
        for name in landonce::failpoint::REPAIR {
            let store = scene.store();
            let args = Scene::args(&store, &[&PARENT[..], &["--apply"]].concat());
            let killed = landonce_testkit::crash::at_failpoint(scene.folder.command(&args), name).await;
            assert!(killed.is_ok(), "never came to `{name}`: {killed:?}");
            if *name == "repair_committed" {
                assert_eq!(scene.value("SELECT count(*) FROM parent").await, "2");
                // The constraint is what is left to do, where it comes after.
                let again = scene.repair(&[&PARENT[..], &["--apply"]].concat());
                assert_eq!(again.code, 0, "{again}");
            } else {
                scene.assert_state(&before).await;
            }
            // A script whose repair never happened changes nothing.
            if *name == "repair_scripted" {
                let script = scene.scripts().into_iter().find(|name| !name.ends_with(".partial")).unwrap();
                let script = std::fs::read_to_string(scene.folder.path(&script)).unwrap();
                let is_refused = match &scene.database {
                    None => rusqlite::Connection::open(scene.folder.path("test.db"))
                        .unwrap()
                        .execute_batch(&script)
                        .is_err(),
                    Some(database) => database.client().await.batch_execute(&script).await.is_err(),
                };
                assert!(is_refused);
                scene.assert_state(&before).await;
            }
            for script in scene.scripts() {
                std::fs::remove_file(scene.folder.path(&script)).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn where_nothing_tells_which_row_was_first_a_person_must() {
    let sql = "CREATE TABLE t (a text, note text); INSERT INTO t VALUES ('x', 'one'), ('x', 'two'), ('y', 'same'), ('y', 'same')";
    let scene = Scene::postgres(sql).await;
    let before = scene.state().await;
    let refused = scene.repair(&["dedupe", "--table", "t", "--key", "a", "--apply"]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stdout.contains("--keep earliest:COLUMN"), "{refused}");
    scene.assert_state(&before).await;
    let args = ["dedupe", "--table", "t", "--key", "a", "--keep", "latest:note"];
    scene
        .round_trip(&args, async |scene| assert_eq!(scene.value("SELECT min(note) FROM t").await, "same"))
        .await;
}

#[tokio::test]
async fn what_can_not_be_repaired_is_told() {
    for scene in Scene::both("CREATE TABLE t (id KEY!, a TEXT); CREATE VIEW v AS SELECT * FROM t;").await {
        for (args, word) in [
            (["--table", "nowhere", "--key", "a"], "there is no table nowhere"),
            (["--table", "v", "--key", "a"], "is a view"),
            (["--table", "t", "--key", "b"], "has no column `b`; it has id, a"),
            (["--table", "t", "--key", "a,a"], "twice"),
        ] {
            let ran = scene.repair(&[&["dedupe"], &args[..]].concat());
            assert_eq!(ran.code, 2, "{ran}");
            assert!(
                ran.stderr.contains(word) && ran.stderr.contains("L0851") || word == "is a view",
                "{ran}"
            );
        }
        let ran =
            scene.repair(&["dedupe", "--table", "t", "--key", "a", "--script-folder", "nowhere", "--apply"]);
        assert_eq!(ran.code, 2, "{ran}");
    }
}

#[tokio::test]
async fn a_copy_that_is_written_before_the_constraint_is_told_and_leaves_no_broken_index() {
    let scene =
        Scene::postgres(&REFERENCED.replace("KEY!", "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"))
            .await;
    let database = scene.database.as_ref().unwrap();
    let (holder, writer, eye) = (database.client().await, database.client().await, database.client().await);
    let waiting = async |what: &str, count: i64| {
        let sql = "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = \
                   current_database())";
        wait::until(30, what, async || {
            let row = eye.query_one(sql, &[]).await.unwrap();
            (row.get::<_, i64>(0) == count).then_some(())
        })
        .await;
    };
    // The repair has the table, and waits for one that points at it; a writer of a copy waits for the repair.
    holder.batch_execute("BEGIN; LOCK TABLE child IN ROW EXCLUSIVE MODE").await.unwrap();
    let store = scene.store();
    let args = Scene::args(&store, &[&PARENT[..], &["--apply", "--lock-timeout", "60"]].concat());
    let mut command = scene.folder.command(&args);
    let repair = std::thread::spawn(move || command.output().unwrap());
    waiting("the repair to wait", 1).await;
    let written =
        tokio::spawn(async move { writer.batch_execute("INSERT INTO parent (k) VALUES ('a')").await });
    waiting("the writer to wait", 2).await;
    holder.batch_execute("ROLLBACK").await.unwrap();
    let (written, repaired) = (written.await.unwrap(), Ran::from_output(&repair.join().unwrap()));
    let broken = "SELECT count(*) FROM pg_index WHERE NOT indisvalid";
    assert_eq!(scene.value(broken).await, "0");
    // Whoever comes first: the constraint keeps the copy out, or the copy keeps the constraint out and that is told.
    if written.is_err() {
        assert_eq!(repaired.code, 0, "{repaired}");
        return;
    }
    assert_eq!(repaired.code, 2, "{repaired}");
    assert!(repaired.stdout.contains("could not be added"), "{repaired}");
    let again = scene.repair(&[&PARENT[..], &["--apply", "--constraint", "inside"]].concat());
    assert_eq!(again.code, 0, "{again}");
}
