//! Connecting: a name is resolved here, each address is guarded, and that very address is connected to.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::guard::Guard;

/// Connects to what a URL names.
#[derive(Debug, Clone)]
pub(super) struct Dial {
    guard: Arc<Guard>,
    within: Duration,
}

/// Why it isn't connected.
#[derive(Debug, thiserror::Error)]
pub(super) enum DialError {
    /// The name has no address.
    #[error("`{host}` can't be resolved: {source}")]
    Name { host: String, source: io::Error },
    /// All addresses that it has are such that they aren't connected to.
    #[error(
        "`{host}` is {address}, and that address is {what}: it isn't connected to; if it should be, name it under `allow_private`"
    )]
    Guarded { host: String, address: IpAddr, what: &'static str },
    /// The address doesn't answer, or refuses.
    #[error("can't connect to {address}: {source}")]
    Connect { address: SocketAddr, source: io::Error },
    /// It took too long.
    #[error("connecting to `{host}` took longer than {} s", .within.as_secs_f64())]
    Late { host: String, within: Duration },
}

impl Dial {
    pub(super) fn new(guard: Guard, within: Duration) -> Self {
        Self { guard: Arc::new(guard), within }
    }

    async fn connect(self, url: Uri) -> Result<TokioIo<TcpStream>, DialError> {
        let host = url.host().unwrap_or_default().to_owned();
        let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("https") { 443 } else { 80 });
        match tokio::time::timeout(self.within, self.try_all(&host, port)).await {
            Ok(connected) => connected,
            Err(_) => Err(DialError::Late { host, within: self.within }),
        }
    }

    async fn try_all(&self, host: &str, port: u16) -> Result<TokioIo<TcpStream>, DialError> {
        let addresses = resolve(host, port).await?;
        let share = self.within / u32::try_from(addresses.len()).unwrap_or(1).max(1);
        let mut failed = None;
        for address in addresses {
            if let Err(what) = self.guard.check(address.ip()) {
                // An address that may be connected to, and failed, is the more useful thing to hear of.
                failed.get_or_insert(DialError::Guarded {
                    host: host.to_owned(),
                    address: address.ip(),
                    what,
                });
                continue;
            }
            // One address that swallows everything leaves the others their share of the time.
            let connected = tokio::time::timeout(share, TcpStream::connect(address)).await;
            match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(stream) => {
                    // Only latency is at stake.
                    let _ = stream.set_nodelay(true);
                    return Ok(TokioIo::new(stream));
                }
                Err(source) => failed = Some(DialError::Connect { address, source }),
            }
        }
        Err(failed.unwrap_or_else(|| DialError::Name {
            host: host.to_owned(),
            source: io::Error::new(io::ErrorKind::NotFound, "it has no address"),
        }))
    }
}

async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, DialError> {
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = literal.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    match tokio::net::lookup_host((host, port)).await {
        Ok(found) => Ok(found.collect()),
        Err(source) => Err(DialError::Name { host: host.to_owned(), source }),
    }
}

impl Service<Uri> for Dial {
    type Response = TokioIo<TcpStream>;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, DialError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        Box::pin(self.clone().connect(url))
    }
}
