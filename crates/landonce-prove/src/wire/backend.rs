//! The server's direction: answers pass as they come, but for what a fault makes of them.

use std::io;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::Fault;
use super::flow::{Flow, Verdict};
use super::frame::{self, HEAD};
use super::session::{Ended, Session, make_room};

/// How much of an answer is kept back until it is known whether the client may see it. Of a longer one the client sees the
/// beginning: rows, never the completion.
const KEPT: usize = 1 << 20;
/// Errors, tags, and offers of authentication are read up to here.
const READ: usize = 64 << 10;

/// How much of a server's frame has to be there before it can be told what to do with it.
fn read_of(tag: u8) -> usize {
    match tag {
        b'Z' | b'E' | b'C' | b'R' => READ,
        _ => 0,
    }
}

/// Forwards until the server ends or a fault cuts. When the client has gone, it only reads on, until the server has done
/// what it was sent.
pub(super) async fn forward(
    server: &mut (impl AsyncRead + Unpin),
    client: &mut (impl AsyncWrite + Unpin),
    session: &Session,
    flow: &Flow,
) -> io::Result<Ended> {
    let mut direction = Backend {
        buffer: BytesMut::new(),
        passed: 0,
        tail: 0,
        tail_goes: Goes::On,
        kept: BytesMut::new(),
        client: Receiver { stream: client, is_gone: false, session },
        session,
    };
    direction.run(server, flow).await
}

/// Where a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goes {
    On,
    Kept,
    Nowhere,
}

struct Backend<'a, W> {
    buffer: BytesMut,
    /// How much of the buffer may go as it is.
    passed: usize,
    /// How much of a frame that is already decided on is still to come, and where it goes.
    tail: usize,
    tail_goes: Goes,
    /// What comes before the buffer and is kept from the client.
    kept: BytesMut,
    client: Receiver<'a, W>,
    session: &'a Session,
}

impl<W: AsyncWrite + Unpin> Backend<'_, W> {
    async fn run(&mut self, server: &mut (impl AsyncRead + Unpin), flow: &Flow) -> io::Result<Ended> {
        loop {
            let missing = loop {
                self.pass_tail().await?;
                let Some(head) = frame::head(&self.buffer[self.passed..])? else { break HEAD };
                let read = HEAD + head.body.min(read_of(head.tag));
                let Some(seen) = self.buffer.get(self.passed..self.passed + read) else { break read };
                let body = &seen[HEAD..];
                let verdict = if head.tag == b'R' {
                    frame::without_channel_binding(body).map_or(Verdict::Pass, Verdict::Replace)
                } else {
                    flow.answer(head.tag, body)
                };
                self.tail = HEAD + head.body;
                self.tail_goes = Goes::On;
                match verdict {
                    Verdict::Pass => self.let_go().await?,
                    Verdict::Keep if self.kept.len() + self.tail > KEPT => self.let_go().await?,
                    Verdict::Keep => {
                        self.flush().await?;
                        self.tail_goes = Goes::Kept;
                    }
                    Verdict::Hide => {
                        self.flush().await?;
                        self.tail_goes = Goes::Nowhere;
                    }
                    Verdict::Replace(instead) => {
                        self.let_go().await?;
                        self.flush().await?;
                        self.client.write(&instead).await?;
                        self.tail_goes = Goes::Nowhere;
                    }
                    Verdict::Fire(charges) => {
                        self.flush().await?;
                        let mut charges = charges.into_iter();
                        while let Some((charge, entry)) = charges.next() {
                            if matches!(charge.fault, Fault::CutAnswer(_)) {
                                for (other, _) in charges {
                                    self.session.ledger().give_back(&other);
                                }
                                return Ok(Ended::Cut(charge, Some(entry)));
                            }
                            self.session.ledger().fire(&charge, Some(entry));
                            charge.released().await;
                        }
                        self.let_go().await?;
                    }
                }
            };
            self.flush().await?;
            make_room(&mut self.buffer, missing);
            if server.read_buf(&mut self.buffer).await.unwrap_or(0) == 0 {
                return Ok(Ended::Server);
            }
            self.session.touch();
        }
    }

    /// Takes what there is of a frame already decided on to where it goes.
    async fn pass_tail(&mut self) -> io::Result<()> {
        let there = self.tail.min(self.buffer.len() - self.passed);
        self.tail -= there;
        match self.tail_goes {
            Goes::On => self.passed += there,
            Goes::Kept => {
                self.flush().await?;
                self.kept.extend_from_slice(&self.buffer[..there]);
                self.buffer.advance(there);
            }
            Goes::Nowhere => {
                self.flush().await?;
                self.buffer.advance(there);
            }
        }
        Ok(())
    }

    /// Lets the client see what was kept.
    async fn let_go(&mut self) -> io::Result<()> {
        if self.kept.is_empty() {
            return Ok(());
        }
        // What was passed since then can't be: all of it was kept.
        let kept = std::mem::take(&mut self.kept);
        self.client.write(&kept).await
    }

    /// Passes on what may go.
    async fn flush(&mut self) -> io::Result<()> {
        if self.passed > 0 {
            self.client.write(&self.buffer[..self.passed]).await?;
            self.buffer.advance(self.passed);
            self.passed = 0;
        }
        Ok(())
    }
}

/// The client, as long as it is there.
struct Receiver<'a, W> {
    stream: &'a mut W,
    is_gone: bool,
    session: &'a Session,
}

impl<W: AsyncWrite + Unpin> Receiver<'_, W> {
    /// A client that can't be written to has gone; what the server still answers is read for the ledger alone.
    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.session.is_cut() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if !self.is_gone {
            self.is_gone = self.stream.write_all(bytes).await.is_err();
        }
        Ok(())
    }
}
