//! The thread on which all connections of one proxy are served.
//!
//! It is the proxy's own, with a runtime of its own: between the client and the server no thread has to wake another, and
//! whatever else the program does (comparing tables, say) delays no answer.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::{Shared, session};

/// Serves until it is dropped; that cuts every connection.
#[derive(Debug)]
pub(super) struct Serving {
    port: u16,
    /// Never sent: that it is gone is the sign.
    _stop: oneshot::Sender<()>,
}

impl Serving {
    /// Opens a free port of 127.0.0.1 and serves who comes there. Fails where there is no port or no thread.
    pub(super) async fn start(shared: Arc<Shared>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let (opened, port) = oneshot::channel();
        std::thread::Builder::new().name("wire".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve(shared, opened) => {}
                    _ = stopped => {}
                }
            });
            // A server's name that is still being looked up is not waited for.
            runtime.shutdown_background();
        })?;
        let port = port.await.map_err(|_| io::Error::other("the proxy's thread has ended"))??;
        Ok(Self { port, _stop: stop })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

async fn serve(shared: Arc<Shared>, opened: oneshot::Sender<io::Result<u16>>) {
    let listener = match open().await {
        Ok((listener, port)) => {
            // Whoever has stopped waiting for the port has dropped the sign to stop as well.
            let _ = opened.send(Ok(port));
            listener
        }
        Err(error) => {
            let _ = opened.send(Err(error));
            return;
        }
    };
    // Dropped with this future, and its connections with it.
    let mut sessions = JoinSet::new();
    loop {
        tokio::select! {
            Ok((client, _)) = listener.accept() => {
                if !shared.is_cut() {
                    sessions.spawn(session::run(client, Arc::clone(&shared)));
                }
            }
            Some(_) = sessions.join_next() => {}
        }
    }
}

async fn open() -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}
