//! An identity: from texts that a person gave, and out of records, whatever else is wrong with those.

use std::borrow::Cow;

use landonce_core::bad_record::BadRecord;
use landonce_core::column::Type;
use landonce_core::identity::Key;
use landonce_core::json::{Kind, Tape};
use landonce_core::pipeline::{IdentityFrom, Pipeline as Declared};
use landonce_core::plan::{From, Guard, KeyForm, Match, TablePlan};
use landonce_core::record::{RecordReader, Wanted};
use landonce_core::value::Value;
use landonce_store::reads::Equals;

use crate::error::Error;

/// How many ways to read the texts are tried: four fields without a type, each as a text or as JSON.
const WAYS: usize = 16;

/// An identity that was perhaps meant.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// Its key.
    pub(crate) key: Key,
    /// The values by which its row is found.
    pub(crate) equal: Vec<Equals<'static>>,
    /// The values of the plan's columns as far as the identity has them, as JSON.
    pub(crate) json: Vec<String>,
}

/// The names of the identity's fields; none when the identity is the content.
fn fields(declared: &Declared) -> &[String] {
    match &declared.identity().from {
        IdentityFrom::Fields { names, .. } => names,
        IdentityFrom::SenderId(field) => std::slice::from_ref(field),
        IdentityFrom::Content(_) => &[],
    }
}

/// Reads nothing of a record but its identity, so that a record which is bad for another reason has one all the same.
pub(crate) struct IdentityReader {
    reader: RecordReader,
    fields: Vec<String>,
    tape: Tape,
}

impl IdentityReader {
    pub(crate) fn new(declared: &Declared, plan: &TablePlan, is_lexical: bool) -> Self {
        let mut plan = plan.clone();
        for column in &mut plan.columns {
            column.nullable = true;
        }
        plan.version = None;
        plan.scope = None;
        plan.guard = Guard::Columns;
        Self {
            reader: RecordReader::new(declared, &plan, is_lexical).keyed(),
            fields: fields(declared).to_vec(),
            tape: Tape::default(),
        }
    }

    /// The key of a record's text; `None` where it has none that can be read.
    pub(crate) fn key_of(&mut self, text: &[u8]) -> Option<Key> {
        if self.fields.is_empty() {
            return self.reader.read(text, Wanted::Identity).ok()?.key;
        }
        let json = self.tape.scan(text).ok()?;
        let mut only = String::from("{");
        for field in &self.fields {
            let Some(value) = json.member(field) else { continue };
            if only.len() > 1 {
                only.push(',');
            }
            only.push_str(&serde_json::Value::from(field.as_str()).to_string());
            only.push(':');
            only.push_str(value.raw());
        }
        only.push('}');
        self.reader.read(only.as_bytes(), Wanted::Identity).ok()?.key
    }

    fn read(&mut self, text: &[u8]) -> Result<(Option<Key>, Vec<Value<'static>>), BadRecord> {
        let row = self.reader.read(text, Wanted::Identity)?;
        Ok((row.key, row.values.into_iter().map(owned).collect()))
    }
}

/// The identities that the texts can stand for, the likeliest first.
pub(crate) fn candidates(
    declared: &Declared,
    plan: &TablePlan,
    given: &[(String, String)],
) -> Result<Vec<Candidate>, Error> {
    let given = checked(declared, given)?;
    let mut reader = IdentityReader::new(declared, plan, true);
    let mut found: Vec<Candidate> = Vec::new();
    let mut refused = None;
    for object in spellings(plan, &given) {
        let (key, values) = match reader.read(object.as_bytes()) {
            Ok((Some(key), values)) => (key, values),
            Ok((None, _)) => return Err(Error::internal("a record without a key")),
            Err(bad) => {
                refused.get_or_insert(bad);
                continue;
            }
        };
        if found.iter().all(|one| one.key != key) {
            let json = values.iter().map(json).collect();
            found.push(Candidate { key, equal: equal(plan, key, &values), json });
        }
    }
    match (found.is_empty(), refused) {
        (true, Some(bad)) => Err(Error::declaration(format!("the identity can't be read: {bad}"))),
        _ => Ok(found),
    }
}

