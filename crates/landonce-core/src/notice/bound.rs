//! A pipeline's notifications over the columns of a plan: every name found, or said to be none.

use super::render::Told;
use super::row::{Row, quoted, write};
use crate::json::{Json, Kind};
use crate::number::Decimal;
use crate::pipeline::{IdentityFrom, Notify, Order, Pipeline, Reference, Template};
use crate::plan::{From, Match, TablePlan};
use crate::spec::{ChangeKind, ValueSpec};

/// What a message is about.
#[derive(Debug, Clone)]
pub(super) enum Entity {
    /// The identity's columns: their places and names.
    Columns(Vec<(usize, String)>),
    /// The hashed key, where the identity has no columns of its own.
    Key(String),
}

impl Entity {
    pub(super) fn of(pipeline: &Pipeline, plan: &TablePlan) -> Self {
        let named = |at: usize| (at, plan.columns[at].name.clone());
        let column = match &plan.matching {
            Match::Columns(of) => return Self::Columns(of.iter().map(|&at| named(at)).collect()),
            Match::Key { column, .. } => column,
        };
        let fields = match &pipeline.identity().from {
            IdentityFrom::Fields { names, .. } => names.as_slice(),
            IdentityFrom::SenderId(field) => std::slice::from_ref(field),
            IdentityFrom::Content(_) => &[],
        };
        let of_field = |field: &String| {
            let is_it = |from: &From| matches!(from, From::Field(has) if has == field);
            plan.columns.iter().position(|column| is_it(&column.from)).map(named)
        };
        match fields.iter().map(of_field).collect::<Option<Vec<_>>>() {
            Some(columns) if !columns.is_empty() => Self::Columns(columns),
            _ => Self::Key(column.clone()),
        }
    }

    /// The entity as a JSON object.
    pub(super) fn write(&self, about: &Row<'_>, key: &str) -> String {
        match self {
            Self::Columns(columns) => {
                let mut out = String::from("{");
                for (nth, (at, name)) in columns.iter().enumerate() {
                    if nth > 0 {
                        out.push(',');
                    }
                    out.push_str(&quoted(name));
                    out.push(':');
                    write(about.at(*at), &mut out);
                }
                out.push('}');
                out
            }
            Self::Key(name) => format!("{{{}:{}}}", quoted(name), quoted(key)),
        }
    }
}

/// What a message waits for.
#[derive(Debug, Clone)]
pub(super) enum Lane {
    /// The entity's messages.
    Entity,
    /// Those of which these columns are equal.
    Columns(Vec<usize>),
    /// All of the topic.
    Topic,
}

impl Lane {
    /// The ordering key as text, where it isn't the entity.
    pub(super) fn ordering(&self, about: &Row<'_>, names: &[String]) -> Option<String> {
        match self {
            Self::Entity => None,
            Self::Topic => Some("*".to_owned()),
            Self::Columns(columns) => {
                let mut out = String::from("{");
                for (nth, &at) in columns.iter().enumerate() {
                    if nth > 0 {
                        out.push(',');
                    }
                    out.push_str(&names[at]);
                    out.push(':');
                    write(about.at(at), &mut out);
                }
                out.push('}');
                Some(out)
            }
        }
    }
}

/// A reference that has found its column.
#[derive(Debug, Clone)]
pub(super) enum Place {
    New(Option<usize>),
    Old(Option<usize>),
    Entity,
    /// The row's column that is part of the entity.
    EntityColumn(usize),
    EntityKey,
    Changed,
    Kind,
    Revision,
    Topic,
    Pipeline,
}

/// A notification over the plan's columns.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    pub(super) topic: String,
    on: Vec<ChangeKind>,
    columns: Vec<usize>,
    conditions: Vec<(usize, Vec<ValueSpec>)>,
    pub(super) lane: Lane,
    pub(super) payload: Option<Template<Place>>,
}

pub(super) fn all(pipeline: &Pipeline, plan: &TablePlan, entity: &Entity) -> Result<Vec<Bound>, String> {
    pipeline.notifications().iter().map(|notify| bind(notify, plan, entity)).collect()
}

