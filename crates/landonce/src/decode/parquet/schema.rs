//! What a file's columns are, told before a row is read. Whatever couldn't be rendered exactly is refused here, by its name.

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::schema::types::{SchemaDescriptor, Type};

use crate::decode::DecodeError;

/// What a column is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// What the value itself tells.
    Plain,
    /// A text that holds JSON.
    Json,
    /// Sixteen bytes.
    Uuid,
    /// A time since 1970, so many of which are a second; an instant if it is in UTC.
    Timestamp { per_second: i64, is_utc: bool },
    /// A time of day, so many of which are a second.
    Time { per_second: i64 },
    /// The next value of the INT96 column of this place among them.
    Int96(usize),
    /// Members, with their names as JSON writes them.
    Group(Vec<(Vec<u8>, Shape)>),
    /// Items.
    List(Box<Shape>),
    /// Members whose names are values.
    Map(Box<Shape>),
}

/// The columns with their names, and the leaves that are INT96.
pub(super) type Columns = (Vec<(Vec<u8>, Shape)>, Vec<usize>);

/// The columns, with their names as JSON writes them, and which of all leaves are INT96.
pub(super) fn columns(schema: &SchemaDescriptor) -> Result<Columns, DecodeError> {
    let mut int96 = Vec::new();
    let mut columns = Vec::new();
    for field in schema.root_schema().get_fields() {
        let is_int96 = field.is_primitive() && field.get_physical_type() == Physical::INT96;
        let shape = if is_int96 && field.get_basic_info().repetition() != Repetition::REPEATED {
            let leaf = schema.columns().iter().position(|leaf| leaf.path().parts() == [field.name()]);
            int96.push(leaf.ok_or_else(|| malformed(field, "its column is missing"))?);
            Shape::Int96(int96.len() - 1)
        } else {
            shape(field)?
        };
        columns.push((super::value::name(field.name()), shape));
    }
    Ok((columns, int96))
}

fn shape(field: &Type) -> Result<Shape, DecodeError> {
    if field.get_basic_info().repetition() == Repetition::REPEATED {
        return Ok(Shape::List(Box::new(single(field)?)));
    }
    single(field)
}

/// A field's shape, as if it came once.
fn single(field: &Type) -> Result<Shape, DecodeError> {
    if field.is_primitive() {
        return primitive(field);
    }
    let fields = field.get_fields();
    let only = || match fields {
        [only] if only.get_basic_info().repetition() == Repetition::REPEATED => Ok(only),
        _ => Err(malformed(field, "one repeated field is due in it")),
    };
    match field.get_basic_info().converted_type() {
        ConvertedType::LIST => {
            let repeated = only()?;
            let [item] = (if repeated.is_primitive() { &[] } else { repeated.get_fields() }) else {
                return Err(unread(field, "a list of two levels, as old writers made them"));
            };
            let is_old = repeated.name() == "array" || repeated.name().ends_with("_tuple");
            if is_old || item.get_basic_info().repetition() == Repetition::REPEATED {
                return Err(unread(field, "a list of two levels, as old writers made them"));
            }
            Ok(Shape::List(Box::new(single(item)?)))
        }
        ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE => {
            let repeated = only()?;
            let [key, value] = (if repeated.is_primitive() { &[] } else { repeated.get_fields() }) else {
                return Err(malformed(field, "a key and a value are due in it"));
            };
            if !key.is_primitive() || single(key)? != Shape::Plain {
                return Err(unread(field, "a map whose keys are no plain texts or numbers"));
            }
            Ok(Shape::Map(Box::new(shape(value)?)))
        }
        _ => {
            let member = |field: &parquet::schema::types::TypePtr| {
                Ok((super::value::name(field.name()), shape(field)?))
            };
            Ok(Shape::Group(fields.iter().map(member).collect::<Result<_, DecodeError>>()?))
        }
    }
}

fn primitive(field: &Type) -> Result<Shape, DecodeError> {
    let info = field.get_basic_info();
    let per_second = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => 1_000,
        TimeUnit::MICROS => 1_000_000,
        TimeUnit::NANOS => 1_000_000_000,
    };
    // What the logical type says counts; files of older writers have converted types only, whose times are in UTC.
    let shape = match info.logical_type_ref() {
        Some(LogicalType::Timestamp(time)) => {
            Some(Shape::Timestamp { per_second: per_second(&time.unit), is_utc: time.is_adjusted_to_u_t_c })
        }
        Some(LogicalType::Time(time)) => Some(Shape::Time { per_second: per_second(&time.unit) }),
        Some(LogicalType::Uuid) => Some(Shape::Uuid),
        Some(LogicalType::Json) => Some(Shape::Json),
        Some(
            LogicalType::String
            | LogicalType::Enum
            | LogicalType::Decimal(_)
            | LogicalType::Date
            | LogicalType::Integer(_)
            | LogicalType::Unknown
            | LogicalType::Bson
            | LogicalType::Float16,
        )
        | None => None,
        Some(_) => return Err(unread(field, "of a logical type that isn't known here")),
    };
    if let Some(shape) = shape {
        return Ok(shape);
    }
    match (field.get_physical_type(), info.converted_type()) {
        (Physical::INT96, _) => Err(unread(field, "an INT96 inside another value")),
        (_, ConvertedType::INTERVAL) => Err(unread(field, "an interval of months, days and milliseconds")),
        (_, ConvertedType::JSON) => Ok(Shape::Json),
        (_, ConvertedType::TIMESTAMP_MILLIS) => Ok(Shape::Timestamp { per_second: 1_000, is_utc: true }),
        (_, ConvertedType::TIMESTAMP_MICROS) => Ok(Shape::Timestamp { per_second: 1_000_000, is_utc: true }),
        (_, ConvertedType::TIME_MILLIS) => Ok(Shape::Time { per_second: 1_000 }),
        (_, ConvertedType::TIME_MICROS) => Ok(Shape::Time { per_second: 1_000_000 }),
        _ => Ok(Shape::Plain),
    }
}

fn unread(field: &Type, what: &str) -> DecodeError {
    DecodeError::Unsupported {
        detail: format!("the Parquet column `{}` is {what}: write it out in another type", field.name()),
    }
}

fn malformed(field: &Type, what: &str) -> DecodeError {
    DecodeError::Malformed {
        format: "parquet",
        offset: 0,
        detail: format!("column `{}`: {what}", field.name()),
        records: 0,
    }
}
