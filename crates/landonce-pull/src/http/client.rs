//! The client: whom it trusts, what every request has.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::Empty;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use landonce_core::pipeline::http::{Auth, Http};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use super::address::{expand, look_up};
use super::veil::Veil;
use crate::error::Error;

/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_mins(1);

pub(super) type HttpClient = Client<HttpsConnector<HttpConnector>, Empty<Bytes>>;

/// The client; files are relative to `base`.
pub(super) fn client(http: &Http, base: &Path) -> Result<HttpClient, Error> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(http.timeout));
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls(http.ca.as_deref(), base)?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector);
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .build(connector))
}

fn tls(ca: Option<&str>, base: &Path) -> Result<ClientConfig, Error> {
    let fault = |told: &dyn std::fmt::Display| Error::Declared(format!("source.http.tls.ca: {told}"));
    let mut roots = RootCertStore::empty();
    // What the system has and can't be read is no reason not to trust the rest: a source that isn't trusted says so.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(ca) = ca {
        let path = base.join(ca);
        let fault = |told: &dyn std::fmt::Display| fault(&format!("{}: {told}", path.display()));
        let found = CertificateDer::pem_file_iter(&path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| fault(&error))?;
        if found.is_empty() {
            return Err(fault(&"there is no certificate in PEM form"));
        }
        for certificate in found {
            roots.add(certificate).map_err(|error| fault(&error))?;
        }
    }
    // The provider is named: another crate of the same program may bring another one.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| fault(&error))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// The headers of every request, and those that go to the declared origin only.
pub(super) fn headers(http: &Http, veil: &mut Veil) -> Result<(HeaderMap, HeaderMap), Error> {
    let mut all = HeaderMap::new();
    let agent = concat!("landonce/", env!("CARGO_PKG_VERSION"));
    all.insert(header::USER_AGENT, HeaderValue::from_static(agent));
    all.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    let mut own = HeaderMap::new();
    for (name, text) in &http.headers {
        let key = format!("source.http.headers.{name}");
        let fault = |told: &str| Error::Declared(format!("{key}: {told}"));
        let name = HeaderName::try_from(name).map_err(|_| fault("is no name of a header"))?;
        let value = expand(&key, text, veil)?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| fault("is no value of a header"))?;
        value.set_sensitive(text.contains("${"));
        own.insert(name, value);
    }
    let authorization = match &http.auth {
        Auth::Bearer(variable) => {
            Some(format!("Bearer {}", look_up("source.http.auth.bearer", variable.name(), veil)?))
        }
        Auth::Basic(user, password) => {
            let user = expand("source.http.auth.basic.user", user, veil)?;
            let password = look_up("source.http.auth.basic.password", password.name(), veil)?;
            let pair = format!("{user}:{password}");
            veil.add(&pair);
            Some(format!("Basic {}", STANDARD.encode(pair)))
        }
        Auth::None | Auth::Query(_) => None,
    };
    if let Some(text) = authorization {
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            Error::Declared("source.http.auth: the variable's value can't be a header".into())
        })?;
        value.set_sensitive(true);
        own.insert(header::AUTHORIZATION, value);
    }
    Ok((all, own))
}

/// A GET of this address.
pub(super) fn request(uri: Uri, headers: HeaderMap) -> Request<Empty<Bytes>> {
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    request
}
