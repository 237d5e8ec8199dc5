//! `landonce serve check`: whether a server is ready, asked over plain HTTP from where it runs.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::report;

/// How long it has to answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// A checked `serve check`.
#[derive(Debug)]
pub(crate) struct Job {
    host: String,
    path: String,
}

pub(crate) fn validate(url: &str) -> Result<Job, Failure> {
    let told = || {
        Failure::usage(
            format!("`{url}` can't be asked"),
            "write `http://127.0.0.1:8080/readyz`: plain HTTP, with a port",
        )
    };
    let rest = url.strip_prefix("http://").ok_or_else(told)?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, "readyz"));
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if !has_port || !is_plain(host) || !is_plain(path) {
        return Err(told());
    }
    Ok(Job { host: host.to_owned(), path: format!("/{path}") })
}

pub(crate) async fn run(job: Job) -> Result<Exit, Failure> {
    let answer = tokio::time::timeout(PATIENCE, ask(&job)).await;
    let told = match answer {
        Ok(Ok(status)) if (200..300).contains(&status) => return Ok(Exit::Fine),
        Ok(Ok(status)) => format!("answered {status}"),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "no answer in time".to_owned(),
    };
    report::say(&format!("{}: not ready: {told}", job.host));
    Ok(Exit::Findings)
}

/// The answer's status.
async fn ask(job: &Job) -> std::io::Result<u16> {
    let mut stream = TcpStream::connect(&job.host).await?;
    let request = format!("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", job.path, job.host);
    stream.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    stream.take(1024).read_to_end(&mut head).await?;
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let status = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    status.ok_or_else(|| std::io::Error::other("what answers there speaks no HTTP"))
}
