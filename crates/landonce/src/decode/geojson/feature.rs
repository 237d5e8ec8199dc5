//! One feature made a flat object: its properties as they are spelled, its geometry, its id.

use std::borrow::Cow;
use std::collections::BTreeSet;

use landonce_core::bad_record::{BadKind, BadRecord};

use crate::decode::bad::syntax;
use crate::decode::json::{Members, unescape};

/// The field that a feature's geometry becomes.
const GEOMETRY: &str = "geometry";
/// The field that a feature's id becomes, unless the properties have one of that name.
const FEATURE_ID: &str = "feature_id";

/// The members of a feature that are kept, as they are spelled.
#[derive(Default)]
struct Feature<'a> {
    properties: Option<&'a [u8]>,
    geometry: Option<&'a [u8]>,
    id: Option<&'a [u8]>,
}

/// Puts the flat object of a feature into `out`. Values aren't looked into; the scanner does that.
pub(super) fn flatten(text: &[u8], out: &mut Vec<u8>) -> Result<(), BadRecord> {
    let feature = read(text)?;
    let missing = |name: &str| syntax(name, "a feature must have this member, be it null");
    let properties = feature.properties.ok_or_else(|| missing("properties"))?;
    let geometry = feature.geometry.ok_or_else(|| missing(GEOMETRY))?;
    let (fields, has_feature_id) = fields(properties)?;
    out.clear();
    out.push(b'{');
    out.extend_from_slice(fields);
    if !fields.is_empty() {
        out.push(b',');
    }
    push(out, GEOMETRY, geometry);
    if let Some(id) = feature.id.filter(|_| !has_feature_id) {
        out.push(b',');
        push(out, FEATURE_ID, id);
    }
    out.push(b'}');
    Ok(())
}

fn push(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    out.extend_from_slice(value);
}

fn read(text: &[u8]) -> Result<Feature<'_>, BadRecord> {
    let mut members = Members::of(text).ok_or_else(|| syntax("", "a feature must be a JSON object"))?;
    let mut feature = Feature::default();
    let mut names: BTreeSet<Cow<'_, [u8]>> = BTreeSet::new();
    while let Some(quoted) = members.name().map_err(|fault| syntax("", fault))? {
        let value = members.value().map_err(|fault| syntax("", fault))?;
        let name = unescape(quoted);
        match &*name {
            b"type" if *unescape(value) != *b"Feature" => {
                return Err(syntax("type", "a feature's type must be \"Feature\""));
            }
            b"properties" => feature.properties = Some(value),
            b"geometry" => feature.geometry = Some(value),
            b"id" if value == b"null" => {}
            b"id" => match value.first() {
                Some(b'"' | b'-' | b'0'..=b'9') => feature.id = Some(value),
                _ => return Err(syntax("id", "a feature's id must be a string or a number")),
            },
            _ => {}
        }
        if let Some(twice) = names.replace(name) {
            let detail = "the feature has this member twice";
            return Err(BadRecord::new(BadKind::DuplicateName, String::from_utf8_lossy(&twice), detail));
        }
    }
    if !names.contains(&b"type"[..]) {
        return Err(syntax("type", "a feature must have the type \"Feature\""));
    }
    Ok(feature)
}

/// What stands between the braces of the properties, and whether one of them is called as our own field for the id.
fn fields(properties: &[u8]) -> Result<(&[u8], bool), BadRecord> {
    if properties == b"null" {
        return Ok((b"", false));
    }
    let wrong = |fault| syntax("properties", fault);
    let mut members = Members::of(properties).ok_or_else(|| wrong("must be an object or null"))?;
    let mut has_feature_id = false;
    while let Some(quoted) = members.name().map_err(wrong)? {
        members.value().map_err(wrong)?;
        let name = unescape(quoted);
        if *name == *GEOMETRY.as_bytes() {
            let detail =
                "the properties have a field of this name, which is the feature's own geometry's: rename it";
            return Err(BadRecord::new(BadKind::DuplicateName, GEOMETRY, detail));
        }
        has_feature_id |= *name == *FEATURE_ID.as_bytes();
    }
    Ok((properties[1..properties.len() - 1].trim_ascii(), has_feature_id))
}
