//! What proves that a payload is complete, as it is meant: each proof by itself, checked against the declared format.

use super::check::{Checked, fault};
use crate::spec::{CompleteSpec, CountSpec, FormatSpec, MarkerSpec, ProofMap, ProofSpec, ProofWord};

const KEY: &str = "source.complete";

/// A proof that a payload is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// The array or the FeatureCollection was closed.
    JsonClosed,
    /// Every member of the compressed stream ended with its checksum.
    GzipTrailer,
    /// The footer, which is written last, counts as many rows as there are.
    ParquetFooter,
    /// The last line is exactly this text.
    EndLine(String),
    /// The last line is an object with this text in this field.
    EndRecord {
        /// The names on the way to the field, from the outermost.
        field: Vec<String>,
        /// Its text.
        equals: String,
    },
    /// A member of the collection, or of the object that ends the payload, says how many records there are.
    CountField(Vec<String>),
    /// The last line says so, between these two texts.
    CountTrailer {
        /// The text before the number.
        before: String,
        /// The text behind it.
        behind: String,
    },
    /// A file beside the payload says so.
    CountFile(SideFile),
    /// A file beside the payload has its SHA-256.
    Checksum(SideFile),
    /// A manifest lists the payload.
    Manifest(SideFile),
}

/// A file that is found from the payload's own path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideFile(String);

impl SideFile {
    /// Its path, relative to the payload's folder (or absolute), for a payload of this name in it.
    pub fn of(&self, file: &str) -> String {
        self.0.replace("{file}", file)
    }

    /// Its path depends on the payload's name.
    pub fn needs_name(&self) -> bool {
        self.0.contains("{file}")
    }

    /// As it is declared.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn new(pattern: String, key: &'static str) -> Checked<Self> {
        if pattern.trim().is_empty() || pattern.contains('\0') {
            return fault(key, "a path is due");
        }
        if pattern.replace("{file}", "").contains(['{', '}']) {
            return fault(key, format!("`{pattern}`: only `{{file}}`, the payload's name, is put in"));
        }
        Ok(Self(pattern))
    }
}

/// The proofs, in the order written.
pub(super) fn resolve(spec: CompleteSpec, format: Option<FormatSpec>) -> Checked<Vec<Proof>> {
    let mut proofs = Vec::new();
    let is_list = matches!(spec, CompleteSpec::All(_));
    for written in spec.into_proofs() {
        match written {
            ProofSpec::Word(ProofWord::JsonClosed) => proofs.push(Proof::JsonClosed),
            ProofSpec::Word(ProofWord::GzipTrailer) => proofs.push(Proof::GzipTrailer),
            ProofSpec::Word(ProofWord::ParquetFooter) => proofs.push(Proof::ParquetFooter),
            ProofSpec::Map(map) => from_map(*map, &mut proofs)?,
        }
    }
    if is_list && proofs.is_empty() {
        return fault(KEY, "the list is empty, which proves nothing: name a proof, or leave `complete` out");
    }
    for (at, proof) in proofs.iter().enumerate() {
        if let Some(kind) = proofs[..at].iter().map(kind).find(|before| *before == kind(proof)) {
            return fault(KEY, format!("`{kind}` stands twice"));
        }
    }
    for proof in &proofs {
        fits(proof, format, &proofs)?;
    }
    Ok(proofs)
}

fn from_map(map: ProofMap, proofs: &mut Vec<Proof>) -> Checked<()> {
    let before = proofs.len();
    match map.end_marker {
        Some(MarkerSpec::Line(text)) => {
            line("source.complete.end_marker", &text)?;
            proofs.push(Proof::EndLine(text));
        }
        Some(MarkerSpec::Record(record)) => {
            let field = path("source.complete.end_marker.field", &record.field)?;
            proofs.push(Proof::EndRecord { field, equals: record.equals });
        }
        None => {}
    }
    if let Some(spec) = map.count {
        proofs.push(count(spec)?);
    }
    if let Some(spec) = map.checksum {
        proofs.push(Proof::Checksum(SideFile::new(spec.file, "source.complete.checksum.file")?));
    }
    if let Some(spec) = map.manifest {
        proofs.push(Proof::Manifest(SideFile::new(spec, "source.complete.manifest")?));
    }
    if proofs.len() == before {
        return fault(
            KEY,
            "names no proof: `end_marker`, `count`, `checksum` or `manifest` is due, or leave it out",
        );
    }
    Ok(())
}

