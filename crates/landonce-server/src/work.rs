//! What is nobody's request: derived tables that are due are computed, messages handed to their destinations. What fails is told,
//! waits a little, and begins again; what a failure leaves is in the store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use landonce_deliver::{Event, Options};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};

use crate::app::App;

/// How long delivery waits after it has ended unasked; each further time twice as long, up to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// How long workers have to let go of what they hold, beyond the drain.
const LAST: Duration = Duration::from_secs(10);
/// How many landings are remembered for the worker that derives; it looks at all that is due now and then anyway.
const REMEMBERED: usize = 1024;

/// Workers that have been started.
pub(crate) struct Workers {
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
}

/// Starts what the configuration asks for.
pub(crate) fn start(app: &App) -> Workers {
    let (stop, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    if let Some(every) = app.config().derive_every()
        && app.pipelines().any(|pipeline| !pipeline.declared().derived().is_empty())
    {
        let (tell, landed) = mpsc::channel(REMEMBERED);
        app.tell_of_landings(tell);
        tasks.spawn(derive(app.clone(), every, landed, stopped.clone()));
    }
    if app.delivery().is_some() {
        tasks.spawn(deliver(app.clone(), stopped));
    }
    Workers { tasks, stop }
}

impl Workers {
    /// Asks them to stop.
    pub(crate) fn tell(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until they have stopped.
    pub(crate) async fn ended(mut self) {
        let ended = timeout(LAST, async { while self.tasks.join_next().await.is_some() {} });
        if ended.await.is_err() {
            // A period that is being computed is rolled back and stays due; a message that was sent may be sent again, with its id.
            tracing::warn!("workers didn't stop in time and are ended");
        }
    }
}

async fn derive(
    app: App,
    every: Duration,
    mut landed: mpsc::Receiver<String>,
    mut stop: watch::Receiver<bool>,
) {
    // The first look is for what an earlier process has left.
    let mut ticks = interval_at(Instant::now(), every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let due: BTreeSet<String> = tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            _ = ticks.tick() => app.pipelines().map(|pipeline| pipeline.name().to_owned()).collect(),
            Some(first) = landed.recv() => {
                // Many batches are one reason to look.
                let mut due = BTreeSet::from([first]);
                while let Ok(next) = landed.try_recv() {
                    due.insert(next);
                }
                due
            }
        };
        for name in due {
            let Some(pipeline) = app.pipeline(&name).filter(|of| !of.declared().derived().is_empty()) else {
                continue;
            };
            let derived = tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                derived = pipeline.derive(app.store()) => derived,
            };
            app.figures().worked("derive", derived.is_ok());
            match derived {
                Ok(tables) => {
                    let periods: usize = tables.iter().map(|table| table.periods.len()).sum();
                    tracing::debug!(pipeline = name, periods, "derived");
                }
                // The marks are left: the next look finds them.
                Err(error) => {
                    tracing::error!(pipeline = name, code = error.code().as_str(), %error, "derived tables");
                }
            }
        }
    }
}

async fn deliver(app: App, mut stop: watch::Receiver<bool>) {
    let Some(delivering) = app.delivery() else { return };
    let options = Options { workers: delivering.workers, is_once: false, hear: Arc::new(hear) };
    let mut wait = FIRST_WAIT;
    while !*stop.borrow() {
        let began = Instant::now();
        let ended = delivering.delivery.run(app.store(), &options, stop.clone()).await;
        app.figures().worked("deliver", ended.is_ok());
        match ended {
            Ok(_) if *stop.borrow() => return,
            Ok(_) => tracing::error!("delivery has ended unasked; it begins again"),
            Err(error) => tracing::error!(%error, "delivery has failed; it begins again"),
        }
        // What went well for long isn't what fails again and again.
        wait = if began.elapsed() > LONGEST_WAIT { FIRST_WAIT } else { (wait * 2).min(LONGEST_WAIT) };
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = sleep(wait) => {}
        }
    }
}

fn hear(event: Event) {
    match event {
        Event::Paused { destination, lasting, reason } => {
            tracing::warn!(destination, seconds = lasting.as_secs_f64(), reason, "a destination pauses");
        }
        Event::Dead { destination, id, answer } => {
            tracing::warn!(destination, %id, answer, "a dead letter");
        }
        Event::Trouble { told, after } => {
            tracing::warn!(told, seconds = after.as_secs_f64(), "the outbox can't be read");
        }
        Event::Recovered => tracing::info!("the outbox can be read again"),
        _ => {}
    }
}
