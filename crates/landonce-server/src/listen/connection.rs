//! One connection: its handshake, its requests one after the other, and its end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tower::ServiceExt as _;

use super::body::Timed;
use super::watched::{Late, Watch, Watched};
use super::{Stage, Tls, refuse};
use crate::app::App;

/// The longest head of a request, and the most headers: beyond, 431.
const HEAD: usize = 32 * 1024;
const HEADERS: usize = 100;
/// How much of a request is read ahead.
const BUFFER: usize = 64 * 1024;

/// Serves a connection to its end.
pub(super) async fn serve(app: &App, router: Router, stream: TcpStream, peer: SocketAddr, tls: Option<Tls>) {
    let Some(tls) = tls else {
        return talk(app, router, stream, peer).await;
    };
    let hello = tokio::time::timeout(app.config().limits().header_time, tls.acceptor().accept(stream));
    match hello.await {
        Ok(Ok(stream)) => talk(app, router, stream, peer).await,
        Ok(Err(error)) => tracing::debug!(%peer, %error, "no TLS"),
        Err(_) => tracing::debug!(%peer, "no TLS in time"),
    }
}

async fn talk<S: AsyncRead + AsyncWrite + Send + Unpin>(
    app: &App,
    router: Router,
    stream: S,
    peer: SocketAddr,
) {
    let watch = Watch::new();
    let limits = app.config().limits();
    let service = service_fn(|request: hyper::Request<Incoming>| {
        watch.answers();
        let guard = Answering(watch.clone());
        let request = {
            let (mut parts, body) = request.into_parts();
            parts.extensions.insert(ConnectInfo(peer));
            hyper::Request::from_parts(parts, Body::new(Timed::new(body, limits, app.drain(), watch.clone())))
        };
        let answer = router.clone().oneshot(request);
        Box::pin(async move {
            let response: Response = answer.await.unwrap_or_else(|never: Infallible| match never {});
            Ok::<_, Infallible>(response.map(|body| Guarded { body, _guard: guard }))
        })
    });
    let mut connection = http1::Builder::new()
        // A client that has said all it has to say, and ends its side, still gets what it asked for.
        .half_close(true)
        .max_headers(HEADERS)
        .max_header_size(HEAD)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(Watched::new(stream, watch.clone())), service);
    let mut ticks = tokio::time::interval(Watch::every(limits));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut draining = std::pin::pin!(app.drain().reached(Stage::Draining));
    let mut is_draining = false;
    let late = loop {
        tokio::select! {
            // First, so that a request that is there is served before its connection is closed.
            biased;
            ended = std::future::poll_fn(|cx| connection.poll_without_shutdown(cx)) => {
                if let Err(error) = ended {
                    tracing::debug!(%peer, %error, "connection");
                }
                break None;
            }
            () = &mut draining, if !is_draining => {
                is_draining = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
            _ = ticks.tick() => {
                if let Some(late) = watch.late(limits) {
                    break Some(late);
                }
            }
        }
    };
    let mut stream = connection.into_parts().io.into_inner().into_inner();
    match late {
        Some(Late::Head) => refuse::late(&mut stream).await,
        Some(Late::Idle | Late::Stuck) | None => {}
    }
    match late {
        Some(Late::Stuck) => {}
        Some(Late::Head) => refuse::linger(&mut stream).await,
        None if watch.has_unread() => refuse::linger(&mut stream).await,
        Some(Late::Idle) | None => refuse::end(&mut stream).await,
    }
}

/// Says that the answer has been handed over, whatever became of it.
struct Answering(Watch);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answered();
    }
}

/// An answer's body, until it has been handed over.
struct Guarded {
    body: Body,
    _guard: Answering,
}

impl hyper::body::Body for Guarded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
