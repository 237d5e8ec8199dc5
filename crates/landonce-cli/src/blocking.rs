//! Work that keeps a thread busy, done where it doesn't keep a signal from being heard.

use crate::failure::Failure;

/// Does it on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.unwrap_or_else(|failed| {
        Err(Failure::system("a working thread ended", std::io::Error::other(failed)))
    })
}
