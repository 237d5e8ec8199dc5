//! From `source.message` as written to what it means, held against the identity and the write mode.

use super::added::{Field, From};
use super::key::{Gives, Key};
use super::{Codec, Envelope, RegistryAt, Shape, Tombstone};
use crate::column::Type;
use crate::pipeline::check::{Checked, fault};
use crate::pipeline::{Identity, IdentityFrom, Target, Write};
use crate::plan::{Absent, WriteMode};
use crate::spec::{
    CodecSpec, EnvelopeSpec, KeyCodecSpec, KeyMap, KeySpec, MessageFieldSpec, MessageSpec, RegistrySpec,
    TombstoneSpec,
};

/// The field that marks a record as a delete, where the pipeline declares none of its own (`write.delete_when`). No record of a stream
/// may have it.
pub const MARKER: &str = "landonce_delete";
/// Its text.
const MARKED: &str = "true";
/// What is added of a CloudEvent unless it is under another name: its identity.
const CE_ADDED: [(&str, &str); 2] = [("source", "ce_source"), ("id", "ce_id")];
/// The fewest headers that hold secrets, as hooks refuse them.
const SECRET: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// The shape of a stream's messages. Where they may be deletes and the pipeline doesn't say what marks one, `write` gets a mark.
pub(in crate::pipeline) fn resolve(
    spec: MessageSpec,
    identity: &Identity,
    target: &Target,
    write: &mut Write,
) -> Checked<Shape> {
    let envelope = match spec.envelope {
        EnvelopeSpec::None => Envelope::None,
        EnvelopeSpec::Cloudevents => Envelope::CloudEvents,
        EnvelopeSpec::Debezium => Envelope::Debezium,
    };
    let value = match spec.value {
        CodecSpec::Json => Codec::Text,
        CodecSpec::Avro => Codec::Avro,
        CodecSpec::Protobuf => Codec::Protobuf,
    };
    let added = added(spec.fields, envelope, target)?;
    let names: &[String] = match &identity.from {
        IdentityFrom::Fields { names, .. } => names,
        IdentityFrom::SenderId(field) => std::slice::from_ref(field),
        IdentityFrom::Content(_) => &[],
    };
    let outside = |name: &str| added.iter().any(|field| field.name == name && field.is_outside());
    let by_key: Vec<String> = names.iter().filter(|name| !outside(name)).cloned().collect();
    let key = match spec.key {
        Some(spec) => key(spec, by_key)?,
        None if envelope == Envelope::Debezium && !by_key.is_empty() => {
            Some(Key { codec: value, is_text: false, gives: Gives::Identity(by_key) })
        }
        None => None,
    };
    if let Some(key) = &key
        && let Some(twice) =
            key.fields().into_iter().find(|name| added.iter().any(|field| field.name == *name))
    {
        return fault(
            "source.message.fields",
            format!("`{twice}` is given by the key already: leave it out here"),
        );
    }

    let in_key = |name: &str| key.as_ref().is_some_and(|key| key.fields().contains(&name));
    let is_told = !names.is_empty() && names.iter().all(|name| in_key(name) || outside(name));
    let has_version = write.version.as_deref().is_none_or(|version| outside(version) || in_key(version));
    let tombstone = tombstone(spec.tombstone, envelope, write, is_told, has_version)?;
    let deletes = tombstone == Tombstone::Delete || envelope == Envelope::Debezium;
    if deletes {
        takes_deletes(envelope, identity, target, write)?;
    }
    let needs_registry = value != Codec::Text || key.as_ref().is_some_and(|key| key.codec != Codec::Text);
    Ok(Shape {
        envelope,
        value,
        key,
        added,
        tombstone,
        identity: names.to_vec(),
        version: write.version.clone(),
        marker: write
            .delete_when
            .as_ref()
            .and_then(|(field, texts)| Some((field.clone(), texts.first()?.clone()))),
        takes_partial: write.absent == Some(Absent::Keep),
        registry: registry(spec.registry, needs_registry)?,
    })
}

