//! What the Python frontend makes of the ways in which people send SQL.

use super::read_file;
use crate::code::outline::outline;

fn read(text: &str) -> String {
    let (functions, unread) = read_file(text);
    let mut out = outline(&functions);
    for it in unread {
        out.push_str(&format!("unread {:?}: {}\n", &text[it.span.start..it.span.end], it.why));
    }
    out
}

#[test]
fn execute_in_a_loop_a_transaction_and_a_handler() {
    let text = r#"
import psycopg, uuid
from datetime import datetime

INSERT = """
    INSERT INTO events (id, at, body)
    VALUES (%s, %s, %s)
"""

@retry(stop=stop_after_attempt(3))
def load(conn, rows):
    with conn.transaction():
        for row in rows:
            try:
                conn.execute(INSERT, (uuid.uuid4(), datetime.now(), row["body"]))
            except psycopg.errors.UniqueViolation as error:
                continue
        conn.commit()
"#;
    insta::assert_snapshot!(read(text), @r#"
@retry fn load
  scope conn.transaction
    loop for row in rows
      try
        call uuid.uuid4
        call datetime.now
        sql conn.execute | INSERT INTO events (id, at, body) VALUES ($1, $2, $3) | 1=Some(Random) 2=Some(Clock) 3=Some(Name("row[\"body\"]"))
      catch psycopg.errors.UniqueViolation
        call continue
    call conn.commit
"#);
}

#[test]
fn the_sql_of_every_driver() {
    let text = r#"
import asyncpg, sqlite3, psycopg2
from psycopg2.extras import execute_values
from psycopg import sql

async def a(pool, rows):
    async with pool.acquire() as c:
        found = await c.fetchrow("SELECT id FROM t WHERE k = $1", rows[0].k)
        if found is None:
            await c.execute("INSERT INTO t (k, run) VALUES ($1, $2)", rows[0].k, run_id)
        await c.executemany("INSERT INTO t (k) VALUES ($1)", [(r.k,) for r in rows])
        await c.copy_records_to_table("t", records=rows, columns=["k", "v"])

def b(cur, rows):
    execute_values(cur, "INSERT INTO t (a, b) VALUES %s ON CONFLICT DO NOTHING", rows)
    cur.execute(sql.SQL("DELETE FROM {} WHERE day = %s").format(sql.Identifier("s", "t")), [day])
    cur.copy_from(f, "t", columns=("a", "b"))
    cur.execute("INSERT INTO t (a) "
                "VALUES (%(a)s)", {"a": 1})
    with cur.copy("COPY t (a) FROM STDIN") as copy:
        copy.write_row(row)

def c(cur, table, where):
    cur.execute(f"INSERT INTO {table} (a) VALUES (1)")
    q = "SELECT * FROM t"
    if where:
        q += " WHERE " + where
    cur.execute(q)
    cur.execute(build())
"#;
    insta::assert_snapshot!(read(text), @r#"
fn a
  scope pool.acquire
    sql c.fetchrow | SELECT id FROM t WHERE k = $1 | 1=Some(Name("rows[0].k"))
    if found is None
      sql c.execute | INSERT INTO t (k, run) VALUES ($1, $2) | 1=Some(Name("rows[0].k")) 2=Some(RunId("run_id"))
    sql many c.executemany | INSERT INTO t (k) VALUES ($1) | 1=Some(Name("r.k"))
    sql many c.copy_records_to_table | COPY "t" ("k", "v") FROM STDIN
fn b
  sql many execute_values | INSERT INTO t (a, b) VALUES ($1, $2) ON CONFLICT DO NOTHING | 1=Some(Name("rows")) 2=None
  sql cur.execute | DELETE FROM "s"."t" WHERE day = $1 | 1=Some(Name("day"))
  sql many cur.copy_from | COPY "t" ("a", "b") FROM STDIN
  sql cur.execute | INSERT INTO t (a) VALUES ($1) | a=Some(Constant("1"))
  sql many cur.copy | COPY t (a) FROM STDIN
  scope cur.copy
    call copy.write_row
fn c
  sql cur.execute | INSERT INTO "{table}" (a) VALUES (1)
  if where
  sql cur.execute | SELECT * FROM t "{ WHERE  + where}"
  call build
  call cur.execute
unread "INSERT INTO {table} (a) VALUES (1)": the SQL is assembled at run time from `table`
unread "SELECT * FROM t\"\n    if where:\n        q += \" WHERE \" + where": the SQL is assembled at run time from `" WHERE " + where`
unread "build()": the SQL is only known at run time: `build()`
"#);
}

#[test]
fn sqlalchemy_in_text_and_constructs() {
    let text = r#"
from sqlalchemy import text, Table, insert
from sqlalchemy.dialects.postgresql import insert as pg_insert

class Order(Base):
    __tablename__ = "orders"

events = Table("events", metadata)
PURGE = text("DELETE FROM orders WHERE day = :day")

def load(engine, rows):
    with engine.begin() as conn:
        conn.execute(PURGE, {"day": date.today()})
        stmt = pg_insert(Order).values(id=1, at=func.now())
        stmt = stmt.on_conflict_do_update(index_elements=[Order.id], set_={"at": stmt.excluded.at})
        conn.execute(stmt)
        conn.execute(events.insert(), rows)
        conn.execute(events.delete().where(events.c.id.notin_(ids)))
    session.add(Order(id=3, run=run_id))
    df.to_sql("orders", engine, if_exists="append")
"#;
    insta::assert_snapshot!(read(text), @r#"
fn 
  call events = Table
fn load
  scope engine.begin
    call date.today
    sql conn.execute | DELETE FROM orders WHERE day = $1 | day=Some(Clock)
    call func.now
    sql conn.execute | INSERT INTO "orders" ("id", "at") VALUES ($1, $2) ON CONFLICT("id") DO UPDATE SET "at" = excluded."at" | id=Some(Constant("1")) at=Some(Clock)
    sql conn.execute | INSERT INTO "events" DEFAULT VALUES
    call events.c.id.notin_
    sql conn.execute | DELETE FROM "events" WHERE "id" NOT IN ($1) | id=None
  call Order
  sql session.add | INSERT INTO "orders" ("id", "run") VALUES ($1, $2) | id=Some(Constant("3")) run=Some(RunId("run_id"))
  call df.to_sql
"#);
}

#[test]
fn tasks_and_operators() {
    let text = r#"
from airflow import DAG

def push():
    requests.post(url, json=1)

t1 = PythonOperator(task_id="push", python_callable=push)
t2 = SQLExecuteQueryOperator(task_id="x", sql="INSERT INTO t SELECT * FROM s WHERE d = '{{ ds }}'")
t3 = PostgresOperator(task_id="y", sql=["TRUNCATE t", "INSERT INTO t SELECT * FROM s"])
"#;
    insta::assert_snapshot!(read(text), @r#"
fn 
  call t1 = PythonOperator
  sql SQLExecuteQueryOperator | INSERT INTO t SELECT * FROM s WHERE d = '{{ ds }}'
  sql PostgresOperator | TRUNCATE t
  sql PostgresOperator | INSERT INTO t SELECT * FROM s
@PythonOperator fn push
  call requests.post
"#);
}

#[test]
fn deep_nesting_does_not_end_the_program() {
    let text = format!("import psycopg\nx = {}1{}\n", "(".repeat(5000), ")".repeat(5000));
    let _ = read(&text);
    let text = format!("x = {}'a'\n", "'a' + ".repeat(5000));
    let _ = read(&text);
}

#[test]
fn nested_operators_and_calls_are_read_in_time() {
    // Looked at again at each level, this would take longer than anybody lives.
    let sums = format!("x = {}'a'{}\n", "(a + ".repeat(60), " + b)".repeat(60));
    let chain = format!("y = q{}\n", ".f(1).format(x)".repeat(50));
    let calls = format!("z = {}1{}\n", "f(g=".repeat(60), ")".repeat(60));
    let _ = read(&format!("import psycopg\n{sums}{chain}{calls}"));
}
