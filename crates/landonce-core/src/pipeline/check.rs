//! From as written to as meant: every rule that spans more than one key.

use super::{
    Archive, Ceiling, DeclaredColumn, DeclaredForm, Identity, IdentityFrom, OnBad, Pipeline, PipelineError,
    Rest, Shape, Source, Target, Write, apply, derive, feed, hook, notify, shape, whole,
};
use crate::plan::{Absent, KeyForm, TableName, WriteMode};
use crate::spec::{
    AbsentSpec, DeletedSpec, IdentityFields, IdentityMap, IdentitySpec, KeyFormSpec, ModeSpec, NullKey,
    OnBadSpec, Repeats, SourceSpec, Spec, TargetSpec, WriteSpec,
};

/// The default record limit: 16 MiB.
const MAX_RECORD: u64 = 16 << 20;
/// The longest name, in bytes: PostgreSQL cuts longer ones silently, so two names could become one.
const MAX_NAME: usize = 63;
/// The longest pipeline name, in bytes.
const MAX_PIPELINE: usize = 200;

pub(super) type Checked<T> = Result<T, PipelineError>;

pub(super) fn fault<T>(key: &'static str, message: impl Into<String>) -> Checked<T> {
    Err(PipelineError { key, message: message.into() })
}

pub(super) fn resolve(spec: Spec) -> Checked<Pipeline> {
    let name = spec.pipeline.clone();
    if name.trim().is_empty() || name.len() > MAX_PIPELINE || name.chars().any(char::is_control) {
        return fault(
            "pipeline",
            format!("a name of 1 to {MAX_PIPELINE} bytes without control characters is due"),
        );
    }
    let message = spec.source.message.clone();
    let mut source = source(spec.source)?;
    let (identity, mut volatile) = identity(spec.identity)?;
    volatile.extend(spec.volatile);
    let target = target(spec.target)?;
    let mut write = write(spec.write)?;
    if source.feed.is_stream() {
        source.shape = shape::resolve(message.unwrap_or_default(), &identity, &target, &mut write)?;
    }
    deletes(&write)?;
    let derived = derive::resolve(spec.derive, &target)?;
    let archive = spec.archive.map(Archive::new).transpose()?;
    let notify = notify::resolve(spec.notify)?;
    let hook = spec.hook.map(|hook| hook::resolve(hook, &identity, &target, &write)).transpose()?;
    let apply = apply::resolve(&spec.apply)?;
    if !apply.is_empty() && write.whole.is_some() {
        return fault(
            "apply",
            "goes with `write.mode: insert_once` or `upsert`: it runs for each record that is new, and a run that speaks for a \
             whole period or source has no such records",
        );
    }
    let pipeline = Pipeline {
        name,
        source,
        identity,
        volatile,
        target,
        write,
        on_bad: on_bad(&spec.on_bad_record)?,
        derived,
        period: None,
        archive,
        notify,
        hook,
        apply,
    };
    across(&pipeline)?;
    whole::across(&pipeline)?;
    Ok(pipeline)
}

fn source(spec: SourceSpec) -> Checked<Source> {
    let delimiter = match spec.csv.delimiter.as_deref().map(str::as_bytes) {
        None => None,
        Some(&[b'"' | b'\r' | b'\n' | 0]) => {
            return fault("source.csv.delimiter", "a quote or a line end can't delimit");
        }
        Some(&[one]) if one.is_ascii() => Some(one),
        Some(_) => return fault("source.csv.delimiter", "one ASCII character is due"),
    };
    if spec.max_record == Some(0) {
        return fault("source.max_record", "a number of bytes above 0 is due");
    }
    let (feed, cut) = feed::resolve(&spec)?;
    Ok(Source {
        feed,
        cut,
        shape: Shape::default(),
        complete: super::complete::resolve(spec.complete, spec.format)?,
        file: spec.file,
        format: spec.format,
        delimiter,
        header: spec.csv.header,
        nulls: spec.csv.nulls,
        max_record: spec.max_record.unwrap_or(MAX_RECORD),
    })
}

