//! One connection to a receiver: requests in, what the script says out.

use std::io;
use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::reply::{Body, Reply};
use super::{Received, Shared};

pub(super) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let tls = shared.setup.tls.as_ref().map(|certificates| TlsAcceptor::from(certificates.server()));
    // Dropped with this task, and its connections with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                shared.state().connections += 1;
                let (tls, shared) = (tls.clone(), Arc::clone(&shared));
                connections.spawn(async move {
                    // Small answers go out at once.
                    let _ = stream.set_nodelay(true);
                    match tls {
                        None => serve(stream, shared).await,
                        // A client that doesn't trust us, or isn't trusted, has made no request.
                        Some(tls) => if let Ok(stream) = tls.accept(stream).await { serve(stream, shared).await },
                    }
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, shared: Arc<Shared>) {
    let service = service_fn(|request| answer(request, Arc::clone(&shared)));
    // Its errors are the faults that were asked for, and clients that are gone.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> io::Result<Response<Body>> {
    let under_way = UnderWay::begin(&shared);
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    // Before the request counts as arrived, or a test that waits for it could release too early.
    let mut releases = shared.releases.subscribe();
    let reply = shared.record(Received {
        id: text("webhook-id").or_else(|| text("idempotency-key")),
        method: head.method.to_string(),
        path: head.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        headers: head.headers,
        body,
        key: None,
        signature: None,
        reply: Reply::default(),
    });
    if reply == Reply::Hang {
        // The sender lives in what we hold: it can't be gone.
        let _ = releases.changed().await;
    }
    drop(under_way);
    reply.response().ok_or_else(|| io::Error::other("closed as told"))
}

/// A request that is under way, until it is answered or its connection ends.
struct UnderWay<'a>(&'a Shared);

impl<'a> UnderWay<'a> {
    fn begin(shared: &'a Shared) -> Self {
        let mut state = shared.state();
        state.now += 1;
        state.most = state.most.max(state.now);
        Self(shared)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.state().now -= 1;
    }
}
