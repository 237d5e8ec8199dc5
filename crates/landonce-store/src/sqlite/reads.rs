//! What people look at. A statement without an index that helps is ended when it takes too long.
//!
//! The inbox's index of times begins with the pipeline, so that a look at all pipelines leaps from one to the next.

mod table;

use std::time::Instant;

use rusqlite::{Params, Row, ffi, params};
use uuid::Uuid;

use super::errors::during;
use super::inbox::{Found, SETTLED, is_there, uuid, with_tables};
use super::{Session, held, report};
use crate::error::Result;
use crate::held::Held;
use crate::inbox::{InboxKey, Settled};
use crate::ledger::without_nul;
use crate::quarantine::Entry;
use crate::reads::{
    self, Action, Backlog, BatchFilter, COUNTS, Equals, Figure, HOUR, PATIENCE, Reads, Rows, Span, Waiting,
};
use crate::seam::{Access, Connection};
use landonce_core::plan::TablePlan;
use landonce_core::retry::Code;

/// After how many of SQLite's steps the time is looked at.
const STEPS: i32 = 20_000;

/// SQLITE_INTERRUPT.
const INTERRUPTED: i32 = ffi::SQLITE_INTERRUPT;

/// The pipelines that have landed batches, each found by one leap in the index.
const PIPELINES: &str = "\
WITH RECURSIVE leap(pipeline) AS (
  SELECT min(pipeline) FROM main.landonce_inbox WHERE settled_at IS NOT NULL
  UNION ALL
  SELECT (SELECT min(i.pipeline) FROM main.landonce_inbox i WHERE i.settled_at IS NOT NULL AND i.pipeline > leap.pipeline)
  FROM leap WHERE leap.pipeline IS NOT NULL)
SELECT pipeline FROM leap WHERE pipeline IS NOT NULL";

/// A parameter in milliseconds since 1970 as the text that times are kept in.
fn moment(parameter: usize) -> String {
    format!("strftime('%Y-%m-%dT%H:%M:%fZ', ?{parameter} / 1000.0, 'unixepoch')")
}

/// The first millisecond that isn't before a moment given in microseconds: times are kept in milliseconds.
fn millis(micros: i64) -> i64 {
    micros.div_euclid(1000) + i64::from(micros.rem_euclid(1000) > 0)
}

impl Reads for Session {
    async fn batches(&mut self, limit: usize) -> Result<Vec<Settled>> {
        report::batches(&self.connection, limit)
    }

    async fn quarantine(&mut self, pipeline: Option<&str>, limit: usize) -> Result<Vec<Entry>> {
        report::quarantine(&self.connection, pipeline, limit)
    }

    async fn quarantine_entry(&mut self, id_prefix: &str) -> Result<Option<Entry>> {
        report::quarantine_entry(&self.connection, id_prefix)
    }

    async fn held(&mut self, pipeline: Option<&str>, is_all: bool) -> Result<Vec<Held>> {
        held::held(&self.connection, pipeline, is_all)
    }

    async fn held_piece(&mut self, key: &InboxKey, nth: u32) -> Result<Option<Vec<u8>>> {
        held::held_piece(&self.connection, key, nth)
    }

    async fn batches_page(&mut self, filter: &BatchFilter, limit: usize) -> Result<Vec<Settled>> {
        let doing = "reading the inbox";
        let pipelines = match &filter.pipeline {
            Some(pipeline) => vec![pipeline.clone()],
            None => self.bounded(doing, "landonce_inbox", PIPELINES, [], |row| row.get(0))?,
        };
        // The first comparison is the index's; the second only decides among batches of one moment.
        let sql = format!(
            "SELECT {SETTLED} FROM main.landonce_inbox WHERE settled_at IS NOT NULL AND pipeline = ?1 \
             AND settled_at <= coalesce(?2, '~') AND (?2 IS NULL OR settled_at < ?2 OR key > ?3) \
             ORDER BY settled_at DESC, key LIMIT ?4"
        );
        let (at, key) = filter.before.as_ref().map(|cursor| (&cursor.settled_at, cursor.key.0)).unzip();
        let mut settled: Vec<Settled> = Vec::new();
        for pipeline in pipelines {
            let found = self.bounded(
                doing,
                "landonce_inbox",
                &sql,
                params![pipeline, at, key, most(limit)],
                Found::read,
            )?;
            for one in found {
                settled.push(one.settled()?);
            }
        }
        settled.sort_by_cached_key(|one| {
            (std::cmp::Reverse(one.settled_at.clone()), InboxKey::of(&one.pipeline, &one.batch_id).0)
        });
        settled.truncate(limit);
        Ok(settled)
    }

