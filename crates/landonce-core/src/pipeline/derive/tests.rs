//! What `derive:` may say, what its queries may be, and which periods a value touches.

use std::collections::BTreeMap;

use super::*;
use crate::pipeline::Pipeline;
use crate::spec::Spec;

const BASE: &str = "pipeline: p\nidentity: [id]\ntarget: {table: t, columns: {day: date, at: timestamptz, shop: text}}\nderive:\n";

fn entry(table: &str, more: &str) -> String {
    format!(
        "  - {{table: {table}, key: [day], period: {{field: day, every: day, tz: Europe/London}}, columns: {{day: date, n: integer}}, \
         sql: 'SELECT day, count(*) AS n FROM t WHERE day = {{period.date}} GROUP BY day'{more}}}\n"
    )
}

fn made(entries: &str) -> Result<Pipeline, PipelineError> {
    Pipeline::new(
        Spec::parse(&format!("{BASE}{entries}")).unwrap_or_else(|error| panic!("{entries}: {error}")),
    )
}

fn query(sql: &str) -> Result<Query, String> {
    let table = TableName { schema: None, name: "d".to_owned() };
    Query::parse(&table, sql).map_err(|error| error.to_string())
}

#[test]
fn tables_stand_behind_what_they_are_computed_from() {
    let entries = [entry("c", ", from: b"), entry("a", ""), entry("b", ", from: a")].concat();
    let pipeline = made(&entries).unwrap();
    let order: Vec<(String, Base)> =
        pipeline.derived().iter().map(|derived| (derived.name(), derived.base)).collect();
    assert_eq!(
        order,
        [
            ("a".to_owned(), Base::Target),
            ("b".to_owned(), Base::Derived(0)),
            ("c".to_owned(), Base::Derived(1))
        ]
    );
}

#[test]
fn what_can_not_be_derived_is_refused_with_its_key() {
    let day = entry("a", "");
    for (entries, want) in [
        (
            [entry("a", ", from: b"), entry("b", ", from: a")].concat(),
            "derive.from: a, b are computed from each other",
        ),
        (entry("a", ", from: x"), "derive.from: `x` is no table"),
        ([day.clone(), day.clone()].concat(), "derive.table: `a` is the name of two"),
        (entry("t", ""), "derive.table: `t` is the name of two"),
        (entry("landonce_x", ""), "derive.table: names that begin with"),
        (entry("a", ", of: shop"), "derive.of: `shop` is a text column"),
        ([day.clone(), entry("b", ", from: a, of: at")].concat(), "derive.of: `at` is no column of `a`"),
        (day.replace("key: [day]", "key: [n]"), "derive.key: `day` tells the period"),
        (day.replace("key: [day]", "key: [day, x]"), "derive.key: `x` is no column"),
        (entry("a", ", reach: 367"), "derive.reach: 367 periods"),
        (day.replace("n: integer", "n: float"), "derive.columns: `n` of `a` is a float"),
        (
            day.replace("every: day", "every: hour"),
            "derive.period.field: `day` is a date column; timestamptz is due",
        ),
        (day.replace("Europe/London", "London"), "derive.period.tz: "),
        (day.replace("{period.date}", "now()"), "derive.sql: the query of `a` asks `now`"),
    ] {
        let told = made(&entries).unwrap_err().to_string();
        assert!(told.starts_with(want), "{entries}: {told}");
    }
}

#[test]
fn a_query_is_one_select_that_names_its_period_outside_of_strings() {
    for (sql, want) in [
        ("DELETE FROM t", "is no SELECT"),
        ("SELECT 1", "names no period"),
        ("SELECT '{period.date}'", "inside '…'"),
        ("SELECT \"{period.date}\"", "inside \"…\""),
        ("SELECT {period.day}", "isn't known here"),
        ("SELECT {period.date", "without its `}`"),
        ("SELECT {period.date}; DROP TABLE t", "has a `;`"),
        ("SELECT {period.date}) q", "without its `(`"),
        ("SELECT ({period.date}", "without its `)`"),
        ("SELECT 'x {period.date}", "without its end"),
        ("SELECT {period.date} /* x", "comment without an end"),
        ("SELECT {period.date}, $1", "has a `$`"),
        ("SELECT {period.date}, E'\\''", "E'…'"),
        ("SELECT {period.date}, CURRENT_DATE", "asks `CURRENT_DATE`"),
        ("SELECT {period.date}, date('now')", "asks `'now'`"),
        ("SELECT {period.date}, random ()", "asks `random`"),
    ] {
        let told = query(sql).unwrap_err();
        assert!(told.contains(want), "{sql}: {told}");
    }
    for sql in [
        "with x as (select 1) select {period.start}, {period.end} from x;",
        "SELECT now, t.current_date, 'it''s ; (', \"a;b\" -- ; now()\n, 1e5 /* ; */ FROM t WHERE d = {period.until}",
        "SELECT {period.label} AS fate, 'e', name'x' FROM t",
    ] {
        query(sql).unwrap_or_else(|told| panic!("{sql}: {told}"));
    }
}

#[test]
fn the_parts_of_a_query_are_its_text_with_the_period_in_between() {
    let days = Calendar::new(Every::Day, "Europe/London").unwrap();
    let day = days.parse("2026-03-29").unwrap();
    let query = query("SELECT {period.date} WHERE a >= {period.start} AND a < {period.end};").unwrap();
    assert_eq!(
        query.of(&day),
        [
            Part::Sql("SELECT "),
            Part::At(Bound::Date(20_541)),
            Part::Sql(" WHERE a >= "),
            Part::At(Bound::Timestamptz(1_774_742_400_000_000)),
            Part::Sql(" AND a < "),
            Part::At(Bound::Timestamptz(1_774_742_400_000_000 + 23 * 3_600_000_000)),
        ]
    );
}

#[test]
fn a_touched_value_is_in_the_periods_of_its_quarter_and_a_recorded_interval_in_those_that_it_covers() {
    let pipeline = made(&entry("a", ", of: at")).unwrap();
    let derived = &pipeline.derived()[0];
    let labels = |at: Bound| {
        let mut periods = BTreeMap::new();
        derived.touch(at, &mut periods);
        periods.into_values().map(|period| period.label().to_owned()).collect::<Vec<_>>()
    };
    let at = |text: &str| Bound::Timestamptz(crate::time::timestamptz(text).unwrap());
    assert_eq!(labels(at("2026-06-01T22:45:00Z")), ["2026-06-01"]);
    assert_eq!(labels(at("2026-06-01T23:00:00Z")), ["2026-06-02"], "summer time");
    assert_eq!(labels(Bound::Date(20_541)), ["2026-03-29"]);
    let week = made(&entry("a", ", reach: 2")).unwrap();
    let mut periods = BTreeMap::new();
    week.derived()[0].touch(Bound::Date(20_541), &mut periods);
    let reached: Vec<&str> = periods.values().map(Period::label).collect();
    assert_eq!(reached, ["2026-03-29", "2026-03-30", "2026-03-31"]);
    let day = derived.calendar.parse("2026-03-29").unwrap();
    let (start, end) = (day.start().as_microsecond(), day.end().as_microsecond());
    assert_eq!(derived.covering(start, end), [day]);
    assert_eq!(derived.covering(start + 1, end + 1).len(), 2, "of another calendar");
}
