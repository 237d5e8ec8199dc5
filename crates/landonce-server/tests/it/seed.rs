//! A store with something of everything in it: what the pages are tested on, and what `examples/demo.rs` shows.

use std::path::Path;
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use landonce::outbox::{Fate, Lease, Notice, Parcel, Verdict, Want, enqueue_in};
use landonce::{Batch, Options, Pipeline, Store, ledger};
use uuid::Uuid;

/// A name that is markup, turns the text behind it, and has all that an address must escape.
pub(crate) const UGLY: &str = "<script>alert('p')</script>/\u{202e}?a&b=#\"x\" %41 ü";

/// The digits of a text that could be markup, where a test looks for it unescaped.
pub(crate) const MARKUP: &str = "<script>alert(";

/// All pipelines, archiving below a folder.
pub(crate) fn pipelines(folder: &Path) -> Vec<Pipeline> {
    let archive = folder.join("archive").display().to_string();
    let ugly = serde_json::to_string(UGLY).unwrap();
    [
        format!(
            "pipeline: orders
identity: [order_id]
archive: {archive}
source: {{format: ndjson}}
target: {{table: orders, columns: {{order_id: text, updated_at: timestamptz, amount: 'numeric(12,2)', status: text, customer: text}}}}
write: {{mode: upsert, version: updated_at}}
on_bad_record: {{quarantine: {{max: 50%}}}}
notify:
  - {{topic: orders-changed, on: [inserted, updated]}}"
        ),
        "pipeline: flight-schedule
identity: [flight_id, event_kind, instant_utc]
source: {format: ndjson}
target: {table: duty_event, columns: {flight_id: text, event_kind: text, instant_utc: timestamptz, gate: text}}"
            .to_owned(),
        "pipeline: daily-sales
identity: [sale_id]
source: {format: ndjson}
target: {table: daily_sales, columns: {sale_id: text, day: date, amount: 'numeric(12,2)'}}
write: {mode: overwrite_period, period: {field: day, every: day, tz: Europe/Berlin}}"
            .to_owned(),
        "pipeline: meter-readings
identity: [meter, at]
source: {format: ndjson}
target: {table: meter_reading, columns: {meter: text, at: timestamptz, kwh: 'numeric(12,3)'}}
write: {mode: overwrite_period, period: {field: at, every: hour, tz: Europe/Berlin}}"
            .to_owned(),
        "pipeline: rosters
identity: [id]
source: {format: ndjson}
target: {table: roster, columns: {id: text, day: date}}
write: {mode: overwrite_period, period: {field: day, every: week, tz: UTC}}"
            .to_owned(),
        "pipeline: month-end
identity: [id]
source: {format: ndjson}
target: {table: month_end, columns: {id: text, day: date}}
write: {mode: overwrite_period, period: {field: day, every: month, tz: UTC}}"
            .to_owned(),
        "pipeline: parcels
identity: [parcel]
source: {format: ndjson, complete: {end_marker: '#EOF'}}
target: {table: parcel, managed: {retired_at: retired_at, retired_by: retired_by}, columns: {parcel: text, zoning: text, area: integer}}
write: {mode: snapshot, absent: retire}"
            .to_owned(),
        format!(
            "pipeline: {ugly}
identity: ['<b>id</b>']
source: {{format: ndjson}}
target: {{table: 'we<b>ird \"t', columns: {{'<b>id</b>': text, 'va<script>lue': text}}}}
on_bad_record: {{quarantine: {{max: 100%}}}}"
        ),
    ]
    .iter()
    .map(|yaml| Pipeline::from_yaml(yaml).unwrap())
    .collect()
}

/// An SQLite store in a folder with something of everything.
pub(crate) async fn everything(folder: &Path) -> (Store, Vec<Pipeline>) {
    let path = folder.join("landonce.db");
    let store = Store::open(&format!("sqlite:{}", path.display())).unwrap();
    let pipelines = pipelines(folder);
    fill(&store, &pipelines).await;
    messages_of_a_program(&path).await;
    attempts(&store, &["orders-changed", "invoices"]).await;
    spread(&path, whole_second());
    (store, pipelines)
}

