//! One connection through the proxy: its start-up, then both directions until one of them ends.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::dial::Wire;
use super::flow::Flow;
use super::frame::{self, CANCEL_REQUEST, GSSENC_REQUEST, SSL_REQUEST};
use super::ledger::{Charge, Ledger};
use super::{Shared, backend, frontend};

/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// What ended a direction.
#[derive(Debug)]
pub(super) enum Ended {
    Client,
    Server,
    /// A fault, at this statement.
    Cut(Charge, Option<usize>),
}

/// A connection.
#[derive(Debug)]
pub(super) struct Session {
    shared: Arc<Shared>,
    number: u32,
}

impl Session {
    pub(super) fn ledger(&self) -> &Ledger {
        &self.shared.ledger
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Bytes have come.
    pub(super) fn touch(&self) {
        self.shared.touch();
    }

    /// All is over: nothing more may pass.
    pub(super) fn is_cut(&self) -> bool {
        self.shared.is_cut()
    }
}

/// Makes room for reading: for a frame that must be there as far as `wanted`, or for a good piece of what comes.
pub(super) fn make_room(buffer: &mut BytesMut, wanted: usize) {
    let missing = wanted.saturating_sub(buffer.len());
    if buffer.capacity() - buffer.len() < missing.max(CHUNK / 8) {
        buffer.reserve(missing.max(CHUNK));
    }
}

/// Serves the client until either side ends. A failing socket is an end like any other: the other side sees its
/// connection closed, as it would without the proxy.
pub(super) async fn run(client: TcpStream, shared: Arc<Shared>) {
    let mut cut = shared.cut.subscribe();
    let served = async {
        client.set_nodelay(true)?;
        serve(client, &shared).await
    };
    let ended = tokio::select! {
        ended = served => ended,
        _ = cut.wait_for(|is_cut| *is_cut) => return,
    };
    // By now both sockets are closed: who waits for the fault finds it done.
    if let Ok(Ended::Cut(charge, entry)) = ended {
        shared.ledger.fire(&charge, entry);
    }
}

async fn serve(mut client: TcpStream, shared: &Arc<Shared>) -> io::Result<Ended> {
    let mut buffer = BytesMut::new();
    let mut is_tls_declined = false;
    let (code, length) = loop {
        if frame::is_tls(&buffer) {
            shared.demand_tls(true);
            return Ok(Ended::Client);
        }
        let Some((code, length)) = frame::startup(&buffer)? else {
            if client.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                if is_tls_declined {
                    shared.demand_tls(true);
                }
                return Ok(Ended::Client);
            }
            shared.touch();
            continue;
        };
        if !matches!(code, SSL_REQUEST | GSSENC_REQUEST) {
            break (code, length);
        }
        let _ = buffer.split_to(length);
        is_tls_declined |= code == SSL_REQUEST;
        client.write_all(b"N").await?;
    };
    let packet = buffer.split_to(length);
    // Another database is the user's own, which nobody may write to here: most often the clone's origin.
    let ours = shared.upstream.database();
    let wanted = frame::wanted_database(&packet);
    if code != CANCEL_REQUEST && wanted != ours.as_bytes() {
        client.write_all(&frame::turned_away(wanted, ours)).await?;
        client.shutdown().await?;
        return Ok(Ended::Client);
    }
    let mut server = shared.upstream.dial().await?;
    if code == CANCEL_REQUEST {
        return cancel(&packet, server.both()).await;
    }
    shared.demand_tls(false);
    server.both().write_all(&packet).await?;
    server.both().flush().await?;
    let session = Session { shared: Arc::clone(shared), number: shared.ledger.session() };
    let flow = Flow::new(Arc::clone(&shared.ledger));
    let (from_client, to_client) = client.into_split();
    let ended = match server {
        Wire::Tcp(server) => {
            let (from_server, to_server) = server.into_split();
            pass(buffer, (from_client, to_client), (from_server, to_server), &session, &flow).await
        }
        Wire::Unix(server) => {
            let (from_server, to_server) = server.into_split();
            pass(buffer, (from_client, to_client), (from_server, to_server), &session, &flow).await
        }
        Wire::Tls(server) => {
            let (from_server, to_server) = tokio::io::split(server);
            pass(buffer, (from_client, to_client), (from_server, to_server), &session, &flow).await
        }
    };
    flow.end();
    ended
}

/// The server answers by closing; only then may the client believe that the request has arrived.
async fn cancel(packet: &[u8], server: &mut (dyn super::dial::Both + '_)) -> io::Result<Ended> {
    server.write_all(packet).await?;
    server.flush().await?;
    server.read_to_end(&mut Vec::new()).await?;
    Ok(Ended::Client)
}

/// Neither direction may wait for the other: with requests in the pipe the server stops reading while its answers aren't
/// read.
async fn pass(
    buffer: BytesMut,
    (mut from_client, mut to_client): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    (mut from_server, mut to_server): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    session: &Session,
    flow: &Flow,
) -> io::Result<Ended> {
    let mut answers = pin!(backend::forward(&mut from_server, &mut to_client, session, flow));
    let gone = {
        let requests = pin!(frontend::forward(buffer, &mut from_client, &mut to_server, session, flow));
        tokio::select! {
            ended = &mut answers => return ended,
            ended = requests => ended,
        }
    };
    match gone {
        Ok(Ended::Client) => {
            // The server does what it has been sent, and closes; nobody may hear of it, but the ledger does.
            let _ = to_server.shutdown().await;
            answers.await
        }
        // The server takes nothing more: its last words are still to be passed.
        Err(error) if error.kind() != io::ErrorKind::InvalidData && !session.is_cut() => answers.await,
        ended => ended,
    }
}