/// The identity, and the fields that change per attempt (`except`).
fn identity(spec: IdentitySpec) -> Checked<(Identity, Vec<String>)> {
    let map = match spec {
        IdentitySpec::List(fields) => IdentityMap { fields: Some(fields), ..IdentityMap::default() },
        IdentitySpec::Map(map) => map,
    };
    let form = map.form.map(|form| match form {
        KeyFormSpec::Uuid => DeclaredForm::Key(KeyForm::Uuid),
        KeyFormSpec::Bytes => DeclaredForm::Key(KeyForm::Bytes),
        KeyFormSpec::Hex => DeclaredForm::Key(KeyForm::Hex),
        KeyFormSpec::Columns => DeclaredForm::Columns,
    });
    let has_fields = map.fields.is_some();
    let from = match (map.fields, map.sender_id, map.hash_of) {
        (Some(names), None, None) => {
            names_are_distinct("identity.fields", &names)?;
            if map.joined.as_deref() == Some("") {
                return fault(
                    "identity.joined",
                    "an empty separator makes (\"a\",\"bc\") and (\"ab\",\"c\") one key; give one, or leave `joined` out",
                );
            }
            IdentityFrom::Fields { names, joined: map.joined.clone() }
        }
        (None, Some(field), None) => IdentityFrom::SenderId(field),
        (None, None, Some(IdentityFields::All(_))) => IdentityFrom::Content(None),
        (None, None, Some(IdentityFields::List(names))) => {
            names_are_distinct("identity.hash_of", &names)?;
            IdentityFrom::Content(Some(names))
        }
        _ => return fault("identity", "exactly one of `fields`, `sender_id` and `hash_of` is due"),
    };
    if map.joined.is_some() && !has_fields {
        return fault("identity.joined", "goes with `fields`");
    }
    if !map.except.is_empty() && !matches!(from, IdentityFrom::Content(_)) {
        return fault(
            "identity.except",
            "goes with `hash_of`; for other identities list the fields under `volatile`",
        );
    }
    let null_is_value = map.null_key == NullKey::AsValue;
    if form == Some(DeclaredForm::Columns) {
        if !matches!(from, IdentityFrom::Fields { joined: None, .. } | IdentityFrom::SenderId(_)) {
            return fault(
                "identity.as",
                "`columns` goes with `fields` or `sender_id`: a hash needs a key column",
            );
        }
        if null_is_value {
            return fault(
                "identity.null_key",
                "`as_value` needs a hashed key: in a unique constraint two NULLs are two rows",
            );
        }
    }
    let keeps_repeats = map.repeats == Some(Repeats::Keep);
    if map.repeats.is_some() && !matches!(from, IdentityFrom::Content(_)) {
        return fault(
            "identity.repeats",
            "goes with `hash_of`: records that have an identity of their own are one record when it comes again",
        );
    }
    if keeps_repeats && matches!(from, IdentityFrom::Content(Some(_))) {
        return fault(
            "identity.repeats",
            "`keep` goes with `hash_of: all`: records that agree in some fields only aren't equal, and which of them is the second \
             copy would be chance",
        );
    }
    if !map.nulls.is_empty() && matches!(from, IdentityFrom::Content(_)) {
        return fault(
            "identity.nulls",
            "goes with `fields` or `sender_id`: a hash of the content has no field that is the identity",
        );
    }
    let identity =
        Identity { from, form, normalize: map.normalize, null_is_value, nulls: map.nulls, keeps_repeats };
    Ok((identity, map.except))
}

