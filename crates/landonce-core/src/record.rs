//! From a record's text to its key, its digest and its columns' values.
//!
//! One [`RecordReader`] serves a whole batch on one thread and keeps its buffers. It needs the pipeline (what the fields
//! mean) and the table plan (what the columns take), and nothing else: the same text gives the same row on every machine.

mod content;
mod convert;
mod key;
mod members;
mod whose;

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

use crate::bad_record::{BadKind, BadRecord};
use crate::column::Type;
use crate::identity::{Key, content_digest};
use crate::json::{Json, Kind, Tape};
use crate::pipeline::{Identity, IdentityFrom, Pipeline, Rest};
use crate::plan::{From, Guard, Match, TablePlan};
use crate::spec::Normalize;
use crate::value::Value;

use members::{InDigest, Layout, Rules};
use whose::Whose;
pub(crate) use whose::owner_text;

/// Reads records of one pipeline into rows of one table.
#[derive(Debug)]
pub struct RecordReader {
    columns: Vec<Column>,
    rules: Rules,
    rest: OnUnmapped,
    identity: Identity,
    delete_when: Option<(String, Vec<String>)>,
    version: Option<usize>,
    wants_key: bool,
    wants_digest: bool,
    is_lexical: bool,
    layout: Layout,
    tape: Tape,
    encoded: Vec<u8>,
    keeps_identity: bool,
    identity_encoded: Vec<u8>,
    whose: Option<Whose>,
}

#[derive(Debug)]
struct Column {
    ty: Type,
    round: Option<u8>,
    field: Option<String>,
    /// NULL can't stand here and absent counts as null.
    is_required: bool,
    /// Part of the identity: normalised, and null by the identity's own rule.
    is_identity: bool,
    /// The owner's value stands here, also where the record doesn't name it.
    is_owned: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnUnmapped {
    Column(usize),
    Ignore,
    Refuse,
}

/// A record as a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'r> {
    /// The key; `None` when the table is matched on its natural columns.
    pub key: Option<Key>,
    /// The content digest; `None` when the table has no digest column and the identity isn't the content.
    pub digest: Option<[u8; 32]>,
    /// One value per column of the plan, in order. The rest's column is NULL unless it was asked for.
    pub values: Vec<Value<'r>>,
    /// Which columns the record has, one bit each, lowest first.
    pub present: i64,
    /// The record is a delete.
    pub is_delete: bool,
}

/// A record's members beside what they mean and what they became.
struct Seen<'a, 't> {
    layout: &'a Layout,
    members: &'a [(Json<'t>, Json<'t>)],
    columns: &'a [Column],
    values: &'a [Value<'t>],
    is_lexical: bool,
}

/// How much of a row is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Key, digest and columns, checked; not the text of the rest.
    Identity,
    /// Everything, to be written.
    Row,
}

impl RecordReader {
    /// A reader for a pipeline's records. `is_lexical`: the source has texts only (CSV).
    pub fn new(pipeline: &Pipeline, plan: &TablePlan, is_lexical: bool) -> Self {
        let mut rules = Rules::new(pipeline.digest_exclusions());
        let mut rest = match pipeline.target().rest {
            Rest::Ignore => OnUnmapped::Ignore,
            _ => OnUnmapped::Refuse,
        };
        let identity_fields: &[String] = match &pipeline.identity().from {
            IdentityFrom::Fields { names, .. } => names,
            IdentityFrom::SenderId(field) => std::slice::from_ref(field),
            IdentityFrom::Content(_) => &[],
        };
        let columns = plan.columns.iter().enumerate().map(|(at, column)| {
            let field = match &column.from {
                From::Field(field) => {
                    rules.entry(field).column = Some(at);
                    Some(field.clone())
                }
                From::Rest => {
                    rest = OnUnmapped::Column(at);
                    None
                }
            };
            let declared = pipeline.target().columns.iter().find(|declared| declared.name == column.name);
            let is_identity = field.as_ref().is_some_and(|field| identity_fields.contains(field));
            Column {
                ty: column.ty.clone(),
                round: declared.and_then(|declared| declared.round),
                is_required: !column.nullable && field.is_some() && !is_identity,
                is_identity,
                is_owned: plan.scope.iter().flat_map(|scope| &scope.owner).any(|owned| owned.column == at),
                field,
            }
        });
        let columns = columns.collect();
        if let Some((marker, _)) = &pipeline.write().delete_when {
            let rule = rules.entry(marker);
            rule.is_marker = rule.column.is_none();
            rule.in_digest = InDigest::Not;
        }
        Self {
            columns,
            rules,
            rest,
            identity: pipeline.identity().clone(),
            delete_when: pipeline.write().delete_when.clone(),
            version: plan.version,
            wants_key: matches!(plan.matching, Match::Key { .. }),
            wants_digest: matches!(plan.guard, Guard::Digest { .. }),
            is_lexical,
            layout: Layout::default(),
            tape: Tape::default(),
            encoded: Vec::new(),
            keeps_identity: false,
            identity_encoded: Vec::new(),
            whose: plan.scope.as_ref().map(|scope| Whose::new(pipeline, plan, scope)),
        }
    }

