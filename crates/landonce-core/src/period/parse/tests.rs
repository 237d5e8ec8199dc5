//! The texts that name a period, and those that don't.

use super::super::tests::{at, calendar, period, refused};
use super::*;

#[test]
fn every_spelling_of_a_period_is_the_same_period() {
    for (every, zone, label, spellings) in [
        (
            Every::Day,
            "Europe/Berlin",
            "2026-03-01",
            &[
                "2026-03-01T00:00",
                "2026-03-01T00",
                "2026-03-01 00:00:00.000",
                "2026-02-28T23:00:00Z",
                "2026-02-28T23Z",
                "2026-03-01T00:00:00+01:00",
                "2026-03-01/2026-03-02",
                "2026-03-01/P1D",
                "2026-03-01/PT24H",
                "2026-03-01T00:00:00/2026-03-02",
                "2026-03-01T00:00:00+01:00/2026-03-02T00:00:00+01:00",
                "2026-02-28T23:00:00Z/P1D",
                "2026-02-28T23:00:00+00:00/2026-03-01T23:00:00+00:00",
                "2026-02-28 23:00:00+00:00/2026-03-01 23:00:00.000000+00:00",
            ][..],
        ),
        (
            Every::Day,
            "UTC",
            "2026-03-01",
            &[
                "2026-03-01T00:00:00+00:00/2026-03-02T00:00:00+00:00",
                "2026-03-01 00:00:00+00:00/2026-03-02 00:00:00+00:00",
                "2026-03-01T00:00:00.000000+00:00/2026-03-02T00:00:00.000000+00:00",
                "2026-03-01T00:00:00Z/2026-03-02T00:00:00Z",
            ],
        ),
        (
            Every::Day,
            "Europe/Berlin",
            "2026-03-29",
            &["2026-03-29/P1D", "2026-03-29/PT23H", "2026-03-29/2026-03-30"],
        ),
        (
            Every::Day,
            "America/Sao_Paulo",
            "2018-11-04",
            &["2018-11-04T00:00:00", "2018-11-04T01:00:00", "2018-11-04/P1D", "2018-11-04T03:00:00Z/P1D"],
        ),
        (
            Every::Week,
            "UTC",
            "2026-W09",
            &[
                "2026-02-23",
                "2026-02-23/P1W",
                "2026-02-23/P7D",
                "2026-02-23/2026-03-02",
                "2026-02-23T00:00:00Z",
            ],
        ),
        (
            Every::Month,
            "UTC",
            "2024-02",
            &["2024-02-01", "2024-02-01/P1M", "2024-02-01/P29D", "2024-02-01/2024-03-01"],
        ),
        (
            Every::Hour,
            "Asia/Kolkata",
            "2026-03-01T05+05:30",
            &[
                "2026-03-01T05",
                "2026-03-01 05:00",
                "2026-02-28T23:30:00Z",
                "2026-03-01T05:00:00+05:30/PT1H",
                "2026-03-01T05/2026-03-01T06",
                "2026-03-01T05:00/PT60M",
                "2026-03-01T05+0530",
            ],
        ),
        (
            Every::Hour,
            "Australia/Lord_Howe",
            "2026-10-04T02+11:00",
            &["2026-10-04T02", "2026-10-04T02:30", "2026-10-03T15:30:00Z"],
        ),
        (
            Every::Hour,
            "UTC",
            "2026-03-01T05+00:00",
            &["2026-03-01T05Z", "2026-03-01T06+01", "2026-03-01T05:00:00Z/PT3600S"],
        ),
    ] {
        let want = period(every, zone, label);
        assert_eq!(want.label, label);
        for text in spellings {
            assert_eq!(calendar(every, zone).parse(text).as_ref(), Ok(&want), "{zone} {text}");
        }
    }
}