/// A table that records may go to.
pub(super) fn table(key: &'static str, written: &str) -> Checked<TableName> {
    let parts: Vec<&str> = written.split('.').collect();
    let table = match parts.as_slice() {
        [name] => TableName { schema: None, name: (*name).to_owned() },
        [schema, name] => TableName { schema: Some((*schema).to_owned()), name: (*name).to_owned() },
        _ => return fault(key, "`table` or `schema.table` is due"),
    };
    for part in parts {
        name(key, part)?;
    }
    if table.name.starts_with("landonce_") || table.schema.as_deref() == Some("landonce") {
        return fault(key, "names that begin with `landonce` are landonce's own; choose another");
    }
    Ok(table)
}

fn target(spec: TargetSpec) -> Checked<Target> {
    let table = table("target.table", &spec.table)?;
    let mut columns = Vec::new();
    for (column, declared) in spec.columns.0 {
        name("target.columns", &column)?;
        let field = declared.field.unwrap_or_else(|| column.clone());
        columns.push(DeclaredColumn { name: column, field, ty: declared.ty, round: declared.round });
    }
    names_are_distinct(
        "target.columns",
        &columns.iter().map(|column| column.field.clone()).collect::<Vec<_>>(),
    )?;
    let rest = match spec.rest.as_deref() {
        None => Rest::Default,
        Some("ignore") => Rest::Ignore,
        Some("refuse") => Rest::Refuse,
        Some(column) => {
            name("target.rest", column)?;
            Rest::Column(column.to_owned())
        }
    };
    let managed = spec.managed;
    let mut taken: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    if let Rest::Column(column) = &rest {
        taken.push(column);
    }
    for column in managed.names() {
        name("target.managed", column)?;
        if taken.contains(&column) {
            return fault("target.managed", format!("`{column}` names two columns"));
        }
        taken.push(column);
    }
    if let Some(twice) = repeated(&taken) {
        return fault("target.columns", format!("`{twice}` names two columns"));
    }
    Ok(Target { table, columns, rest, managed })
}

fn write(spec: WriteSpec) -> Checked<Write> {
    let whole = match spec.mode {
        ModeSpec::OverwritePeriod => Some(whole::of_period(&spec)?),
        ModeSpec::Snapshot => Some(whole::of_snapshot(&spec)?),
        ModeSpec::InsertOnce | ModeSpec::Upsert => {
            whole::refuse_without(&spec)?;
            None
        }
    };
    let mode = match spec.mode {
        ModeSpec::InsertOnce => WriteMode::InsertOnce,
        ModeSpec::Upsert | ModeSpec::OverwritePeriod | ModeSpec::Snapshot => WriteMode::Upsert,
    };
    if mode == WriteMode::InsertOnce {
        if spec.version.is_some() {
            return fault("write.version", "goes with `mode: upsert`: insert-once never replaces a row");
        }
        if spec.absent.is_some() {
            return fault("write.absent", "goes with `mode: upsert`: insert-once never replaces a row");
        }
        if spec.delete_when.is_some() {
            return fault("write.delete_when", "goes with `mode: upsert`");
        }
    }
    let retires_deleted = spec.deleted == DeletedSpec::Retire;
    if spec.version.is_some() && spec.delete_when.is_some() && !retires_deleted {
        return fault(
            "write.delete_when",
            "can't be ordered by `version`: a late put would bring a deleted row back, because its version is gone with it; with \
             `deleted: retire` the row keeps its version",
        );
    }
    if let Some(delete) = &spec.delete_when
        && delete.equals.is_empty()
    {
        return fault("write.delete_when", "`equals` lists the field's texts that mean delete");
    }
    Ok(Write {
        mode,
        version: spec.version,
        // In the modes above a record is a whole row.
        absent: if whole.is_some() { Some(Absent::Replace) } else { absent_field(spec.absent)? },
        delete_when: spec.delete_when.map(|delete| (delete.field, delete.equals)),
        retires_deleted,
        whole,
    })
}