    /// The same reader, which makes a key also where the table is matched on its natural columns: to tell which records of a
    /// batch are of one identity.
    #[must_use]
    pub fn keyed(mut self) -> Self {
        self.wants_key = true;
        self
    }

    /// The same reader, which makes a digest also where the table has no column for it: to tell whether two deliveries say the same.
    #[must_use]
    pub fn digesting(mut self) -> Self {
        self.wants_digest = true;
        self
    }

    /// The same reader, keeping each key's canonical bytes for [`RecordReader::last_identity`]. A copy for every record:
    /// for `key explain`, not for a batch.
    #[must_use]
    pub fn keeping_identity(mut self) -> Self {
        self.keeps_identity = true;
        self
    }

    /// Reads one record.
    pub fn read<'r>(&'r mut self, text: &'r [u8], wanted: Wanted) -> Result<Row<'r>, BadRecord> {
        let json = self.tape.scan(text)?;
        if json.kind() != Kind::Object {
            return Err(BadRecord::new(
                BadKind::Syntax,
                "",
                format!("found {}, an object is due", json.kind().noun()),
            ));
        }
        let members: Vec<_> = json.members().collect();
        self.layout.fit(&members, &self.rules);
        let layout = &self.layout;

        let is_delete = is_delete(self.delete_when.as_ref(), layout, &members);
        let mut values = vec![Value::Null; self.columns.len()];
        let mut present = 0;
        let mut has_unmapped = false;
        for ((name, rule), (_, value)) in layout.members.iter().zip(&members) {
            let Some(at) = rule.column else {
                if !rule.is_marker {
                    has_unmapped = true;
                    if self.rest == OnUnmapped::Refuse && !is_delete {
                        return Err(BadRecord::new(
                            BadKind::UnmappedField,
                            name.as_str(),
                            "no column takes it; declare one, or `rest: ignore` to drop such fields",
                        ));
                    }
                }
                continue;
            };
            let column = &self.columns[at];
            let converted = convert::convert(*value, &column.ty, self.is_lexical);
            let mut converted = converted.map_err(|bad| bad.under(name))?;
            if column.is_identity {
                normalize(&mut converted, &self.identity.normalize);
            }
            values[at] = converted;
            if at < 63 {
                present |= 1 << at;
            }
        }
        if let Some(whose) = &self.whose {
            whose.fill(&mut values, &mut present)?;
        }
        check_required(&self.columns, self.version, &values, present, is_delete)?;

        let seen = Seen {
            layout,
            members: &members,
            columns: &self.columns,
            values: &values,
            is_lexical: self.is_lexical,
        };
        self.encoded.clear();
        self.identity_encoded.clear();
        let mut digest = None;
        let mut key = None;
        if let IdentityFrom::Content(only) = &self.identity.from {
            if let Some(only) = only {
                seen.put_content(Some(only), &mut self.encoded)?;
                key = Some(Key::of(&self.encoded));
                keep(self.keeps_identity, &self.encoded, &mut self.identity_encoded);
                self.encoded.clear();
            }
            seen.put_content(None, &mut self.encoded)?;
            if key.is_none() {
                key = Some(Key::of(&self.encoded));
                keep(self.keeps_identity, &self.encoded, &mut self.identity_encoded);
            }
            digest = Some(content_digest(&self.encoded));
        } else {
            if self.wants_key {
                key = Some(seen.key(&self.identity, &mut self.encoded)?);
                keep(self.keeps_identity, &self.encoded, &mut self.identity_encoded);
            } else {
                seen.check_natural(&self.identity)?;
            }
            if self.wants_digest {
                self.encoded.clear();
                seen.put_content(None, &mut self.encoded)?;
                digest = Some(content_digest(&self.encoded));
            }
        }
        // Behind the key: a record without an identity is one wherever it lies.
        if let Some(whose) = &self.whose {
            whose.check(&values)?;
        }
        if wanted == Wanted::Row
            && let OnUnmapped::Column(at) = self.rest
        {
            values[at] = Value::Json(Cow::Owned(content::rest_text(layout, &members)));
        }
        if let OnUnmapped::Column(at) = self.rest
            && has_unmapped
            && at < 63
        {
            present |= 1 << at;
        }
        Ok(Row { key, digest, values, present, is_delete })
    }

