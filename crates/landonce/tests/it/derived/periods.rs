//! Periods of zones whose clocks shift, and bases that are overwritten by periods themselves.

use landonce::Pipeline;

use super::{assert_equal, derive, marks};
use crate::given::{Given, on_every_store, pipeline};

on_every_store!(
    a_day_of_a_zone_has_its_own_hours,
    an_hour_that_comes_twice_is_two_periods,
    an_overwritten_period_takes_its_rows_out_of_the_sum,
    a_row_without_a_time_counts_in_no_period,
    a_row_that_a_snapshot_retires_leaves_the_sum_and_comes_back,
    a_calendar_that_was_declared_otherwise_covers_what_was_marked,
    a_sum_over_several_days_follows_each_of_them,
);

/// Events, counted by periods of London.
fn events(every: &str, field: &str, ty: &str, value: &str) -> Pipeline {
    pipeline(&format!(
        "identity: [id]
target: {{table: event, columns: {{at: timestamptz}}}}
derive:
  - table: counted
    of: at
    key: [{field}]
    period: {{field: {field}, every: {every}, tz: Europe/London}}
    columns: {{{field}: {ty}, n: integer}}
    sql: |
      SELECT {value} AS {field}, count(*) AS n FROM event
      WHERE at >= {{period.start}} AND at < {{period.end}} HAVING count(*) > 0
"
    ))
}

async fn counted(given: &Given, field: &str) -> Vec<String> {
    given.column(&format!("SELECT {field} || ' ' || n FROM counted ORDER BY 1")).await
}

