//! A comparison tells rows that are new, gone, changed, restamped, renumbered and rewritten apart.

use landonce_prove::snapshot::{Change, Content, Difference, TableDifference, across, calibrate, within};

use crate::snapshot_sqlite::Scratch;

/// What changed in a table between a load and some more SQL, in one database.
fn after(setup: &str, more: &str, content: &Content, table: &str) -> TableDifference {
    differences(setup, more, content).tables.remove(table).unwrap_or_default()
}

fn differences(setup: &str, more: &str, content: &Content) -> Difference {
    let db = Scratch::new(setup);
    let before = db.snapshot();
    db.run(more);
    within(&before, &db.snapshot(), content).unwrap()
}

/// What two clean runs say, which differ in the stamp.
fn calibrated(setup: &str, ignore: &[&str]) -> Content {
    let ignore: Vec<String> = ignore.iter().map(|&it| it.to_owned()).collect();
    let stamped = |stamp: &str| Scratch::new(&setup.replace("STAMP", stamp));
    // Kept in names: a snapshot's files go with its database's folder.
    let (one, other) = (stamped("'one'"), stamped("'other'"));
    calibrate(&one.snapshot(), &other.snapshot(), &ignore).unwrap()
}

const ORDERS: &str =
    "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, number TEXT, amount INT, at TEXT);
    INSERT INTO orders (number, amount, at) VALUES ('a', 1, STAMP), ('b', 2, STAMP), ('c', 3, STAMP);";

fn orders() -> (String, Content) {
    (ORDERS.replace("STAMP", "'now'"), calibrated(ORDERS, &[]))
}

#[test]
fn two_clean_runs_tell_which_columns_count() {
    let content = calibrated(ORDERS, &["orders.amount", "orders.missing", "nowhere.*", "nonsense"]);
    assert_eq!(content.varying["orders"], ["at"]);
    assert_eq!(content.generated["orders"], ["id"]);
    assert_eq!(content.ignored["orders"], ["amount"]);
    assert_eq!(content.unmatched, ["orders.missing", "nowhere.*", "nonsense"]);
    assert!(content.unstable.is_empty());
}

#[test]
fn a_doubled_row_is_counted() {
    let (setup, content) = orders();
    let found = after(
        &setup,
        "INSERT INTO orders (number, amount, at) SELECT number, amount, 'later' FROM orders",
        &content,
        "orders",
    );
    assert_eq!((found.rows_before, found.rows_after), (3, 6));
    assert_eq!((found.added, found.doubled, found.removed, found.changed), (3, 3, 0, 0));
    assert_eq!((found.restamped, found.renumbered, found.rewritten), (0, 0, 0));
    assert_eq!(found.samples.len(), 3);
    assert!(found.samples.iter().all(|sample| sample.change == Change::Doubled));
    assert!(found.samples[0].row.contains("at='later'"), "{:?}", found.samples);
}

#[test]
fn a_bumped_counter_is_a_change_even_under_a_generated_key() {
    let (setup, content) = orders();
    let found = after(
        &setup,
        "UPDATE orders SET amount = amount + 10, at = 'later' WHERE number <> 'b'",
        &content,
        "orders",
    );
    assert_eq!((found.added, found.removed, found.changed, found.doubled), (2, 2, 2, 0));
    assert_eq!(found.changed_columns, ["amount", "at"]);
    assert_eq!((found.restamped, found.renumbered), (0, 0));
    let mut rows: Vec<&str> = found.samples.iter().map(|sample| sample.row.as_str()).collect();
    rows.sort_unstable();
    assert_eq!(
        rows,
        ["id=1: amount: 1 → 11, at: 'now' → 'later'", "id=3: amount: 3 → 13, at: 'now' → 'later'"]
    );
}

#[test]
fn a_row_changed_into_what_another_is_does_not_count_as_doubled() {
    let setup = "CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT);
        INSERT INTO jobs (state) VALUES ('open'), ('open'), ('done'), ('done');";
    let content = calibrated(setup, &[]);
    let found = after(setup, "UPDATE jobs SET state = 'done' WHERE id = 2", &content, "jobs");
    assert_eq!((found.added, found.removed, found.changed, found.doubled), (1, 1, 1, 0));
    assert_eq!(found.samples[0].row, "id=2: state: 'open' → 'done'");
}

