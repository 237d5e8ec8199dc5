//! The connection: made of the declaration, waited for, and made again by the client whenever it breaks.

use std::time::{Duration, Instant};

use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event};
use landonce::Pipeline;
use landonce_core::pipeline::{Nats, NatsAuth};
use tokio::sync::watch;

use crate::desk::Desk;
use crate::error::Error;

/// How long the first answer of a server is waited for.
pub(super) const FIRST_ANSWER: Duration = Duration::from_secs(30);
/// Between attempts at the first one.
const AGAIN: Duration = Duration::from_millis(500);

/// The servers' addresses.
pub(super) fn servers(nats: &Nats) -> Result<Vec<String>, Error> {
    let servers = nats.servers.iter().map(|server| expanded("servers", server));
    let servers = servers.collect::<Result<Vec<_>, _>>()?;
    if servers.iter().any(|server| server.contains('@')) {
        return Err(Error::Declared(
            "source.nats.servers: an address holds no user and no password; write them under `auth`".into(),
        ));
    }
    Ok(servers)
}

/// What the client is told.
pub(super) fn options(nats: &Nats, pipeline: &Pipeline) -> Result<ConnectOptions, Error> {
    let file = |key: &str, path: &str| {
        let path = pipeline.base().join(expanded(key, path)?);
        if !path.is_file() {
            return Err(Error::Declared(format!("source.nats.{key}: {} is no file", path.display())));
        }
        Ok(path)
    };
    let mut options = ConnectOptions::new()
        .name(format!("landonce {}", pipeline.name()))
        .ping_interval(Duration::from_secs(10))
        .request_timeout(Some(Duration::from_secs(5)));
    if let Some(tls) = &nats.tls {
        options = options.require_tls(true);
        if let Some(ca) = &tls.ca {
            options = options.add_root_certificates(file("tls.ca", ca)?);
        }
        if let (Some(cert), Some(key)) = (&tls.cert, &tls.key) {
            options = options.add_client_certificate(file("tls.cert", cert)?, file("tls.key", key)?);
        }
    }
    Ok(match &nats.auth {
        None => options,
        Some(NatsAuth::User { user, password }) => {
            options.user_and_password(expanded("auth.user", user)?, expanded("auth.password", password)?)
        }
        Some(NatsAuth::Token(token)) => options.token(expanded("auth.token", token)?),
        Some(NatsAuth::Nkey(seed)) => options.nkey(expanded("auth.nkey", seed)?),
        Some(NatsAuth::Credentials(path)) => {
            let path = file("auth.credentials", path)?;
            let no_credentials = || {
                // Its own words might repeat what it holds.
                Error::Declared(format!(
                    "source.nats.auth.credentials: {} holds no credentials as `nsc` writes them, or can't be read",
                    path.display()
                ))
            };
            let text = std::fs::read_to_string(&path).map_err(|_| no_credentials())?;
            options.credentials(&text).map_err(|_| no_credentials())?
        }
    })
}

fn expanded(key: &str, text: &str) -> Result<String, Error> {
    Pipeline::expanded(&format!("source.nats.{key}"), text)
        .map_err(|error| Error::Declared(error.to_string()))
}

/// Connects, waiting for a server. What is watched changes with every further connection. `None` when the desk stops meanwhile.
pub(super) async fn connect(
    options: ConnectOptions,
    servers: &[String],
    desk: &Desk,
) -> Result<Option<(Client, watch::Receiver<u64>)>, Error> {
    let (connects, watched) = watch::channel(0);
    let options = options.event_callback(move |event| {
        let connects = connects.clone();
        async move {
            match event {
                Event::Connected => connects.send_modify(|count| *count += 1),
                Event::Disconnected => tracing::warn!("the NATS server is away; it is waited for"),
                Event::ServerError(error) => tracing::warn!(%error, "the NATS server refuses"),
                Event::SlowConsumer(_) => {
                    tracing::debug!("messages were dropped on the way; they are read again");
                }
                Event::ClientError(error) => tracing::warn!(%error, "NATS"),
                Event::LameDuckMode | Event::Draining | Event::Closed => tracing::debug!(%event, "NATS"),
            }
        }
    });
    let until = Instant::now() + FIRST_ANSWER;
    loop {
        let error = match options.clone().connect(servers).await {
            Ok(client) => return Ok(Some((client, watched))),
            Err(error) => error,
        };
        let kind = error.kind();
        match kind {
            _ if desk.is_stopping() => return Ok(None),
            ConnectErrorKind::ServerParse => {
                return Err(Error::Declared(format!(
                    "source.nats.servers: `{}` is no address of a server; write `nats://host:4222`",
                    servers.join(", ")
                )));
            }
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                return Err(Error::Broker(format!(
                    "source.nats.auth: the server refuses the worker: {kind}"
                )));
            }
            ConnectErrorKind::Tls => {
                return Err(Error::Broker(format!(
                    "source.nats.tls: no TLS with the server: {}",
                    inner(&error)
                )));
            }
            _ if Instant::now() > until => {
                return Err(Error::Broker(format!(
                    "source.nats.servers: no server has answered at {} within {} s: {}",
                    servers.join(", "),
                    FIRST_ANSWER.as_secs(),
                    inner(&error)
                )));
            }
            _ => {
                tracing::debug!(%kind, "no server answers yet");
                tokio::select! {
                    () = tokio::time::sleep(AGAIN) => {}
                    () = desk.stopped() => return Ok(None),
                }
            }
        }
    }
}

/// What lies behind an error: a socket's or a handshake's words, which hold no secret.
fn inner(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
