//! What was measured, in sentences: each is a comment of the pipeline file and a finding for whoever asked.

use super::decide::{Choice, Decision, Standing};
use super::deliveries::How;
use super::survey::Survey;
use super::yaml::{count, shown};

/// Below so many records, a field may be unique by accident.
const FEW: usize = 20;
/// The most alternatives that are named.
const MOST_ALTERNATIVES: usize = 3;

/// The sentences, by the part of the file that they belong to.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) samples: Vec<String>,
    pub(super) identity: Vec<String>,
    pub(super) volatile: Vec<String>,
    pub(super) version: Vec<String>,
}

impl Notes {
    /// All of them, in the file's order.
    pub(super) fn into_findings(self) -> Vec<String> {
        [self.samples, self.identity, self.volatile, self.version].concat()
    }
}

/// Puts everything into words.
pub(super) fn notes(survey: &Survey<'_>, decision: &Decision) -> Notes {
    let mut notes = Notes::default();
    samples(survey, &mut notes.samples);
    deliveries(survey, decision, &mut notes.samples);
    identity(survey, decision, &mut notes.identity);
    for (id, standing) in &decision.ids {
        notes.identity.push(id_note(survey, decision, *id, *standing));
    }
    volatile(survey, decision, &mut notes.volatile);
    for &at in &decision.versions {
        notes.version.push(format!(
            "{} is never null and has an order: as the version, the higher wins and an older record is `stale`.",
            name(survey, at)
        ));
    }
    notes
}

fn name(survey: &Survey<'_>, at: usize) -> String {
    shown(&survey.fields[at].path)
}

/// `(a, b)`
fn names(survey: &Survey<'_>, fields: &[usize]) -> String {
    let all: Vec<String> = fields.iter().map(|&at| name(survey, at)).collect();
    format!("({})", all.join(", "))
}

/// `a, b`
fn listed(survey: &Survey<'_>, fields: &[usize]) -> String {
    let all: Vec<String> = fields.iter().map(|&at| name(survey, at)).collect();
    all.join(", ")
}

fn records(number: usize) -> String {
    format!("{} {}", count(number), if number == 1 { "record" } else { "records" })
}

fn samples(survey: &Survey<'_>, out: &mut Vec<String>) {
    for sample in survey.samples {
        if sample.is_cut {
            out.push(format!("{}: only the first {} records were read.", sample.name, count(sample.records)));
        }
        if let Some(first) = sample.bad.first() {
            out.push(format!(
                "{}: {} of {} records are bad and weren't measured; the first is record {}: {}.",
                sample.name,
                count(sample.bad_total as usize),
                count(sample.records + sample.bad_total as usize),
                first.number,
                first.bad
            ));
        }
        if sample.has_more_fields {
            out.push(format!(
                "{}: has more fields than were measured; the others land in the payload.",
                sample.name
            ));
        }
    }
    let most = survey.rows.iter().map(Vec::len).max().unwrap_or(0);
    if most < FEW {
        let noun = if most == 1 { "record" } else { "different records" };
        out.push(format!(
            "Only {most} {noun}: what is unique here may be so by accident. Measure a larger delivery."
        ));
    }
    let repeats = survey.repeats();
    if repeats > 0 {
        let noun = if repeats == 1 { "record repeats" } else { "records repeat" };
        out.push(format!("{} {noun} another one whole.", count(repeats)));
    }
    if !survey.nulls.is_empty() {
        out.push(format!(
            "{} stands among numbers or dates, where it means null; it is declared so for the whole file.",
            survey.nulls.join(", ")
        ));
    }
}

fn deliveries(survey: &Survey<'_>, decision: &Decision, out: &mut Vec<String>) {
    let [one, two] = survey.samples else { return };
    let Some(compared) = &decision.compared else {
        out.push(
            "The two deliveries don't show the same events, as far as could be seen, so nothing was measured about what changes per \
             attempt. Give two deliveries of the same events."
                .to_owned(),
        );
        return;
    };
    let how = match &compared.how {
        How::Fields(fields) => format!("by {}", names(survey, fields)),
        How::Content => "by their content, ids left aside".to_owned(),
        How::Position => "by their position".to_owned(),
    };
    out.push(format!(
        "{} records of the first delivery ({}) were found again in the second ({}), {how}.",
        count(compared.pairs),
        count(one.records),
        count(two.records)
    ));
    let mut corrected = compared.corrected(survey);
    corrected.retain(|at| !decision.volatile.contains(at));
    for &at in &corrected {
        let difference = compared.differences[at];
        let (name, differs, pairs) = (name(survey, at), count(difference.differs), count(compared.pairs));
        out.push(if difference.one_sided() * 2 > difference.differs {
            format!("{name} differs in {differs} of {pairs} pairs, mostly because only one delivery has a value there.")
        } else {
            format!("{name} differs in {differs} of {pairs} pairs: a correction, that is, content.")
        });
    }
    for at in survey.top().filter(|&at| survey.is_geometry(at) && compared.differences[at].differs > 0) {
        out.push(format!(
            "{} differs in {} of {} pairs, to {} decimal places: corrections, or the noise of another export. Noise is left aside with a \
             lower `round`.",
            name(survey, at),
            count(compared.differences[at].differs),
            count(compared.pairs),
            super::PLACES
        ));
    }
    if corrected.is_empty() && decision.volatile.is_empty() && compared.how != How::Content {
        out.push("Nothing differs between the two deliveries.".to_owned());
    }
}

