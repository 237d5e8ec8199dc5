//! A declared proof that a payload is complete holds, or nothing is written (C21, C23).

use std::io::Write;
use std::path::Path;

use landonce::{Batch, Code, Error, Kind, Pipeline};

use crate::given::{Given, counts, on_every_store, pipeline};

on_every_store!(
    what_holds_lands_in_every_form,
    what_is_refuted_leaves_nothing_in_every_form,
    a_cut_at_a_line_end_is_seen_by_what_is_declared_only,
    cut_streams_are_errors_before_any_proof,
    a_plan_is_told_the_same,
    what_is_bad_is_counted_too,
    a_refuted_payload_lands_once_it_is_whole,
    quarantined_entries_need_no_proof,
);

/// A pipeline whose source is declared so.
fn declaring(source: &str) -> Pipeline {
    pipeline(&format!("identity: [id]\ntarget: {{table: t}}\nsource: {source}"))
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), bytes).unwrap();
}

fn sha256(bytes: &[u8]) -> String {
    Batch::from_bytes("x", bytes).id()
}

fn collection(ids: &[u32], behind: &str) -> String {
    let features: Vec<String> = ids
        .iter()
        .map(|id| format!(r#"{{"type":"Feature","properties":{{"id":{id}}},"geometry":null}}"#))
        .collect();
    format!(r#"{{"type":"FeatureCollection","features":[{}]{behind}}}"#, features.join(","))
}

const LINES: &str = "{\"id\":1}\n{\"id\":2}\n";

async fn what_holds_lands_in_every_form(given: Given) {
    let folder = tempfile::tempdir().unwrap();
    let listed = |name: &str, bytes: &[u8]| {
        format!(
            "{{\"files\":[{{\"name\":\"{name}\",\"sha256\":\"{}\",\"bytes\":{},\"records\":2}}]}}",
            sha256(bytes),
            bytes.len()
        )
    };
    write(
        folder.path(),
        "SHA256SUMS",
        format!("{}  other\n{} *s.ndjson\n", sha256(b""), sha256(LINES.as_bytes())),
    );
    write(folder.path(), "m.json", listed("m.ndjson", LINES.as_bytes()));
    write(folder.path(), "c.ndjson.count", "2\n");
    let trailed = format!("{LINES}#rows=2\n");
    for (name, bytes, source) in [
        ("a.json", b"[{\"id\":1},{\"id\":2}]".to_vec(), "{complete: json_closed}"),
        ("a.geojson", collection(&[1, 2], "").into_bytes(), "{complete: json_closed}"),
        ("a.ndjson.gz", gzip(LINES.as_bytes()), "{complete: gzip_trailer}"),
        (
            "two.ndjson.gz",
            [gzip(b"{\"id\":1}\n"), gzip(b"{\"id\":2}\n#EOF\n")].concat(),
            "{complete: [gzip_trailer, {end_marker: '#EOF'}]}",
        ),
        ("a.ndjson", format!("{LINES}#EOF\n").into_bytes(), "{complete: {end_marker: '#EOF'}}"),
        (
            "b.ndjson",
            b"\xef\xbb\xbf{\"id\":1}\r\n{\"id\":2}\r\n#EOF".to_vec(),
            "{complete: {end_marker: '#EOF'}}",
        ),
        ("a.csv", b"\xef\xbb\xbfid\r\n1\r\n2\r\n#EOF\r\n".to_vec(), "{complete: {end_marker: '#EOF'}}"),
        (
            "e.ndjson",
            format!("{LINES}{{\"type\":\"end\",\"rows\":2}}\n").into_bytes(),
            "{complete: {end_marker: {field: type, equals: end}, count: {field: rows}}}",
        ),
        ("t.ndjson", trailed.clone().into_bytes(), "{complete: {count: {trailer: '#rows={n}'}}}"),
        ("t.ndjson.gz", gzip(trailed.as_bytes()), "{complete: {count: {trailer: '#rows={n}'}}}"),
        (
            "n.geojson",
            collection(&[1, 2], ",\"numberMatched\":2").into_bytes(),
            "{complete: [json_closed, {count: {field: numberMatched}}]}",
        ),
        ("c.ndjson", LINES.into(), "{complete: {count: {file: '{file}.count'}}}"),
        ("s.ndjson", LINES.into(), "{complete: {checksum: {file: SHA256SUMS}}}"),
        ("m.ndjson", LINES.into(), "{complete: {manifest: m.json}}"),
    ] {
        write(folder.path(), name, &bytes);
        let batch = Batch::from_file(folder.path().join(name)).unwrap().with_id(name);
        let receipt = given.deliver_batch(&declaring(source), &batch).await;
        let receipt = receipt.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(receipt.outcome.read, 2, "{name}: what ends it is no record");
        let again = given.deliver_batch(&declaring(source), &batch).await.unwrap();
        assert_eq!(again.status, landonce::Status::SkippedDuplicate, "{name}");
    }
}

async fn what_is_refuted_leaves_nothing_in_every_form(given: Given) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "SHA256SUMS", format!("{}  s.ndjson\n{}  t.ndjson\n", sha256(b"a"), sha256(b"b")));
    write(folder.path(), "m.json", "{\"files\":[{\"name\":\"n.ndjson\",\"bytes\":18}]}");
    write(folder.path(), "c.ndjson.count", "3");
    for (name, bytes, source, want) in [
        ("a.ndjson", LINES.to_owned(), "{complete: json_closed}", "no bracket that closes it"),
        ("a.ndjson", LINES.to_owned(), "{complete: gzip_trailer}", "aren't compressed"),
        ("a.ndjson", LINES.to_owned(), "{complete: {end_marker: '#EOF'}}", "`#EOF` is missing"),
        // The marker itself is cut: the proof tells before the bad record does.
        ("a.ndjson", format!("{LINES}#EO"), "{complete: {end_marker: '#EOF'}}", "`#EOF` is missing"),
        ("a.csv", "id,x\n1,1\n#EO".to_owned(), "{complete: {end_marker: '#EOF'}}", "`#EOF` is missing"),
        ("a.csv", String::new(), "{complete: {end_marker: '#EOF'}}", "`#EOF` is missing"),
        (
            "a.ndjson",
            LINES.to_owned(),
            "{complete: {end_marker: {field: type, equals: end}}}",
            "(`type` is `end`) is missing",
        ),
        (
            "a.ndjson",
            format!("{LINES}#rows=3\n"),
            "{complete: {count: {trailer: '#rows={n}'}}}",
            "declares 3 records, 2 were read",
        ),
        (
            "a.geojson",
            collection(&[1, 2], ",\"numberMatched\":3"),
            "{complete: {count: {field: numberMatched}}}",
            "`numberMatched` declares 3 records, 2 were read",
        ),
        ("c.ndjson", LINES.to_owned(), "{complete: {count: {file: '{file}.count'}}}", "declares 3 records"),
        ("d.ndjson", LINES.to_owned(), "{complete: {count: {file: '{file}.count'}}}", "isn't there"),
        ("s.ndjson", LINES.to_owned(), "{complete: {checksum: {file: SHA256SUMS}}}", "the bytes have"),
        (
            "u.ndjson",
            LINES.to_owned(),
            "{complete: {checksum: {file: SHA256SUMS}}}",
            "doesn't list this file",
        ),
        ("m.ndjson", LINES.to_owned(), "{complete: {manifest: m.json}}", "doesn't list"),
    ] {
        write(folder.path(), name, bytes);
        let batch = Batch::from_file(folder.path().join(name)).unwrap();
        for mode in ["upsert", "insert_once"] {
            let pipeline = pipeline(&format!(
                "identity: [id]\ntarget: {{table: t}}\nsource: {source}\nwrite: {{mode: {mode}}}"
            ));
            let error = given.deliver_batch(&pipeline, &batch).await.unwrap_err();
            assert_refuted(&error, want);
        }
    }
    // Two payloads, one behind the other: nobody can say where the first ends.
    let twice = format!("{LINES}#EOF\n{{\"id\":3}}\n#EOF\n");
    let twice = Batch::from_bytes("a.ndjson", twice);
    let marked = declaring("{complete: {end_marker: '#EOF'}}");
    let error = given.deliver_batch(&marked, &twice).await.unwrap_err();
    assert_eq!(error.code(), Code::L0302);
    assert!(error.to_string().contains("line 4 follows the end marker on line 3"), "{error}");
    assert_eq!((given.count("t").await, given.count(&given.system("inbox")).await), (0, 0));
}

#[track_caller]
fn assert_refuted(error: &Error, want: &str) {
    assert_eq!((error.kind(), error.code()), (Kind::Payload, Code::L0305), "{error}");
    let told = error.to_string();
    assert!(told.contains(want) && told.contains("nothing was written"), "{told}");
}

async fn a_cut_at_a_line_end_is_seen_by_what_is_declared_only(given: Given) {
    // Without a declaration a cut file and an empty one add what they have: nothing tells that it isn't all.
    for (bytes, want) in [("", ""), ("{\"id\":1}\n", "read 1, inserted 1")] {
        let receipt =
            given.deliver_batch(&declaring("{}"), &Batch::from_bytes("a.ndjson", bytes)).await.unwrap();
        assert_eq!(counts(&receipt), want);
    }
    for cut in ["", "{\"id\":1}\n", "{\"id\":1}\n{\"id\":2}\n"] {
        let batch = Batch::from_bytes("a.ndjson", cut).with_id(format!("cut {}", cut.len()));
        let counted = declaring("{complete: {count: {trailer: '#rows={n}'}}}");
        assert_refuted(&given.deliver_batch(&counted, &batch).await.unwrap_err(), "`#rows={n}` is missing");
    }
    // A gzip that was cut and packed again has a trailer: that proves its way here, not its making.
    let repacked = Batch::from_bytes("a.ndjson.gz", gzip(b"{\"id\":2}\n"));
    let receipt = given.deliver_batch(&declaring("{complete: gzip_trailer}"), &repacked).await.unwrap();
    assert_eq!(counts(&receipt), "read 1, inserted 1");
    assert_eq!(given.count("t").await, 2);
}

async fn cut_streams_are_errors_before_any_proof(given: Given) {
    let whole = gzip(LINES.repeat(500).as_bytes());
    let two = [&gzip(LINES.as_bytes())[..], &whole].concat();
    let member = gzip(LINES.as_bytes()).len();
    for cut in
        [&whole[..whole.len() - 4], &whole[..whole.len() / 2], &whole[..10], &whole[..3], &two[..member + 12]]
    {
        for source in ["{}", "{complete: gzip_trailer}", "{complete: [gzip_trailer, {end_marker: '#EOF'}]}"] {
            let batch = Batch::from_bytes("a.ndjson.gz", cut);
            let error = given.deliver_batch(&declaring(source), &batch).await.unwrap_err();
            assert_eq!(error.code(), Code::L0302, "{error}");
            assert!(error.to_string().contains("truncated"), "{error}");
        }
    }
    for (name, text) in [("a.json", "[{\"id\":1}"), ("a.geojson", &collection(&[1], "")[..70])] {
        let (closed, cut) = (declaring("{complete: json_closed}"), Batch::from_bytes(name, text));
        assert_eq!(given.deliver_batch(&closed, &cut).await.unwrap_err().code(), Code::L0302);
    }
    assert_eq!((given.count("t").await, given.count(&given.system("inbox")).await), (0, 0));
}

async fn a_plan_is_told_the_same(given: Given) {
    let pipeline = declaring("{complete: {end_marker: '#EOF'}}");
    let cut = Batch::from_bytes("a.ndjson", LINES);
    assert_refuted(&pipeline.preview(&given.store, &cut, 5).await.unwrap_err(), "`#EOF` is missing");
    let whole = Batch::from_bytes("a.ndjson", format!("{LINES}#EOF\n"));
    let preview = pipeline.preview(&given.store, &whole, 5).await.unwrap();
    assert_eq!((preview.outcome.read, preview.outcome.inserted), (2, 2));
}

async fn what_is_bad_is_counted_too(given: Given) {
    let pipeline = pipeline(
        "identity: [id]\ntarget: {table: t}\nsource: {complete: {count: {trailer: '#rows={n}'}}}\non_bad_record: {quarantine: {max: 1}}",
    );
    let batch = Batch::from_bytes("a.ndjson", "{\"id\":1}\n{\"id\":null}\n#rows=2\n");
    assert_eq!(
        counts(&given.deliver_batch(&pipeline, &batch).await.unwrap()),
        "read 2, inserted 1, quarantined 1"
    );
}

async fn a_refuted_payload_lands_once_it_is_whole(given: Given) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.csv", "id\n1\n2\n");
    let path = folder.path().join("a.csv");
    let pipeline = declaring("{complete: {checksum: {file: '{file}.sha256'}}}");
    let early = given.deliver_batch(&pipeline, &Batch::from_file(&path).unwrap()).await.unwrap_err();
    assert_refuted(&early, "a.csv.sha256`, which is to prove it complete, isn't there");
    let before = given.state().await;
    // The sender is done: the last row, and the checksum behind it.
    write(folder.path(), "a.csv", "id\n1\n2\n3\n");
    write(folder.path(), "a.csv.sha256", format!("{}  a.csv\n", sha256(b"id\n1\n2\n3\n")));
    let receipt = given.deliver_batch(&pipeline, &Batch::from_file(&path).unwrap()).await.unwrap();
    assert_eq!((counts(&receipt).as_str(), before.tables().count() > 0), ("read 3, inserted 3", true));
}

async fn quarantined_entries_need_no_proof(given: Given) {
    let declared = |columns: &str| {
        pipeline(&format!(
            "identity: [id]\ntarget: {{table: t, columns: {{{columns}}}, rest: ignore}}\n\
             source: {{format: ndjson, complete: {{end_marker: '#EOF'}}}}\non_bad_record: {{quarantine: {{max: 1}}}}"
        ))
    };
    let batch = Batch::from_bytes("a.ndjson", "{\"id\":\"1\",\"n\":1}\n{\"id\":\"2\",\"n\":\"x\"}\n#EOF\n");
    let receipt = given.deliver_batch(&declared("id: text, n: integer"), &batch).await.unwrap();
    assert_eq!(counts(&receipt), "read 2, inserted 1, quarantined 1");
    // The entries come back as an array of their own, which is neither NDJSON nor ends with a marker.
    let retried =
        declared("id: text").retry_quarantine(&given.store, &crate::given::patient()).await.unwrap().unwrap();
    assert_eq!((retried.entries, retried.landed), (1, 1));
    assert_eq!(given.count("t").await, 2);
}
