//! Notifications: rows remembered before they are written, and what has really happened to them.
//!
//! The SQL is `render/notices.rs`'s. SQLite has fewer types than JSON, so that a row becomes JSON here, by the types of the
//! plan's columns.

use landonce_core::column::Type;
use landonce_core::geometry;
use landonce_core::json::Tape;
use landonce_core::notice::Change;
use landonce_core::number::Decimal;
use landonce_core::plan::{KeyForm, Match, TablePlan};
use landonce_core::spec::ChangeKind;
use rusqlite::types::ValueRef;
use rusqlite::{Row, params, params_from_iter};
use uuid::Uuid;

use super::errors::during;
use super::joined::Joined;
use crate::error::{Error, Result};
use crate::seam::{Look, Notices};

/// What is known between the verbs, of one stage.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The table for remembered rows is there.
    is_made: bool,
    remembered: u64,
    /// The table of changes is filled.
    is_filled: bool,
    /// The last change given.
    given: i64,
}

impl Notices for Joined<'_> {
    async fn remember(&mut self, look: Look) -> Result<u64> {
        self.writing()?;
        let (connection, open) = self.open()?;
        open.walked()?;
        let render = open.render()?;
        let Some(sql) = render.remember(look).filter(|_| open.facts.is_there) else { return Ok(0) };
        let doing = format!("remembering rows of {}", open.plan.table);
        if !open.notices.is_made {
            connection.execute_batch(&render.create_old()).map_err(during(&doing))?;
        }
        let owner: Vec<&str> = if look == Look::Missing { open.owner().collect() } else { Vec::new() };
        let remembered = connection.execute(&sql, params_from_iter(owner)).map_err(during(&doing))? as u64;
        open.notices.is_made = true;
        open.notices.remembered += remembered;
        Ok(remembered)
    }

    async fn changes(&mut self, run_id: Uuid, most: usize) -> Result<Vec<Change>> {
        self.writing()?;
        let (connection, open) = self.open()?;
        let doing = format!("reading what has changed in {}", open.plan.table);
        if open.plan.run_id.is_none() || open.plan.revision.is_none() {
            return Err(Error::refused(format!("{doing}: there is no column for the run or the revision")));
        }
        let render = open.render()?;
        let has_old = open.notices.is_made;
        if !open.notices.is_filled {
            let [create, fill] = render.fill_changes(has_old);
            let fill = || {
                connection.execute_batch(&create)?;
                connection.execute(&fill, [run_id.hyphenated().to_string()])
            };
            fill().map_err(during(&doing))?;
            open.notices.is_filled = true;
        }
        let sql = open.render()?.next_changes(has_old);
        let read = || {
            let mut next = connection.prepare_cached(&sql)?;
            let mut rows = next.query(params![open.notices.given, most.max(1) as i64])?;
            let (mut found, mut last) = (Vec::new(), open.notices.given);
            let mut tape = Tape::default();
            while let Some(row) = rows.next()? {
                last = row.get(0)?;
                found.push(change(row, &open.plan, &mut tape)?);
            }
            Ok((found, last))
        };
        let (found, last) = read().map_err(during(&doing))?;
        open.notices.given = last;
        Ok(found)
    }
}

