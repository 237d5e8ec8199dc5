//! From `hook:` as written to what it means.

use crate::column::Type;
use crate::pipeline::check::{Checked, fault};
use crate::pipeline::{Identity, Target, Write};
use crate::spec::{
    EncodingSpec, EventIdSpec, GroupSpec, HashSpec, HmacSpec, HookFieldSpec, HookSpec, SchemeSpec,
};
use crate::webhook::hmac::{Encoding, Hash, Join, Timestamp};
use crate::webhook::{Hmac, IdFrom, Scheme, TOLERANCE_SECS, standard};

use super::{Added, AddedFrom, EventId, Hook};

/// Far more than clocks are apart, and far below the year at which moving a digit of a time would matter.
const MOST_TOLERANCE_SECS: u64 = 24 * 3600;
/// Events of a transaction, unless somebody says otherwise.
const GROUP: u16 = 256;
const MOST_GROUP: u16 = 4096;
/// Headers by which a sender shows who it is.
const SECRET: [&str; 3] = ["Authorization", "Proxy-Authorization", "Cookie"];
const JOIN: &str = "{timestamp}.{body}";

pub(in crate::pipeline) fn resolve(
    spec: HookSpec,
    identity: &Identity,
    target: &Target,
    write: &Write,
) -> Checked<Hook> {
    if let Some(whole) = &write.whole {
        return fault(
            "hook",
            format!(
                "brings one event at a time, and `mode: {}` speaks for more than its records; use `insert_once` or `upsert`",
                whole.mode_name()
            ),
        );
    }
    if identity.keeps_repeats {
        return fault("hook", "brings one event at a time: `repeats: keep` has nothing to count in it");
    }
    let (scheme, name) = scheme(&spec.scheme, spec.tolerance.as_deref())?;
    let event_id = event_id(spec.event_id, &scheme, name)?;
    let mut added = Vec::new();
    for (name, from) in spec.fields {
        added.push(one_added(name, from, &event_id, target)?);
    }
    Ok(Hook { scheme, secrets: secrets(&spec.secrets)?, event_id, added, group: group(spec.group)? })
}

fn scheme(spec: &SchemeSpec, tolerance: Option<&str>) -> Checked<(Scheme, &'static str)> {
    let tolerance_secs = tolerance.map_or(Ok(TOLERANCE_SECS), seconds)?;
    let (scheme, name, has_time) = match spec {
        SchemeSpec::Standard => (Scheme::Standard { tolerance_secs }, "standard", true),
        SchemeSpec::Github => (Scheme::GitHub, "github", false),
        SchemeSpec::Stripe => (Scheme::Stripe { tolerance_secs }, "stripe", true),
        SchemeSpec::Shopify => (Scheme::Shopify, "shopify", false),
        SchemeSpec::Bearer => (Scheme::Bearer, "bearer", false),
        SchemeSpec::Hmac(spec) => {
            (Scheme::Hmac(hmac(spec, tolerance_secs)?), "hmac", spec.timestamp.is_some())
        }
    };
    if tolerance.is_some() && !has_time {
        return fault(
            "hook.tolerance",
            format!("`{name}` signs no time that could be compared: leave it out"),
        );
    }
    Ok((scheme, name))
}

fn hmac(spec: &HmacSpec, tolerance_secs: u64) -> Checked<Hmac> {
    header("hook.scheme.hmac.header", &spec.header)?;
    if !spec.prefix.bytes().all(|byte| byte.is_ascii_graphic()) {
        return fault("hook.scheme.hmac.prefix", "visible ASCII is due, such as `sha256=`");
    }
    let timestamp = match (&spec.timestamp, &spec.signs) {
        (None, None) => None,
        (None, Some(_)) => {
            return fault(
                "hook.scheme.hmac.signs",
                "goes with `timestamp`: without one the body alone is signed",
            );
        }
        (Some(name), signs) => {
            header("hook.scheme.hmac.timestamp", name)?;
            let join = Join::parse(signs.as_deref().unwrap_or(JOIN))
                .or_else(|error| fault("hook.scheme.hmac.signs", error.to_string()))?;
            Some(Timestamp { header: name.clone().into(), join, tolerance_secs })
        }
    };
    Ok(Hmac {
        header: spec.header.clone().into(),
        hash: match spec.hash {
            HashSpec::Sha256 => Hash::Sha256,
            HashSpec::Sha512 => Hash::Sha512,
        },
        encoding: match spec.encoding {
            EncodingSpec::Hex => Encoding::Hex,
            EncodingSpec::Base64 => Encoding::Base64,
        },
        prefix: spec.prefix.clone().into(),
        timestamp,
    })
}

/// `90s`, `5m`, `1h`: a whole number and one unit.
fn seconds(text: &str) -> Checked<u64> {
    let unit = match text.trim().chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        _ => 0,
    };
    let number = text.trim().strip_suffix(['s', 'm', 'h']).unwrap_or_default();
    let seconds = number.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    match seconds {
        Some(seconds) if (1..=MOST_TOLERANCE_SECS).contains(&seconds) => Ok(seconds),
        _ => {
            let shown: String = text.chars().take(40).collect();
            fault("hook.tolerance", format!("`1s` to `24h` is due, such as `5m`, not `{shown}`"))
        }
    }
}

