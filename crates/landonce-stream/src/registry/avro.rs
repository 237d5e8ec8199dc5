//! Avro schemas: read once, ready to decode by.

mod decode;
mod logical;

use std::collections::HashMap;

use landonce_core::bad_record::BadRecord;
use serde_json::Value;

use logical::Logical;

/// A schema, with the types that it names.
#[derive(Debug)]
pub(super) struct Schema {
    root: Type,
    named: Vec<Type>,
}

/// A type. Those with names are told by their place, since they may hold themselves.
#[derive(Debug, Clone)]
enum Type {
    Null,
    Boolean,
    Int(Option<Logical>),
    Long(Option<Logical>),
    Float,
    Double,
    Bytes(Option<Logical>),
    Text,
    Array(Box<Type>),
    Map(Box<Type>),
    Union(Vec<Type>),
    Named(usize),
    Record(Vec<(String, Type)>),
    Enum(Vec<String>),
    Fixed(usize, Option<Logical>),
}

impl Schema {
    /// Reads a schema; `others` are those that it refers to, which come first.
    pub(super) fn parse(text: &str, others: &[(String, String)]) -> Result<Self, String> {
        let mut reader = Reader::default();
        for (name, other) in others {
            reader.read(other).map_err(|told| format!("`{name}`: {told}"))?;
        }
        let root = reader.read(text)?;
        let named = reader
            .named
            .into_iter()
            .map(|one| one.ok_or("a type isn't defined"))
            .collect::<Result<_, _>>()?;
        Ok(Self { root, named })
    }

    /// The JSON of a datum.
    pub(super) fn json(&self, datum: &[u8]) -> Result<Vec<u8>, BadRecord> {
        decode::json(self, datum)
    }
}

/// Reads schemas that share their names.
#[derive(Default)]
struct Reader {
    places: HashMap<String, usize>,
    named: Vec<Option<Type>>,
}

impl Reader {
    fn read(&mut self, text: &str) -> Result<Type, String> {
        // A schema may be a bare name, which some registries keep without its quotes.
        let schema = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.trim()));
        self.of(&schema, "")
    }

    fn of(&mut self, schema: &Value, space: &str) -> Result<Type, String> {
        match schema {
            Value::String(name) => self.by_name(name, space),
            Value::Array(branches) => {
                let branches = branches.iter().map(|branch| self.of(branch, space));
                Ok(Type::Union(branches.collect::<Result<_, _>>()?))
            }
            Value::Object(map) => {
                let ty = map.get("type").ok_or("an object without `type`")?;
                let Value::String(ty) = ty else { return self.of(ty, space) };
                let logical = logical::of(map);
                let inner = |name: &str| map.get(name).ok_or_else(|| format!("`{ty}` without `{name}`"));
                match ty.as_str() {
                    "int" => Ok(Type::Int(logical)),
                    "long" => Ok(Type::Long(logical)),
                    "bytes" => Ok(Type::Bytes(logical)),
                    "array" => Ok(Type::Array(Box::new(self.of(inner("items")?, space)?))),
                    "map" => Ok(Type::Map(Box::new(self.of(inner("values")?, space)?))),
                    "record" | "error" | "enum" | "fixed" => self.defined(map, ty, space),
                    name => self.by_name(name, space),
                }
            }
            other => Err(format!("`{other}` is no schema")),
        }
    }

    fn by_name(&mut self, name: &str, space: &str) -> Result<Type, String> {
        Ok(match name {
            "null" => Type::Null,
            "boolean" => Type::Boolean,
            "int" => Type::Int(None),
            "long" => Type::Long(None),
            "float" => Type::Float,
            "double" => Type::Double,
            "bytes" => Type::Bytes(None),
            "string" => Type::Text,
            name => {
                let place = self.places.get(&full(name, space)).or_else(|| self.places.get(name));
                Type::Named(*place.ok_or_else(|| format!("the type `{name}` isn't defined"))?)
            }
        })
    }

    fn defined(
        &mut self,
        map: &serde_json::Map<String, Value>,
        ty: &str,
        space: &str,
    ) -> Result<Type, String> {
        let text = |name: &str| map.get(name).and_then(Value::as_str);
        let name = text("name").ok_or_else(|| format!("`{ty}` without `name`"))?;
        let space = text("namespace").unwrap_or(space);
        let name = full(name, space);
        let space = name.rsplit_once('.').map_or("", |(space, _)| space).to_owned();
        let place = self.named.len();
        self.named.push(None);
        if self.places.insert(name.clone(), place).is_some() {
            return Err(format!("the type `{name}` is defined twice"));
        }
        let list = |name: &str| {
            map.get(name).and_then(Value::as_array).ok_or_else(|| format!("`{ty}` without `{name}`"))
        };
        let made = match ty {
            "enum" => {
                let symbols = list("symbols")?.iter().map(|symbol| symbol.as_str().map(str::to_owned));
                Type::Enum(symbols.collect::<Option<_>>().ok_or("a symbol that is no text")?)
            }
            "fixed" => {
                let size =
                    map.get("size").and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
                Type::Fixed(size.ok_or("`fixed` without `size`")?, logical::of(map))
            }
            _ => {
                let mut fields = Vec::new();
                for field in list("fields")? {
                    let name = field.get("name").and_then(Value::as_str).ok_or("a field without `name`")?;
                    let ty = field.get("type").ok_or_else(|| format!("the field `{name}` without `type`"))?;
                    // A logical type may stand beside the type's name, in the field.
                    let ty = match (ty, field.get("logicalType")) {
                        (Value::String(_), Some(_)) if field.get("items").is_none() => {
                            self.of(field, &space)?
                        }
                        _ => self.of(ty, &space)?,
                    };
                    fields.push((name.to_owned(), ty));
                }
                Type::Record(fields)
            }
        };
        self.named[place] = Some(made);
        Ok(Type::Named(place))
    }
}

/// A name with its namespace.
fn full(name: &str, space: &str) -> String {
    if name.contains('.') || space.is_empty() { name.to_owned() } else { format!("{space}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_that_make_no_sense_say_why() {
        for (schema, want) in [
            ("\"nope\"", "isn't defined"),
            (r#"{"type":"record","name":"r"}"#, "without `fields`"),
            (r#"{"type":"array"}"#, "without `items`"),
            (
                r#"{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"enum","name":"r","symbols":[]}}]}"#,
                "defined twice",
            ),
            ("7", "no schema"),
        ] {
            let told = Schema::parse(schema, &[]).unwrap_err();
            assert!(told.contains(want), "{schema}: {told}");
        }
    }

    #[test]
    fn an_array_of_nulls_has_an_end() {
        let schema = Schema::parse(r#"{"type":"array","items":"null"}"#, &[]).unwrap();
        // 2^62 items that take no byte.
        let datum = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0];
        assert!(schema.json(&datum).unwrap_err().detail.contains("longer"));
    }
}
