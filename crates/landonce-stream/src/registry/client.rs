//! A registry's HTTP API: schemas by their ids, and those that they refer to.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use landonce_core::pipeline::RegistryAt;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::RegistryError;

/// How long one request may take, its connection with it.
const LONGEST: Duration = Duration::from_secs(10);
/// The waits before a request is made again.
const WAITS: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(500)];
/// The longest answer: a schema of four megabytes.
const MOST: usize = 4 << 20;
/// The most references that are followed for one schema.
const MOST_REFERENCES: usize = 500;

/// A registry's client.
pub(super) struct Client {
    http: legacy::Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    at: String,
    login: Option<HeaderValue>,
}

/// A kind of schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Avro,
    Protobuf,
    Other,
}

/// A schema as the registry has it.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) kind: Kind,
    pub(super) schema: String,
    references: Vec<Reference>,
}

#[derive(Debug, Clone)]
struct Reference {
    name: String,
    subject: String,
    version: i64,
}

impl Client {
    pub(super) fn new(
        at: &RegistryAt,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, RegistryError> {
        let failed = |told: String| RegistryError::new(&at.url, told, false);
        let _: Uri = at.url.parse().map_err(|_| failed("it is no address".to_owned()))?;
        let login = match &at.login {
            None => None,
            Some((user, password)) => {
                let look = |name: &str| {
                    variable(name)
                        .ok_or_else(|| failed(format!("the environment variable `{name}` isn't set")))
                };
                let pair = format!("{}:{}", look(user)?, look(password)?);
                let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)))
                    .map_err(|_| failed("the login can't be a header".to_owned()))?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls().map_err(failed)?)
            .https_or_http()
            .enable_http1()
            .build();
        // Nothing drives an idle connection between two questions.
        let http = legacy::Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Ok(Self { http, at: at.url.clone(), login })
    }

    pub(super) fn at(&self) -> &str {
        &self.at
    }

    /// The schema of an id; `None` when there is none.
    pub(super) async fn by_id(&self, id: u32) -> Result<Option<Stored>, RegistryError> {
        self.get(&format!("/schemas/ids/{id}")).await
    }

    /// All schemas that one refers to, by the names under which it does; those that others need come first.
    pub(super) async fn references(&self, of: &Stored) -> Result<Vec<(String, String)>, RegistryError> {
        let mut found: BTreeMap<String, Stored> = BTreeMap::new();
        let mut order: Vec<String> = Vec::new();
        let mut waiting = of.references.clone();
        let mut steps = 0;
        while let Some(reference) = waiting.pop() {
            steps += 1;
            if steps > MOST_REFERENCES {
                return Err(self.failed("a schema refers to too many others", false));
            }
            // Met again: it and those that it needs come before this one, too.
            if let Some(again) = order.iter().position(|name| *name == reference.name) {
                let name = order.remove(again);
                waiting.extend(
                    found.get(&name).into_iter().flat_map(|stored| stored.references.iter().cloned()),
                );
                order.push(name);
                continue;
            }
            let subject = segment(&reference.subject);
            let stored = self.get(&format!("/subjects/{subject}/versions/{}", reference.version)).await?;
            let Some(stored) = stored else {
                let told = format!(
                    "version {} of subject `{}` is referred to and isn't there",
                    reference.version, reference.subject
                );
                return Err(self.failed(told, false));
            };
            waiting.extend(stored.references.iter().cloned());
            order.push(reference.name.clone());
            found.insert(reference.name, stored);
        }
        let of_name = |name: String| found.get(&name).map(|stored| (name.clone(), stored.schema.clone()));
        Ok(order.into_iter().rev().filter_map(of_name).collect())
    }

    async fn get(&self, path: &str) -> Result<Option<Stored>, RegistryError> {
        let mut waits = WAITS.into_iter();
        loop {
            match self.get_once(path).await {
                Err(error) if error.is_passing() => match waits.next() {
                    Some(wait) => sleep(wait).await,
                    None => return Err(error),
                },
                done => return done,
            }
        }
    }

    async fn get_once(&self, path: &str) -> Result<Option<Stored>, RegistryError> {
        let mut request = Request::new(Empty::new());
        let address = format!("{}{path}", self.at);
        *request.uri_mut() =
            address.parse().map_err(|_| self.failed(format!("`{path}` is no path"), false))?;
        let accept = HeaderValue::from_static("application/vnd.schemaregistry.v1+json, application/json");
        request.headers_mut().insert(ACCEPT, accept);
        if let Some(login) = &self.login {
            request.headers_mut().insert(AUTHORIZATION, login.clone());
        }
        let asked = async {
            let answer =
                self.http.request(request).await.map_err(|error| self.failed(chain(&error), true))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), MOST).collect().await;
            let body = body.map_err(|error| self.failed(format!("its answer broke off: {error}"), true))?;
            Ok((status, body.to_bytes()))
        };
        let late = || self.failed(format!("no answer within {} s", LONGEST.as_secs()), true);
        let (status, body) = timeout(LONGEST, asked).await.map_err(|_| late())??;
        match status {
            StatusCode::OK => self.stored(&body).map(Some),
            StatusCode::NOT_FOUND => {
                // The registry's own word for it; any other 404 is another server's.
                let code = serde_json::from_slice::<Value>(&body)
                    .ok()
                    .and_then(|body| body.get("error_code")?.as_i64());
                match code {
                    Some(404 | 40401..=40403) => Ok(None),
                    _ => {
                        Err(self.failed("404 without a registry's error code; is the address right?", false))
                    }
                }
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                Err(self.failed(status.to_string(), true))
            }
            status => Err(self.failed(status.to_string(), status.is_server_error())),
        }
    }

    fn stored(&self, body: &[u8]) -> Result<Stored, RegistryError> {
        let no_answer = || self.failed("its answer isn't a schema; is the address right?", false);
        let body: Value = serde_json::from_slice(body).map_err(|_| no_answer())?;
        let schema = body.get("schema").and_then(Value::as_str).ok_or_else(no_answer)?.to_owned();
        let kind = match body.get("schemaType").and_then(Value::as_str) {
            None | Some("AVRO") => Kind::Avro,
            Some("PROTOBUF") => Kind::Protobuf,
            Some(_) => Kind::Other,
        };
        let mut references = Vec::new();
        for one in body.get("references").and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| one.get(name).and_then(Value::as_str).map(str::to_owned);
            let version = one.get("version").and_then(Value::as_i64);
            let (Some(name), Some(subject), Some(version)) = (text("name"), text("subject"), version) else {
                return Err(no_answer());
            };
            references.push(Reference { name, subject, version });
        }
        Ok(Stored { kind, schema, references })
    }

    fn failed(&self, told: impl Into<String>, is_passing: bool) -> RegistryError {
        RegistryError::new(&self.at, told, is_passing)
    }
}

/// A subject as a segment of a path.
fn segment(subject: &str) -> String {
    let mut out = String::new();
    for byte in subject.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// What a client's error says, with what is below it: by itself it says that it couldn't connect.
fn chain(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut below = error.source();
    while let Some(error) = below {
        let _ = write!(told, ": {error}");
        below = error.source();
    }
    told
}

fn tls() -> Result<rustls::ClientConfig, String> {
    let mut roots = rustls::RootCertStore::empty();
    // None are needed for an address without TLS.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(builder.map_err(|error| error.to_string())?.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_one_segment() {
        assert_eq!(segment("a/b c-value"), "a%2Fb%20c-value");
    }
}
