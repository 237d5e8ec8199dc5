//! One client of the recorder: plain proxying, tunnels that are opened and looked into, the hook.
//!
//! Decides which calls are recorded and which are passed on.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::{BODY_START, Call, Shared, blot, forward};

/// Where the recorder takes calls that are meant for itself.
pub(super) const HOOK: &str = "/hook";

/// How long a client may take to begin to speak in a tunnel, and to agree on TLS.
const TO_BEGIN: Duration = Duration::from_secs(30);
/// The first byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 0x16;

/// The body of what we answer.
pub(super) type Answer = BoxBody<Bytes, hyper::Error>;

/// A tunnel that a client has asked for: it opens when our answer is out.
#[derive(Default)]
struct Asked(Mutex<Option<(OnUpgrade, String)>>);

impl Asked {
    fn set(&self, tunnel: (OnUpgrade, String)) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
    }

    fn take(&self) -> Option<(OnUpgrade, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Serves a client until it goes.
pub(super) async fn run(client: TcpStream, shared: Arc<Shared>) {
    // A client that is gone has nothing to be told: how its connection ended doesn't matter here and below.
    let _ = client.set_nodelay(true);
    let asked = Asked::default();
    let service = service_fn(|request| async {
        Ok::<_, Infallible>(if request.method() == Method::CONNECT {
            open(request, &asked)
        } else {
            answer_direct(request, &shared).await
        })
    });
    let served = http1::Builder::new().serve_connection(TokioIo::new(client), service).with_upgrades().await;
    if let (Ok(()), Some((upgrade, authority))) = (served, asked.take())
        && let Ok(stream) = upgrade.await
    {
        tunnel(BufReader::new(TokioIo::new(stream)), &authority, &shared).await;
    }
}

fn open(mut request: Request<Incoming>, asked: &Asked) -> Response<Answer> {
    let Some(authority) = request.uri().authority().map(ToString::to_string) else {
        return said(StatusCode::BAD_REQUEST, "CONNECT needs a host and a port");
    };
    asked.set((hyper::upgrade::on(&mut request), authority));
    Response::new(body(""))
}

/// A call in absolute form (a proxy's), or one to ourselves.
async fn answer_direct(request: Request<Incoming>, shared: &Shared) -> Response<Answer> {
    let uri = request.uri();
    if let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) {
        let (scheme, authority) = (scheme.to_owned(), authority.to_string());
        return answer(request, &scheme, &authority, shared).await;
    }
    let own = shared.address.to_string();
    answer(request, "http", &own, shared).await
}

/// What a client says in a tunnel to this host: TLS as a rule, HTTP in the clear from clients that tunnel everything.
async fn tunnel(
    mut stream: BufReader<impl AsyncRead + AsyncWrite + Send + Unpin>,
    authority: &str,
    shared: &Shared,
) {
    let first = match timeout(TO_BEGIN, stream.fill_buf()).await {
        Ok(Ok(bytes)) => bytes.first().copied(),
        Ok(Err(_)) | Err(_) => None,
    };
    match first {
        Some(TLS_HANDSHAKE) => {
            let accepted = match forward::host_and_port(authority, 443)
                .and_then(|(host, _)| shared.authority.server(&host))
            {
                Ok(server) => timeout(TO_BEGIN, TlsAcceptor::from(server).accept(stream)).await.ok(),
                Err(_) => None,
            };
            match accepted {
                Some(Ok(stream)) => serve(stream, "https", authority, shared).await,
                // It doesn't trust us, or speaks no HTTP/1.1.
                Some(Err(_)) | None => unseen("https", authority, shared),
            }
        }
        Some(byte) if byte.is_ascii_uppercase() => serve(stream, "http", authority, shared).await,
        Some(_) | None => unseen("tcp", authority, shared),
    }
}

/// Keeps that there was a tunnel, since that is all we know.
fn unseen(scheme: &str, authority: &str, shared: &Shared) {
    shared.record(Call {
        method: Method::CONNECT.to_string(),
        url: format!("{scheme}://{authority}/"),
        body_digest: hex::encode(Sha256::digest([])),
        body_start: String::new(),
        idempotency_key: None,
        is_idempotent: false,
    });
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin,
    scheme: &str,
    authority: &str,
    shared: &Shared,
) {
    let service =
        service_fn(|request| async { Ok::<_, Infallible>(answer(request, scheme, authority, shared).await) });
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    request: Request<Incoming>,
    scheme: &str,
    authority: &str,
    shared: &Shared,
) -> Response<Answer> {
    let is_own = authority == shared.address.to_string();
    let path = request.uri().path();
    if is_own && !path.strip_prefix(HOOK).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
        return said(StatusCode::NOT_FOUND, "this is landonce's recorder of HTTP calls; its hook is /hook");
    }
    if !is_own && matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
        return shared.outside.pass_on(scheme, authority, request).await;
    }
    let (parts, body) = request.into_parts();
    // Half a body is no call: the server that it was for would not have acted on it.
    let Ok(content) = read(body).await else {
        return said(StatusCode::BAD_REQUEST, "the body ended early");
    };
    let url = if is_own {
        format!("{{hook}}{}", blot::path_and_query(&parts.uri).split_at(HOOK.len()).1)
    } else {
        blot::url(scheme, authority, &parts.uri)
    };
    if shared.record(call(&parts, url, content)) {
        // Until the client is gone, which drops us.
        std::future::pending::<()>().await;
    }
    let mut response = Response::new(self::body("{}"));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// What is kept of a body.
struct Content {
    digest: String,
    start: String,
}

async fn read(mut body: Incoming) -> Result<Content, hyper::Error> {
    let mut digest = Sha256::new();
    let mut start = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            digest.update(&data);
            // A character has at most four bytes.
            let wanted = (BODY_START * 4).saturating_sub(start.len());
            start.extend_from_slice(&data[..data.len().min(wanted)]);
        }
    }
    let start = String::from_utf8_lossy(&start).chars().take(BODY_START).collect();
    Ok(Content { digest: hex::encode(digest.finalize()), start })
}

fn call(parts: &Parts, url: String, content: Content) -> Call {
    Call {
        method: parts.method.as_str().to_ascii_uppercase(),
        url,
        body_digest: content.digest,
        body_start: content.start,
        idempotency_key: idempotency_key(&parts.headers),
        is_idempotent: parts.method.is_idempotent(),
    }
}

fn idempotency_key(headers: &HeaderMap) -> Option<String> {
    ["idempotency-key", "x-idempotency-key", "webhook-id"]
        .iter()
        .find_map(|name| headers.get(*name))
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// An answer of our own in words.
pub(super) fn said(status: StatusCode, words: &str) -> Response<Answer> {
    let mut response = Response::new(body(&format!("landonce prove: {words}\n")));
    *response.status_mut() = status;
    response
}

fn body(text: &str) -> Answer {
    Full::new(Bytes::copy_from_slice(text.as_bytes())).map_err(|never| match never {}).boxed()
}
