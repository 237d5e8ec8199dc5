//! Derived tables (F6, G6): after a derive each is equal to its query over the base, whatever was delivered, in whichever order,
//! by however many, and whatever was cut short in between.

mod periods;
mod random;
mod under_way;

use landonce::derive::{Deriving, Which};
use landonce::{Pipeline, Status};
use landonce_testkit::dump::physical;

use crate::given::{Given, counts, on_every_store, patient, pipeline};

on_every_store!(
    a_batch_marks_what_it_changes_and_a_derive_computes_just_that,
    a_rerun_touches_no_row_and_an_unchanged_batch_marks_nothing,
    a_row_that_moves_changes_both_periods,
    a_deleted_row_is_gone_from_the_sum_and_an_empty_period_from_the_table,
    late_data_changes_its_own_period_only,
    a_table_that_is_derived_from_a_derived_one_follows,
    a_failed_batch_marks_nothing,
    a_mark_stays_until_its_period_is_computed,
    the_check_names_what_differs,
    all_or_some_periods_are_computed_when_asked_for,
    two_derives_at_once_compute_each_period_once,
    rows_that_a_query_can_not_give_are_refused_whole,
    a_table_that_is_there_must_keep_keys_apart,
    a_column_that_tells_no_period_is_refused_before_anything_lands,
    sums_are_exact,
    a_batch_in_somebodys_transaction_leaves_its_marks_there,
    the_guides_pipeline_does_what_it_says,
);

const FLIGHTS: &str = "
identity: [id]
target: {table: flight, columns: {id: text, day: date, crew: text, minutes: integer}}
write: {delete_when: {field: op, equals: [d]}}
derive:
  - table: crew_month
    from: crew_day
    of: day
    key: [month, crew]
    period: {field: month, every: month, tz: UTC}
    columns: {month: date, crew: text, minutes: integer}
    sql: |
      SELECT {period.date} AS month, crew, sum(minutes) AS minutes FROM crew_day
      WHERE day >= {period.date} AND day < {period.until} GROUP BY crew -- a comment at the end
  - table: crew_day
    key: [day, crew]
    period: {field: day, every: day, tz: UTC}
    columns: {day: date, crew: text, minutes: integer, flights: integer}
    sql: |
      SELECT day, crew, sum(minutes) AS minutes, count(*) AS flights FROM flight
      WHERE day = {period.date} AND crew IS NOT NULL GROUP BY day, crew
";

fn flights() -> Pipeline {
    pipeline(FLIGHTS)
}

fn flight(id: &str, day: &str, crew: &str, minutes: u32) -> String {
    format!(r#"{{"id":"{id}","day":"{day}","crew":"{crew}","minutes":{minutes}}}"#)
}

async fn deliver(given: &Given, id: &str, lines: &[String]) -> String {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    counts(&given.deliver_as(&flights(), id, &lines).await.unwrap())
}

/// What was computed, as text: `crew_day 2026-03-01 +1 ~0 -0`.
async fn derive(given: &Given, pipeline: &Pipeline) -> Vec<String> {
    derive_which(given, pipeline, Which::Due).await
}

async fn derive_which(given: &Given, pipeline: &Pipeline, which: Which) -> Vec<String> {
    let options = Deriving { which, retry: patient().retry, ..Deriving::default() };
    let tables = pipeline.derive_with(&given.store, &options).await.unwrap();
    let told = tables.iter().flat_map(|table| {
        table.periods.iter().map(|period| {
            let (i, u, d) = (period.inserted, period.updated, period.deleted);
            format!("{} {} +{i} ~{u} -{d}", table.table, period.label)
        })
    });
    told.collect()
}

async fn days(given: &Given) -> Vec<String> {
    let sql = "SELECT day || ' ' || crew || ' ' || minutes || ' ' || flights FROM crew_day ORDER BY 1";
    given.column(sql).await
}

async fn months(given: &Given) -> Vec<String> {
    given.column("SELECT month || ' ' || crew || ' ' || minutes FROM crew_month ORDER BY 1").await
}

async fn marks(given: &Given) -> Vec<String> {
    let due = given.system("due");
    given.column(&format!("SELECT derived || ' ' || label FROM {due} ORDER BY 1")).await
}

/// Equal, both ways, says the checker.
async fn assert_equal(given: &Given, pipeline: &Pipeline) {
    for table in pipeline.check_derived(&given.store).await.unwrap() {
        assert!(table.differing.is_empty(), "{table:?}");
    }
}

/// Every row's place and version, where the store shows them.
async fn versions(given: &Given) -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    if given.is_postgres() {
        for table in ["public.crew_day", "public.crew_month"] {
            let rows = physical(&given.database().client().await, table).await;
            all.extend(rows.into_iter().map(|row| (row.ctid, row.xmin, row.xmax)));
        }
    }
    all
}