    /// The canonical bytes under the last record's content digest (`key explain`); empty when there is none.
    pub fn last_encoded(&self) -> &[u8] {
        &self.encoded
    }

    /// The canonical bytes under the last record's key, with [`RecordReader::keeping_identity`]; a joined key's text. Empty
    /// when the table is matched on its natural columns.
    pub fn last_identity(&self) -> &[u8] {
        &self.identity_encoded
    }
}

fn keep(is_wanted: bool, encoded: &[u8], kept: &mut Vec<u8>) {
    if is_wanted {
        kept.extend_from_slice(encoded);
    }
}

/// Whether the record says that its row is to go.
fn is_delete(
    delete_when: Option<&(String, Vec<String>)>,
    layout: &Layout,
    members: &[(Json<'_>, Json<'_>)],
) -> bool {
    let Some((field, texts)) = delete_when else { return false };
    let text = layout.position(field).and_then(|at| members[at].1.string());
    text.is_some_and(|text| texts.iter().any(|delete| *delete == text))
}

fn check_required(
    columns: &[Column],
    version: Option<usize>,
    values: &[Value<'_>],
    present: i64,
    is_delete: bool,
) -> Result<(), BadRecord> {
    for (at, column) in columns.iter().enumerate() {
        let is_version = version == Some(at);
        // Of a delete nothing is written but its version, without which it would have no place among the puts.
        let is_due = is_version || (column.is_required && !is_delete);
        if !is_due || values[at] != Value::Null {
            continue;
        }
        let field = column.field.as_deref().unwrap_or_default();
        let state = if at < 63 && present & (1 << at) != 0 { "null" } else { "absent" };
        return Err(if is_version {
            BadRecord::new(BadKind::NoVersion, field, format!("the version is {state}"))
        } else {
            BadRecord::new(BadKind::WrongType, field, format!("{state}, and the column is NOT NULL"))
        });
    }
    Ok(())
}

fn normalize(value: &mut Value<'_>, steps: &[Normalize]) {
    if let Value::Text(text) = value
        && !steps.is_empty()
    {
        *text = Cow::Owned(normalized(Cow::Borrowed(text), steps).into_owned());
    }
}

/// A text after the steps, in order: what an identity field's text is before it is compared.
pub fn normalized<'t>(text: Cow<'t, str>, steps: &[Normalize]) -> Cow<'t, str> {
    steps.iter().fold(text, |text, step| {
        Cow::Owned(match step {
            Normalize::Trim => text.trim().to_owned(),
            Normalize::Nfc => text.nfc().collect(),
            Normalize::Lowercase => text.to_lowercase(),
        })
    })
}

#[cfg(test)]
mod tests;
