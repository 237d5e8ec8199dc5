//! Data for `scripts/bench`: the same events as NDJSON (for landonce) and as pre-keyed CSV (for the hand-written base,
//! whose parsing and hashing are thereby not counted).
//!
//! `bench_data FOLDER COUNT` writes first.ndjson, changed.ndjson (1 % changed), and first.csv, changed.csv.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use landonce_core::pipeline::Pipeline;
use landonce_core::plan;
use landonce_core::record::{RecordReader, Wanted};
use landonce_core::spec::Spec;
use landonce_core::time;
use landonce_core::value::Value;
use landonce_testkit::fixture::Events;

/// The pipeline that the benchmark runs.
const PIPELINE: &str = include_str!("../../../scripts/bench.yaml");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("bench_data FOLDER COUNT")?;
    let count: u64 = arguments.next().ok_or("bench_data FOLDER COUNT")?.parse()?;
    let folder = Path::new(&folder);
    for (name, changed) in [("first", 0.0), ("changed", 0.01)] {
        let ndjson = folder.join(format!("{name}.ndjson"));
        Events::new(1, count).changed(changed).write_file(&ndjson);
        write_csv(&ndjson, &folder.join(format!("{name}.csv")))?;
    }
    Ok(())
}

/// key (hex), digest (hex), flight_id, event_kind, instant_utc, updated_at, payload.
fn write_csv(ndjson: &Path, csv: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let pipeline = Pipeline::new(Spec::parse(PIPELINE)?)?;
    let plan = plan::resolve(&pipeline, None)?;
    let mut reader = RecordReader::new(&pipeline, &plan, false);
    let mut out = BufWriter::new(File::create(csv)?);
    let mut line = String::new();
    for text in BufReader::new(File::open(ndjson)?).lines() {
        let text = text?;
        let row = reader.read(text.as_bytes(), Wanted::Row).map_err(|bad| bad.to_string())?;
        line.clear();
        write!(
            line,
            "{},{}",
            hex::encode(row.key.ok_or("no key")?.0),
            hex::encode(row.digest.ok_or("no digest")?)
        )?;
        for value in &row.values {
            line.push(',');
            match value {
                Value::Timestamptz(micros) => time::write_timestamptz(*micros, &mut line),
                Value::Text(text) | Value::Json(text) => write!(line, "\"{}\"", text.replace('"', "\"\""))?,
                other => return Err(format!("unexpected {other:?}").into()),
            }
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}
