//! What proves what, and how it is told.

use std::path::Path;

use super::*;
use crate::pipeline::Pipeline;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}

fn judged(batch: &Batch, source: &str) -> Completeness {
    let pipeline = Pipeline::from_yaml(&format!(
        "pipeline: p\nidentity: [id]\ntarget: {{table: t}}\nsource: {source}\n"
    ));
    let pipeline = pipeline.unwrap_or_else(|error| panic!("{source}: {error}"));
    let mut records = batch.records(&pipeline).unwrap();
    let mut read = 0;
    while records.next().unwrap_or_else(|error| panic!("{source}: {error}")).is_some() {
        read += 1;
    }
    judge(pipeline.declared(), batch, records.finish().seen(), read).unwrap()
}

fn of(name: &str, bytes: impl Into<Vec<u8>>, complete: &str) -> Completeness {
    judged(&Batch::from_bytes(name, bytes), &format!("{{complete: {complete}}}"))
}

#[track_caller]
fn proven(found: Completeness, want: &[&str]) {
    match found {
        Completeness::Proven(how) => assert_eq!(how, want),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refuted(found: Completeness, want: &str) {
    match found {
        Completeness::Refuted(what) => assert!(what.contains(want), "{what}"),
        other => panic!("{other:?}"),
    }
}

const LINES: &str = "{\"id\":1}\n{\"id\":2}\n";
const COLLECTION: &str = r#"{"type":"FeatureCollection","features":[],"numberMatched":2}"#;

#[test]
fn nothing_declared_proves_nothing_and_tells_what_would() {
    for (name, bytes, want) in [
        ("x.ndjson", LINES.as_bytes().to_vec(), "declare an end marker, a count"),
        ("x.ndjson", Vec::new(), "declare an end marker, a count"),
        ("x.json", b"[]".to_vec(), "`complete: json_closed` would hold"),
        ("x.ndjson.gz", gzip(LINES.as_bytes()), "`complete: gzip_trailer` would hold"),
        ("x.json.gz", gzip(b"[]"), "`complete: json_closed` or `complete: gzip_trailer`"),
    ] {
        let Completeness::Unproven(why) = judged(&Batch::from_bytes(name, bytes), "{}") else {
            panic!("{name}")
        };
        assert!(why.contains(want), "{name}: {why}");
    }
}

#[test]
fn a_closed_document_is_a_proof_of_documents_only() {
    proven(of("x.json", "[{}]", "json_closed"), &["the JSON array is closed"]);
    proven(of("x.geojson", COLLECTION, "json_closed"), &["the FeatureCollection is closed"]);
    refuted(of("x.ndjson", LINES, "json_closed"), "the payload is ndjson, which has no bracket");
}

#[test]
fn a_trailer_is_a_proof_of_compressed_bytes_only() {
    let two = [gzip(b"{\"id\":1}\n"), gzip(b"{\"id\":2}\n")].concat();
    proven(of("x.ndjson.gz", two, "gzip_trailer"), &["every gzip member ends with its CRC and length"]);
    refuted(of("x.ndjson", LINES, "gzip_trailer"), "aren't compressed");
    let frame = |is_checked: bool| {
        let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(is_checked).unwrap();
        std::io::Write::write_all(&mut encoder, LINES.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    proven(of("x.ndjson.zst", frame(true), "gzip_trailer"), &["every zstd frame ends with its checksum"]);
    refuted(of("x.ndjson.zst", frame(false), "gzip_trailer"), "`zstd --check`");
}

#[test]
fn a_marker_must_be_there() {
    let marker = "{end_marker: '#EOF'}";
    proven(of("x.ndjson", format!("{LINES}#EOF\n"), marker), &["the end marker `#EOF` stands on line 3"]);
    proven(of("x.csv", "id\r\n1\r\n#EOF\r\n", marker), &["the end marker `#EOF` stands on line 3"]);
    for cut in ["", "{\"id\":1}\n", LINES, "{\"id\":1}\n#EO"] {
        refuted(of("x.ndjson", cut, marker), "the end marker `#EOF` is missing");
    }
    refuted(of("x.json", "[]", marker), "the payload is json, which has no lines");
    let record = "{end_marker: {field: type, equals: end}}";
    proven(
        of("x.ndjson", format!("{LINES}{{\"type\":\"end\"}}"), record),
        &["the object that ends it (`type` is `end`) stands on line 3"],
    );
    refuted(of("x.ndjson", LINES, record), "the object that ends it (`type` is `end`) is missing");
    refuted(of("x.csv", "id\n1\n", record), "isn't NDJSON");
}

#[test]
fn a_declared_number_must_be_what_was_read() {
    let trailer = "{count: {trailer: '#rows={n}'}}";
    proven(
        of("x.ndjson", format!("{LINES}#rows=2\n"), trailer),
        &["the last line `#rows={n}` declares 2 records, and so many were read"],
    );
    refuted(of("x.csv", "id\n1\n#rows=2\n", trailer), "declares 2 records, 1 were read");
    refuted(of("x.csv", "id\n1\n", trailer), "the last line `#rows={n}` is missing");
    refuted(of("x.csv", "id\n1\n#rows=99999999999999999999\n", trailer), "which is no number of records");

    let field = "{count: {field: numberMatched}}";
    refuted(of("x.geojson", COLLECTION, field), "`numberMatched` declares 2 records, 0 were read");
    proven(
        of("x.geojson", COLLECTION.replace('2', "0"), field),
        &["`numberMatched` declares 0 records, and so many were read"],
    );
    refuted(of("x.geojson", COLLECTION.replace("Matched", ""), field), "has no `numberMatched`");
    // Real servers say this when counting is too dear for them.
    refuted(
        of("x.geojson", COLLECTION.replace('2', "\"unknown\""), field),
        "says `unknown`, which is no number",
    );
    refuted(of("x.geojson", COLLECTION.replace('2', "0.5"), field), "says `0.5`, which is no number");
    refuted(of("x.json", "[]", field), "has no members beside its records");

    let ends = "{end_marker: {field: type, equals: end}, count: {field: rows}}";
    proven(
        of("x.ndjson", format!("{LINES}{{\"type\":\"end\",\"rows\":2}}\n"), ends),
        &[
            "the object that ends it (`type` is `end`) stands on line 3",
            "`rows` declares 2 records, and so many were read",
        ],
    );
    refuted(
        of("x.ndjson", LINES, ends),
        "is missing: the file ends before it; the object that is to say `rows`",
    );
}

/// A payload in a folder, with files beside it.
fn beside(payload: (&str, &str), files: &[(&str, &str)], complete: &str) -> Completeness {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files.iter().chain([&payload]) {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let batch = Batch::from_file(folder.path().join(payload.0)).unwrap();
    judged(&batch, &format!("{{complete: {complete}}}"))
}

fn how(found: &Completeness) -> String {
    match found {
        Completeness::Proven(how) => how.join("; "),
        other => panic!("{other:?}"),
    }
}

fn sha256(text: &str) -> String {
    hex::encode(Batch::from_bytes("x", text).digest())
}

#[test]
fn a_count_beside_the_file_is_compared() {
    let count = "{count: {file: '{file}.count'}}";
    let a = ("a.ndjson", LINES);
    assert!(how(&beside(a, &[("a.ndjson.count", "2\r\n")], count)).contains("a.ndjson.count` declares 2"));
    refuted(beside(a, &[("a.ndjson.count", "3")], count), "a.ndjson.count` declares 3 records, 2 were read");
    refuted(beside(a, &[("a.ndjson.count", "")], count), "which is no number");
    refuted(
        beside(a, &[("b.ndjson.count", "2")], count),
        "a.ndjson.count`, which is to prove it complete, isn't there",
    );
    // No bytes at all may be all there is, if the sender says so.
    assert!(how(&beside(("a.csv", ""), &[("a.csv.count", "0")], count)).contains("declares 0 records"));
}

#[test]
fn a_checksum_beside_the_file_is_compared() {
    let one = "{checksum: {file: 'sums/{file}.sha256'}}";
    let a = ("a.ndjson", LINES);
    let (digest, other) = (sha256(LINES), sha256("other"));
    let sum = "sums/a.ndjson.sha256";
    for text in [digest.clone(), format!("{digest}  a.ndjson\n"), format!("\u{feff}{digest} *x/a.ndjson\r\n")]
    {
        assert!(how(&beside(a, &[(sum, &text)], one)).contains("has its SHA-256"), "{text}");
    }
    refuted(beside(a, &[(sum, &format!("{other}  b.ndjson"))], one), "(of `b.ndjson`, another file)");
    refuted(beside(a, &[(sum, &other)], one), &format!("declares SHA-256 {other}, the bytes have {digest}"));
    refuted(beside(a, &[(sum, "")], one), "is empty");
    refuted(beside(a, &[(sum, "d41d8cd98f00b204e9800998ecf8427e")], one), "isn't what `sha256sum` prints");
    refuted(beside(a, &[("sums/x", "")], one), "isn't there");

    let many = "{checksum: {file: SHA256SUMS}}";
    let listed = format!("{other}  b.ndjson\n{digest}  a.ndjson\n");
    assert!(how(&beside(a, &[("SHA256SUMS", &listed)], many)).contains("has its SHA-256"));
    let swapped = format!("{digest}  b.ndjson\n{other}  a.ndjson\n");
    refuted(beside(a, &[("SHA256SUMS", &swapped)], many), &format!("declares SHA-256 {other}"));
    let lacking = format!("{other}  b.ndjson\n{other}  c.ndjson\n");
    refuted(beside(a, &[("SHA256SUMS", &lacking)], many), "doesn't list this file");
}

#[test]
fn a_manifest_must_list_the_file_as_it_is() {
    let manifest = "{manifest: manifest.json}";
    let a = ("a.ndjson", LINES);
    let digest = sha256(LINES);
    let listing = |entry: &str| format!("{{\"made\":1,\"files\":[{{\"name\":\"b.ndjson\"}},{entry}]}}");
    let judge = |entry: &str| beside(a, &[("manifest.json", &listing(entry))], manifest);
    let whole =
        format!("{{\"name\":\"./a.ndjson\",\"sha256\":\"{digest}\",\"bytes\":18,\"records\":2,\"x\":0}}");
    assert!(how(&judge(&whole)).ends_with("lists its SHA-256, its 18 bytes, its 2 records"));
    refuted(judge(r#"{"name":"a.ndjson","bytes":17}"#), "declares 17 bytes, there are 18");
    refuted(judge(r#"{"name":"a.ndjson","records":3}"#), "declares 3 records, 2 were read");
    refuted(judge(r#"{"name":"a.ndjson","sha256":"00"}"#), "declares SHA-256 00, the bytes have");
    refuted(judge(r#"{"name":"a.ndjson"}"#), "which proves nothing");
    refuted(judge(r#"{"name":"x/a.ndjson","bytes":18}"#), "doesn't list");
    refuted(judge(&format!("{whole},{{\"name\":\"a.ndjson\",\"bytes\":1}}")), "declares 1 bytes");
    for text in ["", "[]", "{}", "{\"files\":{}}", "{\"files\":[{\"name\":\"a.ndjson\",\"bytes\":-1}]}"] {
        refuted(beside(a, &[("manifest.json", text)], manifest), "isn't a manifest");
    }
    // Names are relative to the manifest.
    let above = "{manifest: ../manifest.json}";
    let deep = ("in/a.ndjson", LINES);
    let listed = r#"{"files":[{"name":"in/a.ndjson","bytes":18}]}"#;
    assert!(how(&beside(deep, &[("manifest.json", listed)], above)).contains("its 18 bytes"));
}

#[test]
fn a_payload_without_a_place_has_nothing_beside_it() {
    for complete in
        ["{count: {file: '{file}.count'}}", "{checksum: {file: SHA256SUMS}}", "{manifest: m.json}"]
    {
        refuted(of("x.ndjson", LINES, complete), "this one has no place");
    }
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    std::fs::write(&count, "2").unwrap();
    let told = |path: &Path| format!("{{count: {{file: '{}'}}}}", path.display());
    assert!(how(&of("x.ndjson", LINES, &told(&count))).contains("declares 2 records"));
    refuted(of("x.ndjson", LINES, &told(folder.path())), "is no plain file");
}

#[test]
fn all_that_is_declared_must_hold() {
    let both = "[gzip_trailer, {end_marker: '#EOF', count: {trailer: '#rows={n}'}}]";
    let bytes = gzip(format!("{LINES}#rows=2\n#EOF\n").as_bytes());
    proven(
        of("x.ndjson.gz", bytes, both),
        &[
            "every gzip member ends with its CRC and length",
            "the end marker `#EOF` stands on line 4",
            "the last line `#rows={n}` declares 2 records, and so many were read",
        ],
    );
    // Cut between two members, which no trailer tells.
    let first = gzip(b"{\"id\":1}\n");
    refuted(
        of("x.ndjson.gz", first, both),
        "the end marker `#EOF` is missing: the file ends before it; the last line",
    );
}
