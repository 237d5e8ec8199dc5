//! Bounds for everything that waits: a test that would hang fails instead, and says what it waited for.
//!
//! Nothing here waits for time to pass; each wait ends as soon as its condition holds.

use std::panic::Location;
use std::time::Duration;

/// How often a condition that nothing announces is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The future's output.
///
/// # Panics
///
/// When it isn't there after so many seconds; the message names the caller and `what` was waited for.
#[track_caller]
pub fn within<F: Future>(seconds: u64, what: &str, future: F) -> impl Future<Output = F::Output> {
    let caller = Location::caller();
    async move {
        let Ok(output) = tokio::time::timeout(Duration::from_secs(seconds), future).await else {
            panic!("{caller}: waited {seconds} s in vain for {what}");
        };
        output
    }
}

/// What `look` returns as soon as it isn't `None`. For conditions that can only be polled, such as another process's
/// state.
///
/// # Panics
///
/// When it is still `None` after so many seconds.
#[track_caller]
pub fn until<T>(seconds: u64, what: &str, look: impl AsyncFnMut() -> Option<T>) -> impl Future<Output = T> {
    within(seconds, what, poll(look))
}

/// As [`until`], for a caller who has more to say than that it took too long: `None` then.
pub async fn until_or_none<T>(seconds: u64, look: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    tokio::time::timeout(Duration::from_secs(seconds), poll(look)).await.ok()
}

async fn poll<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let mut ticks = tokio::time::interval(LOOK_EVERY);
    loop {
        ticks.tick().await;
        if let Some(found) = look().await {
            return found;
        }
    }
}
