//! Which member of a record means what. Records of one file have their members in one order, nearly always: the answer
//! for one record is kept and holds for the next whose names are the same, byte for byte.

use std::collections::HashMap;

use crate::canonical::Exclusions;
use crate::json::Json;

/// What a field of that name means, whatever record it stands in.
#[derive(Debug, Clone, Default)]
pub(super) struct FieldRule {
    /// The column that takes it.
    pub(super) column: Option<usize>,
    /// It is the delete marker: neither content nor rest.
    pub(super) is_marker: bool,
    /// What the digest makes of it.
    pub(super) in_digest: InDigest,
}

/// What the digest makes of a field.
#[derive(Debug, Clone, Default)]
pub(super) enum InDigest {
    /// It counts.
    #[default]
    Whole,
    /// It counts less what is excluded inside it.
    Less(Exclusions),
    /// It doesn't count.
    Not,
}

/// The rules by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    named: HashMap<String, FieldRule>,
    exclusions: Exclusions,
}

impl Rules {
    pub(super) fn new(exclusions: Exclusions) -> Self {
        Self { named: HashMap::new(), exclusions }
    }

    /// The rule of a name, to be set up.
    pub(super) fn entry(&mut self, name: &str) -> &mut FieldRule {
        let rule = self.of(name);
        self.named.entry(name.to_owned()).or_insert(rule)
    }

    fn of(&self, name: &str) -> FieldRule {
        if let Some(rule) = self.named.get(name) {
            return rule.clone();
        }
        let inside = self.exclusions.inside(name);
        let in_digest = match (self.exclusions.covers(name), inside.is_empty()) {
            (true, _) => InDigest::Not,
            (false, true) => InDigest::Whole,
            (false, false) => InDigest::Less(inside),
        };
        FieldRule { column: None, is_marker: false, in_digest }
    }
}

/// What each member of the last record meant.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    raw_names: Vec<String>,
    /// Unescaped names and rules, in member order.
    pub(super) members: Vec<(String, FieldRule)>,
    /// Member indexes sorted by name: the order of the canonical encoding.
    pub(super) sorted: Vec<usize>,
    /// The members that no column takes, shorter names first: the order in which PostgreSQL keeps the names of a jsonb,
    /// which spares it the sorting.
    pub(super) rest: Vec<usize>,
}

impl Layout {
    /// Makes the layout hold for a record with these members.
    pub(super) fn fit(&mut self, members: &[(Json<'_>, Json<'_>)], rules: &Rules) {
        let fits = self.raw_names.len() == members.len()
            && self.raw_names.iter().zip(members).all(|(raw, (name, _))| raw == name.raw());
        if fits {
            return;
        }
        self.raw_names = members.iter().map(|(name, _)| name.raw().to_owned()).collect();
        self.members = members
            .iter()
            .map(|(name, _)| {
                let name = name.string().unwrap_or_default().into_owned();
                let rule = rules.of(&name);
                (name, rule)
            })
            .collect();
        self.sorted = (0..members.len()).collect();
        self.sorted.sort_unstable_by(|&a, &b| self.members[a].0.as_bytes().cmp(self.members[b].0.as_bytes()));
        let is_rest = |at: &usize| {
            let rule = &self.members[*at].1;
            rule.column.is_none() && !rule.is_marker
        };
        self.rest = self.sorted.iter().copied().filter(is_rest).collect();
        self.rest.sort_by_key(|&at| self.members[at].0.len());
    }

    /// The index of the member of that name.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|(has, _)| has == name)
    }
}
