//! The header: which field of a row has which name.

use std::collections::BTreeMap;

use super::render;
use super::rows::Row;
use super::split::Splitter;
use crate::decode::DecodeError;
use crate::decode::window::Window;

/// The columns' names.
pub(super) struct Header {
    names: Vec<String>,
    /// `"name":` of each, as it stands in an object.
    keys: Vec<Vec<u8>>,
    /// Columns behind the last name that have none: a delimiter at the end of each line, which many exports write. Their
    /// fields must be empty.
    nameless: usize,
}

impl Header {
    /// The header that the options give.
    pub(super) fn given(names: &[String]) -> Result<Self, DecodeError> {
        Self::new(names.to_vec(), 0)
    }

    /// The header that the text's first row is.
    pub(super) fn read(
        row: &Row,
        splitter: &mut Splitter,
        window: &Window,
        limit: u32,
    ) -> Result<Self, DecodeError> {
        let line = row.line;
        if row.len > u64::from(limit) {
            return fail(format!("line {line} is {} bytes long", row.len));
        }
        if row.stray.is_some() || !splitter.split(window.raw(&row.raw)) {
            return fail(format!("on line {line} text follows a closing quote"));
        }
        let names: Result<Vec<_>, _> =
            splitter.fields().map(|name| std::str::from_utf8(name).map(str::to_owned)).collect();
        let Ok(mut names) = names else {
            return fail(format!("line {line} isn't UTF-8: convert the file (`iconv -t UTF-8`)"));
        };
        let width = names.len();
        while names.last().is_some_and(String::is_empty) {
            names.pop();
        }
        let nameless = width - names.len();
        Self::new(names, nameless)
    }

    fn new(names: Vec<String>, nameless: usize) -> Result<Self, DecodeError> {
        if names.is_empty() {
            return fail("it names no column".to_owned());
        }
        let mut seen = BTreeMap::new();
        for (at, name) in names.iter().enumerate() {
            if name.is_empty() {
                return fail(format!("column {} of {} has no name", at + 1, names.len() + nameless));
            }
            if let Some(before) = seen.insert(name, at) {
                return fail(format!(
                    "columns {} and {} are both named `{name}`: rename one, or give the names in the pipeline",
                    before + 1,
                    at + 1
                ));
            }
        }
        let keys = names
            .iter()
            .map(|name| {
                let mut key = Vec::new();
                render::string(name.as_bytes(), &mut key);
                key.push(b':');
                key
            })
            .collect();
        Ok(Self { names, keys, nameless })
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn keys(&self) -> &[Vec<u8>] {
        &self.keys
    }

    /// How many fields a row must have.
    pub(super) fn width(&self) -> usize {
        self.names.len() + self.nameless
    }
}

fn fail<T>(detail: String) -> Result<T, DecodeError> {
    Err(DecodeError::Header { detail })
}
