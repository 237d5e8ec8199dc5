//! What is promised of periods: they partition the time line, whatever the clocks of a zone do.

use jiff::civil::date;
use proptest::prelude::*;

use super::*;

pub(super) fn calendar(every: Every, zone: &str) -> Calendar {
    Calendar::new(every, zone).unwrap()
}

pub(super) fn period(every: Every, zone: &str, text: &str) -> Period {
    calendar(every, zone).parse(text).unwrap()
}

/// The message of the error that a text makes.
pub(super) fn refused(every: Every, zone: &str, text: &str) -> String {
    calendar(every, zone).parse(text).map(|period| period.label).unwrap_err().to_string()
}

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

const ALL: [Every; 4] = [Every::Hour, Every::Day, Every::Week, Every::Month];

/// Zones whose clocks have done something odd since 1990.
const ODD_ZONES: [&str; 22] = [
    "Africa/Cairo",        // midnight skipped, and shown twice
    "Africa/Casablanca",   // four shifts a year
    "America/Caracas",     // half an hour at 03:00
    "America/Havana",      // midnight twice
    "America/New_York",    //
    "America/Sao_Paulo",   // midnight skipped
    "America/St_Johns",    // shifts at 00:01, back over midnight
    "Antarctica/Casey",    // three hours
    "Antarctica/Troll",    // two hours
    "Asia/Gaza",           // shifts at midnight
    "Asia/Kathmandu",      // a quarter of an hour off
    "Asia/Pyongyang",      // half an hour at 23:30
    "Asia/Tehran",         // half an hour off, midnight skipped
    "Australia/Lord_Howe", // half an hour, twice a year
    "Europe/Berlin",       //
    "Europe/Dublin",       // winter time is the other one
    "Europe/London",       //
    "Pacific/Apia",        // a day skipped
    "Pacific/Chatham",     // three quarters of an hour off
    "Pacific/Kiritimati",  // a day skipped at a year's end
    "Pacific/Kwajalein",   // a day skipped
    "UTC",
];

/// Everything that is promised of one period beside its neighbours.
fn check(calendar: &Calendar, period: &Period) -> Period {
    let tell = || format!("{} {:?} {period:?}", calendar.zone(), calendar.every());
    let next = calendar.next(period).unwrap();
    assert!(period.start < period.end, "{}", tell());
    assert_eq!(period.end, next.start, "{}", tell());
    assert_eq!(&calendar.previous(&next).unwrap(), period, "{}", tell());
    assert_eq!(&calendar.containing(period.start).unwrap(), period, "{}", tell());
    assert_eq!(&calendar.containing(period.end - NANOSECOND).unwrap(), period, "{}", tell());
    assert_eq!(&calendar.parse(&period.label).unwrap(), period, "{}", tell());
    assert_eq!(&calendar.parse(&format!("{}/{}", period.start, period.end)).unwrap(), period, "{}", tell());
    assert!(period.contains(period.start) && !period.contains(period.end), "{}", tell());
    next
}

fn check_from(calendar: &Calendar, from: Timestamp, count: usize) {
    let mut period = calendar.containing(from).unwrap();
    for _ in 0..count {
        period = check(calendar, &period);
    }
}

#[test]
fn periods_meet_exactly_around_every_shift_of_odd_zones() {
    for zone in ODD_ZONES {
        for every in ALL {
            let calendar = calendar(every, zone);
            let shifts = calendar.tz.following(at("1990-01-01T00:00:00Z"));
            let until = at("2040-01-01T00:00:00Z");
            let count = if every.holds_whole_days() { 2 } else { 4 };
            for shift in shifts.map(|shift| shift.timestamp()).take_while(|shift| *shift < until) {
                check_from(&calendar, shift - SignedDuration::from_hours(2), count);
            }
        }
    }
}