async fn a_batch_marks_what_it_changes_and_a_derive_computes_just_that(given: Given) {
    let lines = [
        flight("1", "2026-03-01", "ann", 60),
        flight("2", "2026-03-01", "ann", 30),
        flight("3", "2026-03-01", "bob", 90),
        flight("4", "2026-03-02", "ann", 45),
    ];
    assert_eq!(deliver(&given, "b1", &lines).await, "read 4, inserted 4");
    assert_eq!(marks(&given).await, ["crew_day 2026-03-01", "crew_day 2026-03-02"]);
    assert_eq!(
        derive(&given, &flights()).await,
        ["crew_day 2026-03-01 +2 ~0 -0", "crew_day 2026-03-02 +1 ~0 -0", "crew_month 2026-03 +2 ~0 -0"]
    );
    assert_eq!(days(&given).await, ["2026-03-01 ann 90 2", "2026-03-01 bob 90 1", "2026-03-02 ann 45 1"]);
    assert_eq!(months(&given).await, ["2026-03-01 ann 135", "2026-03-01 bob 90"]);
    assert!(marks(&given).await.is_empty());
    assert_equal(&given, &flights()).await;
}

async fn a_rerun_touches_no_row_and_an_unchanged_batch_marks_nothing(given: Given) {
    let lines = [flight("1", "2026-03-01", "ann", 60), flight("2", "2026-03-02", "bob", 30)];
    deliver(&given, "b1", &lines).await;
    derive(&given, &flights()).await;
    let (before, rows) = (given.dump().await, versions(&given).await);
    assert_eq!(deliver(&given, "b1", &lines).await, "read 2, inserted 2");
    assert!(derive(&given, &flights()).await.is_empty());
    before.assert_same(&given.dump().await);
    assert_eq!(deliver(&given, "b2", &lines).await, "read 2, unchanged 2");
    assert!(marks(&given).await.is_empty());
    // Computed again all the same, nothing is written: not a row version, not a lock.
    assert_eq!(
        derive_which(&given, &flights(), Which::All).await,
        ["crew_day 2026-03-01 +0 ~0 -0", "crew_day 2026-03-02 +0 ~0 -0", "crew_month 2026-03 +0 ~0 -0"]
    );
    assert_eq!(rows, versions(&given).await);
}

async fn a_row_that_moves_changes_both_periods(given: Given) {
    let before = [flight("1", "2026-03-01", "ann", 60), flight("2", "2026-03-01", "ann", 30)];
    deliver(&given, "b1", &before).await;
    derive(&given, &flights()).await;
    assert_eq!(deliver(&given, "b2", &[flight("2", "2026-04-05", "ann", 30)]).await, "read 1, updated 1");
    assert_eq!(marks(&given).await, ["crew_day 2026-03-01", "crew_day 2026-04-05"]);
    assert_eq!(
        derive(&given, &flights()).await,
        [
            "crew_day 2026-03-01 +0 ~1 -0",
            "crew_day 2026-04-05 +1 ~0 -0",
            "crew_month 2026-03 +0 ~1 -0",
            "crew_month 2026-04 +1 ~0 -0"
        ]
    );
    assert_eq!(days(&given).await, ["2026-03-01 ann 60 1", "2026-04-05 ann 30 1"]);
    assert_equal(&given, &flights()).await;
}

async fn a_deleted_row_is_gone_from_the_sum_and_an_empty_period_from_the_table(given: Given) {
    deliver(&given, "b1", &[flight("1", "2026-03-01", "ann", 60), flight("2", "2026-03-02", "ann", 30)])
        .await;
    derive(&given, &flights()).await;
    let delete = r#"{"id":"1","op":"d"}"#.to_owned();
    assert_eq!(deliver(&given, "b2", &[delete]).await, "read 1, deleted 1");
    assert_eq!(marks(&given).await, ["crew_day 2026-03-01"]);
    assert_eq!(
        derive(&given, &flights()).await,
        ["crew_day 2026-03-01 +0 ~0 -1", "crew_month 2026-03 +0 ~1 -0"]
    );
    assert_eq!(months(&given).await, ["2026-03-01 ann 30"]);
    assert_equal(&given, &flights()).await;
}

