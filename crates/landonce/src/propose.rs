//! Propose: a first pipeline file, written from samples by measuring them (`landonce init`).
//!
//! Which fields tell records apart, which types their values fit; and, given two deliveries of the same events, what changes
//! per attempt (G1) and whether the sender's id stays the same (G3). What can't be measured is said in a comment, never
//! guessed into effect. The file is complete: it parses and runs. Nothing is written here, to no disk and no database.

mod decide;
mod deliveries;
mod file;
mod identity;
mod names;
mod notes;
mod sample;
mod stats;
mod survey;
#[cfg(test)]
mod tests;
mod yaml;

use sample::Sample;
use survey::Survey;

use crate::batch::Batch;
use crate::error::Error;

/// The decimal places to which coordinates are compared: a decimetre, below which exports differ in noise only.
const PLACES: u8 = 6;

/// A proposed pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The pipeline file's text, commented with what was measured.
    pub yaml: String,
    /// The same measurements, one sentence each.
    pub findings: Vec<String>,
}

/// Proposes a pipeline for one sample, or for two deliveries of the same events.
///
/// At most 50,000 records are read of each. Bad records are counted and told.
///
/// Fails when a sample can't be read, isn't whole, has no record or only bad ones, or when the two are of different formats.
pub fn propose(samples: &[Batch]) -> Result<Proposal, Error> {
    if !(1..=2).contains(&samples.len()) {
        return Err(Error::declaration("one sample is due, or two deliveries of the same events"));
    }
    let samples = samples.iter().map(Sample::read).collect::<Result<Vec<_>, _>>()?;
    if let [one, two] = samples.as_slice()
        && one.is_lexical() != two.is_lexical()
    {
        return Err(Error::declaration(format!(
            "{} is {} and {} is {}: their values can't be compared; give two deliveries of one format",
            one.name,
            one.format.as_str(),
            two.name,
            two.format.as_str()
        )));
    }
    let survey = Survey::of(&samples);
    let decision = decide::decide(&survey);
    let notes = notes::notes(&survey, &decision);
    let yaml = file::write(&survey, &decision, &notes);
    Ok(Proposal { yaml, findings: notes.into_findings() })
}