fn change(row: &Row<'_>, plan: &TablePlan, tape: &mut Tape) -> rusqlite::Result<Change> {
    let form = match &plan.matching {
        Match::Key { form, .. } => Some(*form),
        Match::Columns(_) => None,
    };
    let (has_old, has_new): (bool, bool) = (row.get(1)?, row.get(2)?);
    let has_key = usize::from(form.is_some());
    let width = has_key + plan.columns.len() + 2;
    let (old, new) = (3, 3 + width);
    let stands = if has_new { new } else { old };
    let key = match form {
        Some(form) => key_text(row.get_ref(stands)?, form),
        None => String::new(),
    };
    let mut json = |is_there: bool, from: usize| -> rusqlite::Result<Option<String>> {
        if !is_there {
            return Ok(None);
        }
        let mut out = String::from("[");
        for (at, column) in plan.columns.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            write_value(row.get_ref(from + has_key + at)?, &column.ty, tape, &mut out);
        }
        out.push(']');
        Ok(Some(out))
    };
    let (old_json, new_json) = (json(has_old, old)?, json(has_new, new)?);
    let is_retired = |from: usize| row.get::<_, bool>(from + width - 1);
    let kind = match (has_old, has_new) {
        (false, _) => ChangeKind::Inserted,
        (true, false) => ChangeKind::Deleted,
        (true, true) => match (is_retired(old)?, is_retired(new)?) {
            (true, false) => ChangeKind::Restored,
            (false, true) => ChangeKind::Retired,
            _ => ChangeKind::Updated,
        },
    };
    let revision = row.get::<_, Option<i64>>(stands + width - 2)?.unwrap_or(0);
    Ok(Change { kind, key, revision, old: old_json, new: new_json })
}

fn key_text(key: ValueRef<'_>, form: KeyForm) -> String {
    match (key, form) {
        (ValueRef::Blob(bytes), KeyForm::Uuid) => match Uuid::from_slice(bytes) {
            Ok(uuid) => uuid.hyphenated().to_string(),
            Err(_) => hex::encode(bytes),
        },
        (ValueRef::Blob(bytes), _) => hex::encode(bytes),
        (ValueRef::Text(text), _) => String::from_utf8_lossy(text).into_owned(),
        (ValueRef::Integer(number), _) => number.to_string(),
        (ValueRef::Real(number), _) => number.to_string(),
        (ValueRef::Null, _) => String::new(),
    }
}

/// A cell as JSON. What isn't what its column is for (somebody else wrote it) is a text, or the number that it is.
pub(super) fn write_value(cell: ValueRef<'_>, ty: &Type, tape: &mut Tape, out: &mut String) {
    match cell {
        ValueRef::Null => out.push_str("null"),
        ValueRef::Integer(number) => match ty {
            Type::Boolean if number == 0 || number == 1 => {
                out.push_str(if number == 1 { "true" } else { "false" });
            }
            Type::Scalar | Type::Text { .. } | Type::Enum { .. } => quote(&number.to_string(), out),
            _ => out.push_str(&number.to_string()),
        },
        ValueRef::Real(number) => match serde_json::Number::from_f64(number) {
            Some(finite) => out.push_str(&finite.to_string()),
            None => quote(&number.to_string(), out),
        },
        ValueRef::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            match ty {
                Type::Integer { .. } | Type::Decimal { .. } | Type::Float { .. } => {
                    match Decimal::parse(&text) {
                        Some(number) => out.push_str(&number.to_plain()),
                        None => quote(&text, out),
                    }
                }
                // Inside the row it stands one level deeper.
                Type::Json | Type::Array(_) if tape.scan(format!("[{text}]").as_bytes()).is_ok() => {
                    out.push_str(&text);
                }
                _ => quote(&text, out),
            }
        }
        ValueRef::Blob(bytes) => match (ty, Uuid::from_slice(bytes)) {
            (Type::Uuid, Ok(uuid)) => quote(&uuid.hyphenated().to_string(), out),
            (Type::Geometry { .. }, _) if let Some(json) = geometry::to_geojson(bytes) => out.push_str(&json),
            _ => quote(&format!("\\x{}", hex::encode(bytes)), out),
        },
    }
}

/// A text as JSON. U+0000, which no other store holds, becomes U+FFFD.
fn quote(text: &str, out: &mut String) {
    let text = if text.contains('\0') {
        text.replace('\0', "\u{fffd}").into()
    } else {
        std::borrow::Cow::Borrowed(text)
    };
    // A text always serialises.
    out.push_str(&serde_json::to_string(&text).unwrap_or_default());
}