#[test]
fn what_touches_a_period_without_naming_it_is_refused() {
    let (hour, day, week, month) = (Every::Hour, Every::Day, Every::Week, Every::Month);
    for (every, zone, text, want) in [
        (
            week,
            "UTC",
            "2026-02-25",
            "`2026-02-25` isn't the start of a week: it is in 2026-W09, which runs from 2026-02-23T00:00:00Z \
             to 2026-03-02T00:00:00Z; give 2026-W09",
        ),
        (
            month,
            "UTC",
            "2026-03-02",
            "`2026-03-02` isn't the start of a month: it is in 2026-03, which runs from 2026-03-01T00:00:00Z \
             to 2026-04-01T00:00:00Z; give 2026-03",
        ),
        (
            day,
            "Europe/Berlin",
            "2026-03-01T05:30:00",
            "`2026-03-01T05:30:00` isn't the start of a day: it is in 2026-03-01, which runs from \
             2026-02-28T23:00:00Z to 2026-03-01T23:00:00Z; give 2026-03-01",
        ),
        (
            day,
            "UTC",
            "2026-03-01/2026-03-03",
            "`2026-03-01/2026-03-03` covers more than one day, 2026-03-01 to 2026-03-02, and a run has one period; \
             use `landonce backfill --from 2026-03-01 --to 2026-03-02`",
        ),
        (
            day,
            "Europe/Berlin",
            "2026-03-29/PT24H",
            "`2026-03-29/PT24H` ends inside 2026-03-30, which is over at 2026-03-30T22:00:00Z; give 2026-03-29, \
             or an interval of exactly one day",
        ),
        (
            day,
            "UTC",
            "2026-03-01/PT6H",
            "`2026-03-01/PT6H` ends inside 2026-03-01, which is over at 2026-03-02T00:00:00Z; give 2026-03-01, \
             or an interval of exactly one day",
        ),
        (
            day,
            "UTC",
            "2026-03-01/2026-03-01",
            "`2026-03-01/2026-03-01` covers nothing, since an interval's end isn't in it (Airflow's \
             CronTriggerTimetable renders such ones); give a label such as 2026-03-01",
        ),
        (
            day,
            "UTC",
            "2026-03-02/2026-03-01",
            "`2026-03-02/2026-03-01` ends before it starts; give start and end in this order",
        ),
        (
            hour,
            "Europe/Berlin",
            "2026-03-01",
            "`2026-03-01` names a day, and this pipeline's periods are hours; give one such as 2026-03-01T05+00:00",
        ),
        (
            day,
            "UTC",
            "2026-03",
            "`2026-03` names a month, and this pipeline's periods are days; give one such as 2026-03-01",
        ),
        (
            month,
            "UTC",
            "2026-W09",
            "`2026-W09` names a week, and this pipeline's periods are months; give one such as 2026-03",
        ),
        (
            hour,
            "America/New_York",
            "2026-11-01T01:00/PT1H",
            "the clocks of America/New_York show `2026-11-01T01:00` twice; \
             give 2026-11-01T01:00:00-04:00 or 2026-11-01T01:00:00-05:00",
        ),
        (
            day,
            "UTC",
            "2026-03-01/2026-03-02T00:00:00Z",
            "`2026-03-01/2026-03-02T00:00:00Z` mixes a time with an offset and one without; \
             give both with, or both without",
        ),
    ] {
        assert_eq!(refused(every, zone, text), want);
    }
}

#[test]
fn an_interval_of_utc_is_told_from_one_of_the_zone() {
    for (every, zone, text, label) in [
        (Every::Day, "Europe/Berlin", "2026-03-01T00:00:00+00:00/2026-03-02T00:00:00+00:00", "2026-03-01"),
        (Every::Day, "Europe/Berlin", "2026-03-01T00:00:00Z", "2026-03-01"),
        (Every::Day, "Europe/Berlin", "2026-03-01T00:00:00Z/P1D", "2026-03-01"),
        (Every::Day, "Europe/Berlin", "2026-03-29T00:00:00Z/P1D", "2026-03-29"),
        // It starts with the day of the zone, which has 23 hours.
        (Every::Day, "Europe/London", "2026-03-29T00:00:00+00:00/2026-03-30T00:00:00+00:00", "2026-03-29"),
        (Every::Week, "Europe/Berlin", "2026-02-23T00:00:00Z/2026-03-02T00:00:00Z", "2026-W09"),
        (Every::Hour, "Asia/Kolkata", "2026-03-01T05:00:00Z/2026-03-01T06:00:00Z", "2026-03-01T10+05:30"),
    ] {
        let error = calendar(every, zone).parse(text).unwrap_err();
        assert_eq!(
            error,
            PeriodError::OfUtc {
                text: text.to_owned(),
                every,
                zone: zone.to_owned(),
                label: label.to_owned()
            }
        );
        assert!(calendar(every, zone).parse(label).is_ok(), "the label that it names fits");
    }
    assert_eq!(
        refused(Every::Day, "Europe/Berlin", "2026-03-01T00:00:00Z"),
        "`2026-03-01T00:00:00Z` names a day of UTC, and this pipeline's periods are days of Europe/Berlin; let the \
         schedule run in Europe/Berlin (in Airflow, the time zone of the DAG), give a label such as 2026-03-01, \
         or declare `tz: UTC`"
    );
}

