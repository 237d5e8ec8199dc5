//! The client's direction: statements are seen here, and most faults fire here.
//!
//! To refuse a statement, the server is made to fail by itself at that place (a syntax error, a portal that isn't there), so
//! that its transaction is in the state that an error leaves; only the error's text is ours, put in by the backend's
//! side. After a refused COMMIT the transaction has to be over, so a ROLLBACK of ours follows that the client doesn't see.

use std::collections::BTreeMap;
use std::io;

use bytes::{Buf, Bytes, BytesMut};
use postgres_protocol::message::frontend as message;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::Shared;
use super::fault::{Charge, Order, Seen};
use super::flow::{Edit, Flow};
use super::frame::{self, Frame};

/// Forwards until the client ends or a fault cuts. `buffer` holds what the client sent along with its start-up.
pub(super) async fn forward(
    mut buffer: BytesMut,
    client: &mut (impl AsyncRead + Unpin),
    server: &mut (impl AsyncWrite + Unpin),
    shared: &Shared,
    flow: &Flow,
) -> io::Result<()> {
    let mut requests = Requests::new(shared, flow);
    loop {
        // How much of the buffer may go as it is.
        let mut passed = 0;
        while let Some(frame) = frame::first(&buffer[passed..]) {
            let end = passed + frame.len;
            match requests.next(frame) {
                Next::Pass => passed = end,
                Next::Cut => return server.write_all(&buffer[..passed]).await,
                Next::Send { instead } => {
                    server.write_all(&buffer[..passed]).await?;
                    server.write_all(&instead).await?;
                    buffer.advance(end);
                    passed = 0;
                }
                Next::Stall(charge) => {
                    server.write_all(&buffer[..passed]).await?;
                    shared.stall(&charge).await;
                    buffer.advance(passed);
                    passed = end - passed;
                }
            }
        }
        server.write_all(&buffer[..passed]).await?;
        server.flush().await?;
        buffer.advance(passed);
        if client.read_buf(&mut buffer).await? == 0 {
            return Ok(());
        }
    }
}

enum Next {
    Pass,
    Cut,
    Send { instead: Bytes },
    Stall(Charge),
}

/// What has to be remembered of a connection's requests.
struct Requests<'a> {
    shared: &'a Shared,
    flow: &'a Flow,
    /// Texts of prepared statements, by name.
    prepared: BTreeMap<String, String>,
    /// Texts of the statements that portals stand for, by name.
    portals: BTreeMap<String, String>,
    /// A COMMIT was refused in this group: its transaction ends after the Sync.
    is_commit_refused: bool,
}

impl<'a> Requests<'a> {
    fn new(shared: &'a Shared, flow: &'a Flow) -> Self {
        Self { shared, flow, prepared: BTreeMap::new(), portals: BTreeMap::new(), is_commit_refused: false }
    }

    fn next(&mut self, frame: Frame<'_>) -> Next {
        if matches!(self.shared.faults.decide(Seen::Frame), Some(Order::Cut)) {
            return Next::Cut;
        }
        let mut body = frame.body;
        match frame.tag {
            b'Q' => {
                let text = frame::text(&mut body);
                let next = self.statement(&text, true);
                self.flow.end_group();
                self.end_refused_commit(next, &[])
            }
            b'P' => {
                let name = frame::text(&mut body);
                self.prepared.insert(name, frame::text(&mut body));
                Next::Pass
            }
            b'B' => {
                let portal = frame::text(&mut body);
                let text = self.prepared.get(&frame::text(&mut body)).cloned().unwrap_or_default();
                self.portals.insert(portal, text);
                Next::Pass
            }
            b'E' => {
                let text = self.portals.get(&frame::text(&mut body)).cloned().unwrap_or_default();
                self.statement(&text, false)
            }
            b'C' => {
                let of = if body.first() == Some(&b'S') { &mut self.prepared } else { &mut self.portals };
                body.advance(1.min(body.len()));
                of.remove(&frame::text(&mut body));
                Next::Pass
            }
            b'S' => {
                if self.is_commit_refused {
                    self.flow.edit(Edit::HideReady);
                }
                self.flow.end_group();
                self.end_refused_commit(Next::Pass, &built(message::sync))
            }
            b'F' => {
                self.flow.end_group();
                Next::Pass
            }
            _ => Next::Pass,
        }
    }

    fn statement(&mut self, text: &str, is_simple: bool) -> Next {
        self.flow.statement(is_simple);
        let is_commit = frame::is_commit(text);
        match self.shared.faults.decide(Seen::Statement { text, is_commit }) {
            None => Next::Pass,
            Some(Order::Cut) => Next::Cut,
            Some(Order::StallRequest(charge)) => Next::Stall(charge),
            Some(Order::CutAtAnswer(charge)) => {
                self.flow.edit(Edit::CutAtCommit(charge));
                Next::Pass
            }
            Some(Order::CutAtEnd(charge)) => {
                self.flow.edit(Edit::CutAtEnd(charge));
                Next::Pass
            }
            Some(Order::StallAnswer(charge)) => {
                self.flow.edit(Edit::Stall(charge));
                Next::Pass
            }
            Some(Order::Refuse(sqlstate)) => {
                self.flow.edit(Edit::ReplaceError(frame::error_response(&sqlstate)));
                self.is_commit_refused = is_commit;
                let instead = if is_simple {
                    if is_commit {
                        self.flow.edit(Edit::HideReady);
                    }
                    query("refused by the proxy of a test")
                } else {
                    // A name without a NUL can't fail to be written.
                    built(|buffer| {
                        let _ = message::execute("refused by the proxy of a test", 0, buffer);
                    })
                };
                Next::Send { instead }
            }
        }
    }

    /// At a group's end: `next` as it is, or with the ROLLBACK that a refused COMMIT needs. `end` is the frame that ends
    /// the group, where `next` doesn't hold it.
    fn end_refused_commit(&mut self, next: Next, end: &[u8]) -> Next {
        if !std::mem::take(&mut self.is_commit_refused) {
            return next;
        }
        self.flow.edit(Edit::HideCompletion);
        self.flow.end_group();
        let mut instead = BytesMut::from(end);
        if let Next::Send { instead: refused } = next {
            instead.extend_from_slice(&refused);
        }
        instead.extend_from_slice(&query("ROLLBACK"));
        Next::Send { instead: instead.freeze() }
    }
}

fn query(text: &str) -> Bytes {
    // A text without a NUL can't fail to be written.
    built(|buffer| {
        let _ = message::query(text, buffer);
    })
}

fn built(write: impl FnOnce(&mut BytesMut)) -> Bytes {
    let mut buffer = BytesMut::new();
    write(&mut buffer);
    buffer.freeze()
}
