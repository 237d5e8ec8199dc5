//! Tables that are declared to SQLAlchemy, `Table(…)` or a class with columns, written as the DDL that they stand for.

use tree_sitter::Node;

use super::calls::{last_word, quoted};
use super::{Reader, span};
use crate::code::{Call, MAPPED, Step, Value};

/// What a declaration has said so far.
#[derive(Default)]
struct Declared {
    columns: Vec<String>,
    primary_key: Vec<String>,
    unique: Vec<Vec<String>>,
}

impl Declared {
    fn sql(&self, table: &str) -> String {
        let list = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        // Only a key of one column is counted up.
        let is_single = self.primary_key.len() == 1;
        let mut parts: Vec<String> = self
            .columns
            .iter()
            .map(|column| if is_single { column.clone() } else { column.replace(" bigserial", " bigint") })
            .collect();
        if !self.primary_key.is_empty() {
            parts.push(format!("PRIMARY KEY ({})", list(&self.primary_key)));
        }
        parts.extend(self.unique.iter().map(|names| format!("UNIQUE ({})", list(names))));
        let table: Vec<String> = table.split('.').map(quoted).collect();
        format!("CREATE TABLE IF NOT EXISTS {} ({})", table.join("."), parts.join(", "))
    }
}

impl<'t> Reader<'t> {
    /// `orders = Table("orders", metadata, Column(…), …)`.
    pub(super) fn mapped_table(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        let Some(table) = self.table_object(node) else { return };
        let Some(list) = node.child_by_field_name("arguments") else { return };
        let mut declared = Declared::default();
        let mut cursor = list.walk();
        for part in list.named_children(&mut cursor).filter(|part| part.kind() == "call") {
            self.part(part, None, None, &mut declared);
        }
        Self::declare(&table, node, &declared, out);
    }

    /// `class Order(Base): __tablename__ = "orders"; id = Column(…)`.
    pub(super) fn mapped_class(&mut self, class: Node<'t>, out: &mut Vec<Step>) {
        let name = class.child_by_field_name("name").map_or("", |name| self.source(name));
        let (Some(table), Some(body)) = (self.tables.get(name).cloned(), class.child_by_field_name("body"))
        else {
            return;
        };
        let mut declared = Declared::default();
        let mut cursor = body.walk();
        for statement in body.named_children(&mut cursor) {
            let Some(given) = statement.named_child(0).filter(|given| given.kind() == "assignment") else {
                continue;
            };
            let (Some(left), Some(right)) =
                (given.child_by_field_name("left"), given.child_by_field_name("right"))
            else {
                continue;
            };
            let annotation = given.child_by_field_name("type").map(|node| self.source(node));
            if self.source(left) == "__table_args__" {
                let mut cursor = right.walk();
                for part in right.named_children(&mut cursor).filter(|part| part.kind() == "call") {
                    self.part(part, None, None, &mut declared);
                }
            } else if right.kind() == "call" {
                self.part(right, Some(self.source(left)), annotation, &mut declared);
            }
        }
        Self::declare(&table, class, &declared, out);
    }

    fn declare(table: &str, node: Node<'t>, declared: &Declared, out: &mut Vec<Step>) {
        if declared.columns.is_empty() {
            return;
        }
        let place = node.child_by_field_name("name").or_else(|| node.child_by_field_name("function"));
        let span = span(place.unwrap_or(node));
        let call = Call { span, callee: MAPPED.to_owned(), arguments: Vec::new(), assigned_to: None };
        Self::synthetic(&declared.sql(table), &call, Vec::new(), false, out);
    }

    /// A column, or a constraint over several.
    fn part(
        &mut self,
        call: Node<'t>,
        attribute: Option<&str>,
        annotation: Option<&str>,
        declared: &mut Declared,
    ) {
        let (Some(function), Some(list)) =
            (call.child_by_field_name("function"), call.child_by_field_name("arguments"))
        else {
            return;
        };
        let mut cursor = list.walk();
        let nodes: Vec<Node<'t>> = list.named_children(&mut cursor).take(60).collect();
        let texts: Vec<String> = nodes
            .iter()
            .filter(|node| node.kind() == "string")
            .filter_map(|node| match self.value_of(*node) {
                Value::Text(text) => Some(text),
                _ => None,
            })
            .collect();
        let says = |reader: &Self, name: &str, value: &str| {
            reader.keyword(&nodes, name).is_some_and(|node| reader.source(node) == value)
        };
        match last_word(self.source(function)) {
            "Column" | "mapped_column" => {
                let Some(name) = texts.first().map(String::as_str).or(attribute) else { return };
                let is_key = says(self, "primary_key", "True");
                let is_optional = match annotation {
                    Some(annotation) => annotation.contains("Optional") || annotation.contains("None"),
                    None => !says(self, "nullable", "False"),
                };
                let written = self.source(list).to_ascii_lowercase();
                let is_integer = written.contains("int")
                    || annotation.is_some_and(|annotation| annotation.contains("int"));
                let is_made = ["uuid4", "uuid1", "uuid7", "uuid6", "gen_random_uuid", "ulid"]
                    .iter()
                    .any(|word| written.contains(word));
                let is_counted = written.contains("identity(")
                    || written.contains("sequence(")
                    || is_key
                        && is_integer
                        && !written.contains("foreignkey")
                        && !says(self, "autoincrement", "False");
                let kind = if is_counted { "bigserial" } else { "text" };
                let null = if is_key || !is_optional { " NOT NULL" } else { "" };
                let default = if is_made { " DEFAULT gen_random_uuid()" } else { "" };
                declared.columns.push(format!("{} {kind}{null}{default}", quoted(name)));
                if is_key {
                    declared.primary_key.push(name.to_owned());
                }
                if says(self, "unique", "True") {
                    declared.unique.push(vec![name.to_owned()]);
                }
            }
            "UniqueConstraint" => declared.unique.push(texts),
            "PrimaryKeyConstraint" => declared.primary_key = texts,
            "Index" if says(self, "unique", "True") && texts.len() > 1 => {
                declared.unique.push(texts.into_iter().skip(1).collect());
            }
            _ => {}
        }
    }
}