proptest! {
    #[test]
    fn periods_meet_exactly_anywhere(
        zone in prop::sample::select(&ODD_ZONES[..]),
        every in prop::sample::select(&ALL[..]),
        second in at("0001-02-02T00:00:00Z").as_second()..at("9999-10-01T00:00:00Z").as_second(),
    ) {
        check_from(&calendar(every, zone), Timestamp::from_second(second).unwrap(), 2);
    }
}

fn minutes(period: &Period) -> i64 {
    period.end.duration_since(period.start).as_secs() / 60
}

#[test]
fn days_have_as_many_hours_as_their_clocks_show() {
    for (zone, day, start, want) in [
        ("UTC", "2026-03-29", "2026-03-29T00:00:00Z", 24 * 60),
        ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", 23 * 60),
        ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", 25 * 60),
        ("America/New_York", "2026-03-08", "2026-03-08T05:00:00Z", 23 * 60),
        ("Australia/Lord_Howe", "2026-10-04", "2026-10-03T13:30:00Z", 23 * 60 + 30),
        ("Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00:00Z", 24 * 60 + 30),
        // Midnight is skipped: the day begins at 01:00.
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", 23 * 60),
        ("Africa/Cairo", "2023-04-28", "2023-04-27T22:00:00Z", 23 * 60),
        // At 23:30 it is 00:30: both days are shorter.
        ("America/Toronto", "1919-03-30", "1919-03-30T05:00:00Z", 23 * 60 + 30),
        ("America/Toronto", "1919-03-31", "1919-03-31T04:30:00Z", 23 * 60 + 30),
        // Midnight comes twice: the day begins with the first.
        ("America/Havana", "2024-11-03", "2024-11-03T04:00:00Z", 25 * 60),
        // At 24:00 it is 23:00 once more: the new day has not begun.
        ("Africa/Cairo", "2023-10-26", "2023-10-25T21:00:00Z", 25 * 60),
        // At 00:01 it is 23:01 of the day before once more: the new day has begun.
        ("America/St_Johns", "2010-11-06", "2010-11-06T02:30:00Z", 24 * 60),
        ("America/St_Johns", "2010-11-07", "2010-11-07T02:30:00Z", 25 * 60),
    ] {
        let day = period(Every::Day, zone, day);
        assert_eq!((day.start, minutes(&day)), (at(start), want), "{zone} {day}");
    }
}

#[test]
fn an_evening_that_shows_again_belongs_to_the_day_that_has_begun() {
    let days = calendar(Every::Day, "America/St_Johns");
    // 23:30 on the sixth, for the second time.
    assert_eq!(days.containing(at("2010-11-07T03:00:00Z")).unwrap().label, "2010-11-07");
    assert_eq!(days.containing(at("2010-11-07T02:00:00Z")).unwrap().label, "2010-11-06");
}

#[test]
fn a_day_that_a_zone_skipped_is_no_period() {
    let days = calendar(Every::Day, "Pacific/Apia");
    for text in [
        "2011-12-30",
        "2011-12-30T00:00:00",
        "2011-12-30/2011-12-31",
        "2011-12-30/P1D",
        "2011-12-30T00:00/P1D",
    ] {
        let error = days.parse(text).unwrap_err();
        assert_eq!(
            error,
            PeriodError::NoSuchDay { date: "2011-12-30".to_owned(), zone: "Pacific/Apia".to_owned() }
        );
    }
    let before = days.parse("2011-12-29").unwrap();
    let behind = days.next(&before).unwrap();
    assert_eq!((behind.label.as_str(), minutes(&before), minutes(&behind)), ("2011-12-31", 1440, 1440));
    assert_eq!(days.previous(&behind).unwrap(), before);
    assert_eq!(days.parse("2011-12-29/2011-12-30").unwrap(), before);
    assert_eq!(minutes(&period(Every::Week, "Pacific/Apia", "2011-W52")), 6 * 1440);
    assert_eq!(minutes(&period(Every::Month, "Pacific/Apia", "2011-12")), 30 * 1440);
}

