//! Whom we trust, and what we show of ourselves.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::error::Fault;
use crate::spec::HttpSpec;

/// The system's certificates and those of `ca`; the certificate of `client`.
pub(super) fn config(spec: &HttpSpec, base: &Path) -> Result<ClientConfig, Fault> {
    let mut roots = RootCertStore::empty();
    // What the system has and can't be read is no reason not to trust the rest: a receiver that isn't trusted says so.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(ca) = &spec.ca {
        for certificate in certificates("ca", &base.join(ca))? {
            roots
                .add(certificate)
                .map_err(|error| Fault::new("ca", format!("{}: {error}", base.join(ca).display())))?;
        }
    }
    // The provider is named: another crate of the same program may bring another one.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Fault::new("url", error.to_string()))?
        .with_root_certificates(roots);
    let Some(client) = &spec.client else { return Ok(config.with_no_client_auth()) };
    let path = base.join(&client.key);
    let key = PrivateKeyDer::from_pem_file(&path)
        // The error could quote what is in the file.
        .map_err(|_| {
            Fault::new("client.key", format!("{}: there is no private key in PEM form", path.display()))
        })?;
    let chain = certificates("client.cert", &base.join(&client.cert))?;
    config.with_client_auth_cert(chain, key).map_err(|error| Fault::new("client", error.to_string()))
}

fn certificates(key: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, Fault> {
    let fault = |told: &dyn std::fmt::Display| Fault::new(key, format!("{}: {told}", path.display()));
    let found = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| fault(&error))?;
    if found.is_empty() {
        return Err(fault(&"there is no certificate in PEM form"));
    }
    Ok(found)
}