fn count(spec: CountSpec) -> Checked<Proof> {
    match (spec.field, spec.trailer, spec.file) {
        (Some(field), None, None) => Ok(Proof::CountField(path("source.complete.count.field", &field)?)),
        (None, Some(text), None) => {
            let key = "source.complete.count.trailer";
            line(key, &text)?;
            match text.split_once("{n}") {
                Some((before, behind)) if !behind.contains("{n}") => {
                    Ok(Proof::CountTrailer { before: before.to_owned(), behind: behind.to_owned() })
                }
                _ => fault(key, "the number's place is due, once: `#rows={n}`"),
            }
        }
        (None, None, Some(file)) => Ok(Proof::CountFile(SideFile::new(file, "source.complete.count.file")?)),
        _ => fault("source.complete.count", "exactly one of `field`, `trailer` and `file` is due"),
    }
}

/// A line that can be told from others, and that framing doesn't skip.
fn line(key: &'static str, text: &str) -> Checked<()> {
    if text.trim().is_empty() || text.contains(['\n', '\r']) {
        return fault(key, "one line of text is due");
    }
    Ok(())
}

fn path(key: &'static str, field: &str) -> Checked<Vec<String>> {
    let names: Vec<String> = field.split('.').map(str::to_owned).collect();
    if names.iter().any(String::is_empty) {
        return fault(key, "a field's name is due, or the names on the way to it (`metadata.count`)");
    }
    Ok(names)
}

fn kind(proof: &Proof) -> &'static str {
    match proof {
        Proof::JsonClosed => "json_closed",
        Proof::GzipTrailer => "gzip_trailer",
        Proof::ParquetFooter => "parquet_footer",
        Proof::EndLine(_) | Proof::EndRecord { .. } => "end_marker",
        Proof::CountField(_) | Proof::CountTrailer { .. } | Proof::CountFile(_) => "count",
        Proof::Checksum(_) => "checksum",
        Proof::Manifest(_) => "manifest",
    }
}

/// What a declared format rules out. Of a format that is guessed, each payload tells.
fn fits(proof: &Proof, format: Option<FormatSpec>, all: &[Proof]) -> Checked<()> {
    use FormatSpec::{Csv, Geojson, Json, Ndjson, Parquet};
    let (key, what) = match (proof, format) {
        (Proof::ParquetFooter, Some(Ndjson | Csv | Json | Geojson)) => {
            (KEY, "`parquet_footer` goes with `parquet`, which is the only format with a footer")
        }
        (
            Proof::GzipTrailer
            | Proof::EndLine(_)
            | Proof::EndRecord { .. }
            | Proof::CountTrailer { .. }
            | Proof::CountField(_)
            | Proof::JsonClosed,
            Some(Parquet),
        ) => (
            KEY,
            "a Parquet file has no lines and no brackets, and isn't compressed as a whole: declare `parquet_footer`",
        ),
        (Proof::JsonClosed, Some(Ndjson | Csv)) => {
            (KEY, "`json_closed` goes with `json` and `geojson`; lines have no bracket to close")
        }
        (Proof::EndLine(_), Some(Json | Geojson)) => (
            "source.complete.end_marker",
            "goes with `ndjson` and `csv`; `complete: json_closed` proves a JSON document's end",
        ),
        (Proof::EndRecord { .. }, Some(Json | Geojson | Csv)) => {
            ("source.complete.end_marker", "a field goes with `ndjson`; for `csv` give the last line's text")
        }
        (Proof::CountTrailer { .. }, Some(Json | Geojson)) => (
            "source.complete.count.trailer",
            "goes with `ndjson` and `csv`; for `geojson` there is `field`, for `json` `file`",
        ),
        (Proof::CountField(_), Some(Json | Csv)) => (
            "source.complete.count.field",
            "goes with `geojson` and `ndjson`: an array and a CSV have no members; there are `file` and, for `csv`, `trailer`",
        ),
        (Proof::CountField(_), Some(Ndjson))
            if !all.iter().any(|proof| matches!(proof, Proof::EndRecord { .. })) =>
        {
            (
                "source.complete.count.field",
                "is taken from the object that ends the payload: say which by `end_marker: {field: …, equals: …}`",
            )
        }
        _ => return Ok(()),
    };
    fault(key, what)
}

