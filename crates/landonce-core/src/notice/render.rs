//! What is sent: everything about the change, or what the template makes of it.

use super::bound::{Bound, Place};
use super::row::{Row, quoted, write, write_text};
use super::{Change, Teller};
use crate::pipeline::{Piece, Template};

/// A change and what is known of it.
pub(super) struct Told<'a> {
    pub(super) teller: &'a Teller,
    pub(super) change: &'a Change,
    pub(super) entity: String,
    pub(super) changed: Vec<usize>,
    pub(super) old: Option<&'a Row<'a>>,
    pub(super) new: Option<&'a Row<'a>>,
    /// The row that stands for it: the new one, or the old one of a row that leaves.
    pub(super) about: &'a Row<'a>,
}

impl Told<'_> {
    /// What is sent.
    pub(super) fn payload(&self, notice: &Bound) -> String {
        let mut out = String::new();
        match &notice.payload {
            Some(template) => self.render(template, &notice.topic, &mut out),
            None => self.everything(&notice.topic, &mut out),
        }
        out
    }

    fn everything(&self, topic: &str, out: &mut String) {
        let kind = self.change.kind.as_str();
        out.push_str("{\"type\":");
        out.push_str(&quoted(&format!("{topic}.{kind}")));
        for (name, place) in [
            ("topic", Place::Topic),
            ("kind", Place::Kind),
            ("pipeline", Place::Pipeline),
            ("entity", Place::Entity),
            ("revision", Place::Revision),
            ("changed", Place::Changed),
            ("old", Place::Old(None)),
            ("new", Place::New(None)),
        ] {
            out.push_str(",\"");
            out.push_str(name);
            out.push_str("\":");
            self.value(&place, topic, out);
        }
        out.push('}');
    }

    fn render(&self, template: &Template<Place>, topic: &str, out: &mut String) {
        match template {
            Template::Literal(json) => out.push_str(json),
            Template::Value(place) => self.value(place, topic, out),
            Template::Text(pieces) => {
                let mut text = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Plain(plain) => text.push_str(plain),
                        Piece::Of(place) => self.text(place, topic, &mut text),
                    }
                }
                out.push_str(&quoted(&text));
            }
            Template::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    self.render(item, topic, out);
                }
                out.push(']');
            }
            Template::Map(members) => {
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    out.push_str(&quoted(name));
                    out.push(':');
                    self.render(value, topic, out);
                }
                out.push('}');
            }
        }
    }

    /// What a reference stands for, as JSON.
    fn value(&self, place: &Place, topic: &str, out: &mut String) {
        match place {
            Place::New(at) => self.row(self.new, *at, out),
            Place::Old(at) => self.row(self.old, *at, out),
            Place::Entity => out.push_str(&self.entity),
            Place::EntityColumn(at) => write(self.about.at(*at), out),
            Place::EntityKey => out.push_str(&quoted(&self.change.key)),
            Place::Changed => {
                out.push('[');
                for (nth, &at) in self.changed.iter().enumerate() {
                    if nth > 0 {
                        out.push(',');
                    }
                    out.push_str(&self.teller.names[at]);
                }
                out.push(']');
            }
            Place::Kind => out.push_str(&quoted(self.change.kind.as_str())),
            Place::Revision => out.push_str(&self.change.revision.to_string()),
            Place::Topic => out.push_str(&quoted(topic)),
            Place::Pipeline => out.push_str(&quoted(&self.teller.pipeline)),
        }
    }

    fn row(&self, row: Option<&Row<'_>>, at: Option<usize>, out: &mut String) {
        match (row, at) {
            (None, _) => out.push_str("null"),
            (Some(row), None) => row.write(&self.teller.names, out),
            (Some(row), Some(at)) => write(row.at(at), out),
        }
    }

    /// What a reference stands for, inside a text.
    fn text(&self, place: &Place, topic: &str, out: &mut String) {
        match place {
            Place::New(Some(at)) => self.new.into_iter().for_each(|row| write_text(row.at(*at), out)),
            Place::Old(Some(at)) => self.old.into_iter().for_each(|row| write_text(row.at(*at), out)),
            Place::New(None) if self.new.is_none() => {}
            Place::Old(None) if self.old.is_none() => {}
            Place::EntityColumn(at) => write_text(self.about.at(*at), out),
            Place::EntityKey => out.push_str(&self.change.key),
            Place::Changed => {
                let Teller { plain_names, .. } = self.teller;
                let names: Vec<&str> = self.changed.iter().map(|&at| plain_names[at].as_str()).collect();
                out.push_str(&names.join(", "));
            }
            Place::Kind => out.push_str(self.change.kind.as_str()),
            Place::Topic => out.push_str(topic),
            Place::Pipeline => out.push_str(&self.teller.pipeline),
            Place::New(None) | Place::Old(None) | Place::Entity | Place::Revision => {
                self.value(place, topic, out);
            }
        }
    }
}
