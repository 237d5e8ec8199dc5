//! TLS: the certificate from its files, read again when it is replaced.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::config::TlsFiles;

/// What shakes hands. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Tls(TlsAcceptor);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls(…)")
    }
}

impl Tls {
    /// Reads the certificate and its key.
    ///
    /// # Errors
    /// When one can't be read, holds nothing of its kind, or they don't belong together.
    pub(crate) fn load(files: &TlsFiles) -> io::Result<Self> {
        let told = |path: &Path, error: &dyn std::fmt::Display| {
            io::Error::other(format!("{}: {error}", path.display()))
        };
        let path = files.certificate.as_path();
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect)
            .map_err(|error| told(path, &error))?;
        if chain.is_empty() {
            return Err(told(path, &"holds no certificate (PEM)"));
        }
        let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| told(&files.key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| told(path, &format!("doesn't go with `{}`: {error}", files.key.display())))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    pub(super) fn acceptor(&self) -> &TlsAcceptor {
        &self.0
    }
}