/// Puts something of everything into an empty store.
pub(crate) async fn fill(store: &Store, pipelines: &[Pipeline]) {
    store.migrate().await.unwrap();
    let now = whole_second();
    let today = TimeZone::get("Europe/Berlin").unwrap().to_datetime(now).date();
    let of = |name: &str| pipelines.iter().find(|one| one.name() == name).unwrap();
    orders(store, of("orders"), now).await;
    flights(store, of("flight-schedule"), now).await;
    days(store, of("daily-sales"), today, now).await;
    hours(store, of("meter-readings"), now).await;
    weeks_and_months(store, of("rosters"), of("month-end"), today).await;
    parcels(store, of("parcels")).await;
    ugly(store, of(UGLY)).await;
}

fn whole_second() -> Timestamp {
    Timestamp::from_second(Timestamp::now().as_second()).unwrap()
}

async fn land(store: &Store, pipeline: &Pipeline, source: &str, id: &str, lines: &[String]) {
    let batch = Batch::from_bytes(source, lines.join("\n")).with_id(id);
    pipeline.ingest(store, &batch).await.unwrap();
}

fn order(id: u32, version: i64, now: Timestamp, status: &str) -> String {
    let at = now - (40 - version).hours();
    format!(
        r#"{{"order_id":"A-{id}","updated_at":"{at}","amount":"{}.{:02}","status":"{status}","customer":"customer {}","items":[{{"sku":"S-{id}","quantity":{version}}}]}}"#,
        id * 3 + 12,
        id % 100,
        id % 17
    )
}

