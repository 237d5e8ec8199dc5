//! The samples laid side by side: one entry a field, whichever delivery has it.

use std::collections::{HashMap, HashSet};

use landonce_core::column::Type;

use super::names::Words;
use super::sample::{ABSENT, Sample};
use super::stats::{Guess, Stats};

/// What all samples together show.
#[derive(Debug)]
pub(super) struct Survey<'s> {
    pub(super) samples: &'s [Sample],
    /// CSV texts that mean null in this file.
    pub(super) nulls: Vec<&'static str>,
    pub(super) fields: Vec<Known<'s>>,
    /// Per sample: the first of each group of equal records.
    pub(super) rows: Vec<Vec<u32>>,
}

/// A field, as far as it is known.
#[derive(Debug)]
pub(super) struct Known<'s> {
    /// Its name, behind its parent's and a dot.
    pub(super) path: String,
    pub(super) parent: Option<usize>,
    pub(super) words: Words,
    pub(super) stats: Stats,
    pub(super) guess: Guess,
    /// Hashed values, per sample; `None` where the sample has no such field.
    values: Vec<Option<&'s [u64]>>,
    /// How many values each sample has.
    pub(super) distinct: Vec<usize>,
}

impl<'s> Survey<'s> {
    pub(super) fn of(samples: &'s [Sample]) -> Self {
        let mut survey = Self {
            samples,
            nulls: Vec::new(),
            fields: Vec::new(),
            rows: samples.iter().map(Sample::distinct_records).collect(),
        };
        let mut places: HashMap<(Option<usize>, &str), usize> = HashMap::new();
        for (nth, sample) in samples.iter().enumerate() {
            // A parent stands before its members, so its place is known.
            let mut known_at = Vec::with_capacity(sample.fields.len());
            for field in &sample.fields {
                let parent = field.parent.map(|parent: usize| known_at[parent]);
                let at = *places.entry((parent, field.name.as_str())).or_insert(survey.fields.len());
                if at == survey.fields.len() {
                    let path = match parent {
                        Some(parent) => format!("{}.{}", survey.fields[parent].path, field.name),
                        None => field.name.clone(),
                    };
                    survey.fields.push(Known {
                        path,
                        parent,
                        words: Words::of(&field.name),
                        stats: field.stats.clone(),
                        guess: Guess::Nothing,
                        values: vec![None; samples.len()],
                        distinct: vec![0; samples.len()],
                    });
                } else {
                    let known = &mut survey.fields[at];
                    known.stats = known.stats.clone().with(&field.stats);
                }
                let known = &mut survey.fields[at];
                known.values[nth] = Some(&field.values);
                known.distinct[nth] = field.values.iter().collect::<HashSet<_>>().len();
                known_at.push(at);
            }
        }
        if samples[0].is_lexical() {
            survey.nulls = survey.fields.iter().flat_map(|field| field.stats.null_texts()).collect();
            survey.nulls.sort_unstable();
            survey.nulls.dedup();
        }
        for field in &mut survey.fields {
            field.guess = field.stats.guess(&survey.nulls);
        }
        survey
    }

    /// All good records.
    pub(super) fn records(&self) -> usize {
        self.samples.iter().map(|sample| sample.records).sum()
    }

    /// Records that repeat another one of their delivery whole.
    pub(super) fn repeats(&self) -> usize {
        self.records() - self.rows.iter().map(Vec::len).sum::<usize>()
    }

    /// How many records have a value that says something there.
    pub(super) fn filled(&self, field: usize) -> usize {
        self.fields[field].stats.values(&self.nulls)
    }

    /// Never null and never absent.
    pub(super) fn is_filled(&self, field: usize) -> bool {
        self.filled(field) == self.records()
    }

    /// The fields that records have themselves.
    pub(super) fn top(&self) -> impl Iterator<Item = usize> {
        (0..self.fields.len()).filter(|&at| self.fields[at].parent.is_none())
    }

    /// The members of a field.
    pub(super) fn members(&self, parent: usize) -> impl Iterator<Item = usize> {
        (0..self.fields.len()).filter(move |&at| self.fields[at].parent == Some(parent))
    }

    /// What a record has there, hashed.
    pub(super) fn value(&self, field: usize, sample: usize, record: u32) -> u64 {
        self.fields[field].values[sample].map_or(ABSENT, |values| values[record as usize])
    }

    /// What a record has in several fields, as one hash.
    pub(super) fn key(&self, fields: &[usize], sample: usize, record: u32) -> u64 {
        fields.iter().fold(0, |key, &field| mix(key, self.value(field, sample, record)))
    }

    /// The values of a sample.
    pub(super) fn values(&self, field: usize, sample: usize) -> HashSet<u64> {
        self.fields[field].values[sample].unwrap_or_default().iter().copied().collect()
    }

    /// Whether two fields have the same value in every record.
    pub(super) fn are_copies(&self, one: usize, two: usize) -> bool {
        self.fields[one].values == self.fields[two].values
    }

    /// Whether the fields' values tell all records of every sample apart, those aside that are equal as a whole.
    pub(super) fn is_unique(&self, fields: &[usize]) -> bool {
        (0..self.samples.len()).all(|sample| {
            let rows = &self.rows[sample];
            let most = fields
                .iter()
                .fold(1_usize, |most, &at| most.saturating_mul(self.fields[at].distinct[sample]));
            if most < rows.len() {
                return false;
            }
            let mut seen = HashSet::with_capacity(rows.len());
            rows.iter().all(|&record| seen.insert(self.key(fields, sample, record)))
        })
    }

    /// One value in all records of each sample, though there are several records.
    pub(super) fn is_constant(&self, field: usize) -> bool {
        self.fields[field].distinct.iter().all(|&distinct| distinct == 1)
            && self.rows.iter().any(|rows| rows.len() > 1)
    }

    /// An id that is made up, by its looks and its name: unique by itself, a UUID, a serial number or a long run of characters.
    pub(super) fn is_generated_id(&self, at: usize) -> bool {
        let field = &self.fields[at];
        field.parent.is_none()
            && matches!(&field.guess, Guess::Type(ty) if ty.is_identity())
            && field.stats.looks_generated()
            && (field.words.is_generated()
                || field.stats.is_uuid()
                || (field.stats.is_opaque() && field.words.distance() == 0))
            && self.is_filled(at)
            && self.is_unique(&[at])
    }

    /// Geometries.
    pub(super) fn is_geometry(&self, field: usize) -> bool {
        matches!(&self.fields[field].guess, Guess::Type(Type::Geometry { .. }))
    }

    /// Days and instants.
    pub(super) fn is_time(&self, field: usize) -> bool {
        matches!(&self.fields[field].guess, Guess::Type(Type::Date | Type::Timestamptz | Type::Timestamp))
    }
}

/// Mixes a hash into another. The values are hashes already, so a multiplication is enough.
fn mix(key: u64, value: u64) -> u64 {
    (key.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
