//! Webhooks as they are written, and what they mean.

use super::{AddedFrom, EventId, Hook, NoEvent, NoSecret, Taken};
use crate::pipeline::Pipeline;
use crate::spec::Spec;
use crate::webhook::{BadSecret, Headers, IdFrom, Scheme, github};

fn declared_with(more: &str, hook: &str) -> Result<Hook, String> {
    let yaml = format!("pipeline: p\n{more}\nhook: {hook}\n");
    let spec = Spec::parse(&yaml).map_err(|error| error.to_string())?;
    let pipeline = Pipeline::new(spec).map_err(|error| error.to_string())?;
    Ok(pipeline.hook().cloned().unwrap())
}

fn declared(hook: &str) -> Result<Hook, String> {
    declared_with("identity: [id]\ntarget: {table: t}", hook)
}

#[test]
fn a_known_sender_needs_a_secret_and_no_more() {
    let hook = declared("{scheme: github, secrets: ['${HOOK}']}").unwrap();
    assert_eq!(hook.scheme(), &Scheme::GitHub);
    assert_eq!(hook.event_id(), &EventId::Sender(IdFrom::Header(github::ID.to_owned())));
    assert_eq!((hook.added().len(), hook.group()), (0, None));
    for (scheme, tolerance, want) in [
        ("standard", "", Scheme::Standard { tolerance_secs: 300 }),
        ("stripe", ", tolerance: 90s", Scheme::Stripe { tolerance_secs: 90 }),
        ("stripe", ", tolerance: 1h", Scheme::Stripe { tolerance_secs: 3600 }),
        ("shopify", "", Scheme::Shopify),
    ] {
        let hook =
            declared(&format!("{{scheme: {scheme}, secrets: ['${{A}}', '${{B}}']{tolerance}}}")).unwrap();
        assert_eq!(hook.scheme(), &want);
    }
}

#[test]
fn what_is_written_is_meant() {
    let hook = declared(
        "{scheme: {hmac: {header: X-Sig, hash: sha512, encoding: base64, prefix: v0=, timestamp: X-Time, signs: 'v0:{timestamp}:{body}'}}, \
         secrets: ['${A}'], tolerance: 1m, event_id: {field: id}, fields: {kind: {header: X-Kind}, by: event_id}, group: {most: 7}}",
    )
    .unwrap();
    let Scheme::Hmac(hmac) = hook.scheme() else { panic!() };
    assert_eq!((&*hmac.header, hmac.timestamp.as_ref().unwrap().tolerance_secs), ("X-Sig", 60));
    assert_eq!(hook.event_id(), &EventId::Sender(IdFrom::Field("id".to_owned())));
    assert_eq!(hook.group(), Some(7));
    let added: Vec<_> = hook.added().iter().map(|added| (added.name.as_str(), &added.from)).collect();
    let kind = AddedFrom::Header("X-Kind".to_owned());
    assert_eq!(added, [("by", &AddedFrom::EventId), ("kind", &kind)]);
    let grouped = declared("{scheme: github, secrets: ['${A}'], group: {}}").unwrap();
    assert_eq!(grouped.group(), Some(256));
}

#[test]
fn the_id_of_standard_webhooks_is_the_signed_one_by_either_name() {
    for declared_id in ["", ", event_id: {header: Webhook-Id}", ", event_id: {header: svix-id}"] {
        let hook = declared(&format!("{{scheme: standard, secrets: ['${{A}}']{declared_id}}}")).unwrap();
        assert_eq!(hook.event_id(), &EventId::Sender(IdFrom::Standard), "{declared_id}");
    }
    let other = declared("{scheme: bearer, secrets: ['${A}'], event_id: {header: svix-id}}").unwrap();
    assert_eq!(other.event_id(), &EventId::Sender(IdFrom::Header("svix-id".to_owned())));
}

