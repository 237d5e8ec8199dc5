//! What a call does to the outside, by its name and by how it is written.
//!
//! Asking (GET, HEAD) is no effect, and neither is what leaves the same behind however often it is done (PUT, an object under
//! a name).

use super::flow::{Event, Flow, last, receiver};
use super::value::argument_words;
use crate::code::{Call, Span, Value};

/// What a step does to the outside, if it isn't known to do it once.
pub(crate) fn effect(flow: &Flow<'_>, at: usize) -> Option<&'static str> {
    let call = flow.events[at].call()?;
    // What stands around a call is only looked at where its name may mean something: functions can be very long.
    let name = last(&call.callee).to_ascii_lowercase();
    if !WORDS.iter().any(|word| name.contains(word)) {
        return None;
    }
    let asked =
        Asked { flow, call, words: argument_words(&call.arguments), written: written(flow, at, call) };
    if asked.is_keyed() {
        return None;
    }
    asked.by_http().or_else(|| asked.by_mail()).or_else(|| asked.by_queue()).or_else(|| asked.by_program())
}

/// Words of which one is in the name of every call that is looked at.
const WORDS: [&str; 27] = [
    "post",
    "patch",
    "request",
    "do",
    "send",
    "exchange",
    "execute",
    "newcall",
    "fetch",
    "axios",
    "got",
    "ky",
    "needle",
    "urlopen",
    "mail",
    "upload",
    "publish",
    "put_",
    "produce",
    "create",
    "run",
    "call",
    "check_output",
    "popen",
    "curl",
    "system",
    "exec",
];

/// A call with what is known of it.
struct Asked<'a> {
    flow: &'a Flow<'a>,
    call: &'a Call,
    /// The words of its arguments, in lower case.
    words: String,
    /// The whole chain as it is written, and what was made for it before (a request, a message); in lower case.
    written: String,
}

