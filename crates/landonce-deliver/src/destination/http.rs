//! A receiver by its URL: each message is a `POST` by Standard Webhooks, signed anew on every attempt, with the same id.

mod answer;
mod dial;
mod failure;
mod guard;
mod tls;

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use landonce_core::webhook;
use landonce_store::outbox::Parcel;
use tokio::time::{Instant, timeout_at};

use self::dial::Dial;
use self::guard::Guard;
use super::{Answer, Destination, Sending};
use crate::environment::Environment;
use crate::error::Fault;
use crate::policy::some_time;
use crate::secret::Secret;
use crate::spec::{self, HttpSpec};
use crate::veil::Veil;

/// The most redirects that may be allowed.
const REDIRECTS: u8 = 5;
/// How long the body behind a 2xx head is waited for. The message is taken; only the connection's reuse is at stake.
const REST: Duration = Duration::from_secs(1);
/// From so many characters on a piece of a URL that came from the environment may be a token of its own.
const LONG: usize = 16;
/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_mins(1);
/// Headers whose value is a secret, wherever it is sent.
const SECRET_HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token"];
/// Headers that are ours to set.
const OUR_HEADERS: [&str; 10] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "content-type",
    "idempotency-key",
    "user-agent",
    webhook::ID,
    webhook::TIMESTAMP,
    webhook::SIGNATURE,
];

/// A receiver by its URL.
pub struct Http {
    client: Client<HttpsConnector<Dial>, Full<Bytes>>,
    url: Uri,
    /// What every request has.
    headers: HeaderMap,
    /// What every request to the URL's own host has, too.
    own_headers: HeaderMap,
    sign: Vec<webhook::Secret>,
    /// What no answer may repeat.
    veil: Veil,
    redirects: u8,
    timeout: Duration,
    max_answer: usize,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A path may be a secret of its own.
        f.debug_struct("Http").field("host", &self.url.host()).finish_non_exhaustive()
    }
}

impl Http {
    /// What `http:` means. Files in it are relative to `base`.
    ///
    /// # Errors
    /// What is wrong with a key, without the value of a secret.
    pub fn new(
        spec: &HttpSpec,
        concurrency: usize,
        base: &Path,
        environment: Environment<'_>,
    ) -> Result<Self, Fault> {
        let values = RefCell::new(Vec::new());
        let noted = |name: &str| {
            let value = environment.look_up(name)?;
            values.borrow_mut().push(Secret::new(value.clone()));
            Some(value)
        };
        let url = url(&Environment::new(&noted).expand("url", &spec.url)?)?;
        if spec.redirects > REDIRECTS {
            return Err(Fault::new("redirects", format!("must be from 0 to {REDIRECTS}")));
        }
        // Where a URL leads is no secret, and stands in many an answer; what is behind that may be.
        values.borrow_mut().retain(|value| {
            let is_place = |host: &str| host.contains(value.reveal()) || value.reveal().contains("://");
            !url.host().is_some_and(is_place)
        });
        let mut secrets = Vec::new();
        if spec.url.contains("${") {
            // What came from the environment may be all of the path, and receivers like to repeat that.
            let parts = [url.path().trim_matches('/'), url.query().unwrap_or_default()];
            let pieces = parts.iter().flat_map(|part| part.split(['/', '&', '=']));
            let long = pieces.filter(|piece| piece.len() >= LONG);
            let all = parts.iter().copied().filter(|part| !part.is_empty()).chain(long);
            secrets.extend(all.map(Secret::new));
        }
        let mut sign = Vec::new();
        for name in &spec.sign {
            let secret = environment.secret("sign", name)?;
            sign.push(webhook::Secret::parse(secret.reveal()).map_err(|error| {
                Fault::new("sign", format!("the environment variable `{}`: {error}", name.variable()))
            })?);
            secrets.push(secret);
        }
        let mut own_headers = HeaderMap::new();
        for (name, text) in &spec.headers {
            let (name, value) = own_header(name, text, Environment::new(&noted))?;
            own_headers.insert(name, value);
        }
        secrets.extend(values.take());
        if let Some(name) = &spec.bearer {
            let token = environment.secret("bearer", name)?;
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.reveal())).map_err(|_| {
                Fault::new(
                    "bearer",
                    format!("the environment variable `{}` can't be a header", name.variable()),
                )
            })?;
            value.set_sensitive(true);
            own_headers.insert(header::AUTHORIZATION, value);
            secrets.push(token);
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            header::USER_AGENT,
            HeaderValue::from_static(concat!("landonce/", env!("CARGO_PKG_VERSION"))),
        );
        let timeout = some_time("timeout", spec.timeout.as_deref(), Duration::from_secs(10))?;
        let connect = some_time("connect", spec.connect.as_deref(), Duration::from_secs(5))?;
        let max_answer = spec.max_answer.as_deref().map_or(Ok(64_000), spec::size);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls::config(spec, base)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(Dial::new(Guard(spec.allow_private.clone()), connect));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(concurrency)
            .build(connector);
        let max_answer = max_answer.map_err(|told| Fault::new("max_answer", told))?;
        let redirects = spec.redirects;
        let veil = Veil::new(secrets.iter().map(Secret::reveal));
        Ok(Self { client, url, headers, own_headers, sign, veil, redirects, timeout, max_answer })
    }

    async fn post(&self, parcel: &Parcel) -> Answer {
        let deadline = Instant::now() + self.timeout;
        let late = || Answer::Later {
            told: format!("no answer within {} s", self.timeout.as_secs_f64()),
            after: None,
            is_for_all: false,
        };
        let mut url = self.url.clone();
        let mut redirects = 0;
        loop {
            let response = match timeout_at(deadline, self.client.request(self.request(&url, parcel))).await {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => return self.without_secrets(failure::of(&error)),
                Err(_) => return late(),
            };
            if redirects < self.redirects
                && let Some(to) = redirected(&url, &response)
            {
                redirects += 1;
                url = to;
                continue;
            }
            return self.answer(response, deadline).await;
        }
    }

    /// A request of this moment.
    fn request(&self, url: &Uri, parcel: &Parcel) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(Bytes::copy_from_slice(parcel.payload.as_bytes())));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = url.clone();
        let headers = request.headers_mut();
        *headers = self.headers.clone();
        if is_same_place(url, &self.url) {
            headers.extend(self.own_headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        let id = parcel.id.to_string();
        let timestamp = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
        let mut set = |name: &'static str, value: Result<HeaderValue, _>| {
            // An id, a number and base64 are always header values.
            if let Ok(value) = value {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        if !self.sign.is_empty() {
            let signature = webhook::sign(&self.sign, &id, timestamp, parcel.payload.as_bytes());
            set(webhook::SIGNATURE, HeaderValue::try_from(signature));
        }
        set(webhook::TIMESTAMP, HeaderValue::try_from(timestamp.to_string()));
        set("idempotency-key", HeaderValue::from_str(&id));
        set(webhook::ID, HeaderValue::try_from(id));
        request
    }

    async fn answer(&self, response: Response<Incoming>, deadline: Instant) -> Answer {
        let (head, body) = response.into_parts();
        if head.status.is_success() {
            // It has the message. A body that hangs, or is cut, or never ends costs the connection and nothing else.
            let _ = timeout_at(deadline.min(Instant::now() + REST), read(body, self.max_answer)).await;
            return Answer::Taken { told: head.status.as_str().to_owned() };
        }
        let text = timeout_at(deadline, read(body, self.max_answer)).await.unwrap_or_default();
        answer::of(head.status, &head.headers, &text, &self.veil, SystemTime::now())
    }

    /// What an error means, unless its words repeat a secret.
    fn without_secrets(&self, mut answer: Answer) -> Answer {
        let (Answer::Taken { told } | Answer::Later { told, .. } | Answer::Never { told }) = &mut answer;
        if self.veil.hides(told.as_bytes(), told.len()) {
            "no answer (why repeats a secret)".clone_into(told);
        }
        answer
    }
}

impl Destination for Http {
    fn limit(&self) -> Duration {
        self.timeout
    }

    fn send<'a>(&'a self, parcels: &'a [Parcel]) -> Sending<'a> {
        Box::pin(async move {
            let mut answers = Vec::with_capacity(parcels.len());
            for parcel in parcels {
                answers.push(self.post(parcel).await);
            }
            answers
        })
    }
}

/// What a body holds, up to a limit.
async fn read(mut body: Incoming, most: usize) -> Vec<u8> {
    let mut read = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        if let Some(bytes) = frame.data_ref() {
            read.extend_from_slice(&bytes[..bytes.len().min(most - read.len())]);
            if read.len() >= most {
                break;
            }
        }
    }
    read
}

