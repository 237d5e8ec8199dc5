//! Protobuf: a schema's text is compiled when it is met, and messages are read by reflection.

use landonce_core::bad_record::{BadKind, BadRecord};
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions, Value};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use super::{bad, wire};

/// The schema's own file.
const ROOT: &str = "landonce-schema.proto";

/// A schema, compiled.
#[derive(Debug)]
pub(super) struct Schema {
    pool: DescriptorPool,
}

impl Schema {
    /// Compiles a schema; `others` are those that it imports.
    pub(super) fn parse(text: &str, others: &[(String, String)]) -> Result<Self, String> {
        let mut files = vec![(ROOT.to_owned(), text.to_owned())];
        files.extend(others.iter().cloned());
        let mut resolver = ChainFileResolver::new();
        resolver.add(GoogleFileResolver::new());
        resolver.add(Given(files));
        let mut compiler = Compiler::with_file_resolver(resolver);
        compiler.include_imports(true).open_file(ROOT).map_err(|error| error.to_string())?;
        let pool = compiler.descriptor_pool();
        Ok(Self { pool })
    }

    /// The JSON of a datum: which message it is, and the message.
    pub(super) fn json(&self, datum: &[u8]) -> Result<Vec<u8>, BadRecord> {
        let (indexes, datum) = wire::indexes(datum)?;
        let descriptor = self.message(&indexes)?;
        let message = DynamicMessage::decode(descriptor, datum)
            .map_err(|error| bad(format!("it isn't such a message: {error}")))?;
        finite(&message)?;
        let options = SerializeOptions::new()
            .stringify_64_bit_integers(false)
            .use_proto_field_name(true)
            .skip_default_fields(false);
        let mut out = Vec::new();
        let mut serializer = serde_json::Serializer::new(&mut out);
        message.serialize_with_options(&mut serializer, &options).map_err(|error| bad(error.to_string()))?;
        Ok(out)
    }

    fn message(&self, indexes: &[usize]) -> Result<MessageDescriptor, BadRecord> {
        let none = || bad(format!("the schema has no message {indexes:?}"));
        let file = self.pool.get_file_by_name(ROOT).ok_or_else(none)?;
        let (first, inner) = indexes.split_first().ok_or_else(none)?;
        let mut message = file.messages().nth(*first).ok_or_else(none)?;
        for index in inner {
            let child = message.child_messages().nth(*index);
            message = child.ok_or_else(none)?;
        }
        Ok(message)
    }
}

/// JSON has no number for what isn't finite, and the text that stands for it elsewhere is none in a column.
fn finite(message: &DynamicMessage) -> Result<(), BadRecord> {
    message.fields().try_for_each(|(field, value)| finite_value(value).map_err(|bad| bad.under(field.name())))
}

fn finite_value(value: &Value) -> Result<(), BadRecord> {
    match value {
        Value::F32(value) if !value.is_finite() => Err(not_finite()),
        Value::F64(value) if !value.is_finite() => Err(not_finite()),
        Value::Message(inner) => finite(inner),
        Value::List(items) => items.iter().try_for_each(finite_value),
        Value::Map(entries) => entries.values().try_for_each(finite_value),
        _ => Ok(()),
    }
}

pub(super) fn not_finite() -> BadRecord {
    BadRecord::new(BadKind::OutOfRange, "", "a number that isn't finite has no JSON")
}

/// Files that are given, by their names.
struct Given(Vec<(String, String)>);

impl FileResolver for Given {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match self.0.iter().find(|(has, _)| has == name) {
            Some((_, text)) => File::from_source(name, text),
            None => Err(protox::Error::file_not_found(name)),
        }
    }
}