impl Asked<'_> {
    /// Whether the receiver knows a repeat by a key.
    fn is_keyed(&self) -> bool {
        const KEYS: [&str; 6] =
            ["idempot", "dedup", "clienttoken", "client_token", "clientrequesttoken", "transactional_id"];
        // Headers are often put together some lines before.
        let span = self.flow.function.span;
        let around = self.flow.unit.text.get(span.start..span.end).unwrap_or_default();
        KEYS.iter().any(|word| self.words.contains(word) || self.written.contains(word))
            || !self.flow.function.name.is_empty() && around.to_ascii_lowercase().contains("idempotency")
    }

    /// Whether it only asks for something, although by POST.
    fn is_asking(&self) -> bool {
        const WORDS: [&str; 8] =
            ["/token", "oauth", "graphql", "/search", "_search", "/query", "/login", "/auth"];
        WORDS.iter().any(|word| self.words.contains(word) || self.written.contains(word))
    }

    /// Whether the method that is written is one that does something each time.
    fn is_posted(&self) -> bool {
        ["post", "patch"].iter().any(|method| {
            [
                format!("\"{method}\""),
                format!("'{method}'"),
                format!(".{method}("),
                format!("method{method}"),
                format!("method.{method}"),
                format!("method::{method}"),
            ]
            .iter()
            .any(|form| self.written.contains(form.as_str()))
        })
    }

    fn by_http(&self) -> Option<&'static str> {
        const CLIENTS: [&str; 14] = [
            "requests",
            "httpx",
            "session",
            "client",
            "defaultclient",
            "http",
            "axios",
            "aiohttp",
            "urllib3",
            "resttemplate",
            "webclient",
            "got",
            "ky",
            "superagent",
        ];
        let from = receiver(&self.call.callee);
        let is_client = from.contains("reqwest")
            || CLIENTS.iter().any(|word| {
                let before = from.strip_suffix(word);
                before.is_some_and(|before| before.is_empty() || before.ends_with(['.', '_', '&', '*']))
                    || from.strip_suffix("()").is_some_and(|made| last(made).eq_ignore_ascii_case(word))
            });
        let is_sent = match last(&self.call.callee) {
            "post" | "postForEntity" | "postForObject" | "postForLocation" | "patch" | "patchForObject"
            | "Post" | "PostForm" | "post_json" => is_client,
            "request" | "Do" | "send" | "sendAsync" | "exchange" | "execute" | "newCall" | "Execute" => {
                // Of a chain, the call that names the method is told.
                let is_told = [".post(", ".patch(", ".request("].iter().any(|call| from.contains(call));
                is_client && self.is_posted() && !is_told
            }
            "fetch" | "axios" | "got" | "ky" | "needle" => self.is_posted(),
            "urlopen" => self.is_posted() || self.has_body(),
            _ => false,
        };
        (is_sent && !self.is_asking()).then_some("sends")
    }

    /// Whether urllib is given something to send, in the call or in the request that was made for it.
    fn has_body(&self) -> bool {
        let has_data = |call: &Call, is_request: bool| {
            call.arguments.iter().enumerate().any(|(at, argument)| {
                let is_second = at == 1 && argument.name.is_none();
                (argument.name.as_deref() == Some("data") || is_second)
                    && argument.value != Value::Constant("None".to_owned())
                    && (is_request || last(&call.callee) == "urlopen")
            })
        };
        if has_data(self.call, false) {
            return true;
        }
        let names = names(self.flow, self.call);
        self.flow.events.iter().filter_map(Event::call).any(|made| {
            let is_inside = self.call.span.start < made.span.start && made.span.end <= self.call.span.end;
            let is_named = made.assigned_to.as_deref().is_some_and(|target| names.contains(&target));
            last(&made.callee) == "Request" && (is_inside || is_named) && has_data(made, true)
        })
    }

    fn by_mail(&self) -> Option<&'static str> {
        let callee = self.call.callee.to_ascii_lowercase();
        let is_mail = match last(&self.call.callee) {
            "sendmail"
            | "send_mail"
            | "sendMail"
            | "send_email"
            | "send_templated_email"
            | "SendMail"
            | "send_mass_mail"
            | "send_raw_email"
            | "send_bulk_email"
            | "mail_admins"
            | "mail_managers" => true,
            "send_message" => {
                ["smtp", "server", "mail"].iter().any(|word| callee.contains(word)) || self.is_smtp()
            }
            // EmailMessage(…).send()
            "send" => {
                self.written.contains("emailmessage(") || self.written.contains("emailmultialternatives(")
            }
            _ => false,
        };
        is_mail.then_some("sends a mail")
    }

    /// Whether what it is called on is an SMTP connection.
    fn is_smtp(&self) -> bool {
        let from = receiver(&self.call.callee);
        self.flow.events.iter().filter_map(Event::call).any(|made| {
            matches!(last(&made.callee), "SMTP" | "SMTP_SSL")
                && made.assigned_to.as_ref().is_none_or(|target| target.eq_ignore_ascii_case(&from))
        })
    }

    fn by_queue(&self) -> Option<&'static str> {
        const SENDERS: [&str; 8] =
            ["producer", "sendgrid", "sg", "mailer", "webhook", "slack", "notifier", "kafkatemplate"];
        // AWS SDK for JavaScript, version 3: client.send(new PublishCommand(…)).
        const COMMANDS: [&str; 6] = [
            "sendmessagecommand",
            "sendmessagebatchcommand",
            "publishcommand",
            "sendemailcommand",
            "putrecordscommand",
            "puteventscommand",
        ];
        let callee = self.call.callee.to_ascii_lowercase();
        let from = receiver(&self.call.callee);
        let created = ["messages", "charge", "paymentintent", "refund", "transfer", "payout", "invoice"];
        match last(&self.call.callee) {
            "chat_postMessage" | "postMessage" | "chat_postEphemeral" | "files_upload"
            | "files_upload_v2"
                if ["chat", "slack", "files_upload"].iter().any(|word| callee.contains(word)) =>
            {
                Some("posts to Slack")
            }
            "send_message" | "send_message_batch" | "sendMessage" | "SendMessage"
                if ["sqs", "queue", "bot"].iter().any(|word| callee.contains(word))
                    || self.written.contains("queueurl") =>
            {
                Some("sends a message")
            }
            "publish" | "publish_batch" | "Publish" | "basic_publish" | "convertAndSend" | "put_record"
            | "put_records" | "put_events" => Some("publishes"),
            "produce" | "send_and_wait" => Some("produces a message"),
            "send" if SENDERS.iter().any(|word| from.rsplit(['.', '_']).any(|part| part == *word)) => {
                Some("sends")
            }
            "send" if COMMANDS.iter().any(|word| self.written.contains(word)) => Some("sends"),
            "create"
                if created.iter().any(|word| last(&from).eq_ignore_ascii_case(word))
                    && ["client", "twilio", "stripe"].iter().any(|word| from.contains(word)) =>
            {
                Some("creates something outside")
            }
            _ => None,
        }
    }

    fn by_program(&self) -> Option<&'static str> {
        let from = receiver(&self.call.callee);
        let is_run = matches!(
            last(&self.call.callee),
            "run" | "call" | "check_call" | "check_output" | "Popen" | "system" | "exec"
        ) && (from.contains("subprocess") || from == "os" || from == "child_process")
            && self.words.contains("curl");
        let is_command = last(&self.call.callee) == "curl";
        let has_body =
            ["post", "-d ", "--data", "--json", "patch"].iter().any(|word| self.written.contains(word));
        ((is_run || is_command) && has_body && !self.is_asking()).then_some("sends by curl")
    }
}

/// A call as it is written with the rest of its chain, and what was made for its arguments before.
fn written(flow: &Flow<'_>, at: usize, call: &Call) -> String {
    let chain = |span: Span| {
        let ends =
            flow.events.iter().filter(|event| event.span.start == span.start).map(|event| event.span.end);
        let end = ends.max().unwrap_or(span.end).max(span.end);
        flow.unit.text.get(span.start..end).unwrap_or_default()
    };
    let mut text = chain(call.span).to_ascii_lowercase();
    let names = names(flow, call);
    for made in flow.events[..at].iter().filter_map(Event::call) {
        let target = made.assigned_to.as_deref().and_then(|target| target.split([',', ' ']).next());
        if target.is_some_and(|target| names.contains(&target)) {
            text.push(' ');
            text.push_str(&chain(made.span).to_ascii_lowercase());
        }
    }
    text
}

/// The names that a call is given, and the one that it is called on.
fn names<'a>(flow: &'a Flow<'_>, call: &'a Call) -> Vec<&'a str> {
    let given = call
        .arguments
        .iter()
        .filter_map(|argument| flow.unit.text.get(argument.span.start..argument.span.end))
        .map(|text| {
            text.split_once('=').map_or(text, |(_, value)| value).trim().trim_start_matches(['&', '*'])
        })
        .filter(|text| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_'));
    given.chain(call.callee.rsplit_once('.').map(|(on, _)| on)).collect()
}
