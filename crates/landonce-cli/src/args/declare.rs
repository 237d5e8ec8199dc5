//! A pipeline as flags: the same `Spec` that a pipeline file makes, for a file that needs no more than that.

use std::path::Path;

use clap::{Args, ValueEnum};
use landonce::{Pipeline, Spec};
use landonce_core::spec::{
    ColumnSpec, ColumnsSpec, CsvSpec, FormatSpec, IdentityMap, IdentitySpec, ManagedSpec, ModeSpec,
    OnBadSpec, QuarantineSpec, SourceSpec, TargetSpec, WriteSpec,
};

use crate::failure::Failure;

/// The ceiling of a bare `--on-bad quarantine`: so high that a few bad records pass, so low that a wrong file doesn't.
const CEILING: &str = "10%";

/// A pipeline as flags.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The pipeline as flags, instead of a pipeline file")]
pub(crate) struct DeclareArgs {
    /// The target table, perhaps with its schema; made when it doesn't exist.
    #[arg(long, value_name = "TABLE")]
    into: Option<String>,

    /// The fields that make two records the same, in order.
    #[arg(long, value_name = "FIELDS", value_delimiter = ',', conflicts_with = "sender_id")]
    key: Vec<String>,

    /// The field with the sender's event id, if the sender guarantees the same id on every retry.
    #[arg(long, value_name = "FIELD")]
    sender_id: Option<String>,

    /// A column and its type, for example `instant_utc:timestamptz`; may be given several times.
    #[arg(long, value_name = "NAME:TYPE", value_parser = column)]
    column: Vec<(String, ColumnSpec)>,

    /// Fields that change per attempt: stored, but a new value alone is no change.
    #[arg(long, value_name = "FIELDS", value_delimiter = ',')]
    volatile: Vec<String>,

    /// What happens to a row that is there already; upsert when left out.
    #[arg(long, value_enum)]
    mode: Option<Mode>,

    /// The field that orders two contents of one identity: an older one is stale.
    #[arg(long = "version", value_name = "FIELD")]
    version_field: Option<String>,

    /// What a bad record does: `fail` the batch, or `quarantine[:MOST]` keeps it aside, up to a share (1%) or a number;
    /// 10% when left out.
    #[arg(long, value_name = "WHAT", value_parser = on_bad)]
    on_bad: Option<OnBadSpec>,

    /// The format, when the name and the first bytes don't tell.
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// CSV: what stands between fields (`\t` is a tab).
    #[arg(long, value_name = "CHAR")]
    delimiter: Option<String>,

    /// CSV: a text that means null, for example NA; may be given several times.
    #[arg(long, value_name = "TEXT")]
    null: Vec<String>,

    /// The pipeline's name, with which batches are remembered; the table's name when left out.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Mode {
    /// The newest content wins; equal content is left untouched.
    Upsert,
    /// The first delivery's row stays.
    InsertOnce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One JSON object a line.
    Ndjson,
    /// One array of JSON objects.
    Json,
    /// A GeoJSON `FeatureCollection`.
    Geojson,
    /// Comma-separated values with a header.
    Csv,
    /// Apache Parquet (feature `parquet`).
    Parquet,
}

/// Whether a path names a pipeline file: by its ending, so that a data file never needs a flag to be one.
pub(crate) fn is_pipeline_file(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("yaml") || end.eq_ignore_ascii_case("yml"))
}

impl DeclareArgs {
    /// The pipeline that a file declares. No flag may say something else.
    pub(crate) fn beside_file(&self, path: &Path) -> Result<Pipeline, Failure> {
        let given = self.given();
        if !given.is_empty() {
            return Err(Failure::usage(
                format!("{} and a pipeline file: one of them describes the pipeline", given.join(", ")),
                format!("write it into {}, or leave the file out and use flags only", path.display()),
            ));
        }
        from_file(path)
    }

    /// The pipeline of a file if one is named, else that of the flags.
    pub(crate) fn file_or_flags(&self, file: Option<&Path>) -> Result<Pipeline, Failure> {
        file.map_or_else(|| self.pipeline(), |path| self.beside_file(path))
    }