#[test]
fn what_makes_no_sense_is_said_with_its_key() {
    for (hook, want) in [
        ("{scheme: github, secrets: []}", "hook.secrets: without one, anybody could send"),
        ("{scheme: github, secrets: ['${A}', '${A}']}", "hook.secrets: `${A}` stands twice"),
        ("{scheme: bearer, secrets: ['${A}']}", "hook.event_id: `bearer` doesn't say where"),
        ("{scheme: {hmac: {header: X-Sig}}, secrets: ['${A}']}", "hook.event_id: `hmac` doesn't say where"),
        ("{scheme: github, secrets: ['${A}'], tolerance: 5m}", "hook.tolerance: `github` signs no time"),
        (
            "{scheme: {hmac: {header: X-Sig}}, secrets: ['${A}'], event_id: content, tolerance: 5m}",
            "hook.tolerance: `hmac` signs no time",
        ),
        ("{scheme: stripe, secrets: ['${A}'], tolerance: 0s}", "hook.tolerance: `1s` to `24h` is due"),
        ("{scheme: stripe, secrets: ['${A}'], tolerance: 25h}", "hook.tolerance: `1s` to `24h` is due"),
        ("{scheme: stripe, secrets: ['${A}'], tolerance: 5 min}", "hook.tolerance: `1s` to `24h` is due"),
        ("{scheme: stripe, secrets: ['${A}'], tolerance: '300'}", "hook.tolerance: `1s` to `24h` is due"),
        (
            "{scheme: {hmac: {header: 'X Sig'}}, secrets: ['${A}']}",
            "hook.scheme.hmac.header: `X Sig` is no name",
        ),
        (
            "{scheme: {hmac: {header: X-Sig, signs: '{body}'}}, secrets: ['${A}']}",
            "hook.scheme.hmac.signs: goes with `timestamp`",
        ),
        (
            "{scheme: {hmac: {header: X-Sig, timestamp: X-T, signs: '{body}'}}, secrets: ['${A}']}",
            "hook.scheme.hmac.signs: what is signed must hold",
        ),
        (
            "{scheme: github, secrets: ['${A}'], event_id: {header: ''}}",
            "hook.event_id.header: `` is no name",
        ),
        ("{scheme: github, secrets: ['${A}'], event_id: {field: ''}}", "hook.event_id.field: `` is no path"),
        (
            "{scheme: github, secrets: ['${A}'], event_id: {field: a..b}}",
            "hook.event_id.field: `a..b` is no path",
        ),
        (
            "{scheme: github, secrets: ['${A}'], event_id: {field: a.}}",
            "hook.event_id.field: `a.` is no path",
        ),
        (
            "{scheme: github, secrets: ['${A}'], fields: {a: {header: authorization}}}",
            "hook.fields: the header `authorization` holds a secret",
        ),
        (
            "{scheme: github, secrets: ['${A}'], fields: {a: {header: Cookie}}}",
            "the header `Cookie` holds a secret",
        ),
        (
            "{scheme: stripe, secrets: ['${A}'], fields: {id: event_id}}",
            "hook.fields: `id` is the body's own field",
        ),
        (
            "{scheme: stripe, secrets: ['${A}'], event_id: content, fields: {by: event_id}}",
            "hook.fields: `by` is to hold the event's id",
        ),
        ("{scheme: github, secrets: ['${A}'], fields: {a: {header: 'a:'}}}", "hook.fields: `a:` is no name"),
        ("{scheme: github, secrets: ['${A}'], fields: {a: event_id, a: event_id}}", "`a`"),
        ("{scheme: github, secrets: ['${A}'], group: {most: 0}}", "hook.group.most: 1 to 4096 is due, not 0"),
        ("{scheme: github, secrets: ['${A}'], group: {most: 5000}}", "hook.group.most: 1 to 4096"),
        ("{scheme: gitlab, secrets: ['${A}']}", "gitlab"),
    ] {
        let told = declared(hook).unwrap_err();
        assert!(told.contains(want), "{hook}: {told}");
    }
}

#[test]
fn an_event_speaks_for_itself_only() {
    let hook = "{scheme: github, secrets: ['${A}'], fields: {a: event_id}}";
    for (more, want) in [
        (
            "identity: [id]\ntarget: {table: t, columns: {day: date}}\nwrite: {mode: overwrite_period, period: {field: day, every: day, tz: UTC}}",
            "hook: brings one event at a time, and `mode: overwrite_period`",
        ),
        (
            "identity: [id]\ntarget: {table: t}\nsource: {complete: json_closed}\nwrite: {mode: snapshot, absent: delete}",
            "hook: brings one event at a time, and `mode: snapshot`",
        ),
        (
            "identity: [id]\ntarget: {table: t, columns: {a: boolean}}",
            "the column `a` of type boolean takes none",
        ),
        ("identity: [id]\ntarget: {table: t, columns: {b: {type: 'int[]', field: a}}}", "the column `b`"),
    ] {
        let told = declared_with(more, hook).unwrap_err();
        assert!(told.contains(want), "{more}: {told}");
    }
    assert!(declared_with("identity: [a]\ntarget: {table: t, columns: {a: uuid}}", hook).is_ok());
}

#[test]
fn a_secret_that_is_written_out_is_refused_and_not_repeated() {
    for text in ["sekret", "x${A}", "${A} ", "${}", "${1}", "$A"] {
        let told = declared(&format!("{{scheme: github, secrets: ['{text}']}}")).unwrap_err();
        assert!(told.contains("hook.secrets: a secret isn't written into a file"), "{told}");
        assert!(!told.contains("sekret"));
    }
}

#[test]
fn secrets_come_from_the_environment_and_a_missing_one_is_named() {
    let hook = declared("{scheme: standard, secrets: ['${NEW}', '${OLD}']}").unwrap();
    let old = |name: &str| (name == "OLD").then(|| "whsec_sekret".to_owned());
    assert_eq!(hook.hold(old).unwrap_err(), NoSecret::Missing("NEW".to_owned()));
    let bad = hook.hold(|_| Some("whsec_sekret".to_owned())).unwrap_err();
    assert_eq!(bad, NoSecret::Bad { variable: "NEW".to_owned(), source: BadSecret::Base64 });
    assert!(
        bad.to_string().starts_with("the environment variable `NEW`: ")
            && !bad.to_string().contains("sekret")
    );
    let good = hook.hold(|_| Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned())).unwrap();
    assert_eq!(format!("{good:?}"), "[Held(…), Held(…)]");
}