fn bind(notify: &Notify, plan: &TablePlan, entity: &Entity) -> Result<Bound, String> {
    let names: Vec<&str> = plan.columns.iter().map(|column| column.name.as_str()).collect();
    let find = |key: &str, name: &str| {
        let at = names.iter().position(|has| *has == name);
        at.ok_or_else(|| format!("`notify.{key}` (topic `{}`): {}", notify.topic, no_column(name, &names)))
    };
    let every =
        |key: &str, names: &[String]| names.iter().map(|name| find(key, name)).collect::<Result<Vec<_>, _>>();
    let lane = match &notify.order {
        Order::Entity => Lane::Entity,
        Order::Columns(columns) => Lane::Columns(every("order_by", columns)?),
        Order::Topic => Lane::Topic,
    };
    let place = |reference: &Reference| {
        Ok(match reference {
            Reference::New(None) => Place::New(None),
            Reference::New(Some(name)) => Place::New(Some(find("payload", name)?)),
            Reference::Old(None) => Place::Old(None),
            Reference::Old(Some(name)) => Place::Old(Some(find("payload", name)?)),
            Reference::Entity(None) => Place::Entity,
            Reference::Entity(Some(name)) => match entity {
                Entity::Key(key) if key == name => Place::EntityKey,
                Entity::Columns(columns) if columns.iter().any(|(_, has)| has == name) => {
                    Place::EntityColumn(find("payload", name)?)
                }
                other => {
                    let names: Vec<&str> = match other {
                        Entity::Key(key) => vec![key],
                        Entity::Columns(columns) => columns.iter().map(|(_, has)| has.as_str()).collect(),
                    };
                    return Err(format!(
                        "`notify.payload` (topic `{}`): the entity {}; it has {}",
                        notify.topic,
                        no_column(name, &names),
                        names.join(", ")
                    ));
                }
            },
            Reference::Changed => Place::Changed,
            Reference::Kind => Place::Kind,
            Reference::Revision => Place::Revision,
            Reference::Topic => Place::Topic,
            Reference::Pipeline => Place::Pipeline,
        })
    };
    let condition = |(name, values): &(String, Vec<ValueSpec>)| Ok((find("where", name)?, values.clone()));
    Ok(Bound {
        topic: notify.topic.clone(),
        on: notify.on.clone(),
        columns: every("columns", &notify.columns)?,
        conditions: notify.conditions.iter().map(condition).collect::<Result<_, String>>()?,
        lane,
        payload: notify.payload.as_ref().map(|payload| payload.bind(&place)).transpose()?,
    })
}

/// That there is no such column, and which is meant.
fn no_column(name: &str, names: &[&str]) -> String {
    let nearest = names
        .iter()
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .min()
        .filter(|(distance, known)| *distance <= 1 + known.len() / 3);
    match nearest {
        Some((_, known)) => format!("has no column `{name}`; did you mean `{known}`?"),
        None => format!("has no column `{name}`"),
    }
}

impl Bound {
    /// Whether the change is one that is to be told.
    pub(super) fn is_asked_for(&self, told: &Told<'_>) -> bool {
        let kind = told.change.kind;
        if !self.on.contains(&kind) {
            return false;
        }
        if kind == ChangeKind::Updated
            && !self.columns.is_empty()
            && let (Some(old), Some(new)) = (told.old, told.new)
            && !self.columns.iter().any(|&at| old.differs(new, at))
        {
            return false;
        }
        let holds = |(at, values): &(usize, Vec<ValueSpec>)| {
            values.iter().any(|value| is_value(told.about.at(*at), value))
        };
        self.conditions.iter().all(holds)
    }
}

/// A value is the one that is written: texts by their bytes, numbers by value.
fn is_value(value: Json<'_>, written: &ValueSpec) -> bool {
    let ValueSpec::Text(text) = written else { return value.kind() == Kind::Null };
    match value.kind() {
        Kind::Null => false,
        Kind::Plain | Kind::Escaped => value.string().as_deref() == Some(text),
        Kind::Number => {
            let (has, want) = (Decimal::parse(value.span()), Decimal::parse(text));
            has.is_some() && has == want
        }
        Kind::True | Kind::False => value.raw() == text,
        Kind::Array | Kind::Object => false,
    }
}
