//! What people look at: each look a transaction of its own that can't write, with an end.

mod table;

use tokio_postgres::Row;
use tokio_postgres::types::Type as Pg;
use uuid::Uuid;

use super::link::Params;
use super::{Session, held, inbox, report};
use crate::error::{Error, Result};
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

/// A moment of the database's as RFC 3339 in UTC.
fn shown(moment: &str) -> String {
    format!("to_char({moment} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
}

/// A parameter in microseconds since 1970 as a moment, without the rounding of doubles.
fn moment(parameter: usize) -> String {
    format!("(timestamptz '1970-01-01 00:00:00Z' + ${parameter} * interval '1 microsecond')")
}

const RECORD: &str = "\
INSERT INTO landonce.action (id, who, what, subject, detail) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (id) DO NOTHING";

impl Reads for Session {
    async fn batches(&mut self, limit: usize) -> Result<Vec<Settled>> {
        report::batches(&self.link(), limit).await
    }

    async fn quarantine(&mut self, pipeline: Option<&str>, limit: usize) -> Result<Vec<Entry>> {
        report::quarantine(&self.link(), pipeline, limit).await
    }

    async fn quarantine_entry(&mut self, id_prefix: &str) -> Result<Option<Entry>> {
        report::quarantine_entry(&self.link(), id_prefix).await
    }

    async fn held(&mut self, pipeline: Option<&str>, is_all: bool) -> Result<Vec<Held>> {
        held::held(&self.link(), pipeline, is_all).await
    }

    async fn held_piece(&mut self, key: &InboxKey, nth: u32) -> Result<Option<Vec<u8>>> {
        held::held_piece(&self.link(), key, nth).await
    }

    async fn batches_page(&mut self, filter: &BatchFilter, limit: usize) -> Result<Vec<Settled>> {
        // The first comparison is the index's; the second only decides among batches of one moment.
        let sql = format!(
            "SELECT {}\nFROM landonce.inbox WHERE outcome IS NOT NULL AND ($1::text IS NULL OR pipeline = $1)\n\
             \x20 AND settled_at <= coalesce($2::text::timestamptz, 'infinity')\n\
             \x20 AND ($2::text IS NULL OR settled_at < $2::text::timestamptz OR key > $3)\n\
             ORDER BY settled_at DESC, key LIMIT $4",
            inbox::SETTLED
        );
        let (at, key) =
            filter.before.as_ref().map(|cursor| (&cursor.settled_at, cursor.key.0.as_slice())).unzip();
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let params: Params<'_> =
            &[(&filter.pipeline, Pg::TEXT), (&at, Pg::TEXT), (&key, Pg::BYTEA), (&most, Pg::INT8)];
        self.look("reading the inbox", &sql, params).await?.iter().map(inbox::settled).collect()
    }

    async fn batches_of_run(&mut self, run_id: Uuid, most: usize) -> Result<Vec<Settled>> {
        if let Some(around) = reads::around(run_id) {
            let found = self.of_run(run_id, Some(around), most).await?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        self.of_run(run_id, None, most).await
    }

    async fn batches_about(&mut self, subject: Uuid, most: usize) -> Result<Vec<Settled>> {
        let sql = format!(
            "SELECT {}\nFROM landonce.inbox WHERE subject = $1 AND outcome IS NOT NULL\n\
             ORDER BY settled_at DESC, run_id DESC LIMIT $2",
            inbox::SETTLED
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let params: Params<'_> = &[(&subject, Pg::UUID), (&most, Pg::INT8)];
        self.look("looking for a record's events", &sql, params).await?.iter().map(inbox::settled).collect()
    }

    async fn figures(&mut self, span: Span) -> Result<Vec<Figure>> {
        span.check()?;
        let sums: Vec<String> = COUNTS
            .iter()
            .map(|count| format!("coalesce(sum((outcome->>'{count}')::numeric), 0)::int8"))
            .collect();
        let sql = format!(
            "SELECT pipeline, floor(extract(epoch FROM settled_at) / 3600)::int8, count(*), {}\n\
             FROM landonce.inbox WHERE outcome IS NOT NULL AND settled_at >= {} AND settled_at < {}\n\
             GROUP BY 1, 2 ORDER BY 2, 1",
            sums.join(", "),
            moment(1),
            moment(2)
        );
        let params: Params<'_> = &[(&span.from, Pg::INT8), (&span.to, Pg::INT8)];
        let rows = self.look("summing up the inbox", &sql, params).await?;
        let figure = |row: &Row| Figure {
            pipeline: row.get(0),
            hour: row.get::<_, i64>(1) * HOUR,
            batches: row.get::<_, i64>(2) as u64,
            outcome: reads::summed(|name| {
                let at = COUNTS.iter().position(|count| *count == name);
                at.map_or(0, |at| row.get::<_, i64>(3 + at) as u64)
            }),
        };
        Ok(rows.iter().map(figure).collect())
    }

    async fn backlog(&mut self) -> Result<Vec<Backlog>> {
        let quarantined = self.waiting("quarantine", "resolved_by IS NULL", "kept_at", "*").await?;
        let held = self.waiting("held", "state = 'held'", "held_at", "*").await?;
        let due = self.waiting("due", "true", "marked_at", "DISTINCT (derived, label, start_us)").await?;
        Ok(reads::backlogs([quarantined, held, due]))
    }

    async fn rows(&mut self, plan: &TablePlan, equal: &[Equals<'_>], most: usize) -> Result<Option<Rows>> {
        let Some(shape) = self.shape(&plan.table).await? else { return Ok(None) };
        table::rows(self, &shape, equal, most).await.map(Some)
    }

    async fn record_action(&mut self, action: &Action) -> Result<()> {
        let [who, what, subject, detail] =
            [&action.who, &action.what, &action.subject, &action.detail].map(|text| without_nul(text));
        let params: Params<'_> = &[
            (&action.id, Pg::UUID),
            (&who, Pg::TEXT),
            (&what, Pg::TEXT),
            (&subject, Pg::TEXT),
            (&detail, Pg::TEXT),
        ];
        self.begin(Access::Write).await?;
        let recorded = self.link().execute("recording an action", RECORD, params).await;
        match recorded.map_err(inbox::without_tables) {
            Ok(_) => self.commit().await,
            Err(error) => {
                self.rollback().await;
                Err(error)
            }
        }
    }

    async fn actions(&mut self, limit: usize) -> Result<Vec<Action>> {
        let sql = format!(
            "SELECT id, {}, who, what, subject, detail FROM landonce.action ORDER BY at DESC, id DESC LIMIT $1",
            shown("at")
        );
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.look("reading what was done by hand", &sql, &[(&most, Pg::INT8)]).await?;
        let action = |row: &Row| Action {
            id: row.get(0),
            at: row.get(1),
            who: row.get(2),
            what: row.get(3),
            subject: row.get(4),
            detail: row.get(5),
        };
        Ok(rows.iter().map(action).collect())
    }
}

impl Session {
    /// One statement that can't write and has an end. Nothing where there are no tables of landonce's, or older ones.
    async fn look(&mut self, doing: &str, sql: &str, params: Params<'_>) -> Result<Vec<Row>> {
        let limit =
            format!("; SET TRANSACTION READ ONLY; SET LOCAL statement_timeout = {}", PATIENCE.as_millis());
        self.begin_with(Access::ReadOnly, &limit).await?;
        let rows = self.link().query(doing, sql, params).await;
        self.rollback().await;
        match rows {
            Err(error) if inbox::is_missing(&error) || has_state(&error, "42703") => Ok(Vec::new()),
            Err(error) if has_state(&error, "57014") => Err(reads::too_long(error, doing)),
            rows => rows.map_err(inbox::without_tables),
        }
    }

    async fn of_run(
        &mut self,
        run_id: Uuid,
        between: Option<(i64, i64)>,
        most: usize,
    ) -> Result<Vec<Settled>> {
        let (from, to) = between.unzip();
        let sql = format!(
            "SELECT {}\nFROM landonce.inbox WHERE outcome IS NOT NULL AND run_id = $1\n\
             \x20 AND settled_at >= coalesce({}, '-infinity') AND settled_at < coalesce({}, 'infinity')\n\
             ORDER BY settled_at, key LIMIT $4",
            inbox::SETTLED,
            moment(2),
            moment(3)
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let params: Params<'_> =
            &[(&run_id, Pg::UUID), (&from, Pg::INT8), (&to, Pg::INT8), (&most, Pg::INT8)];
        self.look("looking for a run's batches", &sql, params).await?.iter().map(inbox::settled).collect()
    }

    /// How many rows of one of landonce's tables wait, and since when, by pipeline.
    async fn waiting(
        &mut self,
        table: &str,
        which: &str,
        since: &str,
        counted: &str,
    ) -> Result<Vec<(String, Waiting)>> {
        let sql = format!(
            "SELECT pipeline, count({counted}), {} FROM landonce.{table} WHERE {which} GROUP BY pipeline",
            shown(&format!("min({since})"))
        );
        let rows = self.look("counting what waits", &sql, &[]).await?;
        let waiting =
            |row: &Row| (row.get(0), Waiting { count: row.get::<_, i64>(1) as u64, since: row.get(2) });
        Ok(rows.iter().map(waiting).collect())
    }
}

fn has_state(error: &Error, state: &str) -> bool {
    matches!(&error.code, Code::SqlState(found) if found == state)
}
