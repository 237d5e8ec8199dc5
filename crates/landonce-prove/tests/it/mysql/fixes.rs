//! What a finding tells to do is SQL that MariaDB takes.

use landonce_prove::Class;
use landonce_prove::database::Kind;
use landonce_testkit::mariadb;
use mysql_async::prelude::Queryable;

/// What the remedies' tables stand for.
const TABLES: [(&str, &str); 12] = [
    (
        "orders",
        "order_no int PRIMARY KEY, source int, total int, state int, loaded_by int, ordered_at datetime",
    ),
    ("inbox", "delivery_id int PRIMARY KEY"),
    ("account", "id int PRIMARY KEY, balance int"),
    ("reading", "sensor int, day date, value int, PRIMARY KEY (sensor, day)"),
    ("staged", "order_no int, total int, id int, body int, sensor int, day date, value int, email int"),
    ("customer", "email int UNIQUE, name int, retired_at datetime"),
    ("loaded_file", "name int"),
    ("report_day", "order_no int, total int, id int, body int, sensor int, day date, value int, email int"),
    ("event", "id int PRIMARY KEY, body int"),
    ("position", "source int, next_offset int"),
    ("daily", "day date PRIMARY KEY, total int"),
    ("outbox", "id varchar(40), topic varchar(40), body int"),
];

#[tokio::test]
async fn every_remedy_is_sql_that_mariadb_takes() {
    let database = mariadb::database().await;
    for (name, columns) in TABLES {
        let table = format!("CREATE TABLE {name} ({columns})");
        database.client().await.query_drop(table).await.unwrap();
    }
    for class in Class::ALL {
        let Some(sql) = class.sql(Kind::Mysql) else { continue };
        // A session of its own: what it has that is temporary goes with it.
        let mut client = database.client().await;
        for (name, _) in TABLES {
            client.query_drop(format!("DELETE FROM {name}")).await.unwrap();
        }
        // For each parameter: a number that is a day as well.
        client.query_drop("SET @a = 20260301").await.unwrap();
        for statement in sql.split(";\n").map(|statement| statement.trim_end_matches(';')) {
            let values: Vec<&str> = statement.matches('?').map(|_| "@a").collect();
            let using =
                if values.is_empty() { String::new() } else { format!(" USING {}", values.join(", ")) };
            let statement = statement.replace('\'', "''");
            let done = client.query_drop(format!("EXECUTE IMMEDIATE '{statement}'{using}")).await;
            // Nothing is prepared that could be ended.
            let is_of_xa = statement.contains("XA ROLLBACK");
            assert!(done.is_ok() || is_of_xa, "{class}: {statement}: {done:?}");
        }
        client.disconnect().await.unwrap();
    }
}
