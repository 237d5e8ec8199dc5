//! Bad records kept whole, and marked once they have landed.

use tokio_postgres::types::Type as Pg;
use uuid::Uuid;

use super::inbox::without_tables;
use super::link::{Link, Params};
use crate::error::{Error, Result};
use crate::quarantine::BadRow;

/// In the order of their ids, so that two batches with the same bad records never wait for each other in a circle.
const KEEP: &str = "\
INSERT INTO landonce.quarantine (id, pipeline, batch_id, run_id, source, number, kind, field, detail, raw)
SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::int8[], $7::text[], $8::text[],
                     $9::text[], $10::bytea[]) AS given(id) ORDER BY given.id
ON CONFLICT (id) DO NOTHING";

/// One that had landed meanwhile is opened again. Those that are open are not touched, nor locked.
const REOPEN: &str = "\
UPDATE landonce.quarantine q SET kind = given.kind, field = given.field, detail = given.detail, resolved_by = NULL,
       resolved_at = NULL
FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[]) AS given(id, kind, field, detail)
WHERE q.id = given.id AND q.resolved_by IS NOT NULL";

const RESOLVE: &str = "\
UPDATE landonce.quarantine SET resolved_by = $2, resolved_at = clock_timestamp()
WHERE id = ANY($1) AND resolved_by IS NULL";

/// About how many bytes of records go in one statement.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// Keeps bad records; returns how many were not open before. One that had landed meanwhile is opened again.
pub(super) async fn keep(link: &Link<'_>, rows: &[BadRow<'_>]) -> Result<u64> {
    let mut kept = 0;
    let mut rest = rows;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest
            .iter()
            .take_while(|row| {
                bytes += row.raw.len();
                bytes <= MOST_BYTES
            })
            .count();
        let (now, later) = rest.split_at(fits.max(1));
        kept += keep_some(link, now).await?;
        rest = later;
    }
    Ok(kept)
}

async fn keep_some(link: &Link<'_>, rows: &[BadRow<'_>]) -> Result<u64> {
    let doing = "keeping bad records";
    let texts = |of: fn(&BadRow<'_>) -> String| rows.iter().map(of).collect::<Vec<String>>();
    let ids: Vec<Vec<u8>> = rows.iter().map(|row| row.id().to_vec()).collect();
    let run_ids: Vec<Uuid> = rows.iter().map(|row| row.run_id).collect();
    let numbers: Vec<i64> = rows.iter().map(|row| row.number as i64).collect();
    let raw: Vec<&[u8]> = rows.iter().map(|row| row.raw).collect();
    for row in rows {
        if [row.pipeline, row.batch_id, row.source].iter().any(|text| text.contains('\0')) {
            return Err(Error::refused(format!("{doing}: a name, batch id or source holds U+0000")));
        }
    }
    let kinds = texts(|row| row.bad.kind.as_str().to_owned());
    let (fields, details) =
        (texts(|row| without_nul(&row.bad.field)), texts(|row| without_nul(&row.bad.detail)));
    let params: Params<'_> = &[
        (&ids, Pg::BYTEA_ARRAY),
        (&texts(|row| row.pipeline.to_owned()), Pg::TEXT_ARRAY),
        (&texts(|row| row.batch_id.to_owned()), Pg::TEXT_ARRAY),
        (&run_ids, Pg::UUID_ARRAY),
        (&texts(|row| row.source.to_owned()), Pg::TEXT_ARRAY),
        (&numbers, Pg::INT8_ARRAY),
        (&kinds, Pg::TEXT_ARRAY),
        (&fields, Pg::TEXT_ARRAY),
        (&details, Pg::TEXT_ARRAY),
        (&raw, Pg::BYTEA_ARRAY),
    ];
    let kept = link.execute(doing, KEEP, params).await.map_err(without_tables)?;
    if kept == rows.len() as u64 {
        return Ok(kept);
    }
    let params: Params<'_> = &[
        (&ids, Pg::BYTEA_ARRAY),
        (&kinds, Pg::TEXT_ARRAY),
        (&fields, Pg::TEXT_ARRAY),
        (&details, Pg::TEXT_ARRAY),
    ];
    Ok(kept + link.execute(doing, REOPEN, params).await.map_err(without_tables)?)
}

/// Marks records as landed by a run. Returns how many were open.
pub(super) async fn resolve(link: &Link<'_>, ids: &[[u8; 32]], run_id: Uuid) -> Result<u64> {
    if ids.is_empty() {
        return Ok(0);
    }
    let ids: Vec<&[u8]> = ids.iter().map(<[u8; 32]>::as_slice).collect();
    let params: Params<'_> = &[(&ids, Pg::BYTEA_ARRAY), (&run_id, Pg::UUID)];
    link.execute("marking quarantined records as landed", RESOLVE, params).await.map_err(without_tables)
}

/// A field's path comes from the record itself, and can hold the very character that makes it bad.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\\u0000")
}
