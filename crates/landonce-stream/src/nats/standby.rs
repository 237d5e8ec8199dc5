//! Standing by: a worker that lost a part watches whoever took it, and takes it again when that one has fallen silent.
//!
//! Nothing depends on this for what is right, only for that it goes on: two workers that both take a part fence each other in the
//! database. So that they don't do it for ever, the one that lost waits.

use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use super::server::{Part, Unanswered};
use crate::desk::Desk;
use crate::source::PartName;

/// The longest time between two looks.
const LOOK: Duration = Duration::from_secs(5);

/// Watches until the part has stood still for `patience` though messages wait, and says then that it is to be taken.
pub(super) async fn stand_by(
    desk: Desk,
    server: Part,
    part: PartName,
    patience: Duration,
    say: UnboundedSender<PartName>,
) {
    tracing::warn!(
        part = part.shown,
        stand_by_s = patience.as_secs(),
        "another worker has taken the part; this one stands by"
    );
    let mut last = None;
    let mut since = Instant::now();
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK.min(patience / 2)) => {}
            () = desk.stopped() => return,
        }
        let found = match desk.position(&part).await {
            Ok(found) => found.map(|position| (position.epoch, position.next)),
            // A store that doesn't answer us may not answer the other one.
            Err(error) => {
                tracing::debug!(part = part.shown, %error, "the store can't be asked");
                since = Instant::now();
                continue;
            }
        };
        if last.as_ref() != Some(&found) {
            last = Some(found);
            since = Instant::now();
            continue;
        }
        if since.elapsed() < patience {
            continue;
        }
        let next = last.iter().flatten().find_map(|(_, next)| next.as_ref()?.parse().ok());
        match server.waiting(next.unwrap_or(1)).await {
            Ok(0) => {}
            Ok(waiting) => {
                tracing::warn!(
                    part = part.shown,
                    waiting,
                    "whoever took the part has fallen silent; it is taken again"
                );
                // The source has ended otherwise.
                let _ = say.send(part);
                return;
            }
            Err(Unanswered::Passing(error)) => {
                tracing::debug!(part = part.shown, error, "the server can't be asked");
            }
            // Whoever has the part is told the same.
            Err(Unanswered::Never(error)) => return desk.fail(error),
        }
    }
}
