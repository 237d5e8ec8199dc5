//! One connection through the proxy: its start-up, then both directions until one of them ends.

use std::io;
use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use super::Shared;
use super::backend;
use super::flow::Flow;
use super::frame::{self, CANCEL_REQUEST, GSSENC_REQUEST, SSL_REQUEST};
use super::frontend;
use crate::address::Endpoint;

/// Serves the client until either side ends. A failing socket is an end like any other: the other side sees its
/// connection closed, as it would without the proxy.
pub(super) async fn run(client: TcpStream, shared: Arc<Shared>) {
    let _ended: io::Result<()> = async {
        client.set_nodelay(true)?;
        match &shared.upstream {
            Endpoint::Tcp(host, port) => {
                let server = TcpStream::connect((host.as_str(), *port)).await?;
                server.set_nodelay(true)?;
                serve(client, server, &shared).await
            }
            Endpoint::Unix(folder, port) => {
                let server = UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).await?;
                serve(client, server, &shared).await
            }
        }
    }
    .await;
}

async fn serve(
    mut client: TcpStream,
    mut server: impl AsyncRead + AsyncWrite + Unpin,
    shared: &Shared,
) -> io::Result<()> {
    let mut buffer = BytesMut::new();
    loop {
        let Some((code, length)) = frame::startup(&buffer) else {
            if client.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
            continue;
        };
        let packet = buffer.split_to(length);
        if matches!(code, SSL_REQUEST | GSSENC_REQUEST) {
            client.write_all(b"N").await?;
            continue;
        }
        server.write_all(&packet).await?;
        server.flush().await?;
        if code == CANCEL_REQUEST {
            // The server answers by closing; only then may the client believe that the request has arrived.
            server.read_to_end(&mut Vec::new()).await?;
            return Ok(());
        }
        break;
    }
    let flow = Flow::new();
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = tokio::io::split(server);
    // Neither may wait for the other: with requests in the pipe the server stops reading while its answers aren't read.
    tokio::select! {
        ended = frontend::forward(buffer, &mut from_client, &mut to_server, shared, &flow) => ended,
        ended = backend::forward(&mut from_server, &mut to_client, shared, &flow) => ended,
    }
}