fn added(
    spec: std::collections::BTreeMap<String, MessageFieldSpec>,
    envelope: Envelope,
    target: &Target,
) -> Checked<Vec<Field>> {
    const KEY: &str = "source.message.fields";
    let mut added = Vec::new();
    for (name, from) in spec {
        if name.is_empty() || name == MARKER {
            return fault(KEY, format!("a field can't have the name `{name}`"));
        }
        let from = match from {
            MessageFieldSpec::Topic => From::Topic,
            MessageFieldSpec::Partition => From::Partition,
            MessageFieldSpec::Offset => From::Offset,
            MessageFieldSpec::Timestamp => From::Timestamp,
            MessageFieldSpec::Key => From::Key,
            MessageFieldSpec::Header(header) => {
                if SECRET.contains(&header.to_ascii_lowercase().as_str()) {
                    return fault(
                        KEY,
                        format!(
                            "the header `{header}` holds a secret, which would be stored with the record: leave it out here"
                        ),
                    );
                }
                From::Header(header)
            }
            MessageFieldSpec::Field(written) => {
                let path = path(KEY, &written)?;
                if envelope != Envelope::Debezium && path == [name.as_str()] {
                    return fault(KEY, format!("`{name}` is in the record already: leave it out here"));
                }
                From::Path(path)
            }
            MessageFieldSpec::Attribute(attribute) => {
                if envelope != Envelope::CloudEvents {
                    return fault(KEY, format!("`{name}`: attributes go with `envelope: cloudevents`"));
                }
                if attribute.is_empty()
                    || !attribute.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
                {
                    return fault(
                        KEY,
                        format!("`{attribute}` is no attribute's name: those are of a to z and 0 to 9"),
                    );
                }
                From::Attribute(attribute)
            }
        };
        let is_text = matches!(from, From::Topic | From::Partition | From::Header(_));
        if let Some(column) = target.columns.iter().find(|column| column.field == name)
            && is_text
            && matches!(column.ty, Type::Boolean | Type::Array(_) | Type::Geometry { .. })
        {
            return fault(
                KEY,
                format!(
                    "`{name}` is a text, and the column `{}` of type {} takes none",
                    column.name, column.ty
                ),
            );
        }
        added.push(Field { name, from });
    }
    if envelope == Envelope::CloudEvents {
        for (attribute, name) in CE_ADDED {
            let from = From::Attribute(attribute.to_owned());
            if !added.iter().any(|field| field.from == from) {
                if added.iter().any(|field| field.name == name) {
                    return fault(KEY, format!("`{name}` is the event's {attribute}; choose another name"));
                }
                added.insert(0, Field { name: name.to_owned(), from });
            }
        }
    }
    Ok(added)
}

fn key(spec: KeySpec, by_key: Vec<String>) -> Checked<Option<Key>> {
    const KEY: &str = "source.message.key";
    let (codec, map) = match spec {
        KeySpec::Word(codec) => (codec, None),
        KeySpec::Map(map) => (map.codec, Some(map)),
    };
    let (codec, is_text) = match codec {
        KeyCodecSpec::Ignore if map.is_some() => return fault(KEY, "a key that is ignored gives no field"),
        KeyCodecSpec::Ignore => return Ok(None),
        KeyCodecSpec::Json => (Codec::Text, false),
        KeyCodecSpec::Text => (Codec::Text, true),
        KeyCodecSpec::Avro => (Codec::Avro, false),
        KeyCodecSpec::Protobuf => (Codec::Protobuf, false),
    };
    let gives = match map {
        None if by_key.is_empty() => {
            return fault(
                KEY,
                "the identity has no field that the key could be; say which: `{as: json, field: id}`",
            );
        }
        None if is_text && by_key.len() > 1 => {
            return fault(
                KEY,
                format!("a text is one field, and the identity has {}: {}", by_key.len(), by_key.join(", ")),
            );
        }
        None => Gives::Identity(by_key),
        Some(KeyMap { field: Some(field), fields, .. }) if fields.is_empty() && !field.is_empty() => {
            Gives::Field(field)
        }
        Some(KeyMap { field: None, fields, .. }) if !fields.is_empty() => {
            if is_text {
                return fault(KEY, "a text has no fields: `{as: text, field: id}` takes all of it");
            }
            let mut paths = Vec::new();
            for (field, written) in fields {
                paths.push((field, path(KEY, &written)?));
            }
            Gives::Paths(paths)
        }
        Some(_) => return fault(KEY, "one of `field` and `fields` is due"),
    };
    Ok(Some(Key { codec, is_text, gives }))
}