/// `deleted` says what deletes do, so there have to be some.
fn deletes(write: &Write) -> Checked<()> {
    if write.retires_deleted && write.delete_when.is_none() {
        return fault(
            "write.deleted",
            "nothing says which records are deletes; declare `write.delete_when`, or a stream whose messages delete \
             (`source.message`)",
        );
    }
    Ok(())
}

fn absent_field(spec: Option<AbsentSpec>) -> Checked<Option<Absent>> {
    Ok(match spec {
        None => None,
        Some(AbsentSpec::Replace) => Some(Absent::Replace),
        Some(AbsentSpec::Keep) => Some(Absent::Keep),
        Some(AbsentSpec::Retire | AbsentSpec::Delete) => {
            return fault(
                "write.absent",
                "`retire` and `delete` are for rows that a whole payload doesn't have: they go with `mode: snapshot`",
            );
        }
    })
}

fn on_bad(spec: &OnBadSpec) -> Checked<OnBad> {
    let OnBadSpec::Quarantine(quarantine) = spec else { return Ok(OnBad::Fail) };
    let max = quarantine.max.trim();
    let ceiling = match max.strip_suffix('%') {
        Some(share) => share
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|share| (0.0..=100.0).contains(share))
            .map(|share| Ceiling::Share(share / 100.0)),
        None => max.parse().ok().map(Ceiling::Count),
    };
    match ceiling {
        Some(ceiling) => Ok(OnBad::Quarantine(ceiling)),
        None => {
            fault("on_bad_record.quarantine.max", format!("a share (`1%`) or a number is due, not `{max}`"))
        }
    }
}

/// Rules that need the whole pipeline.
fn across(pipeline: &Pipeline) -> Checked<()> {
    if pipeline.source.feed.is_stream() {
        if pipeline.write.whole.is_some() {
            return fault(
                "source",
                "a stream goes with `write.mode: insert_once` or `upsert`: a piece of it speaks for no whole period or source",
            );
        }
        if !pipeline.source.complete.is_empty() {
            return fault("source.complete", "goes with files: a stream is never all there is");
        }
    }
    let identity_fields: &[String] = match &pipeline.identity.from {
        IdentityFrom::Fields { names, .. } => names,
        IdentityFrom::SenderId(field) => std::slice::from_ref(field),
        IdentityFrom::Content(_) => &[],
    };
    for field in identity_fields {
        if pipeline.volatile.contains(field) {
            return fault(
                "volatile",
                format!("`{field}` is part of the identity: it can't change per attempt"),
            );
        }
        if let Some(column) = pipeline.target.columns.iter().find(|column| &column.field == field)
            && !column.ty.is_identity()
        {
            return fault(
                "identity",
                format!(
                    "`{field}` is a {} column; an identity needs values with one exact spelling",
                    column.ty
                ),
            );
        }
    }
    if let Some(version) = &pipeline.write.version {
        match pipeline.target.columns.iter().find(|column| &column.field == version) {
            Some(column) if column.ty.is_ordered() => {}
            Some(column) => {
                return fault(
                    "write.version",
                    format!(
                        "`{version}` is a {} column, which has no order that every store agrees on; use integer, decimal, timestamptz, timestamp or date",
                        column.ty
                    ),
                );
            }
            // An existing table's catalogue may know its type: `plan::resolve` looks there.
            None => {}
        }
        if pipeline.volatile.contains(version) {
            return fault("volatile", format!("`{version}` is the version: it can't change per attempt"));
        }
    }
    if pipeline.write.mode == WriteMode::Upsert
        && matches!(pipeline.identity.from, IdentityFrom::Content(None))
        && pipeline.write.version.is_some()
    {
        return fault(
            "write.version",
            "the identity is the whole content: two versions are two rows; name the identity's fields",
        );
    }
    Ok(())
}