fn identity(survey: &Survey<'_>, decision: &Decision, out: &mut Vec<String>) {
    let records = count(survey.records());
    match &decision.choice {
        Choice::Fields(fields) => {
            let unique: Vec<usize> =
                fields.iter().copied().filter(|at| !decision.periods.contains(at)).collect();
            let repeats = survey.repeats();
            let within = if survey.samples.len() == 2 { " within each delivery," } else { "" };
            let among = if repeats == 0 {
                format!("unique{within} in {records} of {records} records")
            } else {
                let different = count(survey.records() - repeats);
                format!(
                    "unique{within} in {different} of {different} different records (a repeated one is one event)"
                )
            };
            out.push(format!("{}: {among}, never null.", names(survey, &unique)));
            periods(survey, decision, out);
            let versions = fields.iter().filter(|&&at| survey.fields[at].words.is_version());
            for &at in versions {
                out.push(format!(
                    "{} makes each version a row of its own. For one row that follows the changes, take it out of the identity and name \
                     it under `write.version`.",
                    name(survey, at)
                ));
            }
        }
        Choice::SenderId(field) => {
            out.push(format!("No combination of other fields is unique; {} is.", name(survey, *field)));
        }
        Choice::Content(_) => content(survey, decision, out),
    }
    for other in decision.alternatives.iter().take(MOST_ALTERNATIVES) {
        out.push(format!("{} is unique as well.", names(survey, &other.fields)));
    }
}

fn periods(survey: &Survey<'_>, decision: &Decision, out: &mut Vec<String>) {
    if decision.periods.is_empty() {
        return;
    }
    let verb = if decision.periods.len() == 1 { "has" } else { "have" };
    out.push(format!(
        "{} {verb} one value in all these records, and no other field of the identity says the day: kept in the identity, or another \
         day's record would take this one's place.",
        listed(survey, &decision.periods)
    ));
}

fn content(survey: &Survey<'_>, decision: &Decision, out: &mut Vec<String>) {
    out.push(
        "No combination of up to four fields is unique and never null, so the identity is the whole content: a changed record is a new \
         row, and records that are equal in everything are one row."
            .to_owned(),
    );
    if let Some(nearest) = &decision.nearest {
        let missing = match nearest.missing {
            0 => String::new(),
            missing => format!("null or absent in {}, and ", records(missing)),
        };
        out.push(format!(
            "{} comes nearest: {missing}{} of its values stand in more than one record ({}).",
            names(survey, &nearest.fields),
            count(nearest.repeated),
            records(nearest.records)
        ));
    }
    if survey.repeats() > 0 {
        out.push(
            "If repeated records are events of their own (two equal lines of one order), only the sender can tell them apart: ask for a \
             line number."
                .to_owned(),
        );
    }
}

fn id_note(survey: &Survey<'_>, decision: &Decision, id: usize, standing: Standing) -> String {
    let name = name(survey, id);
    let is_chosen = decision.choice == Choice::SenderId(id);
    match standing {
        Standing::Unmeasured => format!(
            "{name} is unique too, but looks made up. If the sender guarantees the same one on every retry, `{{sender_id: {}}}` may be the \
             identity; two deliveries of the same events would show it.",
            super::yaml::scalar(&survey.fields[id].path)
        ),
        Standing::Stable(pairs) if is_chosen => {
            format!("{name} is the same in both deliveries, in {0} of {0} pairs.", count(pairs))
        }
        Standing::Stable(pairs) => format!(
            "{name} is the same in both deliveries, in {0} of {0} pairs: `{{sender_id: {1}}}` may be the identity as well, if the sender \
             guarantees it.",
            count(pairs),
            super::yaml::scalar(&survey.fields[id].path)
        ),
        Standing::Unstable(differs, pairs) => format!(
            "{name} is a new one in {} of {} pairs: the sender makes it up per delivery, so it can't be the identity.",
            count(differs),
            count(pairs)
        ),
    }
}

fn volatile(survey: &Survey<'_>, decision: &Decision, out: &mut Vec<String>) {
    if let Some(compared) = &decision.compared {
        let is_id = |at: usize| decision.ids.iter().any(|(id, _)| *id == at);
        for at in decision.volatile.iter().copied().filter(|&at| !is_id(at)) {
            let difference = compared.differences[at];
            let (name, differs, present) =
                (name(survey, at), count(difference.differs), count(difference.present));
            out.push(if survey.is_constant(at) {
                format!(
                    "{name} has one value in each delivery, and another one in the second: the delivery's own. If it says which period \
                     the records are of, it is content: take it out here."
                )
            } else {
                format!("{name} differs in {differs} of {present} pairs: it changes per attempt.")
            });
        }
    }
    if !decision.suspected.is_empty() {
        out.push(format!(
            "{}: going by the name, this changes per attempt. Nothing was measured; two deliveries of the same events would show it.",
            listed(survey, &decision.suspected)
        ));
    }
}
