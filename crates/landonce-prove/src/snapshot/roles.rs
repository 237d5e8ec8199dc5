//! What each column of a table is to a comparison of two of its moments, and by which key rows are known again.

use super::multiset::Fields;
use super::{Content, Table};

/// What a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Content: it counts always.
    Stable,
    /// It varies by itself: a time, a run id.
    Stamp,
    /// It names the row and is made up: a sequence's number, a random id, a foreign key to one.
    Identity,
    /// The user leaves it out.
    Ignored,
}

/// A column that both moments have.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) role: Role,
    /// The number of its field in the one.
    pub(super) one: usize,
    /// And in the other.
    pub(super) other: usize,
}

/// The columns of a table in a comparison.
#[derive(Debug, Clone)]
pub(super) struct Roles {
    pub(super) columns: Vec<Shared>,
    /// The fields by which rows are known again, if there are any, and their names.
    pub(super) key: Option<Vec<Shared>>,
}

impl Roles {
    /// `is_still` says of a table whether its rows are the same in both moments: ids that point there are content.
    pub(super) fn new(
        name: &str,
        one: &Table,
        other: &Table,
        content: &Content,
        is_still: impl Fn(&str) -> bool,
        is_within: bool,
    ) -> Self {
        let mut columns = Vec::new();
        for (at, column) in one.columns.iter().enumerate() {
            let Some(place) = other.columns.iter().position(|it| it.name == column.name) else { continue };
            let is_in_key =
                one.key.contains(&column.name) || one.unique.iter().any(|it| it.contains(&column.name));
            let points = column.references.as_ref();
            let role = if content.is_ignored(name, &column.name) {
                Role::Ignored
            } else if content.is_generated(name, &column.name) {
                let points_to_still = points.is_some_and(|(table, _)| table != name && is_still(table));
                if points_to_still && !column.is_generated { Role::Stable } else { Role::Identity }
            } else if content.is_varying(name, &column.name) {
                if is_in_key || points.is_some() { Role::Identity } else { Role::Stamp }
            } else {
                Role::Stable
            };
            columns.push(Shared { name: column.name.clone(), role, one: at + 1, other: place + 1 });
        }
        let key = choose(&columns, one, other, is_within);
        Self { columns, key }
    }

    /// The fields of these roles.
    pub(super) fn fields(&self, roles: &[Role]) -> Fields {
        Fields::of(self.columns.iter().filter(|column| roles.contains(&column.role)))
    }

    /// The content, with one more column.
    pub(super) fn stable_and(&self, more: &Shared) -> Fields {
        Fields::of(self.columns.iter().filter(|it| it.role == Role::Stable || it.name == more.name))
    }

    pub(super) fn of(&self, role: Role) -> impl Iterator<Item = &Shared> {
        self.columns.iter().filter(move |column| column.role == role)
    }
}

impl Fields {
    pub(super) fn of<'a>(columns: impl Iterator<Item = &'a Shared>) -> Self {
        let (one, other) = columns.map(|column| (column.one, column.other)).unzip();
        Self { one, other }
    }
}

/// The primary key or else a unique set that is content. Within one clone also one that isn't: an UPDATE keeps the id, so
/// that a bumped counter is told as a change even if the id comes from a sequence.
fn choose(columns: &[Shared], one: &Table, other: &Table, is_within: bool) -> Option<Vec<Shared>> {
    let sets = || {
        let sets = std::iter::once(&one.key).chain(&one.unique);
        sets.filter(|set| !set.is_empty() && (**set == other.key || other.unique.contains(*set)))
    };
    let find = |roles: &[Role]| {
        sets().find_map(|set| {
            set.iter()
                .map(|name| columns.iter().find(|it| it.name == *name && roles.contains(&it.role)).cloned())
                .collect::<Option<Vec<Shared>>>()
        })
    };
    find(&[Role::Stable])
        .or_else(|| if is_within { find(&[Role::Stable, Role::Identity, Role::Stamp]) } else { None })
}