async fn late_data_changes_its_own_period_only(given: Given) {
    deliver(&given, "b1", &[flight("1", "2026-03-01", "ann", 60), flight("2", "2026-03-02", "ann", 30)])
        .await;
    derive(&given, &flights()).await;
    deliver(&given, "b2", &[flight("3", "2025-12-31", "ann", 15)]).await;
    assert_eq!(
        derive(&given, &flights()).await,
        ["crew_day 2025-12-31 +1 ~0 -0", "crew_month 2025-12 +1 ~0 -0"]
    );
    assert_equal(&given, &flights()).await;
}

async fn a_table_that_is_derived_from_a_derived_one_follows(given: Given) {
    deliver(&given, "b1", &[flight("1", "2026-03-01", "ann", 60)]).await;
    derive(&given, &flights()).await;
    // Two flights of 60 minutes in place of one of 60: the day changes, and the month's minutes with it.
    deliver(&given, "b2", &[flight("2", "2026-03-01", "ann", 60)]).await;
    assert_eq!(
        derive(&given, &flights()).await,
        ["crew_day 2026-03-01 +0 ~1 -0", "crew_month 2026-03 +0 ~1 -0"]
    );
    // Another crew's row moves nothing of the month of a day that comes out equal.
    deliver(&given, "b3", &[r#"{"id":"9","day":"2026-03-01","minutes":5}"#.to_owned()]).await;
    assert_eq!(derive(&given, &flights()).await, ["crew_day 2026-03-01 +0 ~0 -0"]);
}

async fn a_failed_batch_marks_nothing(given: Given) {
    deliver(&given, "b1", &[flight("1", "2026-03-01", "ann", 60)]).await;
    derive(&given, &flights()).await;
    let lines = [flight("2", "2026-03-02", "ann", 1), r#"{"id":null}"#.to_owned()];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    given.deliver_as(&flights(), "b2", &lines).await.unwrap_err();
    assert!(marks(&given).await.is_empty());
}

async fn a_mark_stays_until_its_period_is_computed(given: Given) {
    // C35: base and rollup are two transactions, and whatever happens in between, the recorded period is the one.
    deliver(&given, "b1", &[flight("1", "2026-03-01", "ann", 60)]).await;
    let broken = pipeline(&FLIGHTS.replace("FROM flight", "FROM no_such_table"));
    let options = Deriving::default();
    let told = broken.derive_with(&given.store, &options).await.unwrap_err().to_string();
    assert!(told.contains("no_such_table"), "{told}");
    assert_eq!(marks(&given).await, ["crew_day 2026-03-01"]);
    let again = given.deliver_as(&flights(), "b1", &[&flight("1", "2026-03-01", "ann", 60)]).await.unwrap();
    assert_eq!(again.status, Status::SkippedDuplicate);
    assert_eq!(
        derive(&given, &flights()).await,
        ["crew_day 2026-03-01 +1 ~0 -0", "crew_month 2026-03 +1 ~0 -0"]
    );
    assert_equal(&given, &flights()).await;
}

async fn the_check_names_what_differs(given: Given) {
    deliver(&given, "b1", &[flight("1", "2026-03-01", "ann", 60), flight("2", "2026-03-02", "bob", 30)])
        .await;
    derive(&given, &flights()).await;
    given
        .execute(
            "UPDATE crew_day SET minutes = 61 WHERE crew = 'ann'; DELETE FROM crew_day WHERE crew = 'bob';
             INSERT INTO crew_day VALUES ('2026-05-01', 'eve', 1, 1)",
        )
        .await;
    deliver(&given, "b2", &[flight("3", "2026-04-01", "ann", 7)]).await;
    let before = given.dump().await;
    let checked = flights().check_derived(&given.store).await.unwrap();
    before.assert_same(&given.dump().await);
    assert_eq!((checked[0].table.as_str(), checked[0].periods), ("crew_day", 4));
    let told: Vec<String> = checked[0]
        .differing
        .iter()
        .map(|period| {
            let row = &period.samples[0];
            let told = |row: &Option<String>| row.as_deref().unwrap_or("-").replace(' ', "");
            let due = if period.is_due { " due" } else { "" };
            format!("{}{due} {}: {} {}", period.label, period.count, told(&row.expected), told(&row.found))
        })
        .collect();
    assert_eq!(
        told,
        [
            r#"2026-03-01 1: ["2026-03-01","ann",60,1] ["2026-03-01","ann",61,1]"#,
            r#"2026-03-02 1: ["2026-03-02","bob",30,1] -"#,
            r#"2026-04-01 due 1: ["2026-04-01","ann",7,1] -"#,
            r#"2026-05-01 1: - ["2026-05-01","eve",1,1]"#,
        ]
    );
    derive_which(&given, &flights(), Which::All).await;
    assert_equal(&given, &flights()).await;
}

async fn all_or_some_periods_are_computed_when_asked_for(given: Given) {
    // Rows from before the table was declared are in no batch's marks.
    let plain = pipeline(FLIGHTS.split("derive:").next().unwrap());
    let lines = [
        flight("1", "2026-03-01", "ann", 1),
        flight("2", "2026-03-02", "ann", 2),
        flight("3", "2026-04-01", "ann", 3),
    ];
    given.deliver_as(&plain, "b1", &lines.each_ref().map(String::as_str)).await.unwrap();
    assert!(derive(&given, &flights()).await.is_empty());
    let march_first = jiff::civil::date(2026, 3, 1);
    assert_eq!(
        derive_which(&given, &flights(), Which::Between(march_first, march_first)).await,
        ["crew_day 2026-03-01 +1 ~0 -0", "crew_month 2026-03 +1 ~0 -0"]
    );
    derive_which(&given, &flights(), Which::All).await;
    assert_eq!(months(&given).await, ["2026-03-01 ann 3", "2026-04-01 ann 3"]);
    assert_equal(&given, &flights()).await;
}

async fn two_derives_at_once_compute_each_period_once(given: Given) {
    let lines: Vec<String> =
        (1..=20).map(|day| flight(&day.to_string(), &format!("2026-03-{day:02}"), "ann", 1)).collect();
    deliver(&given, "b1", &lines).await;
    let pipeline = flights();
    let (one, other) = tokio::join!(derive(&given, &pipeline), derive(&given, &pipeline));
    let all: Vec<String> =
        [one, other].concat().into_iter().filter(|told| told.starts_with("crew_day")).collect();
    assert_eq!(all.len(), 20, "{all:?}");
    // One of them may have looked for due months before the other had marked them.
    derive(&given, &pipeline).await;
    assert_eq!(months(&given).await, ["2026-03-01 ann 20"]);
    assert_equal(&given, &pipeline).await;
}

async fn rows_that_a_query_can_not_give_are_refused_whole(given: Given) {
    let lines = [
        flight("1", "2026-03-01", "ann", 60),
        flight("2", "2026-03-01", "ann", 30),
        r#"{"id":"3","day":"2026-03-01","minutes":5}"#.to_owned(),
        flight("4", "2026-03-02", "bob", 1),
    ];
    deliver(&given, "b1", &lines).await;
    let with = |sql: &str| {
        let (head, _) = FLIGHTS.split_once("    sql: |\n      SELECT day, crew").unwrap();
        pipeline(&format!("{head}    sql: '{sql}'"))
    };
    for (sql, want) in [
        (
            "SELECT day, crew, minutes, 1 AS flights FROM flight WHERE crew IS NOT NULL AND day = {period.date}",
            "several rows with the key",
        ),
        (
            "SELECT day, crew, 1 AS minutes, 1 AS flights FROM flight WHERE day = {period.date} GROUP BY day, crew",
            "is NULL",
        ),
        (
            "SELECT day, crew, 1 AS minutes, 1 AS flights FROM flight WHERE day >= {period.date} AND crew IS NOT NULL GROUP BY day, crew",
            "isn't in the period",
        ),
    ] {
        let error = with(sql).derive(&given.store).await.unwrap_err();
        assert_eq!(error.code().as_str(), "L0202", "{sql}");
        let told = error.to_string();
        assert!(told.contains(want) && told.contains("2026-03-01"), "{sql}: {told}");
        assert_eq!(given.count("crew_day").await, 0);
        assert_eq!(marks(&given).await.len(), 2);
    }
    derive(&given, &flights()).await;
    assert_equal(&given, &flights()).await;
}

async fn a_table_that_is_there_must_keep_keys_apart(given: Given) {
    given.execute("CREATE TABLE crew_day (day date, crew text, minutes bigint, flights bigint)").await;
    deliver(&given, "b1", &[flight("1", "2026-03-01", "ann", 60)]).await;
    let told = flights().derive(&given.store).await.unwrap_err().to_string();
    assert!(told.contains("nothing enforces the key (day, crew)"), "{told}");
    given.execute("CREATE UNIQUE INDEX crew_day_key ON crew_day (crew, day)").await;
    derive(&given, &flights()).await;
    assert_equal(&given, &flights()).await;
}

async fn a_column_that_tells_no_period_is_refused_before_anything_lands(given: Given) {
    for (of, want) in [("nowhere", "`nowhere` has no column"), ("id", "`id` is scalar, and date")] {
        let yaml = FLIGHTS
            .replace("{id: text, day: date", "{day: date")
            .replace("  - table: crew_day\n", &format!("  - table: crew_day\n    of: {of}\n"));
        let error =
            given.deliver(&pipeline(&yaml), &[&flight("1", "2026-03-01", "ann", 60)]).await.unwrap_err();
        assert!(error.to_string().contains(want), "{error}");
        assert_eq!(given.count("flight").await, 0);
    }
}

async fn sums_are_exact(given: Given) {
    let sum = if given.is_postgres() { "sum" } else { "decimal_sum" };
    let yaml = format!(
        "identity: [id]
target: {{table: sale, columns: {{day: date, amount: 'decimal(20,4)'}}}}
derive:
  - table: daily_sales
    key: [day]
    period: {{field: day, every: day, tz: UTC}}
    columns: {{day: date, gross: 'decimal(20,4)'}}
    sql: SELECT day, {sum}(amount) AS gross FROM sale WHERE day = {{period.date}} GROUP BY day
"
    );
    let sales = pipeline(&yaml);
    let lines: Vec<String> =
        (0..10).map(|id| format!(r#"{{"id":{id},"day":"2026-03-01","amount":0.1}}"#)).collect();
    let mut lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    lines.push(r#"{"id":"x","day":"2026-03-01","amount":1234567890123456.0001}"#);
    given.deliver(&sales, &lines).await.unwrap();
    derive(&given, &sales).await;
    assert_eq!(given.column("SELECT gross FROM daily_sales").await, ["1234567890123457.0001"]);
    assert_equal(&given, &sales).await;
    if !given.is_postgres() {
        let floats = pipeline(&yaml.replace("decimal_sum(amount)", "sum(amount)"));
        let options = Deriving { which: Which::All, ..Deriving::default() };
        let told = floats.derive_with(&given.store, &options).await.unwrap_err().to_string();
        assert!(told.contains("floating-point number for `gross`") && told.contains("decimal_sum"), "{told}");
    }
}

async fn a_batch_in_somebodys_transaction_leaves_its_marks_there(given: Given) {
    let pipeline = flights();
    given.store.set_up(&pipeline).await.unwrap();
    let line = flight("1", "2026-03-01", "ann", 60);
    let batch = landonce::Batch::from_bytes("events.ndjson", line);
    for (is_committed, want) in [(false, 0), (true, 1)] {
        if given.is_postgres() {
            let mut client = given.database().client().await;
            let mut transaction = client.transaction().await.unwrap();
            pipeline.ingest_in(&mut transaction, &batch, &patient()).await.unwrap();
            if is_committed {
                transaction.commit().await.unwrap();
            } else {
                transaction.rollback().await.unwrap();
            }
        } else {
            let path = given.sqlite_path();
            let mut connection = rusqlite::Connection::open(path).unwrap();
            let mut transaction = connection.transaction().unwrap();
            pipeline.ingest_in(&mut transaction, &batch, &patient()).await.unwrap();
            if is_committed { transaction.commit().unwrap() } else { transaction.rollback().unwrap() }
        }
        assert_eq!(marks(&given).await.len(), want);
    }
    derive(&given, &pipeline).await;
    assert_equal(&given, &pipeline).await;
}

const GUIDE: &str = include_str!("../../../../docs/guides/derived-tables.md");

async fn the_guides_pipeline_does_what_it_says(given: Given) {
    let start = GUIDE.find("```yaml\n").unwrap() + "```yaml\n".len();
    let yaml = &GUIDE[start..start + GUIDE[start..].find("```").unwrap()];
    let sales = Pipeline::from_yaml(yaml).unwrap();
    let sale = |line: u32, at: &str, country: &str, pence: u32| {
        format!(r#"{{"invoice":"A","line":{line},"sold_at":"{at}","country":{country},"pence":{pence}}}"#)
    };
    let lines = [
        sale(1, "2026-03-31T22:59:00Z", r#""UK""#, 100),
        sale(2, "2026-03-31T23:01:00Z", r#""UK""#, 20), // April in London
        sale(3, "2026-03-31T10:00:00Z", "null", 7),
    ];
    given.deliver(&sales, &lines.each_ref().map(String::as_str)).await.unwrap();
    derive(&given, &sales).await;
    let daily = given
        .column("SELECT day || ' ' || country || ' ' || pence || ' ' || lines FROM daily_sales ORDER BY 1");
    assert_eq!(daily.await, ["2026-03-31 UK 100 1", "2026-04-01 UK 20 1"]);
    let monthly = given.column("SELECT month || ' ' || pence FROM monthly_sales ORDER BY 1");
    assert_eq!(monthly.await, ["2026-03-01 100", "2026-04-01 20"]);
    assert_equal(&given, &sales).await;
}
