//! A kept connection that speaks just enough HTTP/1.1 to post, and costs little beside the server that is measured.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// An answer to a first delivery.
pub(crate) const PROCESSED: &str = "200 processed";
/// An answer to a redelivery.
pub(crate) const DUPLICATE: &str = "200 duplicate";

/// Where to.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    address: String,
    path: String,
}

impl Place {
    /// Of `http://HOST:PORT/PATH`.
    pub(crate) fn of(url: &str) -> Self {
        let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        Self { address: address.to_owned(), path: format!("/{path}") }
    }
}

/// A connection, made anew when it is gone.
pub(crate) struct Wire {
    place: Place,
    stream: Option<TcpStream>,
    out: Vec<u8>,
    into: Vec<u8>,
}

impl Wire {
    pub(crate) fn new(place: Place) -> Self {
        Self { place, stream: None, out: Vec::new(), into: Vec::new() }
    }

    /// Posts, and tells the status and the answer's own word (`200 processed`, `422 L0401`); `0 …` where there was no answer.
    pub(crate) async fn post(&mut self, headers: &[(&str, &str)], body: &[u8]) -> String {
        match self.try_post(headers, body).await {
            Ok(answer) => answer,
            Err(error) => {
                self.stream = None;
                format!("0 {:?}", error.kind())
            }
        }
    }

    async fn try_post(&mut self, headers: &[(&str, &str)], body: &[u8]) -> std::io::Result<String> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let stream = TcpStream::connect(&self.place.address).await?;
                stream.set_nodelay(true)?;
                none.insert(stream)
            }
        };
        let Place { address, path } = &self.place;
        self.out.clear();
        self.out.extend_from_slice(
            format!("POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n", body.len())
                .as_bytes(),
        );
        for (name, value) in headers {
            self.out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        self.out.extend_from_slice(b"\r\n");
        self.out.extend_from_slice(body);
        stream.write_all(&self.out).await?;
        self.into.clear();
        loop {
            if let Some(answer) = answer(&self.into) {
                return Ok(answer);
            }
            if stream.read_buf(&mut self.into).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// The answer, once it is all there.
fn answer(bytes: &[u8]) -> Option<String> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let status = head.get(9..12)?.to_owned();
    let length = head.split("\r\n").find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.and_then(|text| text.parse().ok()).unwrap_or(0);
    let body = bytes.get(end..end + length)?;
    let body: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let word = body.get("code").or_else(|| body.get("status")).and_then(serde_json::Value::as_str);
    Some(format!("{status} {}", word.unwrap_or("?")))
}
