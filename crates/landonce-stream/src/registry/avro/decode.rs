//! A datum of Avro's binary encoding as JSON, every value exact.

use landonce_core::bad_record::{BadKind, BadRecord};
use landonce_core::json::MOST_DEPTH;

use super::super::wire::varint;
use super::super::{bad, protobuf};
use super::{Schema, Type, logical};

/// The longest JSON of a datum, in bytes: an array of nulls takes no byte each.
const MOST: usize = 64 << 20;

/// The JSON of a datum, which must be all there is.
pub(super) fn json(schema: &Schema, datum: &[u8]) -> Result<Vec<u8>, BadRecord> {
    let mut reader = Reader { schema, rest: datum, out: Vec::new() };
    reader.value(&schema.root, 0)?;
    if !reader.rest.is_empty() {
        return Err(bad(format!(
            "{} bytes are left behind the datum: it was written by another schema",
            reader.rest.len()
        )));
    }
    Ok(reader.out)
}

struct Reader<'s, 'd> {
    schema: &'s Schema,
    rest: &'d [u8],
    out: Vec<u8>,
}

impl<'d> Reader<'_, 'd> {
    fn value(&mut self, ty: &Type, depth: usize) -> Result<(), BadRecord> {
        if depth > MOST_DEPTH {
            return Err(BadRecord::new(BadKind::TooDeep, "", format!("nested deeper than {MOST_DEPTH}")));
        }
        if self.out.len() > MOST {
            return Err(BadRecord::new(
                BadKind::TooLarge,
                "",
                format!("as JSON it is longer than {MOST} bytes"),
            ));
        }
        match ty {
            Type::Null => self.put("null"),
            Type::Boolean => match self.take(1)? {
                [0] => self.put("false"),
                [1] => self.put("true"),
                _ => return Err(bad("a boolean is neither 0 nor 1")),
            },
            Type::Int(logical) => {
                let value = self.long()?;
                let value = i32::try_from(value).map_err(|_| bad(format!("{value} is no int")))?;
                self.number(value.into(), logical.as_ref())?;
            }
            Type::Long(logical) => {
                let value = self.long()?;
                self.number(value, logical.as_ref())?;
            }
            Type::Float => {
                let bytes = self.take(4)?.try_into().map_err(|_| bad("a float is cut"))?;
                let value = f32::from_le_bytes(bytes);
                self.float(serde_json::to_string(&value), value.is_finite())?;
            }
            Type::Double => {
                let bytes = self.take(8)?.try_into().map_err(|_| bad("a double is cut"))?;
                let value = f64::from_le_bytes(bytes);
                self.float(serde_json::to_string(&value), value.is_finite())?;
            }
            Type::Bytes(logical) => {
                let bytes = self.sized()?;
                let text = logical::bytes(bytes, logical.as_ref())?;
                self.put(&text);
            }
            Type::Fixed(size, logical) => {
                let bytes = self.take(*size)?;
                let text = logical::bytes(bytes, logical.as_ref())?;
                self.put(&text);
            }
            Type::Text => {
                let text = self.text()?;
                self.quoted(text);
            }
            Type::Named(place) => {
                let schema = self.schema;
                let ty = schema.named.get(*place).ok_or_else(|| bad("a type isn't defined"))?;
                self.value(ty, depth + 1)?;
            }
            Type::Record(fields) => {
                self.put("{");
                for (at, (name, ty)) in fields.iter().enumerate() {
                    if at > 0 {
                        self.put(",");
                    }
                    self.quoted(name);
                    self.put(":");
                    self.value(ty, depth + 1).map_err(|bad| bad.under(name))?;
                }
                self.put("}");
            }
            Type::Enum(symbols) => {
                let at = self.long()?;
                let symbol = usize::try_from(at).ok().and_then(|at| symbols.get(at));
                let symbol = symbol.ok_or_else(|| bad(format!("symbol {at} of {}", symbols.len())))?;
                self.quoted(symbol);
            }
            Type::Union(branches) => {
                let at = self.long()?;
                let branch = usize::try_from(at).ok().and_then(|at| branches.get(at));
                let branch =
                    branch.ok_or_else(|| bad(format!("branch {at} of a union of {}", branches.len())))?;
                self.value(branch, depth + 1)?;
            }
            Type::Array(items) => {
                self.put("[");
                self.blocks(|reader, _| reader.value(items, depth + 1))?;
                self.put("]");
            }
            Type::Map(values) => {
                self.put("{");
                self.blocks(|reader, _| {
                    let name = reader.text()?;
                    reader.quoted(name);
                    reader.put(":");
                    reader.value(values, depth + 1).map_err(|bad| bad.under(name))
                })?;
                self.put("}");
            }
        }
        Ok(())
    }

    /// Items in blocks: each a count, a negative one with the block's length behind it; zero ends them.
    fn blocks(
        &mut self,
        mut item: impl FnMut(&mut Self, u64) -> Result<(), BadRecord>,
    ) -> Result<(), BadRecord> {
        let mut seen = 0;
        loop {
            let count = self.long()?;
            if count == 0 {
                return Ok(());
            }
            if count < 0 {
                self.long()?;
            }
            for _ in 0..count.unsigned_abs() {
                if seen > 0 {
                    self.put(",");
                }
                item(self, seen).map_err(|bad| bad.under(&format!("[{seen}]")))?;
                seen += 1;
            }
        }
    }

    fn number(&mut self, value: i64, logical: Option<&logical::Logical>) -> Result<(), BadRecord> {
        let text = logical::number(value, logical)?;
        self.put(&text);
        Ok(())
    }

    fn float(&mut self, text: serde_json::Result<String>, is_finite: bool) -> Result<(), BadRecord> {
        match text {
            Ok(text) if is_finite => self.put(&text),
            _ => return Err(protobuf::not_finite()),
        }
        Ok(())
    }

    fn long(&mut self) -> Result<i64, BadRecord> {
        let (value, rest) = varint(self.rest)?;
        self.rest = rest;
        Ok(value)
    }

    fn take(&mut self, count: usize) -> Result<&'d [u8], BadRecord> {
        if self.rest.len() < count {
            return Err(bad(format!("{count} bytes are due, and {} are left", self.rest.len())));
        }
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }

    fn sized(&mut self) -> Result<&'d [u8], BadRecord> {
        let len = self.long()?;
        let len = usize::try_from(len).map_err(|_| bad(format!("a length of {len}")))?;
        self.take(len)
    }

    fn text(&mut self) -> Result<&'d str, BadRecord> {
        std::str::from_utf8(self.sized()?)
            .map_err(|_| BadRecord::new(BadKind::Encoding, "", "a string isn't UTF-8"))
    }

    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn quoted(&mut self, text: &str) {
        let quoted = serde_json::Value::from(text).to_string();
        self.put(&quoted);
    }
}