#[cfg(test)]
mod tests {
    use super::super::Pipeline;
    use super::*;
    use crate::spec::Spec;

    fn resolved(source: &str) -> Result<Vec<Proof>, String> {
        let yaml = format!("pipeline: p\nidentity: [id]\ntarget: {{table: t}}\nsource: {source}\n");
        let spec = Spec::parse(&yaml).map_err(|error| error.to_string())?;
        let pipeline = Pipeline::new(spec).map_err(|error| error.to_string())?;
        Ok(pipeline.source().complete.clone())
    }

    fn side(pattern: &str) -> SideFile {
        SideFile(pattern.to_owned())
    }

    #[test]
    fn every_form_is_taken_alone_and_with_others() {
        let end = |text: &str| Proof::EndLine(text.to_owned());
        let path = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (written, want) in [
            ("{}", vec![]),
            ("{complete: json_closed}", vec![Proof::JsonClosed]),
            ("{complete: [gzip_trailer, json_closed]}", vec![Proof::GzipTrailer, Proof::JsonClosed]),
            ("{complete: {end_marker: '#EOF'}}", vec![end("#EOF")]),
            (
                "{format: ndjson, complete: {end_marker: {field: type, equals: end}, count: {field: meta.rows}}}",
                vec![
                    Proof::EndRecord { field: path(&["type"]), equals: "end".into() },
                    Proof::CountField(path(&["meta", "rows"])),
                ],
            ),
            (
                "{complete: [gzip_trailer, {count: {trailer: '#rows={n};'}}]}",
                vec![Proof::GzipTrailer, Proof::CountTrailer { before: "#rows=".into(), behind: ";".into() }],
            ),
            ("{complete: {count: {file: '{file}.count'}}}", vec![Proof::CountFile(side("{file}.count"))]),
            (
                "{complete: {checksum: {file: SHA256SUMS}, manifest: manifest.json}}",
                vec![Proof::Checksum(side("SHA256SUMS")), Proof::Manifest(side("manifest.json"))],
            ),
        ] {
            assert_eq!(resolved(written).as_ref(), Ok(&want), "{written}");
        }
        assert_eq!(side("sums/{file}.sha256").of("a.csv"), "sums/a.csv.sha256");
    }

    #[test]
    fn what_can_prove_nothing_is_told_what_to_write() {
        for (written, want) in [
            ("{complete: json_close}", "unknown value `json_close`; did you mean `json_closed`?"),
            ("{complete: count}", "`count` needs its details"),
            ("{complete: {end_maker: x}}", "did you mean `end_marker`?"),
            ("{complete: {}}", "names no proof"),
            ("{complete: []}", "the list is empty"),
            ("{complete: [json_closed, json_closed]}", "`json_closed` stands twice"),
            ("{complete: [{count: {file: a}}, {count: {field: n}}]}", "`count` stands twice"),
            ("{complete: {end_marker: ''}}", "source.complete.end_marker: one line"),
            ("{complete: {end_marker: \"a\\nb\"}}", "source.complete.end_marker: one line"),
            ("{complete: {count: {}}}", "exactly one of"),
            ("{complete: {count: {field: n, file: f}}}", "exactly one of"),
            ("{complete: {count: {field: a..b}}}", "source.complete.count.field: a field's name"),
            ("{complete: {count: {trailer: rows}}}", "the number's place is due"),
            ("{complete: {checksum: {file: '{name}.sha256'}}}", "only `{file}`"),
            ("{complete: {manifest: ''}}", "source.complete.manifest: a path is due"),
            ("{format: csv, complete: json_closed}", "lines have no bracket"),
            ("{format: json, complete: {end_marker: x}}", "goes with `ndjson` and `csv`"),
            ("{format: csv, complete: {end_marker: {field: a, equals: b}}}", "the last line's text"),
            ("{format: geojson, complete: {count: {trailer: '{n}'}}}", "there is `field`"),
            ("{format: json, complete: {count: {field: n}}}", "have no members"),
            ("{format: ndjson, complete: {count: {field: n}}}", "end_marker: {field"),
        ] {
            let told = resolved(written).unwrap_err();
            assert!(told.contains(want), "{written}: {told}");
        }
    }
}
