//! Listening, letting requests in, and draining them at the end.

use std::io;

use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::app::App;
use crate::router::router;

/// Serves until `stop` says so; then takes no more, and ends when every request that was taken has its answer.
///
/// # Errors
/// When the listener fails.
pub async fn serve(app: App, listener: TcpListener, mut stop: watch::Receiver<bool>) -> io::Result<()> {
    let stopped = async move {
        // A dropped sender can't say so any more.
        if stop.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    axum::serve(listener, router(app)).with_graceful_shutdown(stopped).await
}