async fn orders(store: &Store, pipeline: &Pipeline, now: Timestamp) {
    for batch in 0..22_u32 {
        let version = i64::from(batch) + 1;
        let status = ["placed", "paid", "packed", "shipped"][batch as usize % 4];
        // Every fifth batch brings nothing new.
        let (first, version) =
            if batch % 5 == 4 { ((batch - 1) * 20, version - 1) } else { (batch * 20, version) };
        let status = if batch % 5 == 4 {
            ["placed", "paid", "packed", "shipped"][(batch - 1) as usize % 4]
        } else {
            status
        };
        let mut lines: Vec<String> = (0..40 + (batch * 7) % 60)
            .map(|at| order(1000 + (first + at) % 400, version, now, status))
            .collect();
        if batch == 12 {
            lines.push(
                r#"{"order_id":"A-9001","updated_at":"yesterday","amount":"12.00","status":"paid"}"#
                    .to_owned(),
            );
            lines.push(r#"{"order_id":"A-9002","updated_at":"2026-03-01T10:00:00Z","amount":"1e9999","status":"paid"}"#.to_owned());
            lines.push(r#"{"order_id":null,"updated_at":"2026-03-01T10:00:00Z","amount":"3.00","status":"<script>alert('r')</script>"}"#.to_owned());
        }
        let id = if batch % 7 == 3 {
            format!("{:064x}", u128::from(batch) * 0x9e37_79b9_7f4a_7c15)
        } else {
            format!("shop-7/2026-{batch:03}")
        };
        land(store, pipeline, &format!("POST /v1/pipelines/orders/batches ({id})"), &id, &lines).await;
    }
    // One order by itself, again and again.
    for version in [31, 33, 32, 33] {
        let line = order(7, version, now, if version == 31 { "placed" } else { "shipped" });
        land(store, pipeline, "webhook", &format!("event-{version}-{}", Uuid::now_v7().simple()), &[line])
            .await;
    }
}

async fn flights(store: &Store, pipeline: &Pipeline, now: Timestamp) {
    for batch in 0..12_i64 {
        let lines: Vec<String> = (0..120_i64)
            .map(|at| {
                let instant = now - ((12 - batch) * 3).hours() + (at * 2).minutes();
                format!(
                    r#"{{"flight_id":"B6-{}","event_kind":"{}","instant_utc":"{instant}","gate":"{}"}}"#,
                    100 + at,
                    ["departure", "arrival"][at as usize % 2],
                    at % 40
                )
            })
            .collect();
        land(
            store,
            pipeline,
            &format!("schedule/{batch:02}.ndjson"),
            &format!("schedule-{batch:02}"),
            &lines,
        )
        .await;
    }
}

async fn load(
    store: &Store,
    pipeline: &Pipeline,
    label: &str,
    lines: &[String],
    started_at: Option<Timestamp>,
) {
    let batch = Batch::from_bytes(format!("{label}.ndjson"), lines.join("\n"));
    let options = Options { started_at, ..Options::default() };
    pipeline.in_period(label).unwrap().ingest_with(store, &batch, &options).await.unwrap();
}

async fn fail(store: &Store, pipeline: &Pipeline, label: &str, message: &str) {
    let period = pipeline.declared().calendar().unwrap().parse(label).unwrap();
    let failure = ledger::Failure {
        pipeline: pipeline.name(),
        label,
        start: period.start().as_microsecond(),
        end: period.end().as_microsecond(),
        run_id: Uuid::now_v7(),
        code: "L0302",
        message,
    };
    store.fail_period(&failure).await.unwrap();
}

/// A quarter of a year, with gaps.
async fn days(store: &Store, pipeline: &Pipeline, today: Date, now: Timestamp) {
    for back in (0..75_i64).rev() {
        let day = today - back.days();
        let label = day.to_string();
        if matches!(back, 9 | 10 | 31 | 52) {
            continue;
        }
        let number = 4 + (back * back * 7) % 29;
        let lines: Vec<String> = (0..number)
            .map(|at| format!(r#"{{"sale_id":"{label}-{at}","day":"{label}","amount":"{}.50"}}"#, 3 + at * 2))
            .collect();
        let started_at = (back == 17).then(|| now - (17 * 24 + 2).hours());
        load(store, pipeline, &label, &lines, started_at).await;
    }
    fail(store, pipeline, &(today - 5.days()).to_string(), "sales.csv.gz: the payload ends in the middle of a record (line 1,204); nothing was written\nDeliver it again when it is whole").await;
    fail(store, pipeline, &(today - 31.days()).to_string(), "sales.csv.gz: no such file").await;
}

async fn hours(store: &Store, pipeline: &Pipeline, now: Timestamp) {
    let calendar = pipeline.declared().calendar().unwrap();
    for back in (1..60_i64).rev() {
        if matches!(back, 7 | 30 | 31) {
            continue;
        }
        let period = calendar.containing(now - back.hours()).unwrap();
        let lines: Vec<String> = (0..3 + back % 5)
            .map(|at| format!(r#"{{"meter":"m-{at}","at":"{}","kwh":"1.{at}"}}"#, period.start()))
            .collect();
        load(store, pipeline, period.label(), &lines, None).await;
    }
}

async fn weeks_and_months(store: &Store, weekly: &Pipeline, monthly: &Pipeline, today: Date) {
    for (pipeline, step, number) in [(weekly, 7_i64, 20_i64), (monthly, 31, 14)] {
        for back in (1..number).rev().filter(|back| back % 6 != 5) {
            let period = pipeline
                .declared()
                .calendar()
                .unwrap()
                .containing_date(today - (back * step).days())
                .unwrap();
            let lines: Vec<String> = (0..=(back % 7))
                .map(|at| format!(r#"{{"id":"{at}-{}","day":"{}"}}"#, period.label(), period.date()))
                .collect();
            load(store, pipeline, period.label(), &lines, None).await;
        }
    }
}

fn parcel(at: u32, zoning: &str) -> String {
    format!(r#"{{"parcel":"P-{at:04}","zoning":"{zoning}","area":{}}}"#, 200 + at * 7)
}

/// A good load, and two that are held: one cut short, one that changes too much.
async fn parcels(store: &Store, pipeline: &Pipeline) {
    let whole = |lines: Vec<String>| format!("{}\n#EOF\n", lines.join("\n"));
    let good = whole((0..200).map(|at| parcel(at, "R1")).collect());
    pipeline.ingest(store, &Batch::from_bytes("parcels-2026-10.ndjson", good)).await.unwrap();
    let cut = (0..170).map(|at| parcel(at, "R1")).collect::<Vec<_>>().join("\n");
    pipeline.ingest(store, &Batch::from_bytes("parcels-2026-11.ndjson", cut)).await.unwrap();
    let rezoned = whole((0..200).map(|at| parcel(at, if at % 3 == 0 { "C2" } else { "R1" })).collect());
    pipeline.ingest(store, &Batch::from_bytes("parcels-2026-11-rezoned.ndjson", rezoned)).await.unwrap();
    let empty = Batch::from_bytes("parcels-<script>alert('s')</script>.ndjson", "#EOF\n");
    pipeline.ingest(store, &empty).await.unwrap();
}

async fn ugly(store: &Store, pipeline: &Pipeline) {
    let lines = [
        r#"{"<b>id</b>":"<script>alert('k')</script>","va<script>lue":"\u202eevil\u0007 <img src=x onerror=alert(1)>"}"#.to_owned(),
        format!(r#"{{"<b>id</b>":"long","va<script>lue":"{}"}}"#, "<script>alert('long')</script> ".repeat(40)),
        r#"{"<b>id</b>":["<script>alert('bad')</script>"],"va<script>lue":"x"}"#.to_owned(),
    ];
    land(
        store,
        pipeline,
        "<script>alert('source')</script>.ndjson",
        "<script>alert('batch')</script>/../#1?x",
        &lines,
    )
    .await;
    land(store, pipeline, "..", "..", &[r#"{"<b>id</b>":"dots"}"#.to_owned()]).await;
}

/// Another program's own messages.
async fn messages_of_a_program(path: &Path) {
    let mut connection = rusqlite::Connection::open(path).unwrap();
    let mut transaction = connection.transaction().unwrap();
    let notices: Vec<Notice> = (0..6)
        .map(|at| {
            let payload = format!(
                r#"{{"invoice":{at},"to":"<script>alert('m')</script>","lines":[{{"sku":"A","quantity":{at}}}]}}"#
            );
            Notice::new("billing", "invoices", format!(r#"{{"invoice":{at}}}"#), "issued", &payload).kind("issued")
        })
        .collect();
    enqueue_in(&mut transaction, &notices).await.unwrap();
    transaction.commit().unwrap();
}

/// A worker's day: something sent, something that is tried again, something dead, and the last topic pauses.
pub(crate) async fn attempts(store: &Store, topics: &[&str]) {
    let mut outbox = store.outbox();
    for topic in topics {
        let topics = [(*topic).to_owned()];
        let want = Want {
            topics: &topics,
            worker: "host-1/4711/1",
            lease: Duration::from_mins(10),
            most: 24,
            most_of_a_lane: 8,
            behind: Uuid::nil(),
        };
        let leased = outbox.lease(&want).await.unwrap();
        let verdicts: Vec<Verdict> =
            leased.messages.iter().enumerate().map(|(at, parcel)| verdict(at, parcel)).collect();
        outbox.settle(&verdicts).await.unwrap();
    }
    if let Some(last) = topics.last() {
        outbox
            .pause(last, Duration::from_mins(40), "429 Too Many Requests, Retry-After: 2400")
            .await
            .unwrap();
    }
}

fn verdict(at: usize, parcel: &Parcel) -> Verdict {
    let fate = match at % 6 {
        0 => {
            let answer = "422 Unprocessable Entity: <script>alert('a')</script> unknown customer";
            Fate::Dead { answer: answer.to_owned() }
        }
        1 => Fate::Again { after: Duration::from_mins(50), answer: "503 Service Unavailable".to_owned() },
        2 => Fate::Untried,
        _ => Fate::Sent { answer: "200 OK".to_owned() },
    };
    Verdict { lease: Lease { id: parcel.id, fence: parcel.fence }, fate }
}

/// Batches landed over the last two days, not all in this second.
fn spread(path: &Path, now: Timestamp) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let batches: Vec<(Vec<u8>, String)> = connection
        .prepare("SELECT key, pipeline FROM landonce_inbox ORDER BY settled_at, rowid")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let total = batches.len() as i64;
    let mut of_pipeline = std::collections::BTreeMap::<&str, Vec<&Vec<u8>>>::new();
    for (key, pipeline) in &batches {
        of_pipeline.entry(pipeline).or_default().push(key);
    }
    for (nth, keys) in of_pipeline.values().enumerate() {
        let number = keys.len() as i64;
        for (at, key) in keys.iter().enumerate() {
            let minutes = (number - at as i64) * 46 * 60 / (number + 1) + nth as i64 * 7 + total % 3;
            let settled_at = (now - minutes.minutes()).strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string();
            connection
                .execute("UPDATE landonce_inbox SET settled_at = ?1 WHERE key = ?2", (settled_at, key))
                .unwrap();
        }
    }
}
