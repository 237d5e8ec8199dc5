//! What a person does with messages: by their ids, or with a whole topic when that is said twice.

use std::time::Duration;

use landonce::Store;
use landonce::outbox::{Act, State, Which};
use serde::Serialize;

use super::{InState, show};
use crate::args::{OutputForm, StoreArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::report;

/// How many messages one transaction of a pruning deletes.
const AT_ONCE: u32 = 10_000;

/// Which messages.
#[derive(Debug, clap::Args)]
pub(super) struct Change {
    /// The messages' ids, or their first digits.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Those of a topic; needs `--all`.
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Yes, all messages of the topic that it can be done with.
    #[arg(long)]
    all: bool,
    /// Only those in this state. Of a whole topic, `redrive` takes the dead ones and `resend` the sent ones unless this says
    /// otherwise.
    #[arg(long)]
    state: Option<InState>,
    #[command(flatten)]
    pub(super) store: StoreArgs,
}

/// A checked change.
#[derive(Debug)]
pub(crate) struct Job {
    act: Act,
    ids: Vec<String>,
    which: Which,
}

impl Job {
    pub(super) fn new(args: Change, act: Act) -> Result<Self, Failure> {
        let verb = words(act).0;
        if args.ids.is_empty() {
            let Some(topic) = &args.topic else {
                return Err(Failure::usage(
                    "which messages?",
                    format!("name their ids, or `--topic TOPIC --all` (`landonce outbox {verb} --help`)"),
                ));
            };
            if !args.all {
                return Err(Failure::usage(
                    format!("that would {verb} every message of `{topic}` that it can be done with"),
                    "add `--all` if that is meant, or name the messages' ids",
                ));
            }
        } else if args.all {
            return Err(Failure::usage("ids and --all", "name messages, or take all of a topic"));
        }
        let state = args.state.map(State::from).or(match act {
            _ if !args.ids.is_empty() => None,
            Act::Redrive => Some(State::Dead),
            Act::Resend => Some(State::Sent),
            Act::Retry | Act::Discard => None,
        });
        Ok(Self { act, ids: args.ids, which: Which { topic: args.topic, state, ..Which::default() } })
    }
}

/// The command, what has been done then, and why it can't be done with a message.
const fn words(act: Act) -> (&'static str, &'static str, &'static str) {
    match act {
        Act::Retry => ("retry", "retried", "only a pending message that waits for its next attempt can be"),
        Act::Redrive => ("redrive", "redriven", "only a dead or discarded message can be"),
        Act::Resend => ("resend", "resent", "a message that is pending goes out anyway"),
        Act::Discard => {
            ("discard", "discarded", "only a pending or dead message can be, and none that a worker holds")
        }
    }
}

#[derive(Serialize)]
struct Changed {
    status: &'static str,
    count: u64,
}

pub(super) async fn run(store: &Store, job: Job, form: OutputForm) -> Result<Exit, Failure> {
    let mut outbox = store.outbox();
    let mut which = job.which;
    for id in &job.ids {
        let id = show::find(&mut outbox, id).await?.message.id;
        if !which.ids.contains(&id) {
            which.ids.push(id);
        }
    }
    let count = outbox.act(&which, job.act).await?;
    let (_, done, why_not) = words(job.act);
    let named = which.ids.len() as u64;
    if form.is_json() {
        report::json(&Changed { status: done, count })?;
    } else {
        let of = if count < named { format!(" of {named}") } else { String::new() };
        let noun = if count.max(named) == 1 { "message" } else { "messages" };
        let mut text = format!("{done} {count}{of} {noun}\n");
        if count < named {
            text.push_str(&format!("{why_not}\n"));
        }
        report::print(&text)?;
    }
    Ok(if count < named { Exit::Findings } else { Exit::Fine })
}

pub(super) async fn prune(store: &Store, older_than: Duration, form: OutputForm) -> Result<Exit, Failure> {
    let mut outbox = store.outbox();
    let mut count = 0;
    loop {
        let pruned = outbox.prune(older_than, AT_ONCE).await?;
        count += pruned;
        if pruned < u64::from(AT_ONCE) {
            break;
        }
    }
    if form.is_json() {
        report::json(&Changed { status: "pruned", count })?;
    } else {
        report::print(&format!("pruned {count} {}\n", if count == 1 { "message" } else { "messages" }))?;
    }
    Ok(Exit::Fine)
}
