//! `landonce outbox`: messages about changes, looked at, sent again, given up or forgotten by a person.

mod change;
mod show;
mod stats;

use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use landonce::Store;
use landonce::outbox::{Act, State, Which};

use crate::args::{OutputForm, StoreArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place;
use change::Change;

const EXAMPLES: &str = "\
Examples:
  landonce outbox stats                         # per topic: what waits, how long, dead letters
  landonce outbox list --state dead
  landonce outbox show 8c1d2e3f-4a5b
  landonce outbox redrive --topic orders --all  # the receiver is mended: dead letters go out again
  landonce outbox prune --older-than 90d";

/// `landonce outbox`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List messages, newest first.
    List(List),
    /// Show one whole, with what is sent.
    Show(Show),
    /// Messages that wait for their next attempt are due now.
    Retry(Change),
    /// Dead letters (and discarded messages that are named) go out again, under the same id, with no attempts counted.
    Redrive(Change),
    /// Messages that were sent go out once more, under the same id: the receiver can tell.
    Resend(Change),
    /// Pending and dead messages are not to be sent. One that a worker holds at the moment stays.
    Discard(Change),
    /// End a topic's pause, which its receiver asked for or failures brought about: its messages go out again.
    Resume(Resume),
    /// Show per topic what waits, is under way, has failed, for how long, and dead letters.
    Stats(Stats),
    /// Delete messages that were sent or discarded so long ago. What is deleted is forgotten: the same change would be told again.
    Prune(Prune),
}

#[derive(Debug, clap::Args)]
struct List {
    /// Only this topic's.
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Only those in this state.
    #[arg(long)]
    state: Option<InState>,
    /// How many are shown.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct Show {
    /// The message's id, or its first digits.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct Resume {
    /// The topic.
    #[arg(long, value_name = "TOPIC")]
    topic: String,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct Stats {
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct Prune {
    /// How long ago: 90d, 12w, 36h, 30m.
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Duration,
    #[command(flatten)]
    store: StoreArgs,
}

/// A state, as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InState {
    /// It waits, or is under way.
    Pending,
    /// Its receiver has taken it.
    Sent,
    /// Nobody took it.
    Dead,
    /// A person said that it isn't to be sent.
    Discarded,
}

impl From<InState> for State {
    fn from(state: InState) -> Self {
        match state {
            InState::Pending => Self::Pending,
            InState::Sent => Self::Sent,
            InState::Dead => Self::Dead,
            InState::Discarded => Self::Discarded,
        }
    }
}

/// An age, spelled as the ages of a pipeline's file are.
fn age(text: &str) -> Result<Duration, String> {
    let unit = |end: char| match end {
        'm' => Some(60),
        'h' => Some(3_600),
        'd' => Some(86_400),
        'w' => Some(7 * 86_400),
        _ => None,
    };
    let seconds = text
        .chars()
        .last()
        .and_then(unit)
        .and_then(|unit: u64| text[..text.len() - 1].trim().parse::<u64>().ok()?.checked_mul(unit))
        .filter(|seconds| *seconds > 0);
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| "a number and a unit are due (`90d`, `12w`, `36h`, `30m`)".to_owned())
}

/// A checked `outbox …`.
#[derive(Debug)]
pub(crate) enum Job {
    /// `list`: which, and how many.
    List(Store, Which, usize),
    /// `show`: the id's beginning.
    Show(Store, String),
    /// `retry`, `redrive`, `resend`, `discard`
    Change(Store, change::Job),
    /// `resume`: the topic.
    Resume(Store, String),
    /// `stats`
    Stats(Store),
    /// `prune`
    Prune(Store, Duration),
}

impl Job {
    /// Whether it can be told in a form that only figures have.
    pub(super) fn has_figures(&self) -> bool {
        matches!(self, Self::Stats(_))
    }
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    let change = |args: Change, act: Act| {
        Ok(Job::Change(place::choose(&args.store, None)?, change::Job::new(args, act)?))
    };
    match args.command {
        Command::List(args) => {
            let which = Which { topic: args.topic, state: args.state.map(State::from), ..Which::default() };
            Ok(Job::List(place::choose(&args.store, None)?, which, args.limit))
        }
        Command::Show(args) => Ok(Job::Show(place::choose(&args.store, None)?, args.id)),
        Command::Retry(args) => change(args, Act::Retry),
        Command::Redrive(args) => change(args, Act::Redrive),
        Command::Resend(args) => change(args, Act::Resend),
        Command::Discard(args) => change(args, Act::Discard),
        Command::Resume(args) => Ok(Job::Resume(place::choose(&args.store, None)?, args.topic)),
        Command::Stats(args) => Ok(Job::Stats(place::choose(&args.store, None)?)),
        Command::Prune(args) => Ok(Job::Prune(place::choose(&args.store, None)?, args.older_than)),
    }
}

pub(super) async fn run(job: Job, form: OutputForm) -> Result<Exit, Failure> {
    match job {
        Job::List(store, which, limit) => show::list(&store, &which, limit, form).await,
        Job::Show(store, id) => show::one(&store, &id, form).await,
        Job::Change(store, job) => change::run(&store, job, form).await,
        Job::Resume(store, topic) => stats::resume(&store, &topic, form).await,
        Job::Stats(store) => stats::run(&store, form).await,
        Job::Prune(store, older_than) => change::prune(&store, older_than, form).await,
    }
}