fn tombstone(
    spec: Option<TombstoneSpec>,
    envelope: Envelope,
    write: &Write,
    is_told: bool,
    has_version: bool,
) -> Checked<Tombstone> {
    const KEY: &str = "source.message.tombstone";
    let can = write.mode == WriteMode::Upsert && write.whole.is_none();
    match spec {
        Some(TombstoneSpec::Bad) => Ok(Tombstone::Bad),
        Some(TombstoneSpec::Ignore) => Ok(Tombstone::Ignore),
        Some(TombstoneSpec::Delete) if !is_told => fault(
            KEY,
            "`delete` needs the whole identity from the key (`source.message.key`) or from `fields`",
        ),
        Some(TombstoneSpec::Delete) if !has_version => fault(
            KEY,
            "a message without a value has no `write.version`, so that its delete has no place among the puts; take the version from \
             `fields` (`{offset: offset}`), or write `ignore` or `bad`",
        ),
        Some(TombstoneSpec::Delete) => Ok(Tombstone::Delete),
        None if can && is_told && has_version => Ok(Tombstone::Delete),
        // The event in front of it has said it.
        None if envelope == Envelope::Debezium => Ok(Tombstone::Ignore),
        None => Ok(Tombstone::Bad),
    }
}

/// Whether the pipeline can take deletes, and what marks one.
fn takes_deletes(envelope: Envelope, identity: &Identity, target: &Target, write: &mut Write) -> Checked<()> {
    let (key, what) = match envelope {
        Envelope::Debezium => ("source.message.envelope", "Debezium's events delete rows"),
        _ => ("source.message.tombstone", "a message without a value deletes the row of its key"),
    };
    if write.mode != WriteMode::Upsert || write.whole.is_some() {
        return fault(
            key,
            format!(
                "{what}, and `mode: {}` takes no deletes; use `upsert`, or `tombstone: ignore` and `envelope: none`",
                write.mode_name()
            ),
        );
    }
    if matches!(identity.from, IdentityFrom::Content(_)) {
        return fault(
            key,
            format!(
                "{what}, and an identity that is the content (`hash_of`) finds no row; name the identity's fields"
            ),
        );
    }
    if write.version.is_some() && !write.retires_deleted {
        return fault(
            key,
            format!(
                "{what}, and with `version` a late put would bring a deleted row back, because its version is gone with it; declare \
                 `write.deleted: retire`, or take no deletes"
            ),
        );
    }
    if target.columns.iter().any(|column| column.field == MARKER) {
        return fault(
            "target.columns",
            format!("`{MARKER}` is what landonce marks deletes with: no column takes it"),
        );
    }
    write.delete_when.get_or_insert_with(|| (MARKER.to_owned(), vec![MARKED.to_owned()]));
    Ok(())
}

fn registry(spec: Option<RegistrySpec>, is_needed: bool) -> Checked<Option<RegistryAt>> {
    const KEY: &str = "source.message.registry";
    let Some(spec) = spec else {
        return if is_needed {
            fault(
                KEY,
                "`avro` and `protobuf` need the address of the registry that has the schemas: `{url: …}`",
            )
        } else {
            Ok(None)
        };
    };
    if !is_needed {
        return fault(KEY, "goes with `avro` or `protobuf`");
    }
    if !spec.url.starts_with("http://") && !spec.url.starts_with("https://") {
        return fault(KEY, "an address that begins with `http://` or `https://` is due under `url`");
    }
    if spec.url.split("://").nth(1).unwrap_or_default().split('/').next().unwrap_or_default().contains('@') {
        return fault(KEY, "the login isn't part of the address: put it into `user` and `password`");
    }
    let login = match (spec.user.as_deref(), spec.password.as_deref()) {
        (None, None) => None,
        (Some(user), Some(password)) => match (variable(user), variable(password)) {
            (Some(user), Some(password)) => Some((user.to_owned(), password.to_owned())),
            // A text that isn't `${NAME}` may be the secret itself: it is not repeated.
            _ => {
                return fault(
                    KEY,
                    "a login isn't written into a file; put it into environment variables, and write `${NAME}` here",
                );
            }
        },
        _ => return fault(KEY, "`user` and `password` go together"),
    };
    Ok(Some(RegistryAt { url: spec.url.trim_end_matches('/').to_owned(), login }))
}

/// What `${NAME}` names, if the text is that and no more.
fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some(name)
}

fn path(key: &'static str, written: &str) -> Checked<Vec<String>> {
    let names: Vec<String> = written.split('.').map(str::to_owned).collect();
    if names.iter().any(String::is_empty) {
        return fault(key, format!("`{written}` isn't names joined by points, such as `source.lsn`"));
    }
    Ok(names)
}