    /// Whether no flag was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.given().is_empty()
    }

    /// The pipeline that the flags declare.
    pub(crate) fn pipeline(&self) -> Result<Pipeline, Failure> {
        let Some(table) = &self.into else {
            return Err(Failure::usage(
                "where should the records go?",
                "add `--into TABLE --key FIELDS`, or name a pipeline file first (`landonce init FILE` writes one)",
            ));
        };
        let identity = match &self.sender_id {
            Some(field) => {
                IdentitySpec::Map(IdentityMap { sender_id: Some(field.clone()), ..IdentityMap::default() })
            }
            None if self.key.is_empty() => {
                return Err(Failure::usage(
                    "what makes two records the same?",
                    "add `--key FIELDS` (or `--sender-id FIELD`); `landonce init FILE` proposes one from the data",
                ));
            }
            None => IdentitySpec::List(self.key.iter().map(|field| field.trim().to_owned()).collect()),
        };
        let spec = Spec {
            pipeline: self.name.clone().unwrap_or_else(|| table.clone()),
            store: None,
            source: self.source(),
            identity,
            volatile: self.volatile.clone(),
            target: TargetSpec {
                table: table.clone(),
                columns: ColumnsSpec(self.column.clone()),
                rest: None,
                managed: ManagedSpec::default(),
            },
            write: WriteSpec {
                mode: match self.mode {
                    Some(Mode::InsertOnce) => ModeSpec::InsertOnce,
                    Some(Mode::Upsert) | None => ModeSpec::Upsert,
                },
                version: self.version_field.clone(),
                ..WriteSpec::default()
            },
            on_bad_record: self.on_bad.clone().unwrap_or_default(),
            derive: Vec::new(),
            archive: None,
            notify: Vec::new(),
            apply: Vec::new(),
            hook: None,
        };
        Ok(Pipeline::from_spec(spec)?)
    }

    fn source(&self) -> SourceSpec {
        let delimiter = self.delimiter.as_deref().map(|written| match written {
            "\\t" | "tab" => "\t".to_owned(),
            other => other.to_owned(),
        });
        SourceSpec {
            format: self.format.map(|format| match format {
                Format::Ndjson => FormatSpec::Ndjson,
                Format::Json => FormatSpec::Json,
                Format::Geojson => FormatSpec::Geojson,
                Format::Csv => FormatSpec::Csv,
                Format::Parquet => FormatSpec::Parquet,
            }),
            csv: CsvSpec { delimiter, header: None, nulls: self.null.clone() },
            ..SourceSpec::default()
        }
    }

    /// The flags that were given, by name.
    fn given(&self) -> Vec<&'static str> {
        [
            ("--into", self.into.is_some()),
            ("--key", !self.key.is_empty()),
            ("--sender-id", self.sender_id.is_some()),
            ("--column", !self.column.is_empty()),
            ("--volatile", !self.volatile.is_empty()),
            ("--mode", self.mode.is_some()),
            ("--version", self.version_field.is_some()),
            ("--on-bad", self.on_bad.is_some()),
            ("--format", self.format.is_some()),
            ("--delimiter", self.delimiter.is_some()),
            ("--null", !self.null.is_empty()),
            ("--name", self.name.is_some()),
        ]
        .into_iter()
        .filter_map(|(flag, is_given)| is_given.then_some(flag))
        .collect()
    }
}

/// The pipeline that a file declares.
pub(crate) fn from_file(path: &Path) -> Result<Pipeline, Failure> {
    if !path.exists() {
        return Err(Failure::usage(
            format!("no pipeline file at `{}`", path.display()),
            "check the path; `landonce init FILE` writes a first pipeline file from your data",
        ));
    }
    Ok(Pipeline::from_file(path)?)
}

/// `name:type`; a type holds no colon, so the last one divides.
fn column(text: &str) -> Result<(String, ColumnSpec), String> {
    let (name, ty) = text
        .rsplit_once(':')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| "a name and a type are due, for example `instant_utc:timestamptz`".to_owned())?;
    let ty = ty.parse().map_err(|unknown: landonce_core::column::UnknownType| unknown.to_string())?;
    Ok((name.to_owned(), ColumnSpec { ty, field: None, round: None }))
}

fn on_bad(text: &str) -> Result<OnBadSpec, String> {
    match text.split_once(':') {
        None if text == "fail" => Ok(OnBadSpec::Fail),
        None if text == "quarantine" => Ok(OnBadSpec::Quarantine(QuarantineSpec { max: CEILING.to_owned() })),
        Some(("quarantine", max)) => Ok(OnBadSpec::Quarantine(QuarantineSpec { max: max.to_owned() })),
        _ => Err("`fail`, `quarantine`, or `quarantine:1%` is due".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use landonce_core::pipeline::{Ceiling, IdentityFrom, OnBad};

    use super::*;

    #[derive(clap::Parser)]
    struct Only {
        #[command(flatten)]
        declare: DeclareArgs,
    }

    fn parsed(flags: &[&str]) -> DeclareArgs {
        Only::try_parse_from(std::iter::once(&"x").chain(flags)).unwrap().declare
    }

    #[test]
    fn flags_declare_what_a_file_would() {
        let flags = parsed(&[
            "--into",
            "ops.duty",
            "--key",
            "a,b",
            "--column",
            "at:timestamptz",
            "--column",
            "sum:decimal(20,8)",
            "--volatile",
            "sent_at",
            "--on-bad",
            "quarantine:3",
            "--delimiter",
            "\\t",
            "--format",
            "csv",
        ]);
        let pipeline = flags.pipeline().unwrap();
        let declared = pipeline.declared();
        assert_eq!(declared.name(), "ops.duty");
        assert_eq!(
            declared.identity().from,
            IdentityFrom::Fields { names: vec!["a".into(), "b".into()], joined: None }
        );
        assert_eq!(declared.target().columns[1].ty.to_string(), "decimal(20,8)");
        assert_eq!(declared.source().delimiter, Some(b'\t'));
        assert_eq!(declared.on_bad(), OnBad::Quarantine(Ceiling::Count(3)));
        assert_eq!(declared.volatile(), ["sent_at"]);
    }

    #[test]
    fn a_missing_table_or_identity_is_asked_for() {
        assert!(parsed(&[]).pipeline().unwrap_err().help()[0].contains("--into"));
        assert!(parsed(&["--into", "t"]).pipeline().unwrap_err().help()[0].contains("--key"));
    }

    #[test]
    fn flags_beside_a_file_are_named_and_refused() {
        let error = parsed(&["--into", "t", "--name", "n"]).beside_file(Path::new("p.yaml")).unwrap_err();
        assert_eq!(error.message(), "--into, --name and a pipeline file: one of them describes the pipeline");
    }

    #[test]
    fn misspelled_values_are_refused() {
        for flags in
            [["--column", "at"], ["--column", ":text"], ["--column", "a:texte"], ["--on-bad", "keep"]]
        {
            assert!(Only::try_parse_from(std::iter::once("x").chain(flags)).is_err(), "{flags:?}");
        }
    }
}
