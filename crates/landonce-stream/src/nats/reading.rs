//! A part that is being read: the queue that its task fills, and where it goes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::AbortHandle;

use super::begin::Rules;
use super::fetch::{Item, fetch};
use super::message::Fetched;
use super::server::Part;
use crate::desk::{Desk, Intake};
use crate::error::Error;
use crate::source::{PartName, Room, Start};

/// How many messages are taken of one part before the others have their turn.
const AT_A_TIME: usize = 2_000;
/// Before a message that couldn't be told is tried again.
const LATER: Duration = Duration::from_secs(1);

/// A part that is being read. Dropped, it isn't any more.
pub(super) struct Reading {
    intake: Intake,
    stream: String,
    items: UnboundedReceiver<Item>,
    task: AbortHandle,
    is_full: bool,
    later: Option<(Fetched, Instant)>,
}

/// What reading a while has shown.
pub(super) enum Read {
    /// So much.
    Some(usize),
    /// The part isn't ours any more.
    Gone,
    /// No waiting mends it.
    Failed(Error),
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Reading {
    /// Begins, where the store says.
    pub(super) fn begin(
        desk: &Desk,
        server: Part,
        rules: Rules,
        start: Start,
        intake: Intake,
        news: &Arc<Notify>,
    ) -> Self {
        let (say, items) = unbounded_channel();
        let stream = server.stream().to_owned();
        let task = desk.runtime().spawn(fetch(server, rules, start, say, Arc::clone(news)));
        Self { intake, stream, items, task: task.abort_handle(), is_full: false, later: None }
    }

    /// Hands over what is there.
    pub(super) fn read(&mut self, name: &PartName, desk: &Desk) -> Read {
        if self.is_full {
            if !self.intake.has_room() {
                return Read::Some(0);
            }
            self.is_full = false;
        }
        let mut count = 0;
        while count < AT_A_TIME && !self.is_full {
            let item = match self.later.take() {
                Some((message, at)) if Instant::now() < at => {
                    self.later = Some((message, at));
                    break;
                }
                Some((message, _)) => Item::Message(message),
                None => match self.items.try_recv() {
                    Ok(item) => item,
                    Err(_) => break,
                },
            };
            count += 1;
            match item {
                Item::Message(message) => {
                    match message.with(&self.stream, &name.part, |message| self.intake.take(message)) {
                        Room::More => {}
                        Room::Full => self.is_full = true,
                        Room::Gone => return Read::Gone,
                        Room::Later(why) => {
                            tracing::warn!(part = name.shown, why, "a message can't be read now; it waits");
                            self.later = Some((message, Instant::now() + LATER));
                            break;
                        }
                    }
                }
                Item::Begins(next) => self.intake.begins_at(next),
                Item::Passed(next, mark) => self.intake.passed(next, mark),
                Item::End => self.intake.reached_end(desk),
                Item::Failed(error) => return Read::Failed(error),
            }
        }
        Read::Some(count)
    }
}
