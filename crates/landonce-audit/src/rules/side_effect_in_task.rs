//! `side-effect-in-task`: something leaves for the outside from code that is repeated as a whole.

use super::facts::flow::{Flow, last, receiver};
use super::facts::hit;
use super::facts::value::argument_words;
use crate::code::Call;
use crate::rule::{Hit, Level, Project, Rule};

pub(super) const RULE: Rule = Rule {
    id: "side-effect-in-task",
    title: "a call to the outside is made beside the writes to the database",
    why: "The transaction can be rolled back and run again, the call can't: a retry sends it twice, a crash before the commit \
          has told the world of rows that aren't there.",
    level: Level::Error,
    check,
};

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    for flow in &facts.flows {
        let is_task = is_task(flow);
        let is_writing = flow.is_writing();
        if !is_task && !is_writing {
            continue;
        }
        for event in &flow.events {
            let Some(call) = event.call() else { continue };
            // An alarm about a failure may well be sent again.
            if event.is_handling() {
                continue;
            }
            // Headers and fields by name: the whole call as it is written.
            let written =
                flow.unit.text.get(call.span.start..call.span.end).unwrap_or_default().to_ascii_lowercase();
            let Some(what) = effect(call, &written) else { continue };
            let beside = if is_writing {
                "beside the writes to the database"
            } else {
                "in a task that is retried as a whole"
            };
            hits.push(hit(
                flow.index,
                call.span,
                if is_writing { Level::Error } else { Level::Warning },
                format!("{} {what} {beside}: a retry does it again", call.callee),
                "Insert the message into an outbox table in the same transaction and deliver it from there; or send an idempotency key that is made from the data (never from a random number or the clock).".to_owned(),
            ));
        }
    }
}

fn is_task(flow: &Flow<'_>) -> bool {
    flow.function.decorators.iter().any(|name| {
        let name = name.to_ascii_lowercase();
        let last = name.rsplit('.').next().unwrap_or_default();
        matches!(
            last,
            "task"
                | "asset"
                | "op"
                | "flow"
                | "job"
                | "pythonoperator"
                | "shared_task"
                | "virtualenv"
                | "multi_asset"
                | "scheduled"
        )
    })
}

/// What a call does to the outside, if it isn't known to do it once.
fn effect(call: &Call, written: &str) -> Option<&'static str> {
    let name = last(&call.callee);
    let callee = call.callee.to_ascii_lowercase();
    let from = receiver(&call.callee);
    let words = argument_words(&call.arguments);
    let is_keyed =
        ["idempot", "dedup", "clienttoken", "client_token", "clientrequesttoken", "transactional_id"]
            .iter()
            .any(|word| words.contains(word) || written.contains(word));
    if is_keyed {
        return None;
    }
    let is_http = [
        "requests",
        "httpx",
        "session",
        "client",
        "http",
        "axios",
        "aiohttp",
        "urllib3",
        "reqwest",
        "resttemplate",
        "webclient",
        "got",
        "superagent",
        "self.session",
        "self._session",
        "self.client",
        "self.http",
    ]
    .iter()
    .any(|word| from == *word || from.ends_with(&format!(".{word}")) || from.ends_with(&format!("_{word}")));
    let is_reading = ["/token", "oauth", "graphql", "/search", "_search", "/query", "/login", "/auth"]
        .iter()
        .any(|word| words.contains(word));
    match name {
        "post" | "postForEntity" | "postForObject" | "postForLocation" | "patch" | "patchForObject"
        | "Post" | "PostForm" | "post_json"
            if is_http && !is_reading =>
        {
            Some("sends")
        }
        "request" if is_http && (words.contains("post ") || words.contains("patch ")) && !is_reading => {
            Some("sends")
        }
        "fetch" if words.contains("post ") || words.contains("patch ") => (!is_reading).then_some("sends"),
        "urlopen" if words.contains("post ") => Some("sends"),
        "sendmail"
        | "send_mail"
        | "sendMail"
        | "send_email"
        | "send_templated_email"
        | "SendMail"
        | "send_mass_mail" => Some("sends a mail"),
        "send_message" if callee.contains("smtp") || callee.contains("server") || callee.contains("mail") => {
            Some("sends a mail")
        }
        "chat_postMessage" | "postMessage" if callee.contains("chat") || callee.contains("slack") => {
            Some("posts to Slack")
        }
        "send_message" | "send_message_batch" | "sendMessage" | "SendMessage"
            if callee.contains("sqs") || callee.contains("queue") || callee.contains("bot") =>
        {
            Some("sends a message")
        }
        "publish" | "publish_batch" | "Publish" | "basic_publish" | "convertAndSend" | "put_record"
        | "put_records" | "put_events" => Some("publishes"),
        "produce" | "send_and_wait" => Some("produces a message"),
        "send"
            if ["producer", "sendgrid", "sg", "mailer", "webhook", "slack", "notifier", "kafkatemplate"]
                .iter()
                .any(|word| from.rsplit(['.', '_']).any(|part| part == *word)) =>
        {
            Some("sends")
        }
        "create"
            if ["messages", "charge", "paymentintent", "refund", "transfer", "payout", "invoice"]
                .iter()
                .any(|word| from.rsplit('.').next().is_some_and(|part| part.eq_ignore_ascii_case(word)))
                && (from.contains("client") || from.contains("twilio") || from.contains("stripe")) =>
        {
            Some("creates something outside")
        }
        "run" | "call" | "check_call" | "check_output" | "Popen" | "system" | "exec"
            if (from.contains("subprocess") || from == "os" || from == "child_process")
                && words.contains("curl")
                && ["post", "-d ", "--data", "patch"].iter().any(|word| words.contains(word)) =>
        {
            Some("sends by curl")
        }
        _ => None,
    }
}