fn url(text: &str) -> Result<Uri, Fault> {
    // The text may hold a token: it isn't repeated.
    let fault = |told: &str| Fault::new("url", told);
    let url: Uri = text.trim().parse().map_err(|_| fault("is no URL; write `https://host/path`"))?;
    if !matches!(url.scheme_str(), Some("https" | "http")) || url.host().is_none_or(str::is_empty) {
        return Err(fault("must begin with `https://` (or `http://`) and a host"));
    }
    if url.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(fault("holds a user or a password; give a token under `bearer`, as ${NAME}"));
    }
    Ok(url)
}

fn own_header(
    name: &str,
    text: &str,
    environment: Environment<'_>,
) -> Result<(HeaderName, HeaderValue), Fault> {
    let key = format!("headers.{name}");
    let lower = name.to_ascii_lowercase();
    if OUR_HEADERS.contains(&lower.as_str()) {
        return Err(Fault::new(key, "is set by landonce itself"));
    }
    let is_secret = text.contains("${");
    if SECRET_HEADERS.contains(&lower.as_str()) && !is_secret {
        let told =
            "a secret isn't written into a file; put it into an environment variable, and write ${NAME} here";
        return Err(Fault::new(key, told));
    }
    let parsed = HeaderName::try_from(lower).map_err(|_| Fault::new(&*key, "is no name of a header"))?;
    let value = environment.expand(&key, text)?;
    let mut header = HeaderValue::from_str(&value).map_err(|_| Fault::new(key, "is no value of a header"))?;
    header.set_sensitive(is_secret);
    Ok((parsed, header))
}

/// Where an answer sends us, if that may be followed: with the same method and body, and never from https to http.
fn redirected(from: &Uri, response: &Response<Incoming>) -> Option<Uri> {
    let is_followed = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let to = response.headers().get(header::LOCATION).filter(|_| is_followed)?.to_str().ok()?;
    let to = if to.starts_with('/') && !to.starts_with("//") {
        format!("{}://{}{to}", from.scheme_str()?, from.authority()?)
    } else {
        to.to_owned()
    };
    let to = url(&to).ok()?;
    let is_weaker = from.scheme_str() == Some("https") && to.scheme_str() != Some("https");
    (!is_weaker).then_some(to)
}

/// Whether both are of one scheme, host and port: what is secret goes to no other.
fn is_same_place(one: &Uri, other: &Uri) -> bool {
    one.scheme() == other.scheme() && one.host() == other.host() && one.port_u16() == other.port_u16()
}
