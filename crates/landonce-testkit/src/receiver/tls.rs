//! Certificates for a receiver that speaks TLS: an authority of the test's own, the server's, and a client's.

use std::fmt;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

/// What a receiver and its clients show each other. The server is `localhost` and `127.0.0.1`.
#[derive(Clone)]
pub struct Certificates {
    server: Arc<ServerConfig>,
    authority: String,
    client: (String, String),
    server_pem: (String, String),
}

impl Certificates {
    /// Fresh ones. With `is_mutual` a client must show a certificate of the same authority.
    ///
    /// # Panics
    ///
    /// When they can't be made.
    pub fn new(is_mutual: bool) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.distinguished_name.push(DnType::CommonName, "landonce testkit");
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key"))
            .expect("an authority's certificate");
        let issue = |names: &[&str], purpose| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let mut params = CertificateParams::new(names).expect("names");
            params.extended_key_usages = vec![purpose];
            params.use_authority_key_identifier_extension = true;
            let key = KeyPair::generate().expect("a key");
            let certificate = params.signed_by(&key, &authority).expect("a certificate");
            (certificate, key)
        };
        let (server, server_key) = issue(&["localhost", "127.0.0.1"], ExtendedKeyUsagePurpose::ServerAuth);
        let (client, client_key) = issue(&["client"], ExtendedKeyUsagePurpose::ClientAuth);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("protocol versions");
        let builder = if is_mutual {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from(authority.der().to_vec())).expect("a root");
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.expect("a verifier"))
        } else {
            builder.with_no_client_auth()
        };
        let server_pem = (server.pem(), server_key.serialize_pem());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(server_key.serialize_der()));
        let server = builder.with_single_cert(vec![server.der().clone()], key).expect("its own key");
        Self {
            server: Arc::new(server),
            authority: authority.pem(),
            client: (client.pem(), client_key.serialize_pem()),
            server_pem,
        }
    }

    /// The authority's certificate, as PEM: what a client trusts.
    pub fn authority_pem(&self) -> &str {
        &self.authority
    }

    /// A client's certificate and its key, each as PEM.
    pub fn client_pem(&self) -> (&str, &str) {
        (&self.client.0, &self.client.1)
    }

    /// The server's certificate and its key, each as PEM: for a server of another kind.
    pub fn server_pem(&self) -> (&str, &str) {
        (&self.server_pem.0, &self.server_pem.1)
    }

    pub(super) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").finish_non_exhaustive()
    }
}
