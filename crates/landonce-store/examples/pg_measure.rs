//! Temporary measurement; not committed.
#![allow(
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::allow_attributes_without_reason,
    missing_docs
)]
use landonce_core::column::Type;
use landonce_core::outcome::Outcome;
use landonce_core::plan::*;
use landonce_core::value::Value;
use landonce_store::inbox::*;
use landonce_store::postgres::*;
use landonce_store::seam::*;
use sha2::{Digest, Sha256};
use std::time::Instant;
use uuid::Uuid;

fn plan() -> TablePlan {
    TablePlan {
        table: TableName { schema: Some("public".into()), name: "duty_event".into() },
        create: true,
        columns: vec![
            PlanColumn {
                name: "flight_id".into(),
                from: From::Field("flight_id".into()),
                ty: Type::Scalar,
                sql_type: None,
                nullable: true,
            },
            PlanColumn {
                name: "at".into(),
                from: From::Field("at".into()),
                ty: Type::Timestamptz,
                sql_type: None,
                nullable: true,
            },
            PlanColumn {
                name: "payload".into(),
                from: From::Rest,
                ty: Type::Json,
                sql_type: None,
                nullable: false,
            },
        ],
        matching: Match::Key { column: "landonce_key".into(), form: KeyForm::Uuid },
        guard: Guard::Digest { column: "landonce_digest".into() },
        run_id: Some("run_id".into()),
        revision: Some("revision".into()),
        version: None,
        mode: WriteMode::Upsert,
        absent: Absent::Replace,
        unguarded: Vec::new(),
        has_deletes: false,
        sender_id: false,
    }
}

struct Rec {
    key: [u8; 16],
    digest: [u8; 32],
    flight: String,
    at: i64,
    payload: String,
    number: u64,
    repeat: bool,
}

fn rec(n: u64, change: u64) -> Rec {
    let flight = format!("LO{:07}", n % 5_000_000);
    let payload = format!(
        r#"{{"crew":"C{:06}","kind":"{}","base":"WAW","duty_minutes":{},"block_minutes":{},"remarks":"remark number {} about the duty of the day, with enough words to look real","rest":[{},{},{}],"change":{}}}"#,
        n % 9_999,
        if n % 2 == 0 { "check_in" } else { "check_out" },
        n % 700,
        n % 600,
        n,
        n % 3,
        n % 5,
        n % 7,
        change
    );
    let mut key = [0u8; 16];
    key.copy_from_slice(&Sha256::digest(n.to_be_bytes())[..16]);
    let digest: [u8; 32] = Sha256::digest(payload.as_bytes()).into();
    Rec {
        key,
        digest,
        flight,
        at: 1_700_000_000_000_000 + n as i64 * 1_000_000,
        payload,
        number: n,
        repeat: false,
    }
}

fn cpu(pid: &str) -> u128 {
    let s = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let f: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
    (f[11].parse::<u128>().unwrap() + f[12].parse::<u128>().unwrap()) * 10
}