pub(super) fn name(key: &'static str, name: &str) -> Checked<()> {
    if name.is_empty() || name.contains('\0') {
        return fault(key, "a name can't be empty or hold U+0000");
    }
    if name.len() > MAX_NAME {
        return fault(
            key,
            format!(
                "`{name}` is {} bytes long; PostgreSQL cuts names after {MAX_NAME}, so that two could become one: shorten it",
                name.len()
            ),
        );
    }
    Ok(())
}

pub(super) fn names_are_distinct(key: &'static str, names: &[String]) -> Checked<()> {
    if names.is_empty() {
        return if key == "target.columns" { Ok(()) } else { fault(key, "at least one field is due") };
    }
    for (at, name) in names.iter().enumerate() {
        if name.is_empty() {
            return fault(key, "a field's name can't be empty");
        }
        if names[..at].contains(name) {
            return fault(key, format!("`{name}` stands twice"));
        }
    }
    Ok(())
}

/// A name that stands twice. (Names beyond 63 bytes were refused one by one, so whole names are compared.)
fn repeated<'n>(names: &[&'n str]) -> Option<&'n str> {
    names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(yaml: &str) -> String {
        Pipeline::new(Spec::parse(yaml).unwrap()).unwrap_err().to_string()
    }

    const BASE: &str = "pipeline: p\nidentity: [id]\ntarget: {table: t}\n";

    #[test]
    fn a_plain_pipeline_is_taken() {
        let pipeline = Pipeline::new(Spec::parse(BASE).unwrap()).unwrap();
        assert_eq!(pipeline.source().max_record, MAX_RECORD);
        assert_eq!(pipeline.write().mode, WriteMode::Upsert);
    }

    #[test]
    fn names_that_postgres_would_cut_are_refused() {
        let long = "é".repeat(32);
        let yaml = format!("pipeline: p\nidentity: [id]\ntarget: {{table: t, columns: {{{long}: text}}}}\n");
        assert!(told(&yaml).contains("64 bytes long"));
        assert!(
            told("pipeline: p\nidentity: [id]\ntarget: {table: landonce_inbox}\n").contains("landonce's own")
        );
    }

    #[test]
    fn rules_across_keys_are_told_with_their_key() {
        for (more, want) in [
            ("volatile: [id]\n", "volatile: `id` is part of the identity"),
            ("write: {mode: insert_once, version: v}\n", "write.version: goes with `mode: upsert`"),
            ("on_bad_record: {quarantine: {max: lots}}\n", "on_bad_record.quarantine.max"),
            ("source: {csv: {delimiter: ab}}\n", "source.csv.delimiter"),
        ] {
            let told = told(&format!("{BASE}{more}"));
            assert!(told.starts_with(want), "{told}");
        }
        for (yaml, want) in [
            ("identity: []", "at least one field"),
            ("identity: [a, a]", "stands twice"),
            ("identity: {fields: [a], sender_id: b}", "exactly one of"),
            ("identity: {fields: [a], joined: ''}", "one key"),
            ("identity: {hash_of: all, as: columns}", "key column"),
            ("identity: {fields: [a], as: columns, null_key: as_value}", "two NULLs"),
            ("identity: [f]\nwrite: {version: v}\nvolatile: [v]", "is the version"),
        ] {
            let told = told(&format!("pipeline: p\n{yaml}\ntarget: {{table: t, columns: {{f: text}}}}\n"));
            assert!(told.contains(want), "{yaml}: {told}");
        }
        let float = told("pipeline: p\nidentity: [f]\ntarget: {table: t, columns: {f: float}}\n");
        assert!(float.contains("exact spelling"), "{float}");
    }

    #[test]
    fn the_ceiling_is_a_share_or_a_number() {
        assert!(!Ceiling::Share(0.01).is_over(1, 100));
        assert!(Ceiling::Share(0.01).is_over(2, 100));
        assert!(!Ceiling::Count(3).is_over(3, 5));
        assert!(Ceiling::Count(0).is_over(1, 1_000_000));
    }
}
