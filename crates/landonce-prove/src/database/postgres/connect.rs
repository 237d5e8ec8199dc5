//! A connection of ours to the user's server: TLS as `sslmode` asks for it, no limits that would end long work.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::database::url::Url;
use crate::error::{Error, Result};

/// Whoever has mistyped a host is told within five seconds.
const TIMEOUT: Duration = Duration::from_secs(4);

/// Connects. Fails with place and advice; the message holds no secret.
pub(super) async fn connect(url: &Url) -> Result<Client> {
    let failed = |said: &str, error: Box<dyn std::error::Error + Send + Sync>| {
        Error::because(format!("cannot connect to PostgreSQL at {}: {said}", url.place()), error)
    };
    let opened = tokio::time::timeout(TIMEOUT, open(url)).await;
    let client = match opened {
        Ok(Ok(client)) => client,
        Ok(Err(Opening::Driver(error))) => return Err(failed(&words(&error), error.into())),
        Ok(Err(Opening::Ours(error))) => return Err(error),
        Err(elapsed) => return Err(failed("no answer within 4 s", elapsed.into())),
    };
    // The user's settings for roles and databases are meant for the user's statements.
    client
        .batch_execute(
            "SELECT set_config(name, value, false) FROM pg_catalog.pg_settings JOIN (VALUES ('statement_timeout', '0'), \
             ('lock_timeout', '0'), ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0'), \
             ('default_transaction_read_only', 'off'), ('search_path', 'pg_catalog'), \
             ('client_min_messages', 'warning')) ours (setting_name, value) ON setting_name = name",
        )
        .await
        .map_err(|error| failed(&words(&error), error.into()))?;
    Ok(client)
}

/// What the server, or else the driver, says.
pub(super) fn words(error: &tokio_postgres::Error) -> String {
    if let Some(db) = error.as_db_error() {
        let more = |text: Option<&str>| text.map_or(String::new(), |text| format!("; {text}"));
        return format!("{}{}{}", db.message(), more(db.detail()), more(db.hint()));
    }
    let source = std::error::Error::source(error).map(|source| format!(": {source}"));
    format!("{error}{}", source.unwrap_or_default())
}

enum Opening {
    Driver(tokio_postgres::Error),
    Ours(Error),
}

impl From<tokio_postgres::Error> for Opening {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Driver(error)
    }
}

async fn open(url: &Url) -> Result<Client, Opening> {
    let mut config = config(url);
    let mode = url.parameter("sslmode").unwrap_or("prefer");
    let is_local = url.host.as_deref().is_some_and(|host| host.starts_with('/'));
    config.ssl_mode(match mode {
        // The server speaks no TLS over its unix socket.
        _ if is_local => SslMode::Disable,
        "disable" => SslMode::Disable,
        "allow" | "prefer" => SslMode::Prefer,
        "require" | "verify-ca" | "verify-full" => SslMode::Require,
        _ => {
            return Err(Opening::Ours(Error::new(
                "`sslmode` is none of disable, allow, prefer, require, verify-ca, verify-full",
            )));
        }
    });
    if config.get_ssl_mode() == SslMode::Disable {
        return Ok(spawned(&config, NoTls).await?);
    }
    let is_verified = mode.starts_with("verify-");
    let tls = tls(is_verified, url.parameter("sslrootcert")).map_err(Opening::Ours)?;
    Ok(spawned(&config, MakeRustlsConnect::new(tls)).await?)
}

fn config(url: &Url) -> Config {
    let mut config = Config::new();
    config.host(url.host.as_deref().unwrap_or("localhost")).port(url.port.unwrap_or(5432));
    config.application_name("landonce prove").connect_timeout(TIMEOUT);
    if let Some(user) = &url.user {
        config.user(user);
    }
    if let Some(password) = &url.password {
        config.password(password);
    }
    if let Some(database) = &url.database {
        config.dbname(database);
    }
    if let Some(options) = url.parameter("options") {
        config.options(options);
    }
    config
}

async fn spawned<T>(config: &Config, tls: T) -> Result<Client, tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, connection) = config.connect(tls).await?;
    // Ends with the client, or with the server; whoever uses the client learns of a failure.
    tokio::spawn(connection);
    Ok(client)
}

fn tls(is_verified: bool, root_certificate: Option<&str>) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::because("TLS can't be set up", error))?;
    if !is_verified {
        let verifier = Arc::new(AnyCertificate { provider });
        return Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth());
    }
    let mut roots = RootCertStore::empty();
    if let Some(file) = root_certificate.filter(|file| *file != "system") {
        let certificates = CertificateDer::pem_file_iter(file)
            .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
            .map_err(|error| Error::because(format!("`sslrootcert` {file} can't be read as PEM"), error))?;
        roots.add_parsable_certificates(certificates);
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// libpq's `require`: encrypted, to whomever. The handshake's signatures are checked.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
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
