//! A manifest: a JSON file that lists files with what they should be.

use std::path::Path;

use serde::Deserialize;

use super::side::Side;
use super::{Finding, counted};
use crate::batch::Batch;

/// The part of a manifest that is looked at; a sender may write more.
#[derive(Deserialize)]
struct Manifest {
    files: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    /// Relative to the manifest's folder.
    name: String,
    #[serde(default)]
    sha256: Option<String>,
    #[serde(default)]
    bytes: Option<u64>,
    #[serde(default)]
    records: Option<u64>,
}

/// Looks for the payload, and compares all that the manifest says of it.
pub(super) fn find(side: &Side, batch: &Batch, read: u64) -> Finding {
    let shown = side.shown();
    let manifest: Manifest = serde_json::from_str(&side.text).map_err(|error| {
        format!("{shown} isn't a manifest ({{\"files\": [{{\"name\": …, \"sha256\": …}}]}}): {error}")
    })?;
    let Some(payload) = batch.payload().path() else {
        return Err(format!("{shown} can't list a payload that has no place: deliver it as a file"));
    };
    let folder = side.path.parent().unwrap_or(Path::new(""));
    let named: Vec<&Listed> =
        manifest.files.iter().filter(|listed| is_same(&folder.join(&listed.name), payload)).collect();
    if named.is_empty() {
        return Err(format!("{shown} doesn't list `{}`", payload.display()));
    }
    let mut holds = Vec::new();
    // Whoever is listed twice must be both.
    for listed in named {
        let before = holds.len();
        if let Some(declared) = &listed.sha256 {
            let digest = hex::encode(batch.digest());
            if !declared.eq_ignore_ascii_case(&digest) {
                return Err(format!("{shown} declares SHA-256 {declared}, the bytes have {digest}"));
            }
            holds.push("its SHA-256".to_owned());
        }
        if let Some(declared) = listed.bytes {
            if declared != batch.len() {
                return Err(format!("{shown} declares {declared} bytes, there are {}", batch.len()));
            }
            holds.push(format!("its {declared} bytes"));
        }
        if let Some(declared) = listed.records {
            counted(&declared.to_string(), read, &shown)?;
            holds.push(format!("its {declared} records"));
        }
        if holds.len() == before {
            return Err(format!(
                "{shown} lists it without `sha256`, `bytes` or `records`, which proves nothing"
            ));
        }
    }
    Ok(format!("{shown} lists {}", holds.join(", ")))
}

/// Whether both paths lead to one file. Only names that could are looked up.
fn is_same(one: &Path, other: &Path) -> bool {
    one.file_name() == other.file_name()
        && match (one.canonicalize(), other.canonicalize()) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        }
}
