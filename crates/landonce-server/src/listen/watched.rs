//! A connection that is watched: since when it waits for what, so that none lasts for ever by doing nothing.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::config::Limits;

/// What a connection waits for.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// For the first byte of a request.
    Idle,
    /// For the rest of a request's head.
    Head,
    /// For the answer, which is somebody else's to bound.
    Answer,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    since: Instant,
    /// Since when the client hasn't taken what is written to it.
    stuck_since: Option<Instant>,
    /// A request's body wasn't read to its end: the client may still be sending it.
    has_unread: bool,
}

/// What is known of a connection; shared with whoever answers on it.
#[derive(Debug, Clone)]
pub(super) struct Watch(Arc<Mutex<State>>);

/// Why a connection is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    /// No request came.
    Idle,
    /// A request's head began and didn't end.
    Head,
    /// The client doesn't take its answer.
    Stuck,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            phase: Phase::Idle,
            since: Instant::now(),
            stuck_since: None,
            has_unread: false,
        })))
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn enter(&self, phase: Phase) {
        self.with(|state| {
            state.phase = phase;
            state.since = Instant::now();
        });
    }

    /// A request's head is there.
    pub(super) fn answers(&self) {
        self.enter(Phase::Answer);
    }

    /// Its answer has been handed over.
    pub(super) fn answered(&self) {
        self.enter(Phase::Idle);
    }

    /// A request's body is left before its end.
    pub(super) fn leaves_unread(&self) {
        self.with(|state| state.has_unread = true);
    }

    /// Whether a request's body was left before its end.
    pub(super) fn has_unread(&self) -> bool {
        self.with(|state| state.has_unread)
    }

    /// Whether it is waited for too long.
    pub(super) fn late(&self, limits: &Limits) -> Option<Late> {
        self.with(|state| {
            if state.stuck_since.is_some_and(|since| since.elapsed() > limits.idle_time) {
                return Some(Late::Stuck);
            }
            let waited = state.since.elapsed();
            match state.phase {
                Phase::Idle => (waited > limits.idle_time).then_some(Late::Idle),
                Phase::Head => (waited > limits.header_time).then_some(Late::Head),
                Phase::Answer => None,
            }
        })
    }

    /// How often [`Watch::late`] is to be asked.
    pub(super) fn every(limits: &Limits) -> Duration {
        (limits.idle_time.min(limits.header_time) / 4).clamp(Duration::from_millis(5), Duration::from_secs(1))
    }
}

/// A stream that is watched.
#[derive(Debug)]
pub(super) struct Watched<S> {
    stream: S,
    watch: Watch,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, watch: Watch) -> Self {
        Self { stream, watch }
    }

    pub(super) fn into_inner(self) -> S {
        self.stream
    }

    fn written<T>(&self, poll: Poll<T>) -> Poll<T> {
        self.watch.with(|state| {
            if poll.is_ready() {
                state.stuck_since = None;
            } else {
                state.stuck_since.get_or_insert_with(Instant::now);
            }
        });
        poll
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, into);
        if into.filled().len() > before {
            self.watch.with(|state| {
                if matches!(state.phase, Phase::Idle) {
                    state.phase = Phase::Head;
                    state.since = Instant::now();
                }
            });
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.written(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
