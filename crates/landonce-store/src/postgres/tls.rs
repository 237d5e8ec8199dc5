//! TLS to the server, in libpq's five modes, by rustls with ring's cryptography and nothing else.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{Error, Result};

/// libpq's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Disable,
    /// TLS if the server offers it; nothing is verified.
    Prefer,
    /// TLS or nothing. Verified as [`Mode::VerifyCa`] if a root certificate is given, else not.
    Require,
    /// The certificate must come from a known authority.
    VerifyCa,
    /// And it must be for this host.
    VerifyFull,
}

impl Mode {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "disable" => Self::Disable,
            "prefer" | "allow" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }
}

/// Whom to trust; `None` without TLS.
#[derive(Clone)]
pub(super) struct Trust(Option<MakeRustlsConnect>);

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Trust(tls)" } else { "Trust(none)" })
    }
}

impl Trust {
    pub(super) fn connector(&self) -> Option<MakeRustlsConnect> {
        self.0.clone()
    }
}

/// Whom a mode trusts: the given root certificates (a PEM file), else the operating system's.
pub(super) fn trust(mode: Mode, root_certificate: Option<&str>) -> Result<Trust> {
    if mode == Mode::Disable {
        return Ok(Trust(None));
    }
    let provider = Arc::new(ring::default_provider());
    let check = match (mode, root_certificate) {
        (Mode::VerifyFull, _) => Check::Host,
        (Mode::VerifyCa, _) | (Mode::Require, Some(_)) => Check::Authority,
        (Mode::Disable | Mode::Prefer | Mode::Require, _) => Check::Nothing,
    };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::refused(format!("TLS can't be set up: {error}")))?;
    let config = if check == Check::Nothing {
        let verifier = Lenient { provider, authority: None };
        builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
    } else {
        let roots = roots(root_certificate)?;
        if check == Check::Host {
            builder.with_root_certificates(roots).with_no_client_auth()
        } else {
            let authority =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                    .build()
                    .map_err(|error| Error::refused(format!("TLS can't be set up: {error}")))?;
            let verifier = Lenient { provider, authority: Some(authority) };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
        }
    };
    Ok(Trust(Some(MakeRustlsConnect::new(config))))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Check {
    Nothing,
    Authority,
    Host,
}

fn roots(file: Option<&str>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let refused = |why: String| Error::refused(why);
    if let Some(file) = file {
        let certificates = CertificateDer::pem_file_iter(file)
            .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
            .map_err(|error| refused(format!("`sslrootcert` {file} can't be read as PEM: {error}")))?;
        roots.add_parsable_certificates(certificates);
        if roots.is_empty() {
            return Err(refused(format!("`sslrootcert` {file} holds no certificate")));
        }
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(refused(
                "this machine has no root certificates; name a PEM file with `sslrootcert`".to_owned(),
            ));
        }
    }
    Ok(roots)
}

/// Takes any certificate, or any of a known authority whatever its host; the handshake's signatures are checked in full.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    authority: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