    async fn batches_of_run(&mut self, run_id: Uuid, most: usize) -> Result<Vec<Settled>> {
        if let Some(around) = reads::around(run_id) {
            let found = self.of_run(run_id, Some(around), most)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        self.of_run(run_id, None, most)
    }

    async fn batches_about(&mut self, subject: Uuid, at_most: usize) -> Result<Vec<Settled>> {
        let sql = format!(
            "SELECT {SETTLED} FROM main.landonce_subject s JOIN main.landonce_inbox i ON i.key = s.inbox \
             WHERE s.subject = ?1 AND i.settled_at IS NOT NULL ORDER BY i.settled_at DESC, i.run_id DESC LIMIT ?2"
        );
        let given = params![subject.into_bytes(), most(at_most)];
        let found =
            self.bounded("looking for a record's events", "landonce_subject", &sql, given, Found::read)?;
        found.into_iter().map(Found::settled).collect()
    }

    async fn figures(&mut self, span: Span) -> Result<Vec<Figure>> {
        span.check()?;
        let doing = "summing up the inbox";
        let sums: Vec<String> =
            COUNTS.iter().map(|count| format!("coalesce(sum(outcome ->> '{count}'), 0)")).collect();
        let sql = format!(
            "SELECT CAST(strftime('%s', settled_at) AS INTEGER) / 3600, count(*), {} FROM main.landonce_inbox \
             WHERE settled_at IS NOT NULL AND pipeline = ?1 AND settled_at >= {} AND settled_at < {} GROUP BY 1",
            sums.join(", "),
            moment(2),
            moment(3)
        );
        let mut figures = Vec::new();
        for pipeline in self.bounded(doing, "landonce_inbox", PIPELINES, [], |row| row.get::<_, String>(0))? {
            let figure = |row: &Row<'_>| {
                let counts: Vec<i64> =
                    (0..COUNTS.len()).map(|at| row.get(2 + at)).collect::<rusqlite::Result<_>>()?;
                Ok(Figure {
                    pipeline: pipeline.clone(),
                    hour: row.get::<_, i64>(0)? * HOUR,
                    batches: row.get::<_, i64>(1)? as u64,
                    outcome: reads::summed(|name| {
                        let at = COUNTS.iter().position(|count| *count == name);
                        at.map_or(0, |at| counts[at] as u64)
                    }),
                })
            };
            let given = params![pipeline, millis(span.from), millis(span.to)];
            figures.extend(self.bounded(doing, "landonce_inbox", &sql, given, figure)?);
        }
        figures.sort_by(|one: &Figure, other| (one.hour, &one.pipeline).cmp(&(other.hour, &other.pipeline)));
        Ok(figures)
    }

    async fn backlog(&mut self) -> Result<Vec<Backlog>> {
        let quarantined = self.waiting("landonce_quarantine", "resolved_by IS NULL", "kept_at", "*")?;
        let held = self.waiting("landonce_held", "state = 'held'", "held_at", "*")?;
        let one = "DISTINCT derived || char(0) || label || char(0) || start_us";
        let due = self.waiting("landonce_due", "1", "marked_at", one)?;
        Ok(reads::backlogs([quarantined, held, due]))
    }

