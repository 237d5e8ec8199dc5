//! The three spellings of one meaning: whatever a statement was written like, it does the same on SQLite, PostgreSQL and MariaDB.

use landonce_sql::{Dialect, Keys, Spelling, Target, parse, render};

use crate::world::{ACCOUNTS, Store, Value, World, int, owned, text};

/// The statement for a store, with this key where it names none.
fn spelled(sql: &str, key: &[&str], dialect: Dialect) -> String {
    let key = owned(key);
    let keys = if key.is_empty() { Keys::Unknown } else { Keys::Given(&key) };
    let spelled = parse(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let upsert = spelled.upsert(dialect, &keys).unwrap_or_else(|error| panic!("{sql}: {error}"));
    render(&upsert, dialect).unwrap_or_else(|error| panic!("{sql}: {error}")).sql
}

async fn run(store: &mut Store, sql: &str, key: &[&str], params: &[Value]) {
    let dialect = store.dialect();
    let key = owned(key);
    let keys = if key.is_empty() { Keys::Unknown } else { Keys::Given(&key) };
    let upsert = parse(sql)
        .and_then(|spelled| spelled.upsert(dialect, &keys))
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    let rendered = render(&upsert, dialect).unwrap();
    if let Err(fault) = store.run(&rendered, params).await {
        panic!("{sql}\n{}\n{fault:?}", rendered.sql);
    }
}

const KEY: &[&str] = &["tenant", "code"];

#[tokio::test]
async fn one_meaning_in_three_spellings_leaves_one_table() {
    let same = [
        // To skip.
        vec![
            (
                "INSERT INTO account (tenant, code, balance) VALUES ($1, $2, $3) ON CONFLICT (tenant, code) DO NOTHING",
                &[][..],
            ),
            ("INSERT INTO account (tenant, code, balance) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", KEY),
            (
                "insert into account (tenant, code, balance) values (%s, %s, %s) on duplicate key update code = code",
                KEY,
            ),
            (
                "INSERT INTO account SET tenant = :t, code = :c, balance = :b ON DUPLICATE KEY UPDATE tenant = account.tenant",
                KEY,
            ),
        ],
        // To replace.
        vec![
            ("UPSERT INTO account (tenant, code, balance) VALUES (?1, ?2, ?3);", KEY),
            (
                "INSERT INTO account AS a (tenant, code, balance) VALUES ($1, $2, $3) ON CONFLICT (code, tenant) DO UPDATE SET balance = EXCLUDED.balance",
                &[],
            ),
            (
                "INSERT INTO `account` (`tenant`, `code`, `balance`) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE `balance` = VALUES(`balance`)",
                KEY,
            ),
            (
                "INSERT INTO account (tenant, code, balance) VALUES (?, ?, ?) AS new ON DUPLICATE KEY UPDATE balance = new.balance",
                KEY,
            ),
            (
                "INSERT INTO account (tenant, code, balance) VALUES (?, ?, ?) AS n(t, c, b) ON DUPLICATE KEY UPDATE balance = b",
                KEY,
            ),
            (
                "INSERT INTO account (tenant, code, balance) SELECT $1, $2, CAST($3 AS numeric) ON CONFLICT (tenant, code) DO UPDATE SET (balance) = (excluded.balance)",
                &[],
            ),
        ],
        // To add.
        vec![
            (
                "INSERT INTO account AS a (tenant, code, balance) VALUES (%(t)s, %(c)s, %(b)s) ON CONFLICT (tenant, code) DO UPDATE SET balance = a.balance + excluded.balance",
                &[][..],
            ),
            (
                "INSERT INTO account (tenant, code, balance) VALUES ($1, $2, $3) ON CONFLICT (tenant, code) DO UPDATE SET balance = account.balance + $3",
                &[],
            ),
            (
                "INSERT INTO account (tenant, code, balance) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE balance = balance + VALUES(balance)",
                KEY,
            ),
            (
                "INSERT account (tenant, code, balance) VALUE (?, ?, ?) ON DUPLICATE KEY UPDATE account.balance = account.balance + VALUES(account.balance)",
                KEY,
            ),
        ],
        // To take the greater.
        vec![
            (
                "INSERT INTO account (tenant, code, balance) VALUES ($1, $2, $3) ON CONFLICT (tenant, code) DO UPDATE SET balance = excluded.balance WHERE excluded.balance > account.balance",
                &[][..],
            ),
            (
                "INSERT INTO account (tenant, code, balance) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE balance = IF(VALUES(balance) > balance, VALUES(balance), balance)",
                KEY,
            ),
            (
                "INSERT INTO account (tenant, code, balance) VALUES (?, ?, ?) ON CONFLICT (tenant, code) DO UPDATE SET balance = CASE WHEN excluded.balance > balance THEN excluded.balance ELSE account.balance END",
                &[],
            ),
        ],
    ];
    for group in same {
        let mut tables = Vec::new();
        for (sql, key) in group {
            if sql.contains("CAST(") {
                continue; // Shown below: what is in a query is the store's own.
            }
            let mut world = World::with_accounts().await;
            for store in &mut world.stores {
                for (code, amount) in [("a", 5), ("b", 7), ("a", 9), ("a", 2), ("A", 1)] {
                    run(store, sql, key, &[text("t"), text(code), int(amount)]).await;
                }
            }
            tables.push((sql, world.rows(ACCOUNTS).await));
        }
        for (sql, rows) in &tables {
            assert_eq!(rows, &tables[0].1, "{sql} and {}", tables[0].0);
            assert_eq!(rows.len(), 3, "{sql}");
        }
    }
}

#[test]
fn a_statement_side_by_side() {
    let sql = "UPSERT INTO shop.order (id, Total) VALUES ($1, $2), ($3, 'it''s')";
    assert_eq!(
        Dialect::ALL.map(|dialect| spelled(sql, &["id"], dialect)),
        [
            r#"INSERT INTO "shop"."order" ("id", "total") VALUES ($1, $2), ($3, 'it''s') ON CONFLICT ("id") DO UPDATE SET "total" = excluded."total""#.to_owned(),
            r#"INSERT OR ABORT INTO "shop"."order" ("id", "Total") VALUES (?1, ?2), (?3, 'it''s') ON CONFLICT ("id") DO UPDATE SET "Total" = excluded."Total""#.to_owned(),
            format!("INSERT INTO `shop`.`order` (`id`, `Total`) VALUES (?, ?), (?, 'it''s') ON DUPLICATE KEY UPDATE `id` = IF(CAST(`order`.`id` AS BINARY) = CAST(VALUES(`id`) AS BINARY) OR ~0 + COALESCE(LENGTH(CONCAT('{}', `order`.`id`)), 1), `order`.`id`, `order`.`id`), `Total` = VALUES(`Total`)", landonce_sql::OTHER_ROW),
            format!("INSERT INTO `shop`.`order` (`id`, `Total`) VALUES (?, ?), (?, 'it''s') AS `new` ON DUPLICATE KEY UPDATE `id` = IF(CAST(`order`.`id` AS BINARY) = CAST(`new`.`id` AS BINARY) OR ~0 + COALESCE(LENGTH(CONCAT('{}', `order`.`id`)), 1), `order`.`id`, `order`.`id`), `Total` = `new`.`Total`", landonce_sql::OTHER_ROW),
        ]
    );
}

#[test]
fn parameters_keep_their_order_however_they_are_written() {
    let of = |sql: &str| parse(sql).unwrap().params().to_vec();
    assert_eq!(of("UPSERT INTO t (a, b) VALUES (?, ?)"), ["?", "?"]);
    assert_eq!(of("UPSERT INTO t (a, b) VALUES ($2, $1)"), ["$1", "$2"]);
    assert_eq!(of("UPSERT INTO t (a, b, c) VALUES (:x, :y, :x)"), [":x", ":y"]);
    assert_eq!(of("UPSERT INTO t (a, b) VALUES (%(x)s, %(y)s)"), ["%(x)s", "%(y)s"]);
    // Bound by place, a parameter that is used twice is bound twice.
    let key = owned(&["a"]);
    let spelled = parse("UPSERT INTO t (a, b, c) VALUES (:x, :y, :x)").unwrap();
    let params =
        |dialect| render(&spelled.upsert(dialect, &Keys::Given(&key)).unwrap(), dialect).unwrap().params;
    assert_eq!(params(Dialect::Postgres), [1, 2]);
    assert_eq!(params(Dialect::MariaDb), [1, 2, 1]);
}

#[test]
fn texts_are_read_as_their_own_store_reads_them() {
    let value = |sql: &str, dialect| {
        let all = spelled(sql, &["id"], dialect);
        let start = all.find("VALUES (1, ").unwrap() + 11;
        all[start..].split(") ").next().unwrap().to_owned()
    };
    let standard = "UPSERT INTO t (id, v) VALUES (1, 'a\\')";
    assert_eq!(value(standard, Dialect::Postgres), "E'a\\\\'");
    assert_eq!(value(standard, Dialect::Sqlite), "'a\\'");
    assert_eq!(value(standard, Dialect::MariaDb), "_utf8mb4 X'615c'");
    let mysql = r#"INSERT INTO t (id, v) VALUES (1, "it\'s \"x\"; -- no comment") ON DUPLICATE KEY UPDATE v = VALUES(v)"#;
    assert_eq!(value(mysql, Dialect::Postgres), "'it''s \"x\"; -- no comment'");
    let escaped = r"INSERT INTO t (id, v) VALUES (1, E'it\'s\t1') ON CONFLICT (id) DO NOTHING";
    assert_eq!(value(escaped, Dialect::Sqlite), "'it''s\t1'");
    let dollar = "INSERT INTO t (id, v) VALUES (1, $$it's$$) ON CONFLICT (id) DO NOTHING";
    assert_eq!(value(dollar, Dialect::MySql), "'it''s'");
    let bytes = "INSERT INTO t (id, v) VALUES (1, X'00ff') ON CONFLICT (id) DO NOTHING";
    assert_eq!(value(bytes, Dialect::Postgres), "'\\x00ff'::bytea");
}

#[test]
fn a_percent_sign_is_written_twice_where_percent_s_is_a_parameter() {
    let of =
        |value: &str| spelled(&format!("UPSERT INTO t (id, v) VALUES ({value})"), &["id"], Dialect::Postgres);
    assert!(of("%s, '5 %%'").contains("($1, '5 %')"));
    assert!(of("?, '5 %%'").contains("($1, '5 %%')"));
    let query = "INSERT INTO t (id, v) SELECT %s, v %% 2 FROM s WHERE v = %(v)s ON CONFLICT (id) DO NOTHING";
    assert!(parse(query).unwrap_err().what().contains("in another way"));
    let query = query.replace("%(v)s", "%s");
    assert!(spelled(&query, &[], Dialect::Postgres).contains("SELECT $1, v % 2 FROM s WHERE v = $2"));
}

#[test]
fn comments_and_layout_dont_matter() {
    let sql = "-- first\nINSERT /* INTO other */ INTO t(id,v)\nVALUES(1,2) -- ON DUPLICATE KEY\nON CONFLICT(id)\nDO NOTHING ; ;";
    assert_eq!(
        spelled(sql, &[], Dialect::Postgres),
        r#"INSERT INTO "t" ("id", "v") VALUES (1, 2) ON CONFLICT ("id") DO NOTHING"#
    );
}

#[test]
fn names_are_folded_as_the_store_would_fold_them() {
    let sql = r#"INSERT INTO Orders (Id, "createdAt") VALUES ($1, $2) ON CONFLICT (ID) DO UPDATE SET "createdAt" = EXCLUDED."createdAt""#;
    assert!(spelled(sql, &[], Dialect::Postgres).starts_with(r#"INSERT INTO "orders" ("id", "createdAt")"#));
    assert!(spelled(sql, &[], Dialect::MySql).starts_with("INSERT INTO `Orders` (`Id`, `createdAt`)"));
    assert!(spelled(sql, &[], Dialect::Sqlite).contains(r#"ON CONFLICT ("Id")"#));
}

#[test]
fn what_the_stores_write_differently_is_translated() {
    let set = |sql: &str, dialect| {
        let sql =
            format!("INSERT INTO t (id, v, w) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET v = {sql}");
        spelled(&sql, &[], dialect).rsplit(" = ").next().unwrap().to_owned()
    };
    assert_eq!(set("t.v || '-' || excluded.v", Dialect::Postgres), r#""t"."v" || '-' || excluded."v""#);
    assert_eq!(set("now()", Dialect::Sqlite), "CURRENT_TIMESTAMP");
    assert_eq!(set("coalesce(excluded.v, t.v, 0)", Dialect::MySql), "COALESCE(`new`.`v`, `t`.`v`, 0)");
    assert_eq!(set("t.v::text", Dialect::Postgres), r#""t"."v"::TEXT"#);
    let differs = |dialect| {
        let sql = "INSERT INTO t (id, v) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET v = excluded.v WHERE t.v IS DISTINCT FROM excluded.v";
        spelled(sql, &[], dialect)
    };
    assert!(differs(Dialect::Postgres).ends_with(r#"WHERE "t"."v" IS DISTINCT FROM excluded."v""#));
    assert!(differs(Dialect::Sqlite).ends_with(r#"WHERE "t"."v" IS NOT excluded."v""#));
    assert!(
        differs(Dialect::MariaDb).ends_with("`v` = IF(NOT (`t`.`v` <=> VALUES(`v`)), VALUES(`v`), `t`.`v`)")
    );
}

#[tokio::test]
async fn a_query_and_a_cte_before_the_insert_give_the_rows() {
    let sql = r#"WITH src AS (SELECT tenant, code FROM account WHERE "balance" > ?)
        INSERT INTO other (tenant, code, note)
        SELECT s.tenant, s.code, 'it''s \ ' FROM src AS s JOIN account AS conflict ON conflict.code = s.code
        ON CONFLICT (tenant, code) DO UPDATE SET note = excluded.note"#;
    let mut world = World::with_accounts().await;
    for store in &mut world.stores {
        store
            .execute("INSERT INTO account (tenant, code, balance) VALUES ('t', 'a', 5), ('t', 'b', 1)")
            .await;
        store.execute("CREATE TABLE other (tenant varchar(9), code varchar(9), note varchar(60), UNIQUE (tenant, code))").await;
        run(store, sql, &[], &[int(3)]).await;
        run(store, sql, &[], &[int(3)]).await;
    }
    assert_eq!(
        world.rows("SELECT tenant, code, note FROM other").await,
        [[text("t"), text("a"), text("it's \\ ")]]
    );
}

#[test]
fn a_spelling_and_what_it_finds_a_row_by_are_told() {
    let of = |sql: &str| {
        let spelled = parse(sql).unwrap();
        (spelled.spelling(), spelled.target().clone())
    };
    assert_eq!(of("UPSERT INTO t (a) VALUES (1)"), (Spelling::Upsert, Target::PrimaryKey));
    assert_eq!(
        of("INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = a"),
        (Spelling::OnDuplicateKey, Target::AnyIndex)
    );
    assert_eq!(
        of("INSERT INTO t (a, b) VALUES (1, 2) ON CONFLICT (a, b) DO NOTHING"),
        (Spelling::OnConflict, Target::Columns(owned(&["a", "b"])))
    );
}
