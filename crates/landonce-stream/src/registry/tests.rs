//! Data that the reference libraries have encoded, decoded by the schemas of an HTTP server that speaks a registry's API; and what
//! becomes of a message when the registry fails.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use landonce_core::pipeline::{Message, Pipeline, Shaped};
use landonce_core::spec::Spec;

/// What a path is answered with, one answer a request; the last one stays.
type Answers = HashMap<String, Vec<(u16, String)>>;

/// A server on a port of its own.
struct Server {
    at: String,
    asked: Arc<Mutex<Vec<String>>>,
    answers: Arc<Mutex<Answers>>,
}

impl Server {
    async fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = format!("http://{}", listener.local_addr().unwrap());
        let (asked, answers) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(answers)));
        let server = Self { at, asked: Arc::clone(&asked), answers: Arc::clone(&answers) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&asked), Arc::clone(&answers)));
            }
        });
        server
    }

    fn decoder(&self) -> Arc<Decoder> {
        decoder(&self.at, "", |_| None).unwrap()
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn decoder(
    url: &str,
    login: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Arc<Decoder>, RegistryError> {
    let message = format!("{{value: avro, registry: {{url: '{url}'{login}}}}}");
    let shape = shape(&message);
    Decoder::of(&shape, variable).map(|decoder| Arc::new(decoder.unwrap()))
}

fn shape(message: &str) -> Shape {
    let yaml = format!(
        "pipeline: p\nsource:\n  kafka: {{brokers: [localhost:9092], group: g, topics: [t]}}\n  message: {message}\nidentity: [id]\n\
         target: {{table: t}}\n"
    );
    Pipeline::new(Spec::parse(&yaml).unwrap()).unwrap().source().shape.clone()
}

/// On a thread that may block, as a source's may.
async fn decode(decoder: &Arc<Decoder>, codec: Codec, bytes: &[u8]) -> Result<Vec<u8>, Undecoded> {
    let (decoder, bytes) = (Arc::clone(decoder), bytes.to_vec());
    let task = tokio::task::spawn_blocking(move || {
        let mut out = Vec::new();
        decoder.decode(codec, &bytes, &mut out).map(|()| out)
    });
    task.await.unwrap()
}

async fn serve(mut stream: TcpStream, asked: Arc<Mutex<Vec<String>>>, answers: Arc<Mutex<Answers>>) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    loop {
        while !head.ends_with(b"\r\n\r\n") {
            if stream.read(&mut byte).await.unwrap_or(0) == 0 {
                return;
            }
            head.push(byte[0]);
        }
        let text = String::from_utf8(std::mem::take(&mut head)).unwrap();
        let path = text.split(' ').nth(1).unwrap().to_owned();
        let login = text.lines().find(|line| line.to_ascii_lowercase().starts_with("authorization"));
        asked
            .lock()
            .unwrap()
            .push(format!("{path}{}", login.map(|line| format!(" {line}")).unwrap_or_default()));
        let (status, body) = match answers.lock().unwrap().get_mut(&path) {
            None => (404, r#"{"error_code":40403,"message":"Schema not found"}"#.to_owned()),
            Some(of_path) if of_path.len() > 1 => of_path.remove(0),
            Some(of_path) => of_path[0].clone(),
        };
        if status == 0 {
            return; // cut
        }
        let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../tests/fixtures/vectors.json")).unwrap()
}

/// A schema as a registry answers.
fn stored(kind: &str, vector: &Value, nth: usize, answers: &mut Answers) -> String {
    let mut references = Vec::new();
    for (at, other) in vector["references"].as_array().unwrap().iter().enumerate() {
        let subject = format!("s/{nth}.{at}");
        let path = format!("/subjects/s%2F{nth}.{at}/versions/3");
        let body = json!({"subject": subject, "version": 3, "schemaType": kind, "schema": other["schema"]});
        answers.insert(path, vec![(200, body.to_string())]);
        references.push(json!({"name": other["name"], "subject": subject, "version": 3}));
    }
    let mut body = json!({"schema": vector["schema"], "references": references});
    // Avro is what a registry doesn't say.
    if kind != "AVRO" {
        body["schemaType"] = kind.into();
    }
    body.to_string()
}

fn datum(id: u32, hex: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend_from_slice(&id.to_be_bytes());
    for at in (0..hex.len()).step_by(2) {
        bytes.push(u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
    }
    bytes
}

/// The canonical JSON of Protobuf has texts for numbers of 64 bits; ours has the numbers.
fn is_same(got: &Value, want: &Value) -> bool {
    match (got, want) {
        (Value::Number(got), Value::String(want)) => got.to_string() == *want,
        (Value::Array(got), Value::Array(want)) => {
            got.len() == want.len() && got.iter().zip(want).all(|(got, want)| is_same(got, want))
        }
        (Value::Object(got), Value::Object(want)) => {
            got.len() == want.len()
                && got.iter().all(|(name, got)| want.get(name).is_some_and(|want| is_same(got, want)))
        }
        (got, want) => got == want,
    }
}

#[tokio::test]
async fn what_the_reference_libraries_encode_is_decoded_exactly() {
    let vectors = vectors();
    let mut answers = Answers::new();
    let mut cases = Vec::new();
    for (kind, name, codec) in [("AVRO", "avro", Codec::Avro), ("PROTOBUF", "protobuf", Codec::Protobuf)] {
        for vector in vectors[name].as_array().unwrap() {
            let id = cases.len() as u32 + 1;
            let body = stored(kind, vector, cases.len(), &mut answers);
            answers.insert(format!("/schemas/ids/{id}"), vec![(200, body)]);
            cases.push((codec, id, vector.clone()));
        }
    }
    let server = Server::start(answers).await;
    let decoder = server.decoder();
    for _ in 0..2 {
        for (codec, id, vector) in &cases {
            let name = vector["name"].as_str().unwrap();
            let bytes = datum(*id, vector["hex"].as_str().unwrap());
            let found = decode(&decoder, *codec, &bytes).await;
            match (&vector["want"], found) {
                (Value::Null, Err(Undecoded::Bad(bad))) => {
                    assert_eq!(bad.kind, BadKind::OutOfRange, "{name}: {bad}");
                }
                (Value::String(want), Ok(got)) => {
                    assert_eq!(String::from_utf8(got).unwrap(), *want, "{name}");
                }
                (want @ Value::Object(_), Ok(got)) => {
                    let got: Value = serde_json::from_slice(&got).unwrap();
                    assert!(is_same(&got, want), "{name}: {got} {want}");
                }
                (want, got) => panic!("{name}: {got:?} for {want}"),
            }
        }
    }
    let asked = server.asked().iter().filter(|path| path.starts_with("/schemas")).count();
    assert_eq!(asked, cases.len(), "each schema is asked for once");
}

#[tokio::test]
async fn whatever_bytes_come_none_is_a_panic() {
    let vectors = vectors();
    let mut answers = Answers::new();
    let mut cases = Vec::new();
    for (kind, name, codec) in [("AVRO", "avro", Codec::Avro), ("PROTOBUF", "protobuf", Codec::Protobuf)] {
        for vector in vectors[name].as_array().unwrap() {
            let body = stored(kind, vector, cases.len(), &mut answers);
            answers.insert(format!("/schemas/ids/{}", cases.len()), vec![(200, body)]);
            cases.push((codec, datum(cases.len() as u32, vector["hex"].as_str().unwrap())));
        }
    }
    let server = Server::start(answers).await;
    let decoder = server.decoder();
    for (codec, bytes) in cases {
        // Cut anywhere, and with any byte another.
        for len in 0..bytes.len() {
            let _ = decode(&decoder, codec, &bytes[..len]).await.map_err(|error| is_bad(&error));
            for flip in [0x01, 0x80, 0xff] {
                let mut other = bytes.clone();
                other[len] ^= flip;
                if len > 4 {
                    let _ = decode(&decoder, codec, &other).await.map_err(|error| is_bad(&error));
                }
            }
        }
        let mut longer = bytes.clone();
        longer.push(0);
        if codec == Codec::Avro {
            assert!(
                decode(&decoder, codec, &longer).await.is_err(),
                "what is left over belongs to another schema"
            );
        }
    }
}

fn is_bad(error: &Undecoded) {
    assert!(matches!(error, Undecoded::Bad(_)), "{error:?}");
}

const STRING: &str = r#"{"schema":"\"string\""}"#;

#[tokio::test]
async fn a_registry_that_fails_is_asked_again_and_then_waited_for() {
    let answers = [
        ("/schemas/ids/1", vec![(503, String::new()), (0, String::new()), (200, STRING.to_owned())]),
        ("/schemas/ids/2", vec![(500, String::new())]),
        ("/schemas/ids/3", vec![(401, String::new())]),
        ("/schemas/ids/4", vec![(404, "<html>".to_owned())]),
        ("/schemas/ids/5", vec![(200, "hello".to_owned())]),
    ];
    let answers = answers.into_iter().map(|(path, answers)| (path.to_owned(), answers)).collect();
    let server = Server::start(answers).await;
    let decoder = server.decoder();
    assert_eq!(decode(&decoder, Codec::Avro, &datum(1, "026b")).await.unwrap(), b"\"k\"");
    for id in [2, 3, 4, 5] {
        match decode(&decoder, Codec::Avro, &datum(id, "026b")).await {
            Err(Undecoded::Later(told)) => assert!(told.contains(&server.at), "{told}"),
            other => panic!("{id}: {other:?}"),
        }
    }
    let asked = |id: u32| server.asked().iter().filter(|path| path.ends_with(&format!("/{id}"))).count();
    assert_eq!((asked(1), asked(2), asked(3), asked(4)), (3, 3, 1, 1), "what won't pass isn't asked again");
    // Nothing is remembered of a failure.
    server.answers.lock().unwrap().insert("/schemas/ids/2".to_owned(), vec![(200, STRING.to_owned())]);
    assert_eq!(decode(&decoder, Codec::Avro, &datum(2, "026b")).await.unwrap(), b"\"k\"");

    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let decoder = super::tests::decoder(&url, "", |_| None).unwrap();
    match decode(&decoder, Codec::Avro, &datum(1, "026b")).await {
        Err(Undecoded::Later(told)) => assert!(told.contains(&url), "{told}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_unknown_id_is_the_messages_fault_and_not_asked_for_again_and_again() {
    let server = Server::start(Answers::new()).await;
    let decoder = server.decoder();
    for _ in 0..3 {
        match decode(&decoder, Codec::Avro, &datum(7, "02")).await {
            Err(Undecoded::Bad(bad)) => assert!(bad.detail.contains("doesn't know schema 7"), "{bad}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(server.asked(), ["/schemas/ids/7"]);
}

#[tokio::test]
async fn a_login_is_sent_and_never_shown() {
    let answers = [("/schemas/ids/1".to_owned(), vec![(401, "hunter2".to_owned())])];
    let server = Server::start(answers.into()).await;
    let login = ", user: '${U}', password: '${P}'";
    let look = |name: &str| Some(if name == "U" { "joe" } else { "hunter2" }.to_owned());
    let decoder = decoder(&server.at, login, look).unwrap();
    let error = decode(&decoder, Codec::Avro, &datum(1, "02")).await.unwrap_err();
    assert!(server.asked()[0].ends_with("Basic am9lOmh1bnRlcjI="), "{:?}", server.asked());
    let shown = format!("{error:?} {decoder:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("am9l"), "{shown}");
    let unset = super::tests::decoder(&server.at, login, |_| None).unwrap_err();
    assert!(unset.to_string().contains("`U` isn't set") && !unset.is_passing(), "{unset}");
}

#[tokio::test]
async fn a_change_event_in_avro_becomes_its_record() {
    let vectors = vectors();
    let find = |name: &str| {
        vectors["avro"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone()
    };
    let event = find("a change event of Debezium's");
    let mut answers = Answers::new();
    let body = stored("AVRO", &event, 0, &mut answers);
    answers.insert("/schemas/ids/1".to_owned(), vec![(200, body)]);
    let key = r#"{"type":"record","name":"Key","fields":[{"name":"id","type":"long"}]}"#;
    answers.insert("/schemas/ids/2".to_owned(), vec![(200, json!({ "schema": key }).to_string())]);
    let server = Server::start(answers).await;
    let shape = shape(&format!("{{envelope: debezium, value: avro, registry: {{url: '{}'}}}}", server.at));
    let decoder = Decoder::of(&shape, |_| None).unwrap().unwrap();
    let records = tokio::task::spawn_blocking(move || {
        let given = (datum(2, "0e"), datum(1, event["hex"].as_str().unwrap()));
        let (mut key, mut value) = (Vec::new(), Vec::new());
        assert!(decoder.key("t", &given.0, &mut key).unwrap());
        decoder.value("t", &given.1, &mut value).unwrap();
        [Some(&*value), None].map(|value| {
            let message = Message {
                topic: "t",
                part: "0",
                offset: 1,
                key: Some(&key),
                value,
                headers: &[],
                timestamp_ms: None,
            };
            let mut out = Vec::new();
            assert_eq!(shape.shape(&message, &mut out).unwrap(), Shaped::Record);
            String::from_utf8(out).unwrap()
        })
    });
    assert_eq!(records.await.unwrap(), [r#"{"id":7,"v":"x"}"#, r#"{"landonce_delete":"true","id":7}"#]);
}
