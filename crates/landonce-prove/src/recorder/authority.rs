//! A certificate authority that lives as long as a recorder: certificates for the hosts that a command calls by https.
//!
//! Its key never leaves memory. Its certificate is written beside copies of the system's, into a folder of its own, for the
//! variables that tell programs whom to trust.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::error::{Error, Result};

/// Where systems keep the certificates that they trust, in one file.
const SYSTEM_BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/opt/homebrew/etc/ca-certificates/cert.pem",
];

/// Signs certificates for any host.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// One key for all hosts: it is no secret worth more than this process.
    key: KeyPair,
    servers: Mutex<BTreeMap<String, Arc<ServerConfig>>>,
    bundle: PathBuf,
    _folder: tempfile::TempDir,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("bundle", &self.bundle).finish_non_exhaustive()
    }
}

impl Authority {
    /// Makes a key and a certificate, and writes the bundle.
    pub(super) fn new() -> Result<Self> {
        let failed =
            |source| Error::because("could not make a certificate for the recorder of HTTP calls", source);
        let mut params = CertificateParams::new(Vec::new()).map_err(failed)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.distinguished_name.push(DnType::CommonName, "landonce prove, for this run only");
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer_key = KeyPair::generate().map_err(failed)?;
        let certificate = params.self_signed(&issuer_key).map_err(failed)?;
        let (folder, bundle) = write_bundle(&certificate.pem()).map_err(|source| {
            Error::because("could not write the certificate of the recorder of HTTP calls", source)
        })?;
        Ok(Self {
            issuer: Issuer::new(params, issuer_key),
            key: KeyPair::generate().map_err(failed)?,
            servers: Mutex::default(),
            bundle,
            _folder: folder,
        })
    }

    /// The file with the system's certificates and ours.
    pub(super) fn bundle(&self) -> &Path {
        &self.bundle
    }

    /// How to be this host (a name or an address without brackets) to a client. Offers HTTP/1.1 only.
    pub(super) fn server(
        &self,
        host: &str,
    ) -> Result<Arc<ServerConfig>, Box<dyn std::error::Error + Send + Sync>> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = servers.get(host) {
            return Ok(Arc::clone(server));
        }
        let mut params = CertificateParams::new(vec![host.to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, "landonce prove");
        // Strict clients (Python 3.13) ask for both.
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&self.key, &self.issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let mut server =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()?
                .with_no_client_auth()
                .with_single_cert(vec![certificate.der().clone()], key)?;
        server.alpn_protocols = vec![b"http/1.1".to_vec()];
        let server = Arc::new(server);
        servers.insert(host.to_owned(), Arc::clone(&server));
        Ok(server)
    }
}

fn write_bundle(own: &str) -> std::io::Result<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::Builder::new().prefix("landonce-recorder.").tempdir()?;
    let bundle = folder.path().join("certificates.pem");
    // Reads are passed on as they are, but a client without a proxy setting of its own goes to real servers.
    let mut text = std::env::var_os("SSL_CERT_FILE")
        .map(PathBuf::from)
        .into_iter()
        .chain(SYSTEM_BUNDLES.map(PathBuf::from))
        .find_map(|file| std::fs::read(file).ok())
        .unwrap_or_default();
    text.push(b'\n');
    text.extend_from_slice(own.as_bytes());
    std::fs::write(&bundle, text)?;
    Ok((folder, bundle))
}
