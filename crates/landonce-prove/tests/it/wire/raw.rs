//! A client that sends frames as it is told to and shows every frame that comes back.

use bytes::{Buf, BytesMut};
use landonce_prove::wire::Proxy;
use landonce_testkit::wait::within;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend as message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) struct Raw {
    pub(crate) stream: TcpStream,
    buffer: BytesMut,
}

impl Raw {
    /// Through the proxy, as the testing server's superuser, whom it trusts.
    pub(crate) async fn connect(proxy: &Proxy, database: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
        let mut raw = Self { stream, buffer: BytesMut::new() };
        let config: tokio_postgres::Config = proxy.url().parse().unwrap();
        let mut packet = BytesMut::new();
        let parameters = [("user", config.get_user().unwrap()), ("database", database)];
        message::startup_message(parameters, &mut packet).unwrap();
        raw.stream.write_all(&packet).await.unwrap();
        raw.until_ready().await;
        raw
    }

    pub(crate) async fn send(&mut self, frames: &Frames) {
        self.stream.write_all(&frames.0).await.unwrap();
    }

    /// The next frame as text, as in [`Raw::until_ready`]; None when the connection is closed.
    pub(crate) async fn frame(&mut self) -> Option<String> {
        let read = async {
            loop {
                if let Some((tag, body)) = self.whole() {
                    return Some(shown(tag, &body));
                }
                // A reset is an end as well.
                if self.stream.read_buf(&mut self.buffer).await.unwrap_or(0) == 0 {
                    return None;
                }
            }
        };
        within(20, "a frame of the server's", read).await
    }

    /// The frames up to the next ReadyForQuery or the connection's end: their tags, with the fields that matter.
    pub(crate) async fn until_ready(&mut self) -> String {
        let mut all = Vec::new();
        loop {
            let frame = self.frame().await;
            let is_last = frame.as_deref().is_none_or(|frame| frame.starts_with('Z'));
            all.push(frame.unwrap_or_else(|| "end".to_owned()));
            if is_last {
                return all.join(" ");
            }
        }
    }

    fn whole(&mut self) -> Option<(u8, Vec<u8>)> {
        let length = u32::from_be_bytes(*self.buffer.get(1..)?.first_chunk()?) as usize;
        if self.buffer.len() <= length {
            return None;
        }
        let tag = self.buffer[0];
        let body = self.buffer[5..=length].to_vec();
        self.buffer.advance(length + 1);
        Some((tag, body))
    }
}

fn shown(tag: u8, body: &[u8]) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
    let tag = char::from(tag);
    match tag {
        'C' => format!("C[{}]", text(body)),
        'Z' => format!("Z[{}]", text(body)),
        'E' => {
            let code = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&b'C')).unwrap();
            format!("E[{}]", text(&code[1..]))
        }
        'd' => format!("d[{}]", text(body).trim_end()),
        _ => tag.to_string(),
    }
}

/// Frames to be sent in one go.
#[derive(Default, Clone)]
pub(crate) struct Frames(BytesMut);

impl Frames {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn query(mut self, text: &str) -> Self {
        message::query(text, &mut self.0).unwrap();
        self
    }

    pub(crate) fn parse(mut self, name: &str, text: &str) -> Self {
        message::parse(name, text, [], &mut self.0).unwrap();
        self
    }

    pub(crate) fn bind(mut self, portal: &str, statement: &str, values: &[&str]) -> Self {
        let write = |value: &&str, buffer: &mut BytesMut| {
            buffer.extend_from_slice(value.as_bytes());
            Ok(IsNull::No)
        };
        let bound = message::bind(portal, statement, [], values, write, [], &mut self.0);
        assert!(bound.is_ok());
        self
    }

    pub(crate) fn execute(mut self, portal: &str, rows: i32) -> Self {
        message::execute(portal, rows, &mut self.0).unwrap();
        self
    }

    /// Parse, Bind and Execute, all without a name.
    pub(crate) fn statement(self, text: &str) -> Self {
        self.parse("", text).bind("", "", &[]).execute("", 0)
    }

    pub(crate) fn sync(mut self) -> Self {
        message::sync(&mut self.0);
        self
    }

    pub(crate) fn flush(mut self) -> Self {
        message::flush(&mut self.0);
        self
    }

    pub(crate) fn copy_data(mut self, data: &[u8]) -> Self {
        message::CopyData::new(data).unwrap().write(&mut self.0);
        self
    }

    pub(crate) fn copy_done(mut self) -> Self {
        message::copy_done(&mut self.0);
        self
    }

    pub(crate) fn copy_fail(mut self) -> Self {
        message::copy_fail("no", &mut self.0).unwrap();
        self
    }

    pub(crate) fn terminate(mut self) -> Self {
        message::terminate(&mut self.0);
        self
    }

    /// Bytes as they are.
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
}
