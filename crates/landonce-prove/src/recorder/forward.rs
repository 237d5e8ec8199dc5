//! Passes a call that only reads on to the real server, over HTTP/1.1, one connection a call.
//!
//! Decides nothing: which calls go out is said in `connection`.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::connection::{Answer, said};
use crate::error::{Error, Result};

/// How long a server may take to be reached.
const TO_CONNECT: Duration = Duration::from_secs(30);
/// How long it may take to begin its answer.
const TO_ANSWER: Duration = Duration::from_mins(5);

/// The way to real servers.
pub(super) struct Outside {
    tls: TlsConnector,
}

impl std::fmt::Debug for Outside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Outside")
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Outside {
    /// Trusts whom the system trusts.
    pub(super) fn with_native_roots() -> Result<Self> {
        let mut roots = RootCertStore::empty();
        // A system without certificates can still be called by http, and its pipelines can call nobody by https either.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Self::trusting(roots)
    }

    /// Trusts these.
    pub(super) fn trusting(roots: RootCertStore) -> Result<Self> {
        let mut config =
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(|source| {
                    Error::because("could not set up TLS for the recorder of HTTP calls", source)
                })?
                .with_root_certificates(roots)
                .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { tls: TlsConnector::from(Arc::new(config)) })
    }

    /// The server's answer; `502` or `504` with the reason in words when there is none.
    pub(super) async fn pass_on(
        &self,
        scheme: &str,
        authority: &str,
        request: Request<Incoming>,
    ) -> Response<Answer> {
        let is_https = scheme == "https";
        match timeout(TO_CONNECT, self.connect(is_https, authority)).await {
            Ok(Ok(stream)) => match timeout(TO_ANSWER, ask(stream, authority, request)).await {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => {
                    said(StatusCode::BAD_GATEWAY, &format!("{authority} did not answer: {error}"))
                }
                Err(_) => said(StatusCode::GATEWAY_TIMEOUT, &format!("{authority} took too long to answer")),
            },
            Ok(Err(error)) => {
                said(StatusCode::BAD_GATEWAY, &format!("{authority} could not be reached: {error}"))
            }
            Err(_) => said(StatusCode::GATEWAY_TIMEOUT, &format!("{authority} took too long to reach")),
        }
    }

    async fn connect(&self, is_https: bool, authority: &str) -> Result<Box<dyn Stream>, Failure> {
        let (host, port) = host_and_port(authority, if is_https { 443 } else { 80 })?;
        let stream = TcpStream::connect((host.as_str(), port)).await?;
        stream.set_nodelay(true)?;
        if is_https {
            Ok(Box::new(self.tls.connect(ServerName::try_from(host)?, stream).await?))
        } else {
            Ok(Box::new(stream))
        }
    }
}

/// Bytes both ways, whatever carries them.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The host without brackets, and the port.
pub(super) fn host_and_port(authority: &str, default_port: u16) -> Result<(String, u16), Failure> {
    let authority: hyper::http::uri::Authority = authority.parse()?;
    let host = authority.host();
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Ok((host.to_owned(), authority.port_u16().unwrap_or(default_port)))
}

async fn ask(
    stream: Box<dyn Stream>,
    authority: &str,
    mut request: Request<Incoming>,
) -> Result<Response<Answer>, Failure> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // Ends when the answer's body is read or dropped; a failure is seen there.
    tokio::spawn(connection);
    let path = request.uri().path_and_query().map_or("/", hyper::http::uri::PathAndQuery::as_str);
    *request.uri_mut() = path.parse::<Uri>()?;
    drop_hop_by_hop(request.headers_mut());
    if !request.headers().contains_key(header::HOST) {
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        request.headers_mut().insert(header::HOST, HeaderValue::from_str(host)?);
    }
    let mut response = sender.send_request(request).await?;
    drop_hop_by_hop(response.headers_mut());
    Ok(response.map(BodyExt::boxed))
}

/// Takes away what is meant for one connection only (RFC 9110 §7.6.1).
fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let known = [
        header::CONNECTION,
        header::PROXY_AUTHORIZATION,
        header::PROXY_AUTHENTICATE,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
    ];
    for name in named.into_iter().chain(known) {
        headers.remove(name);
    }
}
