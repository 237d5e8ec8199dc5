//! Where a period begins and ends (H4, C36): half-open, in the declared zone, whatever its clocks do; and the texts that
//! an orchestrator hands over.

use landonce::{Kind, Pipeline};

use super::{counts, load};
use crate::given::{Given, on_every_store, pipeline};

on_every_store!(
    instants_at_the_bounds_are_in_one_period_each,
    civil_dates_and_times_are_in_the_zones_days,
    a_naive_time_for_an_instant_is_a_bad_record,
    every_length_of_period_replaces_its_own_rows_only,
);

fn of(ty: &str, every: &str, tz: &str) -> Pipeline {
    pipeline(&format!(
        "identity: [id]
target: {{table: t, columns: {{at: {ty}, v: text}}}}
write: {{mode: overwrite_period, period: {{field: at, every: {every}, tz: {tz}}}}}"
    ))
}

fn at(id: u32, at: &str) -> String {
    format!(r#"{{"id":{id},"at":"{at}","v":"x"}}"#)
}

/// The first and the last instant of a period are in it; the ones before and behind aren't.
async fn instants_at_the_bounds_are_in_one_period_each(given: Given) {
    for (every, tz, period, inside, outside) in [
        // 23 hours, 25 hours.
        (
            "day",
            "Europe/Berlin",
            "2026-03-29",
            ["2026-03-28T23:00:00Z", "2026-03-29T21:59:59.999999Z"],
            ["2026-03-28T22:59:59.999999Z", "2026-03-29T22:00:00Z"],
        ),
        (
            "day",
            "Europe/Berlin",
            "2026-10-25",
            ["2026-10-24T22:00:00Z", "2026-10-25T22:59:59.999999Z"],
            ["2026-10-24T21:59:59.999999Z", "2026-10-25T23:00:00Z"],
        ),
        // Clocks go forward at midnight: the day begins at 01:00.
        (
            "day",
            "America/Santiago",
            "2026-09-06",
            ["2026-09-06T04:00:00Z", "2026-09-07T02:59:59.999999Z"],
            ["2026-09-06T03:59:59.999999Z", "2026-09-07T03:00:00Z"],
        ),
        // Shifts of half an hour: an hour of 30 minutes, under either offset.
        (
            "hour",
            "Australia/Lord_Howe",
            "2026-04-05T01+10:30",
            ["2026-04-04T15:00:00Z", "2026-04-04T15:29:59.999999Z"],
            ["2026-04-04T14:59:59.999999Z", "2026-04-04T15:30:00Z"],
        ),
        // The hour that comes twice has two labels.
        (
            "hour",
            "America/New_York",
            "2026-11-01T01-04:00",
            ["2026-11-01T05:00:00Z", "2026-11-01T05:59:59.999999Z"],
            ["2026-11-01T04:59:59.999999Z", "2026-11-01T06:00:00Z"],
        ),
        (
            "hour",
            "America/New_York",
            "2026-11-01T01-05:00",
            ["2026-11-01T06:00:00Z", "2026-11-01T06:59:59.999999Z"],
            ["2026-11-01T05:59:59.999999Z", "2026-11-01T07:00:00Z"],
        ),
        (
            "week",
            "UTC",
            "2026-W01",
            ["2025-12-29T00:00:00Z", "2026-01-04T23:59:59.999999Z"],
            ["2025-12-28T23:59:59.999999Z", "2026-01-05T00:00:00Z"],
        ),
        (
            "month",
            "UTC",
            "2024-02",
            ["2024-02-01T00:00:00Z", "2024-02-29T23:59:59.999999Z"],
            ["2024-01-31T23:59:59.999999Z", "2024-03-01T00:00:00Z"],
        ),
        (
            "month",
            "Pacific/Auckland",
            "2026-12",
            ["2026-11-30T11:00:00Z", "2026-12-31T10:59:59.999999Z"],
            ["2026-11-30T10:59:59.999999Z", "2026-12-31T11:00:00Z"],
        ),
    ] {
        let pipeline = of("timestamptz", every, tz);
        let told = format!("{every} {tz} {period}");
        let receipt = load(&given, &pipeline, period, &[at(1, inside[0]), at(2, inside[1])]).await;
        assert_eq!(
            counts(&receipt.unwrap_or_else(|error| panic!("{told}: {error}"))),
            "read 2, inserted 2",
            "{told}"
        );
        for instant in outside {
            let error = load(&given, &pipeline, period, &[at(3, instant)]).await.unwrap_err();
            assert!(
                error.to_string().contains(&format!("and the run's period is {period}")),
                "{told}: {error}"
            );
        }
        // Rows just outside, put there by their own period's run or by hand, stay when this one is emptied of others.
        let key = given.column("SELECT landonce_key FROM t WHERE v = 'x' LIMIT 1").await;
        assert_eq!(key.len(), 1);
        for (nth, instant) in outside.iter().enumerate() {
            let neighbour = pipeline_of(every, tz, instant);
            let lines = [at(10 + nth as u32, instant)];
            pipeline.of(&neighbour).unwrap().ingest(&given.store, &super::batch(&lines)).await.unwrap();
        }
        let receipt = load(&given, &pipeline, period, &[at(1, inside[0])]).await.unwrap();
        assert_eq!(counts(&receipt), "read 1, unchanged 1; removed 1", "{told}");
        assert_eq!(given.count("t").await, 3, "{told}");
        reset(&given).await;
    }
}

fn pipeline_of(every: &str, tz: &str, instant: &str) -> landonce_core::period::Period {
    use landonce_core::period::{Calendar, Every};
    let every = match every {
        "hour" => Every::Hour,
        "day" => Every::Day,
        "week" => Every::Week,
        _ => Every::Month,
    };
    Calendar::new(every, tz).unwrap().containing(instant.parse().unwrap()).unwrap()
}

async fn reset(given: &Given) {
    given.execute("DROP TABLE t").await;
    given.execute(&format!("DELETE FROM {}", given.system("inbox"))).await;
    given.execute(&format!("DELETE FROM {}", given.system("ledger"))).await;
}

async fn civil_dates_and_times_are_in_the_zones_days(given: Given) {
    for (ty, every, period, inside, outside) in [
        ("date", "day", "2026-10-25", vec!["2026-10-25"], vec!["2026-10-24", "2026-10-26"]),
        ("date", "month", "2024-02", vec!["2024-02-01", "2024-02-29"], vec!["2024-01-31", "2024-03-01"]),
        ("date", "week", "2026-W53", vec!["2026-12-28", "2027-01-03"], vec!["2026-12-27", "2027-01-04"]),
        // A civil time that comes twice, or never, is still one of its day.
        (
            "timestamp",
            "day",
            "2026-10-25",
            vec!["2026-10-25 00:00:00", "2026-10-25 02:30:00", "2026-10-25T23:59:59.999999"],
            vec!["2026-10-24 23:59:59.999999", "2026-10-26 00:00:00"],
        ),
        ("timestamp", "day", "2026-03-29", vec!["2026-03-29 02:30:00"], vec!["2026-03-30 00:00:00"]),
    ] {
        let pipeline = of(ty, every, "Europe/Berlin");
        let lines: Vec<String> = (1..).zip(&inside).map(|(id, time)| at(id, time)).collect();
        let receipt = load(&given, &pipeline, period, &lines).await.unwrap();
        assert_eq!(receipt.outcome.inserted, inside.len() as u64, "{ty} {every} {period}");
        for time in outside {
            let error = load(&given, &pipeline, period, &[at(9, time)]).await.unwrap_err();
            assert!(error.to_string().contains("outside the period"), "{ty} {time}: {error}");
        }
        // All of them are found again: none is left when the period has another row.
        let receipt = load(&given, &pipeline, period, &[at(8, inside[0])]).await.unwrap();
        assert_eq!(receipt.outcome.removed, inside.len() as u64, "{ty} {every} {period}");
        reset(&given).await;
    }
}

async fn a_naive_time_for_an_instant_is_a_bad_record(given: Given) {
    // C36: which of the two 02:30 it is can't be known, nor whose 12:00.
    let pipeline = of("timestamptz", "day", "Europe/Berlin");
    for naive in ["2026-10-25 02:30:00", "2026-03-29 02:30:00", "2026-10-25 12:00:00", "2026-10-25"] {
        let period = naive.get(..10).unwrap();
        let error = load(&given, &pipeline, period, &[at(1, naive)]).await.unwrap_err();
        assert_eq!(error.kind(), Kind::BadRecords);
        let due = if naive.len() == 10 { "no time of day" } else { "offset" };
        assert!(error.to_string().contains(due), "{error}");
    }
    // With their offsets they are two instants, and two rows of one day.
    let lines = [at(1, "2026-10-25T02:30:00+02:00"), at(2, "2026-10-25T02:30:00+01:00")];
    assert_eq!(counts(&load(&given, &pipeline, "2026-10-25", &lines).await.unwrap()), "read 2, inserted 2");
}

/// An hour, its day, its week and its month: each run replaces what lies in its own bounds.
async fn every_length_of_period_replaces_its_own_rows_only(given: Given) {
    let lines = [
        at(1, "2026-02-28T23:30:00Z"),
        at(2, "2026-03-01T00:00:00Z"),
        at(3, "2026-03-01T00:59:59Z"),
        at(4, "2026-03-01T01:00:00Z"),
    ];
    for (name, every, period, left) in [
        ("hour", "hour", "2026-03-01T00Z", "1,4"),
        ("day", "day", "2026-03-01", "1"),
        ("week", "week", "2026-W09", ""),
        ("month", "month", "2026-03", "1"),
    ] {
        let plain = landonce::Pipeline::from_yaml(&format!(
            "pipeline: plain-{name}\nidentity: [id]\ntarget: {{table: t, columns: {{at: timestamptz, v: text}}}}"
        ));
        given.deliver(&plain.unwrap(), &lines.each_ref().map(String::as_str)).await.unwrap();
        let pipeline = landonce::Pipeline::from_yaml(&format!(
            "pipeline: {name}\nidentity: [id]\ntarget: {{table: t, columns: {{at: timestamptz, v: text}}}}
write: {{mode: overwrite_period, allow_empty: true, period: {{field: at, every: {every}, tz: UTC}}}}"
        ));
        load(&given, &pipeline.unwrap(), period, &[] as &[&str]).await.unwrap();
        let id = given.column("SELECT id FROM t ORDER BY at").await;
        assert_eq!(id.join(","), left, "{every}");
        given.execute("DROP TABLE t").await;
    }
}

#[test]
fn what_an_orchestrator_hands_over_is_the_period() {
    let day = |tz: &str, text: &str| of("timestamptz", "day", tz).in_period(text);
    for text in [
        "2026-03-01",
        "2026-03-01T00:00:00+00:00",
        "2026-03-01 00:00:00+00:00",
        "2026-03-01T00:00:00Z",
        // Airflow: {{ data_interval_start }}/{{ data_interval_end }}, and what a pendulum DateTime and a datetime print.
        "2026-03-01 00:00:00+00:00/2026-03-02 00:00:00+00:00",
        "2026-03-01T00:00:00+00:00/2026-03-02T00:00:00+00:00",
        "2026-03-01/2026-03-02",
        "2026-03-01/P1D",
        "2026-03-01T00:00:00Z/PT24H",
    ] {
        let bound = day("UTC", text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(bound.declared().period().unwrap().label(), "2026-03-01", "{text}");
    }
    // A schedule in the zone itself is handed over in UTC all the same, also on the day of 23 hours.
    let bound = day("Europe/Berlin", "2026-03-28T23:00:00+00:00/2026-03-29T22:00:00+00:00").unwrap();
    assert_eq!(bound.declared().period().unwrap().label(), "2026-03-29");
    // A schedule in UTC hands over no day of Berlin's: told, never rounded.
    let error = day("Europe/Berlin", "2026-03-01T00:00:00+00:00/2026-03-02T00:00:00+00:00").unwrap_err();
    assert!(error.to_string().contains("UTC"), "{error}");
    for (text, want) in [
        // A cron schedule of Airflow 3 has an interval without a length.
        ("2026-03-01T00:00:00+00:00/2026-03-01T00:00:00+00:00", "2026-03-01"),
        ("2026-03-01/2026-03-04", "2026-03-03"),
        ("None/None", "isn't a period"),
        ("None", "isn't a period"),
        ("", "isn't a period"),
        ("yesterday", "isn't a period"),
        ("{{ ds }}", "isn't a period"),
    ] {
        let error = day("UTC", text).unwrap_err().to_string();
        assert!(error.contains(want), "{text}: {error}");
    }
}