#[tokio::main]
async fn main() {
    let n: u64 = std::env::var("N").ok().map_or(1_000_000, |n| n.parse().unwrap());
    let chunk: usize = std::env::var("CHUNK").ok().map_or(50_000, |n| n.parse().unwrap());
    let admin_url =
        std::env::var("ADMIN_URL").unwrap_or("postgres://postgres@127.0.0.1:5555/postgres".into());
    let url = std::env::var("DATABASE_URL").unwrap_or("postgres://postgres@127.0.0.1:5555/postgres".into());
    let db = Database::from_url(&url).unwrap();
    let mut s = db.connect().await.unwrap();
    let admin = {
        let (c, conn) = tokio_postgres::connect(&admin_url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(conn);
        c
    };
    if std::env::var("KEEP").is_err() {
        admin
            .batch_execute("DROP TABLE IF EXISTS duty_event; DROP SCHEMA IF EXISTS landonce CASCADE")
            .await
            .unwrap();
    }
    s.migrate().await.unwrap();
    let steps: Vec<(&str, Box<dyn Fn(u64) -> u64>)> = vec![
        ("first", Box::new(|_| 0)),
        ("equal", Box::new(|_| 0)),
        ("1% changed", Box::new(|n| u64::from(n % 100 == 0))),
        ("equal again", Box::new(|n| u64::from(n % 100 == 0))),
    ];
    for (name, change) in steps {
        admin.batch_execute("CHECKPOINT").await.unwrap();
        let lsn: String = admin.query_one("SELECT pg_current_wal_lsn()::text", &[]).await.unwrap().get(0);
        let dup = std::env::var("DUP").is_ok();
        let recs: Vec<Rec> = (0..n)
            .map(|n| {
                let mut r = rec(if dup && n % 20 == 19 { n - 7 } else { n }, change(n));
                r.number = n;
                r.repeat = dup && n % 20 == 19;
                r
            })
            .collect();
        let plan = plan();
        let run = Uuid::now_v7();
        let start = Instant::now();
        let pid: String = admin
            .query_one("SELECT pid::text FROM pg_stat_activity WHERE application_name = 'landonce'", &[])
            .await
            .unwrap()
            .get(0);
        let mut t = Instant::now();
        let (mut sc, mut cc) = (cpu(&pid), cpu("self"));
        let mut lap = |what: &str| {
            let e = t.elapsed();
            t = Instant::now();
            let (s, c) = (cpu(&pid), cpu("self"));
            print!(" {what} {} (s{} c{}) |", e.as_millis(), s - sc, c - cc);
            sc = s;
            cc = c;
        };
        s.create_target(&plan).await.unwrap();
        s.begin(Access::Write).await.unwrap();
        let mut w = s.work();
        let claim = Claim {
            pipeline: "p".into(),
            batch_id: run.to_string(),
            digest: [0; 32],
            run_id: run,
            source: "x".into(),
        };
        assert_eq!(w.claim(&claim).await.unwrap(), Claimed::New);
        w.open_stage(&plan).await.unwrap();
        lap("open");
        let enc = w.encoder(&plan, &plan.stage_columns());
        let mut encode = std::time::Duration::ZERO;
        for c in recs.chunks(chunk) {
            let e = Instant::now();
            let mut rows = enc();
            for r in c {
                rows.push(&[
                    Value::Uuid(r.key),
                    Value::Bytes((&r.digest[..]).into()),
                    Value::Boolean(r.repeat),
                    Value::Integer(r.number as i64),
                    Value::Integer(r.number as i64),
                    Value::Integer(1),
                ]);
            }
            encode += e.elapsed();
            assert!(w.stage(rows).await.unwrap().is_empty());
        }
        lap("stage");
        w.fold().await.unwrap();
        lap("fold");
        let c = w.classify().await.unwrap();
        lap("classify");
        let enc = w.encoder(&plan, &plan.row_columns());
        let mut total = Written::default();
        let mut next = std::time::Duration::ZERO;
        let mut write = std::time::Duration::ZERO;
        loop {
            let e = Instant::now();
            let todo = w.next_rows(chunk).await.unwrap();
            next += e.elapsed();
            if todo.is_empty() {
                break;
            }
            let e = Instant::now();
            let mut rows = enc();
            for t in &todo {
                let r = &recs[t.place.number as usize];
                rows.push(&[
                    Value::Uuid(r.key),
                    Value::Bytes((&r.digest[..]).into()),
                    Value::Text((&r.flight[..]).into()),
                    Value::Timestamptz(r.at),
                    Value::Json((&r.payload[..]).into()),
                    Value::Integer(r.number as i64),
                    Value::Integer(0),
                    Value::Integer(0),
                ]);
            }
            encode += e.elapsed();
            let e = Instant::now();
            let x = w.write(rows, run).await.unwrap();
            write += e.elapsed();
            total.inserted += x.inserted;
            total.updated += x.updated;
            total.unchanged += x.unchanged;
            if !x.refused.is_empty() {
                println!("refused {} {:?}", x.refused.len(), x.refused[0].message);
            }
        }
        lap("rows");
        w.settle(&claim, &Outcome::default()).await.unwrap();
        w.close_stage().await.unwrap();
        s.commit().await.unwrap();
        lap("commit");
        let wal: i64 = admin
            .query_one("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1::text::pg_lsn)::bigint", &[&lsn])
            .await
            .unwrap()
            .get(0);
        println!(
            "\n{name}: {} ms; encode {} next {} write {}; wal {:.2} MB; {c:?} ins {} upd {} same {}",
            start.elapsed().as_millis(),
            encode.as_millis(),
            next.as_millis(),
            write.as_millis(),
            wal as f64 / 1e6,
            total.inserted,
            total.updated,
            total.unchanged
        );
    }
}