#[test]
fn a_new_stamp_on_equal_content_is_told_with_its_column() {
    let (setup, content) = orders();
    let found = after(&setup, "UPDATE orders SET at = 'later' WHERE amount > 1", &content, "orders");
    assert_eq!((found.added, found.removed, found.restamped, found.rewritten), (0, 0, 2, 0));
    assert_eq!(found.restamped_columns, ["at"]);
    let mut rows: Vec<&str> = found.samples.iter().map(|sample| sample.row.as_str()).collect();
    rows.sort_unstable();
    assert_eq!(rows, ["id=2: at: 'now' → 'later'", "id=3: at: 'now' → 'later'"]);
}

#[test]
fn equal_rows_under_other_ids_are_renumbered() {
    let (setup, content) = orders();
    let again = "CREATE TEMP TABLE copy AS SELECT * FROM orders; DELETE FROM orders;
        INSERT INTO orders (number, amount, at) SELECT number, amount, at FROM copy";
    let found = after(&setup, again, &content, "orders");
    assert_eq!((found.added, found.restamped, found.renumbered, found.rewritten), (0, 0, 3, 0));
}

#[test]
fn equal_rows_written_anew_are_rewritten() {
    let setup =
        "CREATE TABLE t (k TEXT PRIMARY KEY, v INT); INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3);";
    let content = calibrated(setup, &[]);
    let found = after(setup, "REPLACE INTO t VALUES ('a', 1), ('b', 5)", &content, "t");
    assert_eq!((found.added, found.removed, found.changed, found.rewritten), (1, 1, 1, 1));
    assert!(!found.recreated);
    let made = "CREATE TABLE new (k TEXT PRIMARY KEY, v INT); INSERT INTO new SELECT * FROM t; DROP TABLE t;
        ALTER TABLE new RENAME TO t;";
    let found = after(setup, made, &content, "t");
    assert!(found.recreated);
    assert_eq!((found.added, found.removed, found.rewritten), (0, 0, 3));
}

#[test]
fn an_order_line_moved_to_another_order_is_changed_while_orders_are_as_they_were() {
    let setup = "CREATE TABLE orders (id INTEGER PRIMARY KEY, number TEXT);
        CREATE TABLE line (order_id INT REFERENCES orders (id), no INT, item TEXT, PRIMARY KEY (order_id, no));
        INSERT INTO orders VALUES (1, 'a'), (2, 'b');
        INSERT INTO line VALUES (1, 1, 'x'), (1, 2, 'y'), (2, 1, 'z');";
    let content = calibrated(setup, &[]);
    assert_eq!(content.generated["line"], ["order_id"]);
    let found = after(setup, "UPDATE line SET order_id = 2 WHERE item = 'y'", &content, "line");
    assert_eq!((found.added, found.removed, found.renumbered), (1, 1, 0));
    let reloaded = "DELETE FROM line; DELETE FROM orders; INSERT INTO orders VALUES (3, 'a'), (4, 'b');
        INSERT INTO line VALUES (3, 1, 'x'), (3, 2, 'y'), (4, 1, 'z')";
    let found = after(setup, reloaded, &content, "line");
    assert_eq!((found.added, found.removed, found.renumbered), (0, 0, 3));
}

#[test]
fn across_clones_neither_stamps_nor_ids_count() {
    let (setup, content) = orders();
    let one = Scratch::new(&setup);
    let other = Scratch::new(&setup.replace("'now'", "'other'").replace(
        "INSERT INTO orders",
        "INSERT INTO orders (number) VALUES ('gap'); DELETE FROM orders; INSERT INTO orders",
    ));
    let (expected, found) = (one.snapshot(), other.snapshot());
    assert_eq!(across(&expected, &found, &content).unwrap(), Difference::default());
    other.run("DELETE FROM orders WHERE number = 'a'; UPDATE orders SET amount = 9 WHERE number = 'b'; INSERT INTO orders (number, amount) VALUES ('c', 3)");
    let found = &across(&expected, &other.snapshot(), &content).unwrap().tables["orders"];
    assert_eq!((found.added, found.doubled, found.removed, found.changed), (2, 1, 2, 0));
}

