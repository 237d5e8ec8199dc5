//! What a receiver answers, or does instead of answering.

use std::io;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};
use http::header::{LOCATION, RETRY_AFTER};
use http::{Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;

pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// What is answered to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A whole answer.
    Status {
        /// Any from 200 on.
        status: u16,
        /// The header `Retry-After`.
        retry_after: Option<String>,
        /// The header `Location`.
        location: Option<String>,
        /// The body.
        body: Bytes,
    },
    /// No answer until [`super::Receiver::release`], then `200`.
    Hang,
    /// The connection is closed when the request has been read: the sender can't know whether it was taken.
    CloseBeforeAnswer,
    /// `200` and a promise of a body; then the connection is cut.
    CutAfterHead,
    /// `200` and a body of so many bytes, one at a time, so long apart.
    Slow {
        /// The body's length.
        bytes: usize,
        /// How long one byte is awaited.
        every: Duration,
    },
    /// `200` and a body of so many bytes, of which nobody says beforehand how many they are.
    Huge {
        /// The body's length.
        bytes: u64,
    },
}

impl Default for Reply {
    fn default() -> Self {
        Self::status(200)
    }
}

impl Reply {
    /// A whole answer with an empty body.
    pub fn status(status: u16) -> Self {
        Self::Status { status, retry_after: None, location: None, body: Bytes::new() }
    }

    /// A redirect.
    pub fn redirect(status: u16, to: &str) -> Self {
        Self::Status { status, retry_after: None, location: Some(to.to_owned()), body: Bytes::new() }
    }

    /// With `Retry-After`: seconds, or a date as HTTP writes it. Only for a whole answer.
    #[must_use]
    pub fn retry_after(mut self, text: &str) -> Self {
        if let Self::Status { retry_after, .. } = &mut self {
            *retry_after = Some(text.to_owned());
        }
        self
    }

    /// With a body. Only for a whole answer.
    #[must_use]
    pub fn body(mut self, text: &str) -> Self {
        if let Self::Status { body, .. } = &mut self {
            *body = Bytes::from(text.to_owned());
        }
        self
    }

    /// The head says that the message was taken, whatever happens to the rest.
    pub fn is_acknowledgement(&self) -> bool {
        match self {
            Self::Status { status, .. } => (200..300).contains(status),
            Self::Hang | Self::CloseBeforeAnswer => false,
            Self::CutAfterHead | Self::Slow { .. } | Self::Huge { .. } => true,
        }
    }

    /// As HTTP; `None` when there is to be no answer.
    pub(super) fn response(self) -> Option<Response<Body>> {
        let mut response = Response::builder();
        let body = match self {
            Self::Status { status, retry_after, location, body } => {
                response = response.status(StatusCode::from_u16(status).expect("a status"));
                for (name, text) in [(RETRY_AFTER, retry_after), (LOCATION, location)] {
                    if let Some(text) = text {
                        response = response.header(name, text);
                    }
                }
                whole(body)
            }
            Self::Hang => whole(Bytes::new()),
            Self::CloseBeforeAnswer => return None,
            Self::CutAfterHead => {
                response = response.header("content-length", 100);
                streamed(cut())
            }
            Self::Slow { bytes, every } => {
                response = response.header("content-length", bytes);
                streamed(slow(bytes, every))
            }
            Self::Huge { bytes } => streamed(huge(bytes)),
        };
        Some(response.body(body).expect("headers that are headers"))
    }
}

fn whole(body: Bytes) -> Body {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}

fn streamed(chunks: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Body {
    StreamBody::new(chunks.map(|chunk| chunk.map(Frame::data))).boxed_unsync()
}

/// An error, but only when it is asked for a second time: hyper sends the head when a body isn't ready, and would send
/// nothing for one that fails at once.
fn cut() -> impl Stream<Item = io::Result<Bytes>> {
    let mut is_asked = false;
    stream::poll_fn(move |context| {
        if std::mem::replace(&mut is_asked, true) {
            return Poll::Ready(Some(Err(io::Error::other("cut as told"))));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

fn slow(bytes: usize, every: Duration) -> impl Stream<Item = io::Result<Bytes>> {
    let ticks = tokio::time::interval(every.max(Duration::from_millis(1)));
    stream::unfold((bytes, ticks), |(left, mut ticks)| async move {
        let left = left.checked_sub(1)?;
        ticks.tick().await;
        Some((Ok(Bytes::from_static(b".")), (left, ticks)))
    })
}

fn huge(bytes: u64) -> impl Stream<Item = io::Result<Bytes>> {
    const CHUNK: &[u8] = &[b'x'; 1 << 16];
    stream::unfold(bytes, |left| async move {
        let chunk = &CHUNK[..CHUNK.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        (left > 0).then(|| (Ok(Bytes::from_static(chunk)), left - chunk.len() as u64))
    })
}
