//! The second pass: the rows that need writing, read again from the payload in key order and encoded, on a thread of its
//! own, while the database writes the rows before.

use std::borrow::Cow;
use std::sync::Arc;

use landonce_core::plan::{KeyForm, Match, StageColumn};
use landonce_core::record::{RecordReader, Row, Wanted};
use landonce_core::value::Value;
use landonce_store::seam::{Place, Rows};
use tokio::sync::mpsc;

use super::Job;
use crate::decode::Texts;

/// Rows are sent when they are about so large.
const ROWS_BYTES: usize = 2 << 20;

/// What comes out of the builder.
pub(super) enum Built<R> {
    /// Rows of the chunk at hand.
    Rows(R),
    /// The chunk is done.
    ChunkDone,
    /// The payload gave something else than in the first pass.
    Failed(String),
}

/// The builder's two ends.
pub(super) struct Builder<R> {
    pub(super) wants: mpsc::Sender<Vec<Place>>,
    pub(super) built: mpsc::Receiver<Built<R>>,
}

/// Starts the builder's thread.
pub(super) fn start<R: Rows>(
    job: &Job,
    texts: Arc<Texts>,
    encoder: impl Fn() -> R + Send + 'static,
) -> Builder<R> {
    let (wants, mut wanted) = mpsc::channel::<Vec<Place>>(2);
    let (sender, built) = mpsc::channel(2);
    let mut reader = RecordReader::new(&job.pipeline, &job.plan, job.is_lexical());
    let columns = job.plan.row_columns();
    let copies = job.copies.clone();
    let form = match job.plan.matching {
        Match::Key { form, .. } => form,
        Match::Columns(_) => KeyForm::Bytes,
    };
    std::thread::spawn(move || {
        let mut text = Vec::new();
        while let Some(places) = wanted.blocking_recv() {
            let mut rows = encoder();
            for place in places {
                if let Err(error) = texts.read(place.offset, place.len, &mut text) {
                    let _ = sender.blocking_send(Built::Failed(format!(
                        "reading record {} again: {error}",
                        place.number
                    )));
                    return;
                }
                let mut row = match reader.read(&text, Wanted::Row) {
                    Ok(row) => row,
                    Err(bad) => {
                        let told =
                            format!("record {} reads differently the second time: {bad}", place.number);
                        let _ = sender.blocking_send(Built::Failed(told));
                        return;
                    }
                };
                if let (Some(copies), Some(key)) = (&copies, row.key) {
                    row.key = Some(copies.again(key, place.offset));
                }
                let values: Vec<Value<'_>> =
                    columns.iter().map(|column| value(*column, &mut row, form, place)).collect();
                rows.push(&values);
                if rows.size() >= ROWS_BYTES
                    && sender.blocking_send(Built::Rows(std::mem::replace(&mut rows, encoder()))).is_err()
                {
                    return;
                }
            }
            if (!rows.is_empty() && sender.blocking_send(Built::Rows(rows)).is_err())
                || sender.blocking_send(Built::ChunkDone).is_err()
            {
                return;
            }
        }
    });
    Builder { wants, built }
}

/// A row's value for a column of the stage or of the rows. Takes the column's value out of the row.
pub(super) fn value<'r>(column: StageColumn, row: &mut Row<'r>, form: KeyForm, place: Place) -> Value<'r> {
    match column {
        StageColumn::Key => row.key.map_or(Value::Null, |key| key.to_value(form)),
        StageColumn::Digest => {
            row.digest.map_or(Value::Null, |digest| Value::Bytes(Cow::Owned(digest.to_vec())))
        }
        StageColumn::Column(at) => std::mem::replace(&mut row.values[at], Value::Null),
        StageColumn::Present => Value::Integer(row.present),
        StageColumn::IsDelete => Value::Boolean(row.is_delete),
        StageColumn::MayRepeat => Value::Boolean(false),
        StageColumn::Number => Value::Integer(place.number as i64),
        StageColumn::Offset => Value::Integer(place.offset as i64),
        StageColumn::Len => Value::Integer(i64::from(place.len)),
    }
}