/// A text that isn't `${NAME}` may be the secret itself: it is not repeated.
fn secrets(written: &[String]) -> Checked<Vec<String>> {
    if written.is_empty() {
        return fault(
            "hook.secrets",
            "without one, anybody could send events; put it into an environment variable, and write `[\"${NAME}\"]`",
        );
    }
    let mut names: Vec<String> = Vec::new();
    for text in written {
        let Some(name) = variable(text) else {
            return fault(
                "hook.secrets",
                "a secret isn't written into a file; put it into an environment variable, and write `${NAME}` here",
            );
        };
        if names.iter().any(|has| has == name) {
            return fault("hook.secrets", format!("`${{{name}}}` stands twice"));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// What `${NAME}` names, if the text is that and no more.
fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some(name)
}

fn event_id(spec: Option<EventIdSpec>, scheme: &Scheme, name: &str) -> Checked<EventId> {
    match spec {
        Some(EventIdSpec::Content) => Ok(EventId::Content),
        // The signed one, whichever of its names it comes by.
        Some(EventIdSpec::Header(name))
            if matches!(scheme, Scheme::Standard { .. }) && standard::is_id(&name) =>
        {
            Ok(EventId::Sender(IdFrom::Standard))
        }
        Some(EventIdSpec::Header(name)) => {
            header("hook.event_id.header", &name)?;
            Ok(EventId::Sender(IdFrom::Header(name)))
        }
        Some(EventIdSpec::Field(name)) => {
            path("hook.event_id.field", &name)?;
            Ok(EventId::Sender(IdFrom::Field(name)))
        }
        None => match scheme.event_id() {
            Some(from) => Ok(EventId::Sender(from)),
            None => fault(
                "hook.event_id",
                format!(
                    "`{name}` doesn't say where its sender puts an event's id; write `{{header: …}}` or `{{field: …}}`, or `content` for \
                     a sender without one"
                ),
            ),
        },
    }
}

fn one_added(name: String, from: HookFieldSpec, event_id: &EventId, target: &Target) -> Checked<Added> {
    if name.is_empty() {
        return fault("hook.fields", "a field's name can't be empty");
    }
    if let EventId::Sender(IdFrom::Field(field)) = event_id
        && *field == name
        && !name.contains('.')
    {
        return fault(
            "hook.fields",
            format!(
                "`{name}` is the body's own field of the event's id, and so it is in the record: leave it out here"
            ),
        );
    }
    let from = match from {
        HookFieldSpec::EventId if *event_id == EventId::Content => {
            return fault(
                "hook.fields",
                format!("`{name}` is to hold the event's id, and with `event_id: content` there is none"),
            );
        }
        HookFieldSpec::EventId => AddedFrom::EventId,
        HookFieldSpec::Header(name) => {
            header("hook.fields", &name)?;
            if SECRET.iter().any(|secret| secret.eq_ignore_ascii_case(&name)) {
                return fault(
                    "hook.fields",
                    format!(
                        "the header `{name}` holds a secret, which would be stored with the record: leave it out here"
                    ),
                );
            }
            AddedFrom::Header(name)
        }
        HookFieldSpec::Field(written) => {
            let names = path("hook.fields", &written)?;
            if names == [name.as_str()] {
                return fault("hook.fields", format!("`{name}` is in the record already: leave it out here"));
            }
            return Ok(Added { name, from: AddedFrom::Field(names) });
        }
    };
    if let Some(column) = target.columns.iter().find(|column| column.field == name)
        && !takes_texts(&column.ty)
    {
        return fault(
            "hook.fields",
            format!("`{name}` is a text, and the column `{}` of type {} takes none", column.name, column.ty),
        );
    }
    Ok(Added { name, from })
}

/// Whether any text at all can be a value of the type.
fn takes_texts(ty: &Type) -> bool {
    !matches!(ty, Type::Boolean | Type::Array(_) | Type::Geometry { .. })
}

fn group(spec: Option<GroupSpec>) -> Checked<Option<usize>> {
    let Some(group) = spec else { return Ok(None) };
    match group.most.unwrap_or(GROUP) {
        most @ 1..=MOST_GROUP => Ok(Some(most.into())),
        most => fault("hook.group.most", format!("1 to {MOST_GROUP} is due, not {most}")),
    }
}

/// The names that lead to a value in the body.
fn path(key: &'static str, written: &str) -> Checked<Vec<String>> {
    let names: Vec<String> = written.split('.').map(str::to_owned).collect();
    if names.iter().any(String::is_empty) {
        return fault(
            key,
            format!("`{}` is no path into the body, such as `data.object.amount`", written.escape_debug()),
        );
    }
    Ok(names)
}

/// RFC 9110's `token`. What isn't one is in no request, and the hook would never find it.
fn header(key: &'static str, name: &str) -> Checked<()> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_token) {
        return Ok(());
    }
    fault(key, format!("`{}` is no name of a header, such as `X-Event-Id`", name.escape_debug()))
}
