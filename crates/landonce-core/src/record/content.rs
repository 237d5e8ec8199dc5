//! The canonical content of a record that has been read, and the JSON of what no column takes.

use super::members::{InDigest, Layout};
use super::{Column, Seen, convert};
use crate::bad_record::BadRecord;
use crate::canonical::{self, Exclusions};
use crate::column::Type;
use crate::geometry;
use crate::json::{Json, Kind, Tape};
use crate::value::Value;

impl<'t> Seen<'_, 't> {
    /// Appends the canonical content: all fields that count, or `only` some of them.
    pub(super) fn put_content(&self, only: Option<&[String]>, out: &mut Vec<u8>) -> Result<(), BadRecord> {
        let whole = Exclusions::default();
        let counts = |name: &String| only.is_none_or(|only| only.contains(name));
        let mut filled = self.filled().into_iter().filter(|(name, _)| counts(name)).peekable();
        canonical::put_with(out, b'o', |out| {
            for &at in &self.layout.sorted {
                let (name, rule) = &self.layout.members[at];
                while let Some((name, value)) = filled.next_if(|(filled, _)| *filled < name) {
                    put_filled(name, value, out);
                }
                if filled.next_if(|(filled, _)| *filled == name).is_some() {
                    put_filled(name, self.own(name).unwrap_or(&Value::Null), out);
                    continue;
                }
                if only.is_some_and(|only| !only.contains(name)) {
                    continue;
                }
                let column = rule.column.map(|column| (&self.columns[column], &self.values[column]));
                // In a column, null and absent are one NULL; in the rest they are two things.
                if column.is_some_and(|(_, value)| *value == Value::Null) {
                    continue;
                }
                let except = match &rule.in_digest {
                    InDigest::Not => continue,
                    InDigest::Whole => &whole,
                    InDigest::Less(except) => except,
                };
                canonical::put(out, b's', name.as_bytes());
                let json = self.members[at].1;
                let done = match column {
                    Some((column, value)) => self.put_column(out, column, value, json, except),
                    None => canonical::put_json(out, json, except),
                };
                done.map_err(|bad| bad.under(name))?;
            }
            filled.for_each(|(name, value)| put_filled(name, value, out));
            Ok(())
        })
    }

    /// The owner's fields that the record doesn't name, or names null, with the values they have got; by name. They count as
    /// if the record had named them: two owners' equal lines are two rows.
    fn filled(&self) -> Vec<(&String, &Value<'t>)> {
        let owned =
            self.columns.iter().filter(|column| column.is_owned).filter_map(|column| column.field.as_ref());
        let mut filled: Vec<_> = owned.filter_map(|field| Some((field, self.own(field)?))).collect();
        filled.sort_unstable_by_key(|(field, _)| *field);
        filled
    }

    /// The value that a field of the owner's has got, where the record has none.
    pub(super) fn own(&self, name: &str) -> Option<&Value<'t>> {
        let is_it = |column: &Column| column.is_owned && column.field.as_deref() == Some(name);
        let at = self.columns.iter().position(is_it)?;
        let json = self.layout.position(name).map(|at| self.members[at].1);
        let is_named = json.is_some_and(|json| json.kind() != Kind::Null);
        (!is_named && self.values[at] != Value::Null).then_some(&self.values[at])
    }

    fn put_column(
        &self,
        out: &mut Vec<u8>,
        column: &Column,
        value: &Value<'t>,
        json: Json<'t>,
        except: &Exclusions,
    ) -> Result<(), BadRecord> {
        match (&column.ty, column.round) {
            // Only a string's text may have been normalised; any other undeclared scalar keeps its JSON kind.
            (Type::Scalar, _) if !column.is_identity || json.string().is_none() => {
                canonical::put_json(out, json, except)
            }
            (Type::Json, _) | (Type::Geometry { .. }, None) => {
                let text = convert::nested(json, self.is_lexical)?;
                canonical::put_json(out, Tape::default().scan(text.as_bytes())?, except)
            }
            (Type::Geometry { .. }, Some(digits)) => {
                let text = convert::nested(json, self.is_lexical)?;
                canonical::put(out, b'g', geometry::round(&text, digits)?.as_bytes());
                Ok(())
            }
            _ => {
                canonical::put_value(out, value);
                Ok(())
            }
        }
    }
}

fn put_filled(name: &str, value: &Value<'_>, out: &mut Vec<u8>) {
    canonical::put(out, b's', name.as_bytes());
    canonical::put_value(out, value);
}

/// The JSON object of the fields that no column takes, each value as it was written.
pub(super) fn rest_text(layout: &Layout, members: &[(Json<'_>, Json<'_>)]) -> String {
    let mut out = String::from("{");
    for &at in &layout.rest {
        let (name, value) = members[at];
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(name.raw());
        out.push(':');
        out.push_str(value.raw());
    }
    out.push('}');
    out
}
