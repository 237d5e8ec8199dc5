//! The canonical content of a record that has been read, and the JSON of what no column takes.

use super::members::{InDigest, Layout};
use super::{Column, Seen, convert};
use crate::bad_record::BadRecord;
use crate::canonical::{self, Exclusions};
use crate::column::Type;
use crate::geometry;
use crate::json::{Json, Tape};
use crate::value::Value;

impl<'t> Seen<'_, 't> {
    /// Appends the canonical content: all fields that count, or `only` some of them.
    pub(super) fn put_content(&self, only: Option<&[String]>, out: &mut Vec<u8>) -> Result<(), BadRecord> {
        let whole = Exclusions::default();
        canonical::put_with(out, b'o', |out| {
            for &at in &self.layout.sorted {
                let (name, rule) = &self.layout.members[at];
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
            Ok(())
        })
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
