//! Completeness: whether a payload is all that its sender meant to send. Proven, never believed.
//!
//! Decoding already refuses what is visibly cut: an open bracket, a stream without its trailer. A file that is cut at a line's
//! end isn't visible, and neither is one whose writer died and left a clean end behind. So a pipeline declares what proves
//! its payloads whole (`source.complete`), and absence only means something under such a proof. What is plausible (half of the
//! rows gone, none at all) is another question and isn't asked here.

mod checksum;
mod manifest;
mod side;
#[cfg(test)]
mod tests;
mod zstd;

use landonce_core::bad_record::shorten;
use landonce_core::pipeline::{Pipeline, Proof};

use crate::batch::Batch;
use crate::decode::{Ending, Seen};
use crate::error::{Error, Repr};
use crate::payload::{Compression, PayloadError};

/// What is known of a payload that has been read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Completeness {
    /// All that the pipeline declares holds; how, in words, proof by proof.
    Proven(Vec<String>),
    /// The pipeline declares nothing. Why that proves nothing, and what could be declared.
    Unproven(String),
    /// A declared proof doesn't hold: what was declared, and what was found.
    Refuted(String),
}

/// What one proof found: how it holds, or what doesn't match.
type Finding = Result<String, String>;

/// What decoding must look for, so that the proofs can be judged.
pub(crate) fn ending(proofs: &[Proof]) -> Ending {
    let mut ending = Ending::default();
    for proof in proofs {
        match proof {
            Proof::EndLine(text) => ending.line = Some(text.clone()),
            Proof::EndRecord { field, equals } => ending.record = Some((field.clone(), equals.clone())),
            Proof::CountTrailer { before, behind } => {
                ending.count_line = Some((before.clone(), behind.clone()));
            }
            Proof::CountField(path) => ending.member = Some(path.clone()),
            Proof::JsonClosed
            | Proof::GzipTrailer
            | Proof::ParquetFooter
            | Proof::CountFile(_)
            | Proof::Checksum(_)
            | Proof::Manifest(_) => {}
        }
    }
    ending
}

/// Judges a payload by what its pipeline declares. `seen` and `read` are what decoding saw and how many records it framed,
/// good and bad. An error is only a file beside the payload that is there and can't be read.
pub(crate) fn judge(
    pipeline: &Pipeline,
    batch: &Batch,
    seen: &Seen,
    read: u64,
) -> Result<Completeness, Error> {
    if !seen.is_whole {
        return Err(Error::internal("a payload was judged before its end"));
    }
    if batch.entries().is_some() {
        let why = "these are entries of the quarantine, which are a part of what was sent";
        return Ok(Completeness::Unproven(why.to_owned()));
    }
    let proofs = &pipeline.source().complete;
    if let (true, None) = (proofs.is_empty(), batch.proof()) {
        return Ok(Completeness::Unproven(undeclared(batch, seen)?));
    }
    let (mut holds, mut fails): (Vec<String>, _) =
        (batch.proof().map(str::to_owned).into_iter().collect(), Vec::new());
    for proof in proofs {
        match find(proof, batch, seen, read)? {
            Ok(how) => holds.push(how),
            Err(what) => fails.push(what),
        }
    }
    Ok(if fails.is_empty() { Completeness::Proven(holds) } else { Completeness::Refuted(fails.join("; ")) })
}

/// Fails a batch whose declared proof doesn't hold, for write modes that take nothing from absence.
pub(crate) fn check(pipeline: &Pipeline, batch: &Batch, seen: &Seen, read: u64) -> Result<(), Error> {
    match judge(pipeline, batch, seen, read)? {
        Completeness::Refuted(detail) => {
            Err(Repr::Incomplete { name: batch.source().to_owned(), detail }.into())
        }
        Completeness::Proven(how) => {
            tracing::debug!(?how, "complete");
            Ok(())
        }
        Completeness::Unproven(_) => Ok(()),
    }
}

/// Why a payload of a pipeline that declares nothing isn't proven, and what would hold for it.
fn undeclared(batch: &Batch, seen: &Seen) -> Result<String, Error> {
    let mut would: Vec<&str> = Vec::new();
    if is_document(seen) {
        would.push("`complete: json_closed`");
    }
    if is_checked(batch)? {
        would.push("`complete: gzip_trailer`");
    }
    if seen.format == "parquet" {
        would.push("`complete: parquet_footer`");
    }
    let what = "the pipeline doesn't declare what proves a payload complete (`source.complete`)";
    Ok(if would.is_empty() {
        format!(
            "{what}, and a payload like this may be cut at a line's end unseen: declare an end marker, a count, a checksum or a \
             manifest that the source sends"
        )
    } else {
        format!("{what}; {} would hold for this one, if it proves enough for you", would.join(" or "))
    })
}