#[test]
fn a_secret_of_a_few_letters_is_a_placeholder() {
    let hook = declared("{scheme: github, secrets: ['${A}']}").unwrap();
    let short = hook.hold(|_| Some("s".to_owned())).unwrap_err();
    assert!(short.to_string().contains("`A`: a webhook secret of fewer than 8 characters"), "{short}");
    assert!(matches!(hook.hold(|_| Some(String::new())), Err(NoSecret::Bad { .. })));
    assert!(hook.hold(|_| Some("s3cr3t-8".to_owned())).is_ok());
}

fn take(hook: &Hook, headers: &[(&str, &str)], body: &str) -> Result<Taken, NoEvent> {
    let headers: Headers<'_> = headers.iter().copied().collect();
    hook.take(&headers, body.as_bytes())
}

fn record(hook: &Hook, headers: &[(&str, &str)], body: &str) -> String {
    String::from_utf8(take(hook, headers, body).unwrap().record).unwrap()
}

#[test]
fn added_fields_stand_in_front_of_a_body_that_stays_as_it_came() {
    let hook = declared(
        "{scheme: github, secrets: ['${A}'], fields: {delivery: event_id, event: {header: X-GitHub-Event}}}",
    )
    .unwrap();
    let headers = [("x-github-delivery", "d-1"), ("x-github-event", "issues")];
    let front = r#"{"delivery":"d-1","event":"issues""#;
    assert_eq!(record(&hook, &headers, " {\"a\" : 1.0}\r\n"), format!("{front},\"a\" : 1.0}}"));
    assert_eq!(record(&hook, &headers, "{ }"), format!("{front} }}"));
    assert_eq!(record(&hook, &headers[..1], "{}"), r#"{"delivery":"d-1","event":null}"#);
    let quotes = [("x-github-delivery", r#"a"b\c"#), ("x-github-event", "'; DROP TABLE t; --")];
    assert_eq!(record(&hook, &quotes, "{}"), r#"{"delivery":"a\"b\\c","event":"'; DROP TABLE t; --"}"#);
    assert_eq!(take(&hook, &headers, "{}").unwrap().id.as_deref(), Some("d-1"));
    let bare = declared("{scheme: github, secrets: ['${A}'], event_id: content}").unwrap();
    assert_eq!(take(&bare, &[], "{\"a\":1}"), Ok(Taken { id: None, record: b"{\"a\":1}".to_vec() }));
}

#[test]
fn what_lies_deeper_is_brought_to_the_top_as_it_is_written() {
    let hook = declared(
        "{scheme: stripe, secrets: ['${A}'], fields: {amount: {field: data.object.amount}, tags: {field: data.tags}, no: {field: a.b.c}}}",
    )
    .unwrap();
    let body =
        r#"{"id":"evt_1","a":{"b":7},"data":{"tags":[1, "x"],"object":{"amount":12345678901234567890.10}}}"#;
    let rest = body.strip_prefix('{').unwrap();
    let expected = format!(r#"{{"amount":12345678901234567890.10,"no":null,"tags":[1, "x"],{rest}"#);
    assert_eq!(record(&hook, &[], body), expected);
    let own = declared("{scheme: stripe, secrets: ['${A}'], fields: {data: {field: data}}}").unwrap_err();
    assert!(own.contains("`data` is in the record already"), "{own}");
    let path = declared("{scheme: stripe, secrets: ['${A}'], fields: {x: {field: a..b}}}").unwrap_err();
    assert!(path.contains("`a..b` is no path"), "{path}");
}

#[test]
fn what_is_no_event_is_said() {
    let hook = declared("{scheme: stripe, secrets: ['${A}'], fields: {event: {header: X-Event}}}").unwrap();
    for (body, want) in [
        ("", "the body can't be read"),
        ("{\"id\":\"a\"", "the body can't be read"),
        ("{\"id\":\"a\"}{\"id\":\"b\"}", "the body can't be read"),
        ("[{\"id\":\"a\"}]", "the body is an array, and one JSON object is due"),
        ("\"a\"", "one JSON object is due"),
        ("{}", "the event's id is missing: the body has no field `id`"),
        ("{\"id\":\"a\",\"\\u0065vent\":1}", "the body has a field `event` of its own"),
    ] {
        let told = take(&hook, &[], body).unwrap_err().to_string();
        assert!(told.contains(want), "{body}: {told}");
    }
    let twice = take(&hook, &[("x-event", "a"), ("X-Event", "b")], "{\"id\":\"a\"}").unwrap_err().to_string();
    assert!(
        twice.contains("`event` can't be added: the header `X-Event` is there more than once"),
        "{twice}"
    );
    let github = declared("{scheme: github, secrets: ['${A}']}").unwrap();
    let missing = take(&github, &[], "{}").unwrap_err().to_string();
    assert_eq!(missing, "the event's id can't be read: the header `X-GitHub-Delivery` is missing");
}
