//! Without the right to create databases: that is said, and one scratch database serves instead.

use landonce_prove::database::Source;
use landonce_testkit::postgres::{TestDatabase, database};

use crate::clones::{connect, count, shop};

/// All that there may be in a database of someone's own.
const LITTER: &str = "CREATE TABLE litter (a int); CREATE TABLE parts (a int) PARTITION BY LIST (a);
    CREATE TABLE part PARTITION OF parts DEFAULT; CREATE SCHEMA dirt; CREATE TABLE dirt.t (a int);
    CREATE VIEW v AS SELECT * FROM litter; CREATE MATERIALIZED VIEW m AS SELECT * FROM v; CREATE SEQUENCE s;
    CREATE TYPE odd AS (a int); CREATE DOMAIN d AS int; CREATE TYPE two AS ENUM ('a', 'b');
    CREATE TYPE span AS RANGE (subtype = int);
    CREATE FUNCTION f(odd) RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE PROCEDURE p() LANGUAGE sql AS 'SELECT 1';
    CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int); SELECT lo_create(0); CREATE EXTENSION hstore;
    CREATE PUBLICATION everything FOR TABLE litter";

/// A role that may log in, and own a scratch database and read the source, but make none. Its name is unique.
struct Poor {
    role: String,
    source: TestDatabase,
    scratch: TestDatabase,
}

impl Poor {
    async fn new() -> Self {
        let (source, scratch) = (shop().await, database().await);
        let role = format!("poor_{}", &source.name()[..10]);
        let admin = source.client().await;
        admin
            .batch_execute(&format!(
                "CREATE ROLE {role} LOGIN PASSWORD 'hunter2'; GRANT pg_read_all_data TO {role};
                 ALTER DATABASE \"{}\" OWNER TO {role}",
                scratch.name()
            ))
            .await
            .unwrap();
        Self { role, source, scratch }
    }

    fn url(&self, database: &TestDatabase) -> String {
        database.url().replacen("postgres@", &format!("{}:hunter2@", self.role), 1)
    }

    async fn end(self) {
        let admin = self.source.client().await;
        admin
            .batch_execute(&format!("ALTER DATABASE \"{}\" OWNER TO postgres", self.scratch.name()))
            .await
            .unwrap();
        let sql = format!("DROP OWNED BY {0}; DROP ROLE {0}", self.role);
        self.scratch.client().await.batch_execute(&format!("DROP OWNED BY {}", self.role)).await.unwrap();
        admin.batch_execute(&sql).await.unwrap();
    }
}

#[tokio::test]
async fn without_createdb_the_way_out_is_told() {
    let poor = Poor::new().await;
    let error = Source::open(&poor.url(&poor.source), None).await.unwrap_err().to_string();
    assert!(
        error.contains("CREATEDB") && error.contains("--in-place") && error.contains(&poor.role),
        "{error}"
    );
    assert!(!error.contains("hunter2"));
    poor.end().await;
}

#[tokio::test]
async fn a_scratch_database_is_a_fresh_clone_every_time() {
    let poor = Poor::new().await;
    let scratch = connect(&poor.url(&poor.scratch)).await;
    scratch.batch_execute(LITTER).await.unwrap();
    // Somebody's database, perhaps by a slip of the pen: nothing in it is touched.
    let error = Source::open(&poor.url(&poor.source), Some(&poor.url(&poor.scratch))).await.unwrap_err();
    assert!(error.to_string().contains("isn't empty") && error.to_string().contains("COMMENT ON"), "{error}");
    assert_eq!(count(&scratch, "litter").await, 0);
    let (_, allowed) =
        error.to_string().split_once("if it may be: ").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    scratch.batch_execute(&allowed).await.unwrap();
    drop(scratch);
    let source = Source::open(&poor.url(&poor.source), Some(&poor.url(&poor.scratch))).await.unwrap();
    connect(source.base_url())
        .await
        .batch_execute("INSERT INTO orders (what) VALUES ('setup')")
        .await
        .unwrap();
    for _ in 0..2 {
        let clone = source.fresh().await.unwrap();
        let client = connect(clone.url()).await;
        assert_eq!((count(&client, "orders").await, count(&client, "teas").await), (3, 1));
        let litter = client
            .query_one("SELECT to_regclass('litter') IS NULL, to_regnamespace('dirt') IS NULL", &[])
            .await;
        assert_eq!(litter.map(|row| (row.get(0), row.get(1))).unwrap(), (true, true));
        let id =
            client.query_one("INSERT INTO orders (what) VALUES ('more') RETURNING id", &[]).await.unwrap();
        assert_eq!(id.get::<_, i64>(0), 4);
        client.batch_execute("DROP TABLE side.notes; CREATE TABLE left_behind (a int)").await.unwrap();
        let error = source.fresh().await.unwrap_err().to_string();
        assert!(error.contains("one clone at a time"), "{error}");
        drop(client);
        clone.settle().await.unwrap();
        clone.discard().await.unwrap();
    }
    assert_eq!(count(&poor.source.client().await, "orders").await, 2);
    source.close().await.unwrap();
    let left =
        poor.scratch.client().await.query_one("SELECT to_regclass('orders') IS NULL", &[]).await.unwrap();
    assert!(left.get::<_, bool>(0), "the scratch database is left empty");
    poor.end().await;
}

#[tokio::test]
async fn an_empty_source_needs_no_dump() {
    let (empty, scratch) = (database().await, database().await);
    let source = Source::open(&empty.url(), Some(&scratch.url())).await.unwrap();
    for _ in 0..2 {
        let clone = source.fresh().await.unwrap();
        connect(clone.url()).await.batch_execute("CREATE TABLE made (a int)").await.unwrap();
        clone.discard().await.unwrap();
    }
    source.close().await.unwrap();
}

#[tokio::test]
async fn the_source_itself_is_no_scratch_database() {
    let database = shop().await;
    // Another spelling of the same place.
    let other = database.url().replacen("127.0.0.1", "localhost", 1);
    let error = Source::open(&database.url(), Some(&other)).await.unwrap_err().to_string();
    assert!(error.contains("the source itself"), "{error}");
    assert_eq!(count(&database.client().await, "orders").await, 2);
}

#[tokio::test]
async fn who_may_create_but_not_copy_gets_a_dump() {
    let source = shop().await;
    let role = format!("maker_{}", &source.name()[..10]);
    let admin = source.client().await;
    admin
        .batch_execute(&format!("CREATE ROLE {role} LOGIN CREATEDB; GRANT pg_read_all_data TO {role}"))
        .await
        .unwrap();
    let url = source.url().replacen("postgres@", &format!("{role}@"), 1);
    let opened = Source::open(&url, None).await.unwrap();
    assert!(opened.notes()[0].contains(&role), "{:?}", opened.notes());
    let clone = opened.fresh().await.unwrap();
    assert_eq!(count(&connect(clone.url()).await, "orders").await, 2);
    opened.close().await.unwrap();
    admin.batch_execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await.unwrap();
}