fn find(proof: &Proof, batch: &Batch, seen: &Seen, read: u64) -> Result<Finding, Error> {
    Ok(match proof {
        Proof::JsonClosed if seen.format == "geojson" => Ok("the FeatureCollection is closed".to_owned()),
        Proof::JsonClosed if is_document(seen) => Ok("the JSON array is closed".to_owned()),
        Proof::JsonClosed => Err(misplaced("json_closed", seen, "has no bracket that closes it")),
        Proof::GzipTrailer => trailer(batch)?,
        // Reading to the end has held the footer's count against the rows.
        Proof::ParquetFooter if seen.format == "parquet" => {
            Ok(format!("the footer counts {read} rows, as many as were read"))
        }
        Proof::ParquetFooter => Err(misplaced("parquet_footer", seen, "has no footer")),
        Proof::EndLine(_) | Proof::CountTrailer { .. } if is_document(seen) => {
            Err(misplaced("a last line", seen, "has no lines"))
        }
        Proof::EndLine(text) => match seen.line {
            Some(line) => Ok(format!("the end marker `{}` stands on line {line}", shorten(text))),
            None => Err(format!("the end marker `{}` is missing: the file ends before it", shorten(text))),
        },
        Proof::EndRecord { .. } if seen.format != "ndjson" => {
            Err(misplaced("a last object", seen, "isn't NDJSON"))
        }
        Proof::EndRecord { field, equals } => {
            let which = format!("`{}` is `{}`", field.join("."), shorten(equals));
            match seen.record {
                Some(line) => Ok(format!("the object that ends it ({which}) stands on line {line}")),
                None => Err(format!("the object that ends it ({which}) is missing: the file ends before it")),
            }
        }
        Proof::CountField(path) => field(path, seen, read),
        Proof::CountTrailer { before, behind } => {
            let line = format!("{before}{{n}}{behind}");
            match &seen.count_line {
                Some(digits) => counted(digits, read, &format!("the last line `{}`", shorten(&line))),
                None => {
                    Err(format!("the last line `{}` is missing: the file ends before it", shorten(&line)))
                }
            }
        }
        Proof::CountFile(file) => match side::read(file, batch)? {
            Ok(file) => counted(&file.text, read, &file.shown()),
            Err(why) => Err(why),
        },
        Proof::Checksum(file) => match side::read(file, batch)? {
            Ok(file) => checksum::find(&file, batch),
            Err(why) => Err(why),
        },
        Proof::Manifest(file) => match side::read(file, batch)? {
            Ok(file) => manifest::find(&file, batch, read),
            Err(why) => Err(why),
        },
    })
}

fn trailer(batch: &Batch) -> Result<Finding, Error> {
    Ok(match batch.payload().compression() {
        // Decoding has checked each; it gives no end otherwise.
        Compression::Gzip => Ok("every gzip member ends with its CRC and length".to_owned()),
        Compression::Zstd if is_checked(batch)? => Ok("every zstd frame ends with its checksum".to_owned()),
        Compression::Zstd => Err("`gzip_trailer` is declared, but a zstd frame has no checksum: write it \
                                  with one (`zstd --check`)"
            .to_owned()),
        Compression::None => {
            Err("`gzip_trailer` is declared, but the bytes aren't compressed, so nothing stands at their end"
                .to_owned())
        }
    })
}

fn field(path: &[String], seen: &Seen, read: u64) -> Finding {
    let name = shorten(&path.join("."));
    let place = match seen.format {
        "geojson" => "the FeatureCollection",
        "ndjson" if seen.record.is_some() => "the object that ends it",
        "ndjson" => return Err(format!("the object that is to say `{name}` is missing")),
        _ => return Err(misplaced("a field that says the count", seen, "has no members beside its records")),
    };
    match &seen.member {
        Some(text) => counted(text, read, &format!("`{name}`")),
        None => {
            Err(format!("{place} has no `{name}` that says how many records there are (or has it twice)"))
        }
    }
}

/// Compares a declared number with what was read.
fn counted(text: &str, read: u64, source: &str) -> Finding {
    let digits = text.trim();
    let declared =
        if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse::<u64>().ok() } else { None };
    match declared {
        Some(declared) if declared == read => {
            Ok(format!("{source} declares {declared} records, and so many were read"))
        }
        Some(declared) => Err(format!("{source} declares {declared} records, {read} were read")),
        None => Err(format!("{source} says `{}`, which is no number of records", shorten(digits))),
    }
}

fn misplaced(what: &str, seen: &Seen, why: &str) -> String {
    format!("{what} is declared as proof, but the payload is {}, which {why}", seen.format)
}

/// The format is one document, and decoding gives no end before it is closed.
fn is_document(seen: &Seen) -> bool {
    matches!(seen.format, "json" | "geojson")
}

/// The bytes are compressed, and checksums end them all.
fn is_checked(batch: &Batch) -> Result<bool, Error> {
    let payload = batch.payload();
    match payload.compression() {
        Compression::Gzip => Ok(true),
        Compression::None => Ok(false),
        Compression::Zstd => zstd::all_are_checked(payload.stored(), payload.len())
            .map_err(|source| PayloadError::Read { name: payload.name().to_owned(), source }.into()),
    }
}
