//! The server's direction: answers pass as they come, but for the edits that the client's side has left.

use std::io;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::Shared;
use super::flow::{Flow, Passing};
use super::frame;

/// Forwards until the server ends or a fault cuts.
pub(super) async fn forward(
    server: &mut (impl AsyncRead + Unpin),
    client: &mut (impl AsyncWrite + Unpin),
    shared: &Shared,
    flow: &Flow,
) -> io::Result<()> {
    let mut buffer = BytesMut::new();
    loop {
        // How much of the buffer may go as it is.
        let mut passed = 0;
        while let Some(frame) = frame::first(&buffer[passed..]) {
            let end = passed + frame.len;
            let (passing, unused) = flow.answer(frame);
            for charge in unused {
                shared.faults.give_back(&charge);
            }
            match passing {
                Passing::Pass => {
                    passed = end;
                    continue;
                }
                Passing::Cut(charge) => {
                    client.write_all(&buffer[..passed]).await?;
                    shared.faults.fire(&charge);
                    return Ok(());
                }
                Passing::Hide => {
                    client.write_all(&buffer[..passed]).await?;
                    buffer.advance(end);
                }
                Passing::Replace(instead) => {
                    client.write_all(&buffer[..passed]).await?;
                    client.write_all(&instead).await?;
                    buffer.advance(end);
                }
                Passing::Stall(charge) => {
                    client.write_all(&buffer[..passed]).await?;
                    shared.stall(&charge).await;
                    buffer.advance(passed);
                    passed = end - passed;
                    continue;
                }
            }
            passed = 0;
        }
        client.write_all(&buffer[..passed]).await?;
        buffer.advance(passed);
        if server.read_buf(&mut buffer).await? == 0 {
            return Ok(());
        }
    }
}