#[test]
fn what_is_no_period_at_all_is_refused_and_told_why() {
    for (text, want) in [
        (
            "",
            "isn't a period; give a label such as 2026-03-01, the instant at which one starts, or an interval start/end",
        ),
        ("yesterday", "isn't a period"),
        ("today", "isn't a period"),
        ("20260301", "isn't a period"),
        ("2026-3-1", "isn't a period"),
        ("2026-03-1é", "isn't a period"),
        (" 2026-03-01", "isn't a period"),
        ("2026-03-01 ", "has white space around it"),
        ("2026-02-30", "names a day that isn't in the calendar"),
        ("2025-02-29", "names a day that isn't in the calendar"),
        ("2026-13", "`2026-13` names a day that isn't in the calendar"),
        ("2025-W53", "names a week that isn't in the calendar of ISO 8601"),
        ("2026-W00", "names a week that isn't in the calendar of ISO 8601"),
        ("0000-W01", "names a week that isn't in the calendar of ISO 8601"),
        ("0000-01-01", "has a year outside 0001–9999"),
        ("9999-12-31", "reaches outside the years 0001–9999"),
        ("2026-03-01T24:00:00", "has hour 24"),
        ("2026-03-01T24", "`2026-03-01T24` has hour 24"),
        ("2026-03-01T05+1", "isn't an offset"),
        ("2026-03-01T05+01:00:99", "isn't an offset"),
        ("2026-03-01T05 Europe/Berlin", "isn't an offset"),
        ("2026-03-01T00:00:00 Europe", "isn't an offset"),
        ("2026-03-01T00:00:00.0000001Z", "has more than microseconds"),
        ("2026-03-01/", "isn't a period"),
        ("/2026-03-01", "isn't a period"),
        ("2026-03-01/2026-03-02/2026-03-03", "isn't"),
        ("2026-03-01/P", "isn't a duration of one part"),
        ("2026-03-01/P1", "isn't a duration of one part"),
        ("2026-03-01/PD", "isn't a duration of one part"),
        ("2026-03-01/P1DT1H", "isn't a duration of one part"),
        ("2026-03-01/P-1D", "isn't a duration of one part"),
        ("2026-03-01/P0D", "covers nothing"),
        ("2026-03-01/P99999D", "isn't a duration of one part"),
        ("2026-03-01/P9999Y", "reaches outside the years"),
        ("2026-03/2026-04", "`2026-03` is no end of an interval"),
    ] {
        let error = refused(Every::Day, "UTC", text);
        assert!(error.contains(want), "{text:?}: {error}");
    }
    assert!(refused(Every::Day, "UTC", &"9".repeat(10_000)).chars().count() < 300);
}

#[test]
fn equal_calendars_and_periods_are_equal() {
    assert_eq!(calendar(Every::Day, "UTC"), calendar(Every::Day, "UTC"));
    assert_ne!(calendar(Every::Day, "UTC"), calendar(Every::Week, "UTC"));
    assert_eq!(period(Every::Day, "UTC", "2026-03-01").start(), at("2026-03-01T00:00:00Z"));
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,16}", tail in "[-0-9T:.Z+W/P é]{0,30}") {
        for every in [Every::Hour, Every::Day, Every::Week, Every::Month] {
            let calendar = calendar(every, "Europe/Berlin");
            for text in [text.clone(), tail.clone(), format!("2026-03-01{tail}"), format!("2026-03-01T05{text}")] {
                let _ = calendar.parse(&text);
            }
        }
    }
}
