//! A `POST` to a collector: within ten seconds, to whomever the system's certificates trust.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};

/// How long a collector has.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much of an answer is read.
const ANSWER: usize = 64 * 1024;

/// Whoever posts.
#[derive(Debug, Clone)]
pub(super) struct Post(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

impl Post {
    pub(super) fn new() -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        // The provider is named: another crate of the same program may bring another one.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().build();
        Ok(Self(Client::builder(TokioExecutor::new()).build(connector)))
    }

    /// Sends it. The error has no words of the collector's: those could repeat what was sent.
    pub(super) async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        let sent = async {
            let response = self.0.request(request.map(Full::new)).await.map_err(|error| told(&error))?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, ANSWER).collect().await.map_err(|error| error.to_string())?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        tokio::time::timeout(PATIENCE, sent).await.unwrap_or_else(|_| Err("no answer in time".to_owned()))
    }
}

/// An error with its causes.
fn told(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        told = format!("{told}: {next}");
        cause = next.source();
    }
    told
}
