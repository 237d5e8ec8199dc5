//! The client's direction: statements are seen here, and the faults that come before the server fire here.
//!
//! To refuse a statement, the server is made to fail by itself at that place, so that its transaction is in the state
//! that an error leaves; only the error's words are ours, put in on the backend's side. After a refused COMMIT the
//! transaction has to be over, so a ROLLBACK of ours follows that the client doesn't see.

mod requests;

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::frame::{self, HEAD};
use super::ledger::Charge;
use super::session::{Ended, Session, make_room};
use super::{Fault, Flow};
use requests::{Request, Requests};

/// Forwards until the client ends or a fault cuts. `buffer` holds what the client sent along with its start-up.
pub(super) async fn forward(
    buffer: BytesMut,
    client: &mut (impl AsyncRead + Unpin),
    server: &mut (impl AsyncWrite + Unpin),
    session: &Session,
    flow: &Flow,
) -> io::Result<Ended> {
    let requests = Requests::new(session, flow);
    let mut direction = Frontend { buffer, passed: 0, tail: 0, drops_tail: false, server, session };
    direction.run(requests, client).await
}

struct Frontend<'a, W> {
    buffer: BytesMut,
    /// How much of the buffer may go as it is.
    passed: usize,
    /// How much of a frame that is already decided on is still to come.
    tail: usize,
    /// And it isn't for the server.
    drops_tail: bool,
    server: &'a mut W,
    session: &'a Session,
}

impl<W: AsyncWrite + Unpin> Frontend<'_, W> {
    async fn run(
        &mut self,
        mut requests: Requests<'_>,
        client: &mut (impl AsyncRead + Unpin),
    ) -> io::Result<Ended> {
        loop {
            let missing = loop {
                self.pass_tail().await?;
                let Some(head) = frame::head(&self.buffer[self.passed..])? else { break HEAD };
                let read = HEAD + head.body.min(requests::read_of(head.tag));
                let Some(seen) = self.buffer.get(self.passed..self.passed + read) else { break read };
                let request = requests.read(head.tag, &seen[HEAD..]);
                self.tail = HEAD + head.body;
                self.drops_tail = false;
                match request {
                    Request::Pass => {}
                    Request::Close(charges) => {
                        if let Some(ended) = self.close(charges, true).await? {
                            return Ok(ended);
                        }
                    }
                    Request::Instead(instead) => {
                        self.flush().await?;
                        self.server.write_all(&instead).await?;
                        self.drops_tail = true;
                    }
                    Request::Statement(mut statement) => {
                        if let Some(cut) = self.before(&mut statement).await? {
                            let entry = statement.entry;
                            requests.forget(*statement);
                            return Ok(Ended::Cut(cut, Some(entry)));
                        }
                        if let Some(instead) = requests.send(*statement) {
                            self.flush().await?;
                            self.server.write_all(&instead).await?;
                            self.drops_tail = true;
                        }
                    }
                }
            };
            self.flush().await?;
            make_room(&mut self.buffer, missing);
            // A client that resets its connection has gone like any other.
            if client.read_buf(&mut self.buffer).await.unwrap_or(0) == 0 {
                if requests.has_said_goodbye() {
                    return Ok(Ended::Client);
                }
                let ended = self.close(self.session.ledger().close(), false).await?;
                return Ok(ended.unwrap_or(Ended::Client));
            }
            self.session.touch();
        }
    }

    /// What fires before a statement is sent: holds, and the cut with which all ends.
    async fn before(&mut self, statement: &mut Statement) -> io::Result<Option<Charge>> {
        while !statement.before.is_empty() {
            self.flush().await?;
            let charge = statement.before.remove(0);
            if !charge.is_hold() {
                return Ok(Some(charge));
            }
            self.session.ledger().fire(&charge, Some(statement.entry));
            charge.released().await;
        }
        Ok(None)
    }

    /// Passes what there is of a frame already decided on, or drops it.
    async fn pass_tail(&mut self) -> io::Result<()> {
        let there = self.tail.min(self.buffer.len() - self.passed);
        self.tail -= there;
        if !self.drops_tail {
            self.passed += there;
        } else if there > 0 {
            self.flush().await?;
            self.buffer.advance(there);
        }
        Ok(())
    }

    /// Sends what may go.
    async fn flush(&mut self) -> io::Result<()> {
        if self.session.is_cut() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if self.passed > 0 {
            self.server.write_all(&self.buffer[..self.passed]).await?;
            self.server.flush().await?;
            self.buffer.advance(self.passed);
            self.passed = 0;
        }
        Ok(())
    }

    /// The client says good-bye, with a frame (the next in the buffer) or without.
    async fn close(&mut self, charges: Vec<Charge>, has_frame: bool) -> io::Result<Option<Ended>> {
        for charge in charges {
            self.flush().await?;
            if charge.is_for_answer() && has_frame {
                // What an answer is to others, is to a good-bye that the server got it.
                self.pass_tail().await?;
                self.flush().await?;
            }
            match charge.fault {
                Fault::Hold(_) | Fault::HoldAnswer(_) => {
                    self.session.ledger().fire(&charge, None);
                    charge.released().await;
                }
                Fault::Cut(_) | Fault::CutAnswer(_) => return Ok(Some(Ended::Cut(charge, None))),
                // There is nothing that could be refused.
                Fault::Refuse(..) => {}
            }
        }
        Ok(None)
    }
}

/// A statement that is about to be sent.
struct Statement {
    entry: usize,
    /// What fires before, in this order.
    before: Vec<Charge>,
    sent: Sent,
}

/// How it is sent.
struct Sent {
    running: super::flow::Running,
    is_simple: bool,
}

fn joined(first: &[u8], second: &[u8]) -> Bytes {
    let mut both = BytesMut::from(first);
    both.extend_from_slice(second);
    both.freeze()
}
