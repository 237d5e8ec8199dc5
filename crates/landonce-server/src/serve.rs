//! A server's life: it listens, lets requests in, and drains them at the end.

use std::io;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::app::App;
use crate::listen::{self, Stage, Tls};
use crate::router::router;
use crate::work;

/// How long a COMMIT that was sent is waited for behind the drain's end, and answers to be written.
const LAST: Duration = Duration::from_secs(5);

/// Serves until `stop` says so. Then it takes no more, and ends when every request that was taken has its answer. What hasn't come
/// to its COMMIT within the file's `drain` is undone, and told so; a COMMIT that was sent is waited for a little longer.
///
/// # Errors
/// When the certificate can't be read.
pub async fn serve(app: App, listener: TcpListener, mut stop: watch::Receiver<bool>) -> io::Result<()> {
    let tls = app.config().tls().map(Tls::load).transpose()?;
    let stopped = async move {
        // A dropped sender can't say so any more.
        if stop.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let workers = work::start(&app);
    let router = router(app.clone());
    let connections = listen::accept(&app, &router, listener, tls, stopped).await;
    // The listener is closed by now: whoever connects is refused by the system, and goes elsewhere.
    app.drain().go_to(Stage::Draining);
    workers.tell();
    tracing::info!(connections = connections.len(), "draining");
    drained(&app, connections).await;
    workers.ended().await;
    app.telemetry().flush().await;
    Ok(())
}

async fn drained(app: &App, mut connections: JoinSet<()>) {
    let in_time = tokio::time::timeout(app.config().drain(), async {
        while connections.join_next().await.is_some() {}
        // A client that has gone away left its batch at work.
        app.desk().is_empty().await;
    });
    if in_time.await.is_ok() {
        return;
    }
    app.drain().go_to(Stage::Cut);
    let undone = app.desk().shut();
    tracing::warn!(undone, connections = connections.len(), "the time to drain is over");
    let last = tokio::time::timeout(LAST, async {
        app.desk().is_empty().await;
        while connections.join_next().await.is_some() {}
    });
    if last.await.is_err() {
        let unanswered = app.desk().len();
        tracing::error!(
            unanswered,
            connections = connections.len(),
            "ends all the same; batches whose COMMIT is unanswered may have landed or not: their senders ask again with the same key"
        );
    }
}