    async fn rows(&mut self, plan: &TablePlan, equal: &[Equals<'_>], most: usize) -> Result<Option<Rows>> {
        let Some(shape) = self.shape(&plan.table).await? else { return Ok(None) };
        table::rows(self, &shape, plan, equal, most).map(Some)
    }

    async fn record_action(&mut self, action: &Action) -> Result<()> {
        let doing = "recording an action";
        self.begin(Access::Write).await?;
        let record = || {
            let sql = "INSERT INTO main.landonce_action (id, who, what, subject, detail) VALUES (?1, ?2, ?3, ?4, ?5) \
                       ON CONFLICT (id) DO NOTHING";
            let id = action.id.hyphenated().to_string();
            let [who, what, subject, detail] =
                [&action.who, &action.what, &action.subject, &action.detail].map(|text| without_nul(text));
            let given = params![id, who, what, subject, detail];
            self.connection.prepare_cached(sql)?.execute(given)
        };
        let recorded =
            with_tables(&self.connection, doing).and_then(|()| record().map_err(during(doing)).map(|_| ()));
        match recorded {
            Ok(()) => self.commit().await,
            Err(error) => {
                self.rollback().await;
                Err(error)
            }
        }
    }

    async fn actions(&mut self, limit: usize) -> Result<Vec<Action>> {
        let sql = "SELECT id, at, who, what, subject, detail FROM main.landonce_action ORDER BY at DESC, id DESC LIMIT ?1";
        self.bounded("reading what was done by hand", "landonce_action", sql, [most(limit)], |row| {
            Ok(Action {
                id: uuid(row, 0)?,
                at: row.get(1)?,
                who: row.get(2)?,
                what: row.get(3)?,
                subject: row.get(4)?,
                detail: row.get(5)?,
            })
        })
    }
}

fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

impl Session {
    /// One statement that is ended when it takes too long. Nothing where the table isn't there.
    fn bounded<T>(
        &mut self,
        doing: &str,
        table: &str,
        sql: &str,
        params: impl Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let until = Instant::now() + PATIENCE;
        let is_over = move || Instant::now() > until;
        self.connection.progress_handler(STEPS, Some(is_over)).map_err(during(doing))?;
        let read = || {
            if !is_there(&self.connection, table)? {
                return Ok(Vec::new());
            }
            self.connection.prepare_cached(sql)?.query_map(params, row)?.collect()
        };
        let found: rusqlite::Result<Vec<T>> = read();
        self.connection.progress_handler(0, None::<fn() -> bool>).map_err(during(doing))?;
        found.map_err(during(doing)).map_err(|error| match error.code {
            Code::Sqlite(code) if code & 0xff == INTERRUPTED => reads::too_long(error, doing),
            _ => error,
        })
    }

    fn of_run(&mut self, run_id: Uuid, between: Option<(i64, i64)>, at_most: usize) -> Result<Vec<Settled>> {
        let doing = "looking for a run's batches";
        let (from, to) = between.map(|(from, to)| (millis(from), millis(to))).unzip();
        let sql = format!(
            "SELECT {SETTLED} FROM main.landonce_inbox WHERE settled_at IS NOT NULL AND pipeline = ?1 AND run_id = ?2 \
             AND settled_at >= coalesce({}, '') AND settled_at < coalesce({}, '~') ORDER BY settled_at, key LIMIT ?5",
            moment(3),
            moment(4)
        );
        let run_id = run_id.hyphenated().to_string();
        let mut settled: Vec<Settled> = Vec::new();
        for pipeline in self.bounded(doing, "landonce_inbox", PIPELINES, [], |row| row.get::<_, String>(0))? {
            let given = params![pipeline, run_id, from, to, most(at_most)];
            for one in self.bounded(doing, "landonce_inbox", &sql, given, Found::read)? {
                settled.push(one.settled()?);
            }
        }
        settled.sort_by(|one, other| one.settled_at.cmp(&other.settled_at));
        settled.truncate(at_most);
        Ok(settled)
    }

    /// How many rows of one of landonce's tables wait, and since when, by pipeline.
    fn waiting(
        &mut self,
        table: &str,
        which: &str,
        since: &str,
        counted: &str,
    ) -> Result<Vec<(String, Waiting)>> {
        let sql = format!(
            "SELECT pipeline, count({counted}), min({since}) FROM main.{table} WHERE {which} GROUP BY pipeline"
        );
        self.bounded("counting what waits", table, &sql, [], |row| {
            Ok((row.get(0)?, Waiting { count: row.get::<_, i64>(1)? as u64, since: row.get(2)? }))
        })
    }
}
