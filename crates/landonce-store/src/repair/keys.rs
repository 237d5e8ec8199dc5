//! Keys anew: every row's key as another declaration makes it, in the same transaction as the rest of a repair.
//!
//! Between [`Repair::begin_repair`] and [`Repair::mark`] (with [`super::By::NewKey`]) comes [`Rekey::give_keys`]; after
//! [`Repair::remove`], [`Rekey::write_keys`].

use landonce_core::plan::KeyForm;

use super::{Constraint, Known, Repair, Sink};
use crate::error::Result;

/// The column that takes the new keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumn {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub form: KeyForm,
    /// It is there already; else the repair adds it.
    pub is_there: bool,
}

/// A column that is read to make a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The column.
    pub column: String,
    /// As what.
    pub shown: Shown,
}

/// How a value is read as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// As the database spells it.
    Text,
    /// A moment as microseconds since 1970 (in UTC, or civil); text stays text.
    Micros,
    /// Bytes as hex digits, a UUID as its 32; text stays text.
    Hex,
}

/// Makes a row's key, in hex digits, of the columns read; none when the row has no key, which the maker notes.
pub type Make<'m> = &'m mut (dyn FnMut(&[Option<String>]) -> Option<String> + Send);

/// The verbs of giving keys anew.
#[expect(
    async_fn_in_trait,
    reason = "internal seam, called with concrete types: auto traits are inferred there"
)]
pub trait Rekey: Repair {
    /// Reads every row in bounded chunks, and notes the key that is made of it.
    async fn give_keys(&mut self, known: &Known, reads: &[Read], make: Make<'_>) -> Result<()>;

    /// How many rows don't hold their new key in the column, marked rows left out.
    async fn changed_keys(&mut self, known: &Known, column: &KeyColumn) -> Result<u64>;

    /// Begins the script, checks that it runs on the state that the repair left, and writes what brings the old keys back.
    /// `constraint` is what the repair adds.
    async fn script_keys(
        &mut self,
        known: &Known,
        column: &KeyColumn,
        constraint: Option<&Constraint>,
        sink: Sink<'_>,
    ) -> Result<()>;

    /// Writes the new keys, into a column that it adds if need be. Returns how many rows were changed.
    async fn write_keys(&mut self, known: &Known, column: &KeyColumn) -> Result<u64>;
}
