//! An HTTP source that does what a test says, also what no server should: it cuts bodies, keeps silent, says anything.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

/// A request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The path and the parameters.
    pub target: String,
    headers: Vec<(String, String)>,
    /// When it was read.
    pub at: Instant,
}

/// What is done about it.
#[derive(Debug, Clone)]
pub enum Does {
    /// A whole answer; `Content-Length` is added.
    Answer(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// These bytes and then the end of the connection.
    Raw(Vec<u8>),
    /// Nothing, until the server is dropped.
    Silent,
}

/// The server.
#[derive(Debug)]
pub struct Server {
    address: std::net::SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    is_over: Arc<AtomicBool>,
}

impl Asked {
    /// A parameter's value, its escapes undone.
    pub fn param(&self, name: &str) -> Option<String> {
        let (_, query) = self.target.split_once('?')?;
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find(|(has, _)| has == name).map(|(_, value)| value.into_owned())
    }

    /// A parameter that is a number; 0 for any other.
    pub fn number(&self, name: &str) -> usize {
        self.param(name).and_then(|value| value.parse().ok()).unwrap_or_default()
    }

    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(has, _)| has == name).map(|(_, value)| value.as_str())
    }
}

impl Does {
    /// 200 with a body of JSON.
    pub fn json(body: impl Into<String>) -> Self {
        Self::Answer(200, vec![("content-type", "application/json".into())], body.into().into_bytes())
    }

    /// A status with a text.
    pub fn status(status: u16, body: &str) -> Self {
        Self::Answer(status, Vec::new(), body.as_bytes().to_vec())
    }

    /// With one more header.
    #[must_use]
    pub fn with(self, name: &'static str, value: impl Into<String>) -> Self {
        match self {
            Self::Answer(status, mut headers, body) => {
                headers.push((name, value.into()));
                Self::Answer(status, headers, body)
            }
            other => other,
        }
    }

    /// The same answer, cut in the middle of its body.
    #[must_use]
    pub fn cut(self) -> Self {
        match self {
            Self::Answer(status, headers, body) => {
                let all = render(status, &headers, &body);
                Self::Raw(all[..all.len() - body.len() / 2].to_vec())
            }
            other => other,
        }
    }
}

impl Server {
    /// Does what `plan` says of each request and how many came before.
    pub fn start(plan: impl Fn(&Asked, usize) -> Does + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let is_over = Arc::new(AtomicBool::new(false));
        let (all, over, plan) = (Arc::clone(&asked), Arc::clone(&is_over), Arc::new(plan));
        thread::spawn(move || {
            let mut silent = Vec::new();
            while let Ok((stream, _)) = listener.accept() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                let Some(one) = read(&stream) else { continue };
                let before = {
                    let mut all = all.lock().expect("no test panics with the lock");
                    all.push(one.clone());
                    all.len() - 1
                };
                let bytes = match plan(&one, before) {
                    Does::Answer(status, headers, body) => render(status, &headers, &body),
                    Does::Raw(bytes) => bytes,
                    Does::Silent => {
                        silent.push(stream);
                        continue;
                    }
                };
                // Whoever has gone away doesn't want the rest.
                let _ = (&stream).write_all(&bytes);
            }
        });
        Self { address, asked, is_over }
    }

    /// An address of this server.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What has been asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no test panics with the lock").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread, which ends.
        let _ = TcpStream::connect(self.address);
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let target = first.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    for line in lines {
        let line = line.ok()?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Some(Asked { target, headers, at: Instant::now() })
}

fn render(status: u16, headers: &[(&'static str, String)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !headers.iter().any(|(name, _)| *name == "transfer-encoding") && status != 304 {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    let mut all = head.into_bytes();
    all.extend_from_slice(body);
    all
}