async fn deliver(given: &Given, pipeline: &Pipeline, times: &[&str]) {
    let lines: Vec<String> = times.iter().map(|at| format!(r#"{{"id":"{at}","at":"{at}"}}"#)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    given.deliver(pipeline, &lines).await.unwrap();
}

async fn a_day_of_a_zone_has_its_own_hours(given: Given) {
    let pipeline = events("day", "day", "date", "{period.date}");
    // The clocks go forward at 01:00Z: the day begins at 00:00Z and ends at 23:00Z.
    let times = [
        "2026-03-28T23:59:59.999999Z",
        "2026-03-29T00:00:00Z",
        "2026-03-29T22:59:59Z",
        "2026-03-29T23:00:00Z",
    ];
    deliver(&given, &pipeline, &times).await;
    assert_eq!(marks(&given).await, ["counted 2026-03-28", "counted 2026-03-29", "counted 2026-03-30"]);
    derive(&given, &pipeline).await;
    assert_eq!(counted(&given, "day").await, ["2026-03-28 1", "2026-03-29 2", "2026-03-30 1"]);
    assert_equal(&given, &pipeline).await;
}

async fn an_hour_that_comes_twice_is_two_periods(given: Given) {
    let pipeline = events("hour", "hour", "timestamptz", "{period.start}");
    let times = ["2026-10-25T00:59:59Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"];
    deliver(&given, &pipeline, &times).await;
    assert_eq!(marks(&given).await, ["counted 2026-10-25T01+00:00", "counted 2026-10-25T01+01:00"]);
    derive(&given, &pipeline).await;
    assert_eq!(given.column("SELECT n FROM counted ORDER BY hour").await, ["1", "2"]);
    assert_equal(&given, &pipeline).await;
}

async fn an_overwritten_period_takes_its_rows_out_of_the_sum(given: Given) {
    let declared = pipeline(
        "identity: [id]
target: {table: sale, columns: {day: date, shop: text, n: integer}}
write: {mode: overwrite_period, period: {field: day, every: month, tz: UTC}}
derive:
  - table: daily
    key: [day]
    period: {field: day, every: day, tz: UTC}
    columns: {day: date, n: integer}
    sql: SELECT day, sum(n) AS n FROM sale WHERE day = {period.date} GROUP BY day
",
    );
    let march = declared.in_period("2026-03").unwrap();
    let sale = |id: u32, day: u32, n: u32| format!(r#"{{"id":{id},"day":"2026-03-{day:02}","n":{n}}}"#);
    let lines = [sale(1, 1, 5), sale(2, 2, 7), sale(3, 3, 9)];
    given.deliver(&march, &lines.each_ref().map(String::as_str)).await.unwrap();
    derive(&given, &declared).await;
    // One row gone, one changed, one equal: the equal one's day isn't due.
    let lines = [sale(1, 1, 6), sale(3, 3, 9)];
    given.deliver(&march, &lines.each_ref().map(String::as_str)).await.unwrap();
    assert_eq!(marks(&given).await, ["daily 2026-03-01", "daily 2026-03-02"]);
    derive(&given, &declared).await;
    assert_eq!(
        given.column("SELECT day || ' ' || n FROM daily ORDER BY 1").await,
        ["2026-03-01 6", "2026-03-03 9"]
    );
    assert_equal(&given, &declared).await;
}

async fn a_row_without_a_time_counts_in_no_period(given: Given) {
    let pipeline = events("day", "day", "date", "{period.date}");
    given.deliver(&pipeline, &[r#"{"id":"1","at":null}"#, r#"{"id":"2"}"#]).await.unwrap();
    assert!(marks(&given).await.is_empty());
    given.deliver(&pipeline, &[r#"{"id":"1","at":"2026-06-01T12:00:00Z"}"#]).await.unwrap();
    assert_eq!(marks(&given).await, ["counted 2026-06-01"]);
    derive(&given, &pipeline).await;
    given.deliver(&pipeline, &[r#"{"id":"1"}"#]).await.unwrap();
    assert_eq!(derive(&given, &pipeline).await, ["counted 2026-06-01 +0 ~0 -1"]);
    assert_equal(&given, &pipeline).await;
}

async fn a_calendar_that_was_declared_otherwise_covers_what_was_marked(given: Given) {
    let month = events("month", "day", "date", "{period.date}");
    deliver(&given, &month, &["2026-06-01T12:00:00Z", "2026-06-02T12:00:00Z"]).await;
    assert_eq!(marks(&given).await, ["counted 2026-06"]);
    let day = events("day", "day", "date", "{period.date}");
    assert_eq!(derive(&given, &day).await.len(), 30);
    assert_eq!(counted(&given, "day").await, ["2026-06-01 1", "2026-06-02 1"]);
    assert!(marks(&given).await.is_empty());
    assert_equal(&given, &day).await;
}

async fn a_sum_over_several_days_follows_each_of_them(given: Given) {
    // F6: a cap on the flight time of any three days.
    let since = if given.is_postgres() { "{period.date} - 2" } else { "date({period.date}, '-2 days')" };
    let capped = pipeline(&format!(
        "identity: [id]
target: {{table: flight, columns: {{day: date, crew: text, minutes: integer}}}}
derive:
  - table: last_three_days
    key: [day, crew]
    period: {{field: day, every: day, tz: UTC}}
    reach: 2
    columns: {{day: date, crew: text, minutes: integer}}
    sql: |
      SELECT {{period.date}} AS day, crew, sum(minutes) AS minutes FROM flight
      WHERE day >= {since} AND day <= {{period.date}} GROUP BY crew
"
    ));
    let flight = |id: u32, day: u32, minutes: u32| {
        format!(r#"{{"id":{id},"day":"2026-03-{day:02}","crew":"ann","minutes":{minutes}}}"#)
    };
    let lines = [flight(1, 1, 10), flight(2, 3, 5)];
    given.deliver(&capped, &lines.each_ref().map(String::as_str)).await.unwrap();
    derive(&given, &capped).await;
    let sums = async || given.column("SELECT day || ' ' || minutes FROM last_three_days ORDER BY 1").await;
    assert_eq!(
        sums().await,
        ["2026-03-01 10", "2026-03-02 10", "2026-03-03 15", "2026-03-04 5", "2026-03-05 5"]
    );
    given.deliver(&capped, &[&flight(1, 2, 10)]).await.unwrap();
    assert_eq!(marks(&given).await.len(), 4, "two days, and two behind each");
    derive(&given, &capped).await;
    assert_eq!(sums().await, ["2026-03-02 10", "2026-03-03 15", "2026-03-04 15", "2026-03-05 5"]);
    assert_equal(&given, &capped).await;
}

async fn a_row_that_a_snapshot_retires_leaves_the_sum_and_comes_back(given: Given) {
    let declared = pipeline(
        "identity: [id]
source: {format: json, complete: json_closed}
target: {table: parcel, columns: {id: integer, listed: date}}
write: {mode: snapshot, absent: retire, plausible: {rows: any, changed: any, retired: any}}
derive:
  - table: listings
    of: listed
    key: [day]
    period: {field: day, every: day, tz: UTC}
    columns: {day: date, n: integer}
    sql: |
      SELECT listed AS day, count(*) AS n FROM parcel
      WHERE listed = {period.date} AND landonce_retired_at IS NULL GROUP BY listed
",
    );
    let all = async |ids: &[u32]| {
        let records: Vec<String> =
            ids.iter().map(|id| format!(r#"{{"id":{id},"listed":"2026-03-0{}"}}"#, id % 2 + 1)).collect();
        let batch = landonce::Batch::from_bytes("parcels.json", format!("[{}]", records.join(",")));
        given.deliver_batch(&declared, &batch).await.unwrap();
        marks(&given).await
    };
    let listed = async || given.column("SELECT day || ' ' || n FROM listings ORDER BY 1").await;
    all(&[1, 2, 3, 4]).await;
    derive(&given, &declared).await;
    assert_eq!(listed().await, ["2026-03-01 2", "2026-03-02 2"]);
    assert_eq!(all(&[1, 2, 4]).await, ["listings 2026-03-02"], "3 is retired");
    derive(&given, &declared).await;
    assert_eq!(listed().await, ["2026-03-01 2", "2026-03-02 1"]);
    assert!(all(&[4, 2, 1]).await.is_empty(), "what is retired already is touched no more");
    assert_eq!(all(&[1, 2, 3, 4]).await, ["listings 2026-03-02"], "3 is back");
    derive(&given, &declared).await;
    assert_eq!(listed().await, ["2026-03-01 2", "2026-03-02 2"]);
    assert_equal(&given, &declared).await;
}
