//! Equal content under another id (G3): the new records by digest, held against the target and against each other.

use landonce_core::plan::{KeyForm, Match, TablePlan};
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, Row};
use uuid::Uuid;

use super::errors::during;
use super::render;
use super::rows::bind;
use super::stage::{Open, place_at};
use crate::error::Result;
use crate::seam::{Place, SameContent};

/// New records whose content is there under another id: in the target, or earlier in the batch. The first `samples` of them
/// with the other one's key.
pub(super) fn same_content(connection: &Connection, open: &Open, samples: usize) -> Result<SameContent> {
    open.walked()?;
    if !open.plan.sender_id {
        return Ok(SameContent::default());
    }
    let render = open.render()?;
    let read = || {
        let mut new = connection.prepare_cached(&render::new_content())?;
        let mut stored =
            open.facts.is_there.then(|| connection.prepare_cached(&render.stored_content())).transpose()?;
        let mut staged = connection.prepare_cached(&render.staged_identity())?;
        let mut rows = new.raw_query();
        let mut found = SameContent::default();
        // The digest at hand, and the key of the row that has its content.
        let mut digest = Vec::new();
        let mut there: Option<String> = None;
        while let Some(row) = rows.next()? {
            let next = row.get_ref(0)?.as_blob()?;
            if digest != next {
                digest = next.to_vec();
                there = match &mut stored {
                    Some(stored) => key(stored, &open.plan, ValueRef::Blob(next))?,
                    None => None,
                };
                if there.is_none() {
                    there = key(&mut staged, &open.plan, row.get_ref(4)?)?;
                    continue;
                }
            }
            found.count += 1;
            found.samples.push((place_at(row, 1)?, there.clone().unwrap_or_default()));
            if found.samples.len() > samples.saturating_mul(2).max(64) {
                keep_first(&mut found.samples, samples);
            }
        }
        keep_first(&mut found.samples, samples);
        Ok(found)
    };
    read().map_err(during("looking for equal content under other ids"))
}

/// The key of a stored row with this digest.
pub(super) fn stored(
    connection: &Connection,
    sql: &str,
    plan: &TablePlan,
    digest: ValueRef<'_>,
) -> Result<Option<String>> {
    let look = || key(&mut connection.prepare_cached(sql)?, plan, digest);
    look().map_err(during("looking for equal content under other ids"))
}

/// The first row's identity as text; `None` when there is no row.
fn key(
    statement: &mut CachedStatement<'_>,
    plan: &TablePlan,
    of: ValueRef<'_>,
) -> rusqlite::Result<Option<String>> {
    bind(statement, &[of])?;
    let width = statement.column_count();
    let mut rows = statement.raw_query();
    let Some(row) = rows.next()? else { return Ok(None) };
    let shown = (0..width).map(|at| shown(row, at, plan)).collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(Some(shown.join(", ")))
}

fn shown(row: &Row<'_>, at: usize, plan: &TablePlan) -> rusqlite::Result<String> {
    let is_uuid = matches!(plan.matching, Match::Key { form: KeyForm::Uuid, .. });
    Ok(match row.get_ref(at)? {
        ValueRef::Null => "null".to_owned(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) => value.to_string(),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        ValueRef::Blob(bytes) => match Uuid::from_slice(bytes) {
            Ok(uuid) if is_uuid => uuid.hyphenated().to_string(),
            _ => hex::encode(bytes),
        },
    })
}

fn keep_first(samples: &mut Vec<(Place, String)>, most: usize) {
    samples.sort_by_key(|(place, _)| place.offset);
    samples.truncate(most);
}
