//! What is proposed for deliveries whose truth is known.

use landonce_core::pipeline::IdentityFrom;
use proptest::prelude::*;

use super::*;
use crate::pipeline::Pipeline;

fn propose_for(samples: &[(&str, String)]) -> (Proposal, Pipeline) {
    let batches: Vec<Batch> =
        samples.iter().map(|(name, text)| Batch::from_bytes(*name, text.as_bytes())).collect();
    let proposal = propose(&batches).unwrap();
    let pipeline =
        Pipeline::from_yaml(&proposal.yaml).unwrap_or_else(|error| panic!("{error}\n{}", proposal.yaml));
    (proposal, pipeline)
}

fn lines(count: u64, line: impl Fn(u64) -> String) -> String {
    (0..count).map(|at| line(at) + "\n").collect()
}

fn identity(pipeline: &Pipeline) -> Vec<&str> {
    match &pipeline.declared().identity().from {
        IdentityFrom::Fields { names, .. } => names.iter().map(String::as_str).collect(),
        other => panic!("fields are due, not {other:?}"),
    }
}

fn ty<'p>(pipeline: &'p Pipeline, column: &str) -> Option<&'p landonce_core::column::Type> {
    pipeline
        .declared()
        .target()
        .columns
        .iter()
        .find(|declared| declared.name == column)
        .map(|declared| &declared.ty)
}

fn says(proposal: &Proposal, what: &str) {
    assert!(
        proposal.findings.iter().any(|finding| finding.contains(what)),
        "{what}: {:#?}",
        proposal.findings
    );
}

/// Two events a flight; the id and what belongs to the attempt come from `attempt`.
fn flight_events(attempt: &str, is_id_stable: bool) -> String {
    lines(60, |at| {
        let (flight, kind) = (at / 2, ["departure", "arrival"][(at % 2) as usize]);
        let seed = if is_id_stable { 0 } else { attempt.len() as u64 };
        format!(
            r#"{{"event_id":"00000000-0000-4000-8000-{:012}","flight_id":"B6-{flight}-2013-03-03","event_kind":"{kind}","flight_date":"2013-03-03","instant_utc":"2013-03-03T{:02}:{:02}:00Z","sent_at":"{attempt}{at}","trace":{{"id":"{attempt}{at}","app":"fids"}},"gate":{}}}"#,
            at * 31 + seed * 7919,
            at % 24,
            at / 24,
            at % 7,
        )
    })
}

#[test]
fn the_natural_key_is_found_and_a_made_up_id_is_only_mentioned() {
    let (proposal, pipeline) = propose_for(&[("schedule/2013-03-03.ndjson", flight_events("a", true))]);
    assert_eq!(identity(&pipeline), ["flight_id", "event_kind"]);
    assert_eq!((pipeline.name(), pipeline.declared().target().table.name.as_str()), ("schedule", "schedule"));
    says(&proposal, "(flight_id, event_kind): unique in 60 of 60 records, never null.");
    says(&proposal, "event_id is unique too, but looks made up");
    assert!(proposal.yaml.contains("# identity: {sender_id: event_id}"), "{}", proposal.yaml);
    // Nothing was measured of what its name says: a comment, no effect.
    assert!(pipeline.declared().volatile().is_empty());
    assert!(proposal.yaml.contains("# volatile: [sent_at, trace]"), "{}", proposal.yaml);
    for (column, want) in [
        ("flight_id", "text"),
        ("instant_utc", "timestamptz"),
        ("flight_date", "date"),
        ("gate", "integer"),
        ("event_id", "uuid"),
    ] {
        assert_eq!(ty(&pipeline, column).map(ToString::to_string).as_deref(), Some(want), "{column}");
    }
    assert_eq!(ty(&pipeline, "trace"), None);
}

#[test]
fn two_deliveries_show_an_unstable_id_and_what_changes_per_attempt() {
    // G1, G3
    let second: Vec<String> =
        flight_events("bb", false).lines().rev().map(|line| format!("{line}\n")).collect();
    let second = second.concat().replacen("\"gate\":3", "\"gate\":99", 1);
    let (proposal, pipeline) = propose_for(&[("a.ndjson", flight_events("a", false)), ("b.ndjson", second)]);
    assert_eq!(identity(&pipeline), ["flight_id", "event_kind"]);
    assert_eq!(pipeline.declared().volatile(), ["event_id", "sent_at", "trace.id"]);
    says(&proposal, "event_id is a new one in 60 of 60 pairs");
    says(&proposal, "trace.id differs in 60 of 60 pairs");
    says(&proposal, "gate differs in 1 of 60 pairs: a correction");
    assert!(!proposal.yaml.contains("sender_id"), "{}", proposal.yaml);
}

