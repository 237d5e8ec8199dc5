//! The base of `scripts/bench` on SQLite: a bare prepared INSERT of the same rows into the same table, in one transaction,
//! in file order. Writes the seconds that inserts and COMMIT took to `DATABASE.seconds`; reading and hashing aren't counted.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};

use landonce_core::identity::Key;
use landonce_core::pipeline::Pipeline;
use landonce_core::plan;
use landonce_core::record::{RecordReader, Wanted};
use landonce_core::spec::Spec;
use landonce_core::time;
use landonce_core::value::Value;
use rusqlite::{Connection, params_from_iter, types::Value as Sql};

const PIPELINE: &str = include_str!("../../../scripts/bench.yaml");
/// Rows are read so many at a time, outside the measured time.
const AT_A_TIME: usize = 10_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("bench_sqlite_base DATABASE NDJSON")?;
    let ndjson = arguments.next().ok_or("bench_sqlite_base DATABASE NDJSON")?;
    let pipeline = Pipeline::new(Spec::parse(PIPELINE)?)?;
    let plan = plan::resolve(&pipeline, None)?;
    let mut reader = RecordReader::new(&pipeline, &plan, false);
    let connection = Connection::open(&path)?;
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")?;
    connection.execute_batch(&landonce_store::sqlite::create_target_sql(&plan)?)?;
    let columns: Vec<String> = ["landonce_key", "landonce_digest", "landonce_run_id", "landonce_revision"]
        .iter()
        .map(|name| (*name).to_owned())
        .chain(plan.columns.iter().map(|column| column.name.clone()))
        .collect();
    let insert = format!(
        "INSERT INTO duty_event({}) VALUES ({})",
        columns.join(", "),
        vec!["?"; columns.len()].join(", ")
    );
    let mut spent = Duration::ZERO;
    let mut lines = BufReader::new(fs::File::open(&ndjson)?).lines();
    connection.execute_batch("BEGIN IMMEDIATE")?;
    {
        let mut statement = connection.prepare(&insert)?;
        loop {
            let mut rows = Vec::with_capacity(AT_A_TIME);
            for text in lines.by_ref().take(AT_A_TIME) {
                let text = text?;
                let row = reader.read(text.as_bytes(), Wanted::Row).map_err(|bad| bad.to_string())?;
                let mut values = vec![
                    Sql::Blob(row.key.unwrap_or(Key([0; 32])).to_uuid().into_bytes().to_vec()),
                    Sql::Blob(row.digest.unwrap_or_default().to_vec()),
                    Sql::Text("0190b6f2-0000-7000-8000-000000000000".into()),
                    Sql::Integer(1),
                ];
                for value in &row.values {
                    values.push(match value {
                        Value::Text(text) | Value::Json(text) => Sql::Text(text.clone().into_owned()),
                        Value::Timestamptz(micros) => {
                            let mut text = String::new();
                            time::write_timestamptz(*micros, &mut text);
                            Sql::Text(text)
                        }
                        _ => Sql::Null,
                    });
                }
                rows.push(values);
            }
            if rows.is_empty() {
                break;
            }
            let started = Instant::now();
            for row in rows {
                statement.execute(params_from_iter(row))?;
            }
            spent += started.elapsed();
        }
    }
    let started = Instant::now();
    connection.execute_batch("COMMIT")?;
    spent += started.elapsed();
    fs::write(format!("{path}.seconds"), spent.as_secs_f64().to_string())?;
    Ok(())
}
