//! Payload templates: any JSON, in whose texts references in braces stand for what changed.

use crate::spec::PayloadSpec;

/// A template over references of some kind: as they are written, or as they are bound to columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Template<R> {
    /// JSON as it stands.
    Literal(String),
    /// A text that is one reference: its value, as JSON.
    Value(R),
    /// A text with references inside.
    Text(Vec<Piece<R>>),
    /// A list.
    List(Vec<Template<R>>),
    /// A map, in the order written.
    Map(Vec<(String, Template<R>)>),
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<R> {
    /// As it stands.
    Plain(String),
    /// What the reference stands for, as text.
    Of(R),
}

/// What can stand in braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// The new row, or one of its columns.
    New(Option<String>),
    /// The old row, or one of its columns.
    Old(Option<String>),
    /// What the change is about, or one of its columns.
    Entity(Option<String>),
    /// The names of the columns that differ.
    Changed,
    /// What happened.
    Kind,
    /// The row's revision.
    Revision,
    /// The topic.
    Topic,
    /// The pipeline's name.
    Pipeline,
}

/// The words that a reference can begin with.
const WORDS: [&str; 8] = ["new", "old", "entity", "changed", "kind", "revision", "topic", "pipeline"];

impl Reference {
    fn parse(text: &str) -> Result<Self, String> {
        let (word, column) = match text.split_once('.') {
            Some((word, column)) if !column.is_empty() => (word, Some(column.to_owned())),
            Some(_) => return Err(format!("`{{{text}}}`: a column's name is due behind the dot")),
            None => (text, None),
        };
        match (word, column) {
            ("new", column) => Ok(Self::New(column)),
            ("old", column) => Ok(Self::Old(column)),
            ("entity", column) => Ok(Self::Entity(column)),
            ("changed", None) => Ok(Self::Changed),
            ("kind", None) => Ok(Self::Kind),
            ("revision", None) => Ok(Self::Revision),
            ("topic", None) => Ok(Self::Topic),
            ("pipeline", None) => Ok(Self::Pipeline),
            (word, Some(_)) if WORDS.contains(&word) => Err(format!("`{{{text}}}`: `{word}` has no columns")),
            (word, _) => {
                let nearest = WORDS
                    .iter()
                    .map(|known| (strsim::damerau_levenshtein(word, known), *known))
                    .min()
                    .filter(|(distance, known)| *distance <= 1 + known.len() / 3);
                Err(match nearest {
                    Some((_, known)) => format!("`{{{text}}}` is no reference; did you mean `{known}`?"),
                    None => format!(
                        "`{{{text}}}` is no reference; known here: new.COLUMN, old.COLUMN, entity.COLUMN, {}. A brace as such is \
                         written twice: `{{{{`",
                        WORDS.join(", ")
                    ),
                })
            }
        }
    }
}

impl Template<Reference> {
    /// From how it is written.
    pub(super) fn parse(written: &PayloadSpec) -> Result<Self, String> {
        Ok(match written {
            PayloadSpec::Literal(json) => Self::Literal(json.clone()),
            PayloadSpec::Text(text) => {
                let mut pieces = pieces(text)?;
                match (pieces.len(), pieces.pop()) {
                    (1, Some(Piece::Of(reference))) => Self::Value(reference),
                    (_, last) => {
                        pieces.extend(last);
                        Self::Text(pieces)
                    }
                }
            }
            PayloadSpec::List(items) => Self::List(items.iter().map(Self::parse).collect::<Result<_, _>>()?),
            PayloadSpec::Map(members) => Self::Map(
                members
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), Self::parse(value)?)))
                    .collect::<Result<_, String>>()?,
            ),
        })
    }
}

impl<R> Template<R> {
    /// The same template over other references.
    ///
    /// # Errors
    /// Those of `bind`.
    pub fn bind<S, E>(&self, bind: &impl Fn(&R) -> Result<S, E>) -> Result<Template<S>, E> {
        Ok(match self {
            Self::Literal(json) => Template::Literal(json.clone()),
            Self::Value(reference) => Template::Value(bind(reference)?),
            Self::Text(pieces) => {
                let piece = |piece: &Piece<R>| match piece {
                    Piece::Plain(text) => Ok(Piece::Plain(text.clone())),
                    Piece::Of(reference) => Ok(Piece::Of(bind(reference)?)),
                };
                Template::Text(pieces.iter().map(piece).collect::<Result<_, E>>()?)
            }
            Self::List(items) => {
                Template::List(items.iter().map(|item| item.bind(bind)).collect::<Result<_, E>>()?)
            }
            Self::Map(members) => {
                let member = |(name, value): &(String, Self)| Ok::<_, E>((name.clone(), value.bind(bind)?));
                Template::Map(members.iter().map(member).collect::<Result<_, E>>()?)
            }
        })
    }
}

fn pieces(text: &str) -> Result<Vec<Piece<Reference>>, String> {
    let mut all = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix(brace) {
            plain.push_str(brace);
            rest = behind;
            continue;
        }
        if brace == "}" {
            return Err(format!("`{text}`: `}}` closes nothing; a brace as such is written twice: `}}}}`"));
        }
        let end = rest.find('}').ok_or_else(|| {
            format!("`{text}`: `{{` isn't closed by `}}`; a brace as such is written twice: `{{{{`")
        })?;
        if !plain.is_empty() {
            all.push(Piece::Plain(std::mem::take(&mut plain)));
        }
        all.push(Piece::Of(Reference::parse(rest[..end].trim())?));
        rest = &rest[end + 1..];
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        all.push(Piece::Plain(plain));
    }
    Ok(all)
}
