//! A request's body that arrives, or is cut: when nothing comes for too long, when the whole takes too long, when the server ends.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::watched::Watch;
use super::{Drain, Stage};
use crate::config::Limits;

/// Why a body ended before its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cut {
    /// Nothing came for too long.
    #[error("nothing of the body came for {} s", .0.as_secs_f64())]
    Silent(Duration),
    /// The whole took too long.
    #[error("the body took longer than {} s to arrive", .0.as_secs_f64())]
    Slow(Duration),
    /// The server ends.
    #[error("the server is stopping, and the body was still arriving")]
    Stopping,
    /// The connection broke, or what came isn't HTTP.
    #[error("the body broke off: {0}")]
    Broken(hyper::Error),
}

/// A body with bounds in time.
pub(super) struct Timed {
    body: Incoming,
    silent_at: Pin<Box<Sleep>>,
    slow_at: Pin<Box<Sleep>>,
    stopping: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
    silence: Duration,
    slowness: Duration,
    watch: Watch,
    is_ended: bool,
}

impl Timed {
    pub(super) fn new(body: Incoming, limits: &Limits, drain: &Drain, watch: Watch) -> Self {
        let now = Instant::now();
        Self {
            body,
            silent_at: Box::pin(sleep_until(now + limits.idle_time)),
            slow_at: Box::pin(sleep_until(now + limits.request_time)),
            stopping: Box::pin(drain.reached(Stage::Cut)),
            silence: limits.idle_time,
            slowness: limits.request_time,
            watch,
            is_ended: false,
        }
    }
}

impl Body for Timed {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let this = &mut *self;
        // A body that trickles is always ready with something: its time is looked at first.
        if this.slow_at.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(Cut::Slow(this.slowness))));
        }
        if this.stopping.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(Cut::Stopping)));
        }
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                this.is_ended = frame.is_none();
                this.silent_at.as_mut().reset(Instant::now() + this.silence);
                Poll::Ready(frame.map(|frame| frame.map_err(Cut::Broken)))
            }
            Poll::Pending if this.silent_at.as_mut().poll(cx).is_ready() => {
                Poll::Ready(Some(Err(Cut::Silent(this.silence))))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        if !self.is_ended && !self.body.is_end_stream() {
            self.watch.leaves_unread();
        }
    }
}