#[test]
fn the_two_hours_of_an_autumn_night_have_two_labels() {
    let hours = calendar(Every::Hour, "America/New_York");
    let first = hours.parse("2026-11-01T01-04:00").unwrap();
    let second = hours.next(&first).unwrap();
    assert_eq!((first.start, minutes(&first)), (at("2026-11-01T05:00:00Z"), 60));
    assert_eq!((second.label.as_str(), minutes(&second)), ("2026-11-01T01-05:00", 60));
    for text in ["2026-11-01T01", "2026-11-01T01:00"] {
        assert_eq!(
            refused(Every::Hour, "America/New_York", text),
            format!(
                "the clocks of America/New_York show `{text}` twice; give 2026-11-01T01-04:00 or 2026-11-01T01-05:00"
            )
        );
    }
}

#[test]
fn the_hour_of_a_spring_night_is_left_out() {
    let hours = calendar(Every::Hour, "America/New_York");
    let before = hours.parse("2026-03-08T01").unwrap();
    assert_eq!(hours.next(&before).unwrap().label, "2026-03-08T03-04:00");
    assert_eq!(
        refused(Every::Hour, "America/New_York", "2026-03-08T02"),
        "the clocks of America/New_York skip `2026-03-08T02`; give a time that they show, such as 2026-03-08T03-04:00"
    );
}

#[test]
fn half_hour_shifts_leave_an_hour_of_thirty_minutes() {
    let hours = calendar(Every::Hour, "Australia/Lord_Howe");
    let listed = |from: &str, to: &str| -> Vec<(String, i64)> {
        let (from, to) = (hours.parse(from).unwrap(), hours.parse(to).unwrap());
        hours.between(&from, &to).unwrap().map(|hour| (hour.label.clone(), minutes(&hour))).collect()
    };
    let want = |hours: &[(&str, i64)]| -> Vec<(String, i64)> {
        hours.iter().map(|(label, minutes)| ((*label).to_owned(), *minutes)).collect()
    };
    assert_eq!(
        listed("2026-10-04T01", "2026-10-04T03"),
        want(&[("2026-10-04T01+10:30", 60), ("2026-10-04T02+11:00", 30), ("2026-10-04T03+11:00", 60)])
    );
    assert_eq!(
        listed("2026-04-05T00", "2026-04-05T02"),
        want(&[
            ("2026-04-05T00+11:00", 60),
            ("2026-04-05T01+11:00", 60),
            ("2026-04-05T01+10:30", 30),
            ("2026-04-05T02+10:30", 60),
        ])
    );
    // Only a part of the hour comes twice, and yet its name alone doesn't tell which is meant.
    assert!(refused(Every::Hour, "Australia/Lord_Howe", "2026-04-05T01").contains("twice"));
}

#[test]
fn an_hour_is_cut_where_clocks_shift_inside_it() {
    let hours = calendar(Every::Hour, "America/St_Johns");
    let mut hour = hours.parse("2010-11-06T23-02:30").unwrap();
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(format!("{} {}", hour.label, minutes(&hour)));
        hour = hours.next(&hour).unwrap();
    }
    assert_eq!(
        seen,
        [
            "2010-11-06T23-02:30 60",
            "2010-11-07T00-02:30 1",
            "2010-11-06T23-03:30 59",
            "2010-11-07T00-03:30 60"
        ]
    );
}

#[test]
fn a_change_of_nothing_but_the_abbreviation_cuts_no_hour() {
    // War time became peace time at 20:30, under the same offset.
    let hours = calendar(Every::Hour, "America/St_Johns");
    for instant in ["1945-08-14T22:45:00Z", "1945-08-14T23:00:00Z", "1945-08-14T23:15:00Z"] {
        let hour = hours.containing(at(instant)).unwrap();
        assert_eq!((hour.label.as_str(), minutes(&hour)), ("1945-08-14T20-02:30", 60), "{instant}");
    }
}