/// The fields that were given and those that the source's own rows always have; an error for one too many or too few.
fn checked(declared: &Declared, given: &[(String, String)]) -> Result<Vec<(String, String)>, Error> {
    let due = fields(declared);
    let mut given = given.to_vec();
    for (at, (field, _)) in given.iter().enumerate() {
        if given[..at].iter().any(|(before, _)| before == field) {
            return Err(Error::declaration(format!("`{field}` is given twice")));
        }
    }
    if due.is_empty() {
        return Ok(given); // what was given is the content
    }
    let owner = declared.whole().map(landonce_core::pipeline::Whole::owner).unwrap_or_default();
    let missing: Vec<&(String, String)> = owner
        .iter()
        .filter(|(field, _)| due.contains(field) && given.iter().all(|(has, _)| has != field))
        .collect();
    given.extend(missing.into_iter().cloned());
    if let Some((field, _)) = given.iter().find(|(field, _)| !due.contains(field)) {
        return Err(Error::declaration(format!(
            "`{field}` is no field of the identity; it has {}",
            due.join(", ")
        )));
    }
    let missing: Vec<&str> =
        due.iter().filter(|field| given.iter().all(|(has, _)| has != *field)).map(String::as_str).collect();
    if !missing.is_empty() && !declared.identity().null_is_value {
        return Err(Error::declaration(format!(
            "a record of `{}` is known by {}; give {} as well",
            declared.name(),
            due.join(", "),
            missing.join(" and ")
        )));
    }
    Ok(given)
}

/// The texts as JSON objects: a field without a type may be a text, or the number or boolean that it looks like.
fn spellings(plan: &TablePlan, given: &[(String, String)]) -> Vec<String> {
    let mut objects = vec![String::from("{")];
    for (nth, (field, text)) in given.iter().enumerate() {
        let is_of_field = |from: &From| matches!(from, From::Field(name) if name == field);
        let ty = plan.columns.iter().find(|column| is_of_field(&column.from)).map(|column| &column.ty);
        let quoted = serde_json::Value::from(text.as_str()).to_string();
        let mut values = vec![quoted];
        let is_free = matches!(ty, None | Some(Type::Scalar));
        let mut tape = Tape::default();
        if is_free
            && tape.scan(text.as_bytes()).is_ok_and(|json| !matches!(json.kind(), Kind::Object | Kind::Array))
        {
            values.push(text.clone());
        }
        let mark = if nth > 0 { "," } else { "" };
        let name = serde_json::Value::from(field.as_str()).to_string();
        objects = values
            .iter()
            .flat_map(|value| objects.iter().map(move |so_far| (so_far, value)))
            .map(|(so_far, value)| format!("{so_far}{mark}{name}:{value}"))
            .take(WAYS)
            .collect();
    }
    for object in &mut objects {
        object.push('}');
    }
    objects
}

fn equal(plan: &TablePlan, key: Key, values: &[Value<'static>]) -> Vec<Equals<'static>> {
    match &plan.matching {
        Match::Key { column, form } => {
            vec![Equals { column: column.clone(), value: key.to_value(*form), is_key: *form != KeyForm::Hex }]
        }
        Match::Columns(of) => {
            let value = |at: &usize| Equals {
                column: plan.columns[*at].name.clone(),
                value: values[*at].clone(),
                is_key: false,
            };
            of.iter().map(value).collect()
        }
    }
}

/// A value as JSON, in the spelling that the stores tell it in.
fn json(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Decimal(number) => number.to_plain(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Json(text) => text.to_string(),
        Value::Bytes(bytes) => serde_json::Value::from(format!("\\x{}", hex::encode(bytes))).to_string(),
        _ => {
            let text = crate::explain::text(value).unwrap_or_default();
            serde_json::Value::from(text).to_string()
        }
    }
}

fn owned(value: Value<'_>) -> Value<'static> {
    match value {
        Value::Null => Value::Null,
        Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
        Value::Integer(number) => Value::Integer(number),
        Value::Decimal(number) => Value::Decimal(number.into_owned()),
        Value::Float(number) => Value::Float(number),
        Value::Boolean(truth) => Value::Boolean(truth),
        Value::Date(days) => Value::Date(days),
        Value::Timestamptz(micros) => Value::Timestamptz(micros),
        Value::Timestamp(micros) => Value::Timestamp(micros),
        Value::Uuid(bytes) => Value::Uuid(bytes),
        Value::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
        Value::Json(text) => Value::Json(Cow::Owned(text.into_owned())),
        Value::Array(items) => Value::Array(items.into_iter().map(owned).collect()),
        Value::Geometry(bytes) => Value::Geometry(Cow::Owned(bytes.into_owned())),
    }
}
