//! Refusals that are written by hand, because there is no request yet that a route could answer.

use std::time::Duration;

use axum::http::StatusCode;
use landonce::Code;
use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::problem::Problem;

/// How long a refusal may take to be written.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a closed connection is read on, so that what the client is still sending doesn't make its kernel drop our answer.
const LINGER: Duration = Duration::from_secs(2);

/// One connection too many.
pub(super) async fn connection(mut stream: TcpStream, is_plain: bool) {
    // Over TLS there is nobody yet who could read it.
    if is_plain {
        let told = "the server has as many connections as it takes; come again in a moment";
        write(&mut stream, &Problem::passing(StatusCode::SERVICE_UNAVAILABLE, Code::L1032, told, 1)).await;
        linger(&mut stream).await;
    }
}

/// A head that hasn't arrived in its time.
pub(super) async fn late(stream: &mut (impl AsyncWrite + Unpin)) {
    let told = "the request's head didn't arrive in time";
    write(stream, &Problem::passing(StatusCode::REQUEST_TIMEOUT, Code::L1030, told, 1)).await;
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), problem: &Problem) {
    let body = serde_json::to_string(problem).unwrap_or_default();
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let after = problem.retry_after.map(|after| format!("retry-after: {after}\r\n")).unwrap_or_default();
    let text = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\n{after}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len(),
    );
    let written = async {
        stream.write_all(text.as_bytes()).await?;
        stream.flush().await
    };
    // Whoever doesn't take it doesn't get it.
    let _ = tokio::time::timeout(PATIENCE, written).await;
}

/// Ends our side.
pub(super) async fn end(stream: &mut (impl AsyncWrite + Unpin)) {
    let _ = tokio::time::timeout(PATIENCE, stream.shutdown()).await;
}

/// Ends our side, and reads on for a moment.
pub(super) async fn linger(stream: &mut (impl AsyncWrite + tokio::io::AsyncRead + Unpin)) {
    let ended = async {
        stream.shutdown().await?;
        let mut buffer = vec![0; 16 * 1024];
        while stream.read(&mut buffer).await? > 0 {}
        std::io::Result::Ok(())
    };
    let _ = tokio::time::timeout(LINGER, ended).await;
}