#[test]
fn offsets_of_local_mean_time_are_kept_to_the_second() {
    let hour = period(Every::Hour, "Africa/Monrovia", "1971-06-01T05-00:44:30");
    assert_eq!(hour.start, at("1971-06-01T05:44:30Z"));
    assert_eq!(hour.label, "1971-06-01T05-00:44:30");
    let hour = period(Every::Hour, "Asia/Kathmandu", "1919-06-01T05+05:41:16");
    assert_eq!((hour.start, hour.label()), (at("1919-05-31T23:18:44Z"), "1919-06-01T05+05:41:16"));
}

#[test]
fn months_and_weeks_end_where_the_calendar_says() {
    for (every, label, first, until, days) in [
        (Every::Month, "2024-02", date(2024, 2, 1), date(2024, 3, 1), 29),
        (Every::Month, "2026-02", date(2026, 2, 1), date(2026, 3, 1), 28),
        (Every::Month, "2026-04", date(2026, 4, 1), date(2026, 5, 1), 30),
        (Every::Month, "2026-12", date(2026, 12, 1), date(2027, 1, 1), 31),
        (Every::Week, "2026-W01", date(2025, 12, 29), date(2026, 1, 5), 7),
        (Every::Week, "2026-W53", date(2026, 12, 28), date(2027, 1, 4), 7),
        (Every::Day, "2024-02-29", date(2024, 2, 29), date(2024, 3, 1), 1),
    ] {
        let period = period(every, "UTC", label);
        assert_eq!((period.date(), period.until, minutes(&period)), (first, until, days * 1440), "{label}");
        assert!(period.contains_date(first) && period.contains_date(until.yesterday().unwrap()), "{label}");
        assert!(!period.contains_date(until) && !period.contains_date(first.yesterday().unwrap()), "{label}");
    }
    let hour = period(Every::Hour, "UTC", "2026-03-01T05Z");
    assert!(!hour.contains_date(date(2026, 3, 1)), "a date has no hour");
    assert!(!Every::Hour.holds_whole_days());
}

#[test]
fn boundaries_are_half_open() {
    let day = period(Every::Day, "Europe/Berlin", "2026-03-01");
    assert!(day.contains(at("2026-02-28T23:00:00Z")));
    assert!(day.contains(at("2026-03-01T22:59:59.999999999Z")));
    assert!(!day.contains(at("2026-03-01T23:00:00Z")));
    assert!(!day.is_over_at(at("2026-03-01T22:59:59.999999999Z")));
    assert!(day.is_over_at(at("2026-03-01T23:00:00Z")));
}

#[test]
fn a_range_holds_both_its_ends_and_every_period_between() {
    let days = calendar(Every::Day, "Pacific/Apia");
    let from = days.parse("2011-12-28").unwrap();
    let to = days.parse("2012-01-01").unwrap();
    let labels: Vec<String> = days.between(&from, &to).unwrap().map(|day| day.label).collect();
    assert_eq!(labels, ["2011-12-28", "2011-12-29", "2011-12-31", "2012-01-01"]);
    assert_eq!(days.between(&from, &from).unwrap().count(), 1);
    let error = days.between(&to, &from).unwrap_err().to_string();
    assert_eq!(error, "2011-12-28 is before 2012-01-01; give the earlier one first");
}

#[test]
fn the_ends_of_the_years_are_errors_and_never_panics() {
    for every in [Every::Hour, Every::Day, Every::Week, Every::Month] {
        for zone in ["UTC", "Pacific/Apia", "America/Los_Angeles"] {
            let calendar = calendar(every, zone);
            for instant in [Timestamp::MIN, Timestamp::MAX, at("0000-12-30T00:00:00Z")] {
                assert_eq!(calendar.containing(instant), Err(PeriodError::OutsideYears), "{zone} {every}");
            }
        }
    }
    let days = calendar(Every::Day, "UTC");
    let first = days.parse("0001-01-01").unwrap();
    assert_eq!(days.previous(&first), Err(PeriodError::OutsideYears));
    let mut last = days.parse("9999-12-28").unwrap();
    while let Ok(next) = days.next(&last) {
        last = next;
    }
    assert_eq!(last.label, "9999-12-29");
}