#[tokio::test]
async fn what_is_proposed_lands_the_second_delivery_as_unchanged() {
    let (first, second) = (flight_events("a", false), flight_events("bb", false));
    let (_, pipeline) = propose_for(&[("a.ndjson", first.clone()), ("b.ndjson", second.clone())]);
    let folder = tempfile::tempdir().unwrap();
    let store = crate::Store::open(&format!("sqlite:{}", folder.path().join("t.db").display())).unwrap();
    let land = async |text: String| {
        let batch = Batch::from_bytes("events.ndjson", text);
        pipeline.ingest(&store, &batch).await.unwrap().outcome
    };
    assert_eq!(land(first).await.inserted, 60);
    let outcome = land(second).await;
    assert_eq!((outcome.read, outcome.unchanged), (60, 60), "{outcome:?}");
}

#[test]
fn a_stable_id_is_offered_beside_a_natural_key_and_chosen_without_one() {
    let (proposal, pipeline) =
        propose_for(&[("a.ndjson", flight_events("a", true)), ("b.ndjson", flight_events("bb", true))]);
    assert_eq!(identity(&pipeline), ["flight_id", "event_kind"]);
    says(&proposal, "event_id is the same in both deliveries, in 60 of 60 pairs");
    assert!(proposal.yaml.contains("\n# identity: {sender_id: event_id}"), "{}", proposal.yaml);

    let bodies = |sent: u64| {
        lines(30, |at| format!(r#"{{"id":{},"body":"text {}","sent_at":{sent}}}"#, at + 5, at % 3))
    };
    let (proposal, pipeline) = propose_for(&[("a.ndjson", bodies(1)), ("b.ndjson", bodies(2))]);
    assert_eq!(pipeline.declared().identity().from, IdentityFrom::SenderId("id".into()));
    assert_eq!(pipeline.declared().volatile(), ["sent_at"]);
    says(&proposal, "id is the same in both deliveries, in 30 of 30 pairs");
}

#[test]
fn a_key_that_repeats_a_little_still_pairs_deliveries_and_a_field_of_one_delivery_is_no_attempt() {
    let parcels = |year: u64| {
        lines(60, |at| {
            let id = if at < 4 { "---".to_owned() } else { format!("106-{at}") };
            let owner = if year == 2014 { format!("\"o{}\"", at % 7) } else { "null".to_owned() };
            let zone = if year == 2014 && at == 30 { 9 } else { at % 3 };
            format!(
                r#"{{"parcel_id":"{id}","zone":"C-{zone}","owner":{owner},"feature_id":{},"geometry":{{"type":"Point","coordinates":[{}.00{year},42]}}}}"#,
                at + year,
                at % 50
            )
        })
    };
    let (proposal, pipeline) = propose_for(&[("a.ndjson", parcels(2013)), ("b.ndjson", parcels(2014))]);
    says(
        &proposal,
        "56 records of the first delivery (60) were found again in the second (60), by (parcel_id)",
    );
    says(&proposal, "zone differs in 1 of 56 pairs: a correction");
    says(&proposal, "owner differs in 56 of 56 pairs, mostly because only one delivery has a value there");
    says(&proposal, "geometry differs in 56 of 56 pairs, to 6 decimal places");
    says(&proposal, "feature_id is a new one in 56 of 56 pairs");
    assert_eq!(pipeline.declared().volatile(), ["feature_id"]);
}

#[test]
fn row_numbers_that_both_deliveries_count_are_no_stable_id() {
    let rows = |from: u64| {
        lines(40, |at| format!(r#"{{"id":{at},"note":"text {}","gate":{}}}"#, at / 2 + from, (at + from) % 9))
    };
    let (proposal, pipeline) = propose_for(&[("a.ndjson", rows(0)), ("b.ndjson", rows(500))]);
    assert!(!matches!(pipeline.declared().identity().from, IdentityFrom::SenderId(_)), "{}", proposal.yaml);
    says(&proposal, "don't show the same events");
}

#[test]
fn without_a_unique_combination_the_identity_is_the_content_and_the_nearest_is_named() {
    let header = "InvoiceNo,StockCode,Quantity,UnitPrice\n";
    let rows = lines(96, |at| format!("5363{:02},A{},{},2.55", at / 8, (at % 8).min(6), at % 5));
    let repeated = "536300,A0,0,2.55\n";
    let (proposal, pipeline) = propose_for(&[("orders.csv", format!("{header}{rows}{repeated}"))]);
    assert_eq!(pipeline.declared().identity().from, IdentityFrom::Content(None));
    says(&proposal, "1 record repeats another one whole");
    says(
        &proposal,
        "(InvoiceNo, StockCode) comes nearest: 12 of its values stand in more than one record (24 records)",
    );
    says(&proposal, "ask for a line number");
}

#[test]
fn an_unmeasured_id_and_its_copies_are_no_part_of_a_content_identity() {
    let hooks = lines(30, |at| {
        format!(
            r#"{{"delivery_id":"evt_{at:020}","event":"e{}","headers":{{"X-Delivery":"evt_{at:020}","n":{}}},"retry_count":0}}"#,
            at % 4,
            at / 4
        )
    });
    let (proposal, pipeline) = propose_for(&[("hooks.ndjson", hooks)]);
    assert_eq!(pipeline.declared().identity().from, IdentityFrom::Content(None), "{}", proposal.yaml);
    assert_eq!(pipeline.declared().volatile(), ["delivery_id", "headers.X-Delivery", "retry_count"]);
}

#[test]
fn a_day_that_nothing_else_says_is_kept_in_the_identity() {
    let of = |name: &str| {
        lines(30, |at| {
            format!(
                r#"{{"flight_code":"{name}{at}","flight_date":"2013-03-03","export_date":"2013-03-04","gate":{}}}"#,
                at % 3
            )
        })
    };
    let (proposal, pipeline) = propose_for(&[("a.ndjson", of("B6-"))]);
    assert_eq!(identity(&pipeline), ["flight_code", "flight_date"]);
    says(&proposal, "flight_date has one value in all these records");
    let (_, pipeline) = propose_for(&[("a.ndjson", of("2013-03-03/B6-"))]);
    assert_eq!(identity(&pipeline), ["flight_code"]);
}

#[test]
fn another_days_delivery_isnt_taken_for_a_second_attempt() {
    let of = |day: u64| {
        lines(40, |at| {
            format!(
                r#"{{"flight_code":"B6-{at}","flight_date":"2013-03-{day:02}","dep_time":{},"arr_time":{},"tail":"N{}"}}"#,
                at * day,
                at * day + 7,
                at + day * 100
            )
        })
    };
    let (proposal, pipeline) = propose_for(&[("a.ndjson", of(3)), ("b.ndjson", of(4))]);
    assert_eq!(identity(&pipeline), ["flight_code", "flight_date"]);
    assert!(pipeline.declared().volatile().is_empty(), "{}", proposal.yaml);
    says(&proposal, "don't show the same events");
}

#[test]
fn csv_codes_stay_texts_and_texts_among_numbers_are_nulls() {
    let rows = lines(30, |at| {
        let delay = if at % 5 == 0 { "NA".to_owned() } else { at.to_string() };
        format!("S{at};0213{};{delay};2013-03-03 0{}:15", at % 9, at % 9)
    });
    let (proposal, pipeline) = propose_for(&[("stops.csv", format!("stop_id;zip;delay;seen\n{rows}"))]);
    assert_eq!(pipeline.declared().source().delimiter, Some(b';'));
    assert_eq!(pipeline.declared().source().nulls, ["NA"]);
    assert_eq!(identity(&pipeline), ["stop_id"]);
    assert_eq!(ty(&pipeline, "zip"), None);
    assert_eq!(ty(&pipeline, "delay").map(ToString::to_string).as_deref(), Some("integer"));
    assert_eq!(ty(&pipeline, "seen").map(ToString::to_string).as_deref(), Some("timestamp"));
    says(&proposal, "NA stands among numbers or dates");
}

#[test]
fn a_version_is_offered_as_a_comment() {
    let rows = lines(30, |at| {
        format!(
            r#"{{"order_no":"o{at}","state":"s{}","updated_at":"2026-06-01T00:00:{:02}Z"}}"#,
            at % 3,
            at % 20
        )
    });
    let (proposal, pipeline) = propose_for(&[("orders.ndjson", rows)]);
    assert_eq!(identity(&pipeline), ["order_no"]);
    assert!(proposal.yaml.contains("\n  # version: updated_at\n"), "{}", proposal.yaml);
    let taken = proposal.yaml.replace("  # version: updated_at\n", "  version: updated_at\n");
    assert!(Pipeline::from_yaml(&taken).is_ok());
}

#[test]
fn bad_records_are_told_and_only_bad_ones_are_an_error() {
    let good = lines(30, |at| format!(r#"{{"order_no":"o{at}"}}"#));
    let (proposal, _) = propose_for(&[("a.ndjson", format!("{good}nonsense\n{{\"a\":1,\"a\":2}}\n"))]);
    says(&proposal, "2 of 32 records are bad and weren't measured; the first is record 31: syntax");
    let error = propose(&[Batch::from_bytes("a.ndjson", "nonsense\n")]).unwrap_err();
    assert_eq!((error.kind(), error.bad_records().len()), (crate::error::Kind::BadRecords, 1));
    let empty = propose(&[Batch::from_bytes("a.ndjson", "")]).unwrap_err().to_string();
    assert!(empty.contains("has no record to measure"), "{empty}");
    assert!(propose(&[]).is_err());
    let mixed = propose(&[Batch::from_bytes("a.ndjson", "{}\n"), Batch::from_bytes("a.csv", "a\n1\n")]);
    assert!(mixed.unwrap_err().to_string().contains("of one format"));
}

#[test]
fn a_long_sample_is_read_up_to_a_limit_and_says_so() {
    let (proposal, pipeline) =
        propose_for(&[("a.ndjson", lines(50_001, |at| format!(r#"{{"order_no":{at}}}"#)))]);
    assert_eq!(identity(&pipeline), ["order_no"]);
    says(&proposal, "only the first 50,000 records were read");
}

#[test]
fn too_few_records_are_said_to_be_too_few() {
    let (proposal, _) = propose_for(&[("a.ndjson", "{\"code\":1}\n{\"code\":2}\n".to_owned())]);
    says(&proposal, "Only 2 different records");
}

#[test]
fn names_that_are_taken_or_too_long_get_a_column_of_another_name() {
    let long = "k".repeat(70);
    let rows = lines(30, |at| {
        format!(r#"{{"payload":"p{}","{long}":"x{}","Day":{at},"day":{at}}}"#, at % 6, at / 6)
    });
    let (proposal, pipeline) = propose_for(&[("a.ndjson", rows)]);
    let columns: Vec<(&str, &str)> = pipeline
        .declared()
        .target()
        .columns
        .iter()
        .map(|column| (column.name.as_str(), column.field.as_str()))
        .collect();
    let fields: Vec<&str> = columns.iter().map(|(_, field)| *field).collect();
    assert!(columns.iter().all(|(name, _)| name.len() <= 63 && *name != "payload"), "{}", proposal.yaml);
    assert!(!(fields.contains(&"Day") && fields.contains(&"day")), "{}", proposal.yaml);
    assert!(landonce_core::plan::resolve(pipeline.declared(), None).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    // Whatever the fields are called and hold, the file parses, and its own sample goes through it.
    #[test]
    fn every_proposal_is_a_valid_pipeline_that_takes_its_sample(
        names in prop::collection::btree_set("\\PC{0,12}|[a-z_]{1,8}|[#:'\"{}\\[\\], \n-]{1,6}", 1..5),
        values in prop::collection::vec(
            prop::collection::vec(0_usize..9, 5),
            1..40,
        ),
    ) {
        let text = lines(values.len() as u64, |at| {
            let members: serde_json::Map<String, serde_json::Value> = names
                .iter()
                .zip(&values[at as usize])
                .map(|(name, kind)| (name.clone(), value(*kind, at)))
                .collect();
            serde_json::Value::Object(members).to_string()
        });
        let (_, pipeline) = propose_for(&[("a.ndjson", text.clone())]);
        let plan = landonce_core::plan::resolve(pipeline.declared(), None).unwrap();
        let mut reader = landonce_core::record::RecordReader::new(pipeline.declared(), &plan, false);
        for line in text.lines() {
            let read = reader.read(line.as_bytes(), landonce_core::record::Wanted::Row);
            prop_assert!(read.is_ok(), "{line}: {:?}", read.err());
        }
    }
}

fn value(kind: usize, at: u64) -> serde_json::Value {
    match kind {
        0 => serde_json::json!(at),
        1 => serde_json::json!(format!("text {at}")),
        2 => serde_json::json!(at % 3),
        3 => serde_json::json!(format!("2026-06-01T00:{:02}:00Z", at % 60)),
        4 => serde_json::json!({"nested": at}),
        5 => serde_json::json!(null),
        6 => serde_json::json!(0.5 * f64::from(u32::try_from(at).unwrap())),
        7 => serde_json::json!(at.is_multiple_of(2)),
        _ => serde_json::json!(format!("2026-06-{:02}", at % 28 + 1)),
    }
}