#[test]
fn what_is_ignored_counts_nowhere() {
    let setup = "CREATE TABLE t (k INT UNIQUE, v INT); CREATE TABLE log (x); INSERT INTO t VALUES (1, 1);";
    let content = calibrated(setup, &["t.v", "log.*", "scratch.*"]);
    assert_eq!(content.unmatched, ["scratch.*"]);
    let found = differences(setup, "UPDATE t SET v = 2; INSERT INTO log VALUES (1)", &content);
    assert_eq!(found, Difference::default());
    let found = differences(setup, "DROP TABLE log", &content);
    assert_eq!(found, Difference::default());
}

#[test]
fn a_table_that_two_clean_runs_leave_differently_is_skipped() {
    let setup = "CREATE TABLE t (k INT); INSERT INTO t SELECT 1 WHERE STAMP = 'one'; CREATE TABLE u (k INT)";
    let content = calibrated(setup, &[]);
    assert_eq!(content.unstable, ["t"]);
    let (one, other) =
        (Scratch::new(&setup.replace("STAMP", "'one'")), Scratch::new(&setup.replace("STAMP", "''")));
    let found = across(&one.snapshot(), &other.snapshot(), &content).unwrap();
    assert_eq!(found, Difference { skipped: vec!["t".to_owned()], ..Difference::default() });
}

#[test]
fn a_value_that_wanders_between_rows_is_found_to_vary() {
    let setup = "CREATE TABLE t (k INT PRIMARY KEY, worker INT);
        INSERT INTO t SELECT 1, 1 + (STAMP = 'one') UNION ALL SELECT 2, 2 - (STAMP = 'one')";
    let content = calibrated(setup, &[]);
    assert_eq!(content.varying["t"], ["worker"]);
    assert!(content.unstable.is_empty());
}

#[test]
fn ids_that_the_command_supplies_count_where_there_is_nothing_else() {
    let content =
        calibrated("CREATE TABLE done (id INTEGER PRIMARY KEY); INSERT INTO done VALUES (7), (9)", &[]);
    assert!(content.generated.is_empty());
    let content = calibrated(
        "CREATE TABLE run (id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO run VALUES (1)",
        &[],
    );
    assert_eq!(content.generated["run"], ["id"]);
}

#[test]
fn columns_and_tables_that_come_and_go_are_told() {
    let setup = "CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 2); CREATE TABLE u (x)";
    let found = differences(
        setup,
        "ALTER TABLE t ADD COLUMN c INT; ALTER TABLE t DROP COLUMN b; DROP TABLE u; CREATE TABLE v (x); CREATE INDEX i ON v (x)",
        &Content::default(),
    );
    assert_eq!(found.appeared, ["v"]);
    assert_eq!(found.vanished, ["u"]);
    assert_eq!(found.objects_appeared, ["index i"]);
    let table = &found.tables["t"];
    assert_eq!(
        (&table.columns_added[..], &table.columns_dropped[..]),
        (&["c".to_owned()][..], &["b".to_owned()][..])
    );
    assert_eq!((table.added, table.removed, table.rewritten), (0, 0, 0));
}

#[test]
fn a_run_that_wrote_anything_is_seen_to_have_written() {
    let db =
        Scratch::new("CREATE TABLE t (k TEXT PRIMARY KEY, v INT); INSERT INTO t VALUES ('a', 1), ('b', 2)");
    let before = db.snapshot();
    assert!(!db.snapshot().differs_from(&before).unwrap());
    db.run("BEGIN; INSERT INTO t VALUES ('c', 1); ROLLBACK");
    assert!(!db.snapshot().differs_from(&before).unwrap());
    db.run("REPLACE INTO t VALUES ('a', 1)");
    assert!(db.snapshot().differs_from(&before).unwrap());
}
