//! Where records come from, beside files: streams that are consumed, and sources that are fetched.

use std::time::Duration;

use super::Pipeline;
use super::check::{Checked, fault};
use super::command::CommandFeed;
use super::http::Http;
use super::kafka::{self, Kafka};
use super::nats::{self, Nats};
use super::query::QueryFeed;
use crate::spec::{CutSpec, SourceSpec};

/// What a pipeline reads from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Feed {
    /// Files ([`super::Source::file`]), or what the caller gives.
    Files,
    /// A Kafka cluster's topics.
    Kafka(Box<Kafka>),
    /// A stream of NATS JetStream.
    Nats(Box<Nats>),
    /// An HTTP API.
    Http(Box<Http>),
    /// A query to another database.
    Query(Box<QueryFeed>),
    /// A program's output.
    Command(Box<CommandFeed>),
}

/// Where a batch ends: at whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// So many records.
    pub records: u64,
    /// So many bytes.
    pub bytes: u64,
    /// So long behind the first record.
    pub wait: Duration,
}

impl Default for Cut {
    fn default() -> Self {
        Self { records: 50_000, bytes: 32 << 20, wait: Duration::from_millis(200) }
    }
}

impl Feed {
    /// The key under `source` that declares it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Files => "file",
            Self::Kafka(_) => "kafka",
            Self::Nats(_) => "nats",
            Self::Http(_) => "http",
            Self::Query(_) => "query",
            Self::Command(_) => "command",
        }
    }

    /// It has no end: `landonce consume` reads it.
    pub const fn is_stream(&self) -> bool {
        matches!(self, Self::Kafka(_) | Self::Nats(_))
    }

    /// It is fetched, piece by piece, to its end: `landonce run` reads it.
    pub const fn is_fetched(&self) -> bool {
        matches!(self, Self::Http(_) | Self::Query(_) | Self::Command(_))
    }
}

impl Feed {
    /// Rules that need the rest of the pipeline.
    pub(super) fn across(&self, pipeline: &Pipeline) -> Checked<()> {
        match self {
            Self::Http(http) if http.since.is_some() && pipeline.write.whole.is_some() => fault(
                "source.http.since",
                format!(
                    "doesn't go with `mode: {}`, which needs all there is, and not only what has changed",
                    pipeline.write.mode_name()
                ),
            ),
            Self::Query(query) => query.across(pipeline),
            Self::Command(command) => command.across(pipeline),
            Self::Files | Self::Kafka(_) | Self::Nats(_) | Self::Http(_) => Ok(()),
        }
    }

    /// The feed of one period's run: `fill` is given every text in which `{period.…}` may stand, with its key.
    pub(super) fn filled(&self, fill: &mut Fill<'_>) -> Checked<Self> {
        Ok(match self {
            Self::Files | Self::Kafka(_) | Self::Nats(_) => self.clone(),
            Self::Http(http) => Self::Http(Box::new(http.filled(fill)?)),
            Self::Query(query) => Self::Query(Box::new(query.filled(fill)?)),
            Self::Command(command) => Self::Command(Box::new(command.filled(fill)?)),
        })
    }
}

/// Puts a period into a text, which stands under a key.
pub(super) type Fill<'a> = dyn FnMut(&'static str, &str) -> Checked<String> + 'a;

/// The feed: at most one may be declared.
pub(super) fn resolve(spec: &SourceSpec) -> Checked<(Feed, Cut)> {
    let mut found: Vec<Feed> = Vec::new();
    let kafka = spec.kafka.clone().map(kafka::resolve).transpose()?;
    found.extend(kafka.map(|kafka| Feed::Kafka(Box::new(kafka))));
    let nats = spec.nats.clone().map(nats::resolve).transpose()?;
    found.extend(nats.map(|nats| Feed::Nats(Box::new(nats))));
    if let Some(http) = &spec.http {
        found.push(Feed::Http(Box::new(Http::resolve(http, spec)?)));
    }
    if let Some(query) = spec.query.clone() {
        found.push(Feed::Query(Box::new(QueryFeed::new(query)?)));
    }
    if let Some(command) = spec.command.clone() {
        found.push(Feed::Command(Box::new(CommandFeed::new(command)?)));
    }
    let feed = match (found.pop(), found.pop(), &spec.file) {
        (None, _, _) => Feed::Files,
        (Some(feed), None, None) => feed,
        (Some(one), Some(other), _) => {
            return fault(
                "source",
                format!("one source is due; `{}` and `{}` are two", other.as_str(), one.as_str()),
            );
        }
        (Some(feed), None, Some(_)) => {
            return fault("source", format!("one source is due; `file` and `{}` are two", feed.as_str()));
        }
    };
    if spec.message.is_some() && !feed.is_stream() {
        return fault("source.message", "goes with `source.kafka` or `source.nats`");
    }
    if feed.is_stream() && spec.format.is_some() {
        return fault(
            "source.format",
            "goes with files; a stream's messages are read as `source.message` says",
        );
    }
    Ok((feed, cut(&spec.batch)?))
}

fn cut(spec: &CutSpec) -> Checked<Cut> {
    let default = Cut::default();
    if spec.records == Some(0) || spec.bytes == Some(0) {
        return fault("source.batch", "a batch has at least one record: numbers above 0 are due");
    }
    Ok(Cut {
        records: spec.records.unwrap_or(default.records),
        bytes: spec.bytes.unwrap_or(default.bytes),
        wait: spec.wait_ms.map_or(default.wait, Duration::from_millis),
    })
}
