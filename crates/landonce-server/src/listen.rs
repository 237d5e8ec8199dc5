//! Listening: taking connections up to a number, and keeping each from lasting for ever. Nothing waits in a queue of ours: what is
//! too much is refused at once.

mod body;
mod connection;
mod refuse;
mod tls;
mod watched;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::app::App;

pub(crate) use body::Cut;
pub(crate) use tls::Tls;

/// How long accepting is left alone after it has failed: for want of file descriptors, as a rule.
const PAUSE: Duration = Duration::from_millis(100);
/// How many connections beyond the limit are told so at once; further ones are just closed.
const REFUSED_AT_ONCE: usize = 64;

/// How far the end of a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// It isn't in sight.
    Open,
    /// No more connections are taken; requests that were taken get their answers.
    Draining,
    /// Their time is over: bodies that are still arriving are cut, and transactions that haven't come to their COMMIT undone.
    Cut,
}

/// Tells all parts of a server how far its end is.
#[derive(Debug)]
pub(crate) struct Drain(watch::Sender<Stage>);

impl Drain {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Stage::Open))
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.0.borrow() >= Stage::Draining
    }

    /// Goes on to a later stage.
    pub(crate) fn go_to(&self, stage: Stage) {
        self.0.send_replace(stage);
    }

    /// Waits for a stage, or one behind it.
    pub(crate) fn reached(&self, stage: Stage) -> impl Future<Output = ()> + Send + Sync + use<> {
        let mut seen = self.0.subscribe();
        async move {
            // The sender is gone with the server: nothing of it goes on then.
            let _ = seen.wait_for(|now| *now >= stage).await;
        }
    }
}

/// Takes connections until `stop`; the connections that are left.
pub(crate) async fn accept(
    app: &App,
    router: &Router,
    listener: TcpListener,
    tls: Option<Tls>,
    stop: impl Future<Output = ()>,
) -> JoinSet<()> {
    let places = Arc::new(Semaphore::new(app.config().limits().connections));
    let refusals = Arc::new(Semaphore::new(REFUSED_AT_ONCE));
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let taken = tokio::select! {
            () = &mut stop => return connections,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            taken = listener.accept() => taken,
        };
        let (stream, peer) = match taken {
            Ok(taken) => taken,
            Err(error) => {
                // The client has gone before it was taken: nothing that concerns the others.
                if !is_of_connection(&error) {
                    tracing::error!(%error, "can't take a connection");
                    tokio::time::sleep(PAUSE).await;
                }
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            app.figures().refused_connection();
            if let Ok(turn) = Arc::clone(&refusals).try_acquire_owned() {
                let is_plain = tls.is_none();
                connections.spawn(async move {
                    refuse::connection(stream, is_plain).await;
                    drop(turn);
                });
            }
            continue;
        };
        prepare(&stream);
        let (app, router, tls) = (app.clone(), router.clone(), tls.clone());
        connections.spawn(async move {
            app.figures().connections(1.0);
            connection::serve(&app, router, stream, peer, tls).await;
            app.figures().connections(-1.0);
            drop(place);
        });
    }
}

/// Small answers go at once.
fn prepare(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "no TCP_NODELAY");
    }
}

fn is_of_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}
