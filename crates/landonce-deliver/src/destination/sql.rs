//! A table of another database: messages are landed there as any batch of landonce's is, through that database's own inbox.
//!
//! The message's id is the row's identity, and a row that is there stays: a message that comes again, alone or in another batch,
//! writes nothing.

use std::path::Path;
use std::time::Duration;

use landonce::{Batch, Error, Options, Pipeline, RetryPolicy, Status, Store};
use landonce_core::bad_record::BadKind;
use landonce_store::outbox::Parcel;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::{Answer, Destination, Sending, line, told};
use crate::environment::Environment;
use crate::error::Fault;
use crate::veil::Veil;

/// The most messages of one transaction.
const AT_ONCE: usize = 500;
/// The longest that landing them may take.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A table of another database, with that database's own inbox.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlSpec {
    /// The database: `postgres://…` or `sqlite:PATH`. `${NAME}` is taken from the environment.
    pub store: String,
    /// The table, perhaps with its schema. Made when it doesn't exist: `id` (uuid, its key), `topic`, `kind`, `entity` and `payload`
    /// (JSON). A table of your own has these, and perhaps others with defaults.
    pub table: String,
}

impl SqlSpec {
    /// The destination. Connects to nothing yet.
    ///
    /// # Errors
    /// A key whose value can't be.
    pub fn open(&self, _folder: &Path, environment: Environment<'_>) -> Result<Table, Fault> {
        let url = environment.expand("store", &self.store)?;
        let store = Store::open(&url).map_err(|error| Fault::new("store", error.to_string()))?;
        // JSON is YAML, and quotes whatever a table may be called.
        let declared = json!({
            "pipeline": format!("deliver to {}", self.table),
            "identity": {"fields": ["id"], "as": "columns"},
            "source": {"format": "ndjson"},
            "target": {
                "table": self.table,
                "columns": {"id": "uuid", "topic": "text", "kind": "text", "entity": "json", "payload": "json"},
                "rest": "refuse",
            },
            "write": {"mode": "insert_once"},
        });
        let pipeline = Pipeline::from_yaml(&declared.to_string())
            .map_err(|error| Fault::new("table", error.to_string()))?;
        Ok(Table { store, pipeline })
    }
}

/// A table of another database.
#[derive(Debug, Clone)]
pub struct Table {
    store: Store,
    pipeline: Pipeline,
}

impl Destination for Table {
    fn takes(&self) -> usize {
        AT_ONCE
    }

    fn limit(&self) -> Duration {
        TIMEOUT + Duration::from_secs(1)
    }

    fn send<'a>(&'a self, parcels: &'a [Parcel]) -> Sending<'a> {
        Box::pin(async move {
            let mut letters = Vec::with_capacity(parcels.len());
            let mut answers: Vec<Option<Answer>> = vec![None; parcels.len()];
            for (at, parcel) in parcels.iter().enumerate() {
                let mut line = Vec::new();
                match line::append(parcel, &mut line) {
                    Ok(()) => letters.push(Letter { at, line }),
                    Err(answer) => answers[at] = Some(answer),
                }
            }
            self.land(letters, &mut answers).await;
            let unsaid = || Answer::later("not tried".to_owned());
            answers.into_iter().map(|answer| answer.unwrap_or_else(unsaid)).collect()
        })
    }
}

/// A message that can be a row.
struct Letter {
    /// Its place among those that were handed over.
    at: usize,
    line: Vec<u8>,
}

impl Table {
    /// Lands the letters in one transaction. Where single ones are at fault, the others land without them.
    async fn land(&self, mut letters: Vec<Letter>, answers: &mut [Option<Answer>]) {
        let until = Instant::now() + TIMEOUT;
        while !letters.is_empty() {
            let answer = match self.transaction(&letters, until).await {
                Ok(Status::SkippedDuplicate) => Answer::Taken { told: "had landed before".to_owned() },
                Ok(_) => Answer::Taken { told: "landed".to_owned() },
                Err(Failed::Error(error)) => {
                    let before = letters.len();
                    sort_out(&error, &mut letters, answers);
                    if letters.len() < before {
                        continue;
                    }
                    // The database's fault, not these messages'.
                    Answer::later_for_all(short(&format!("{}: {error}", error.code())))
                }
                Err(Failed::Late) => Answer::later_for_all(format!("no end within {} s", TIMEOUT.as_secs())),
            };
            for letter in letters.drain(..) {
                answers[letter.at] = Some(answer.clone());
            }
        }
    }

    async fn transaction(&self, letters: &[Letter], until: Instant) -> Result<Status, Failed> {
        let lines: Vec<u8> = letters.iter().flat_map(|letter| &letter.line).copied().collect();
        // The id is the lines' own digest: the same messages are the same batch, and it never clashes with another one.
        let batch = Batch::from_bytes("messages", lines);
        let options = Options {
            // Who delivers has patience; here only what passes at once is sat out, and an unanswered COMMIT looked up.
            retry: RetryPolicy { attempts: 3, deadline: Duration::from_secs(5), ..RetryPolicy::default() },
            ..Options::default()
        };
        match timeout_at(until, self.pipeline.ingest_with(&self.store, &batch, &options)).await {
            Ok(landed) => landed.map(|receipt| receipt.status).map_err(Failed::Error),
            Err(_) => Err(Failed::Late),
        }
    }
}

enum Failed {
    Error(Error),
    Late,
}

/// Answers for the letters that an error names (some of them, when they are many), and takes them out.
fn sort_out(error: &Error, letters: &mut Vec<Letter>, answers: &mut [Option<Answer>]) {
    let mut named: Vec<_> = error.bad_records().iter().collect();
    named.sort_by_key(|located| std::cmp::Reverse(located.number));
    for located in named {
        // One line is one record, numbered from 1.
        let nth = usize::try_from(located.number).unwrap_or_default().wrapping_sub(1);
        if nth < letters.len() {
            let told = short(&located.bad.to_string());
            answers[letters.remove(nth).at] = Some(match located.bad.kind {
                // By the table's own rules: the row that it refers to may come yet.
                BadKind::Refused => Answer::later(told),
                _ => Answer::Never { told },
            });
        }
    }
}

fn short(text: &str) -> String {
    told::first_line(text.as_bytes(), &Veil::default())
}
