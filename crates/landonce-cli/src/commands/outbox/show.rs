//! Messages as they are shown: the stable JSON object, and the same for people.

use landonce::Store;
use landonce::outbox::{Entry, Outbox, Which};
use owo_colors::OwoColorize as _;
use serde::Serialize;
use uuid::Uuid;

use crate::args::OutputForm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::report::{self, Table};

/// How much of an id is shown in a list: as much as names a message among millions.
const ID: usize = 13;

/// One message. The fields and their order are a promise (`docs/reference/cli.md`).
#[derive(Serialize)]
struct MessageReport {
    id: Uuid,
    seq: i64,
    topic: String,
    state: &'static str,
    producer: String,
    kind: String,
    /// JSON text, byte for byte, as the payload.
    entity: String,
    ordering: Option<String>,
    run_id: Option<Uuid>,
    enqueued_at: String,
    due_at: Option<String>,
    attempts: u32,
    leased_by: Option<String>,
    leased_until: Option<String>,
    answer: Option<String>,
    sent_at: Option<String>,
    corrected_by: Option<Uuid>,
    payload: String,
}

#[derive(Serialize)]
struct Messages {
    store: String,
    messages: Vec<MessageReport>,
}

impl From<Entry> for MessageReport {
    fn from(entry: Entry) -> Self {
        let (leased_by, leased_until) = entry.leased.unzip();
        let message = entry.message;
        Self {
            id: message.id,
            seq: entry.seq,
            topic: message.topic,
            state: entry.state.as_str(),
            producer: message.producer,
            kind: message.kind,
            entity: message.entity,
            ordering: message.ordering,
            run_id: message.run_id,
            enqueued_at: entry.enqueued_at,
            due_at: entry.due_at,
            attempts: entry.attempts,
            leased_by,
            leased_until,
            answer: entry.answer,
            sent_at: entry.sent_at,
            corrected_by: entry.corrected_by,
            payload: message.payload,
        }
    }
}

impl MessageReport {
    /// What has become of it, in a word.
    fn stands(&self) -> &'static str {
        if self.leased_by.is_some() { "leased" } else { self.state }
    }

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.to_string()[..ID].to_owned(),
            report::moment(&self.enqueued_at),
            self.stands().to_owned(),
            report::line(&self.topic).into_owned(),
            report::line(&self.kind).into_owned(),
            report::tail(&self.entity, 40).into_owned(),
            self.attempts.to_string(),
            report::line(self.answer.as_deref().unwrap_or_default()).into_owned(),
        ]
    }

    fn paragraph(&self) -> String {
        let mut out = format!("{}\n", self.id.to_string().bold());
        let mut row = |name: &str, text: &str| out.push_str(&format!("  {name:<9}  {text}\n"));
        row("topic", &report::line(&self.topic));
        row("state", self.state);
        row("about", &report::line(&format!("{} ({})", self.entity, self.kind)));
        if let Some(ordering) = &self.ordering {
            row("ordering", &report::line(ordering));
        }
        row("from", &report::line(&self.producer));
        if let Some(run_id) = self.run_id {
            row("run", &run_id.to_string());
        }
        row("enqueued", &report::moment(&self.enqueued_at));
        if let Some(due_at) = &self.due_at {
            row("due", &report::moment(due_at));
        }
        if let (Some(by), Some(until)) = (&self.leased_by, &self.leased_until) {
            row("leased", &report::line(&format!("until {} by {by}", report::moment(until))));
        }
        row("attempts", &self.attempts.to_string());
        if let Some(answer) = &self.answer {
            row("answer", &report::line(answer));
        }
        if let Some(sent_at) = &self.sent_at {
            row("sent", &report::moment(sent_at));
        }
        if let Some(correction) = self.corrected_by {
            row("corrected", &format!("by {correction}"));
        }
        row("payload", &report::line(&self.payload));
        out
    }
}

pub(super) async fn list(
    store: &Store,
    which: &Which,
    limit: usize,
    form: OutputForm,
) -> Result<Exit, Failure> {
    let found = store.outbox().messages(which, limit).await?;
    let messages: Vec<MessageReport> = found.into_iter().map(MessageReport::from).collect();
    if form.is_json() {
        report::json(&Messages { store: store.place(), messages })?;
        return Ok(Exit::Fine);
    }
    if messages.is_empty() {
        report::print(&format!("no such message in {}\n", report::line(&store.place())))?;
        return Ok(Exit::Fine);
    }
    let head = ["id", "enqueued at (UTC)", "state", "topic", "kind", "about", "attempts", "answer"];
    let mut table = Table::new(&head);
    for message in &messages {
        table.push(message.cells());
    }
    let mut text = table.render();
    text.push_str("landonce outbox show ID shows one\n");
    report::print(&text)?;
    Ok(Exit::Fine)
}

pub(super) async fn one(store: &Store, id: &str, form: OutputForm) -> Result<Exit, Failure> {
    let message = MessageReport::from(find(&mut store.outbox(), id).await?);
    if form.is_json() {
        report::json(&Messages { store: store.place(), messages: vec![message] })?;
    } else {
        report::print(&message.paragraph())?;
    }
    Ok(Exit::Fine)
}

/// The one message whose id begins so.
pub(super) async fn find(outbox: &mut Outbox, id: &str) -> Result<Entry, Failure> {
    let list = "`landonce outbox list` shows the ids";
    if id.is_empty() {
        return Err(Failure::usage("which message?", list));
    }
    let which = Which { id_prefix: Some(id.to_owned()), ..Which::default() };
    let mut found = outbox.messages(&which, 2).await?;
    match (found.pop(), found.is_empty()) {
        (Some(entry), true) => Ok(entry),
        (None, _) => Err(Failure::usage(format!("no message has an id that begins with `{id}`"), list)),
        (Some(_), false) => {
            Err(Failure::usage(format!("several messages' ids begin with `{id}`"), "give more of the id"))
        }
    }
}
