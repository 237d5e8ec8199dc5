//! Where messages go, as its user writes it: YAML, every key known, every fault with its line and column.
//!
//! A [`Spec`] is only text that parsed. [`crate::Delivery`] is what it means, checked as a whole.

mod allow;
mod http;
mod kafka;
mod measure;

use std::collections::BTreeMap;

use landonce_core::spec::SpecError;
use schemars::JsonSchema;
use serde::Deserialize;

pub use crate::destination::command::CommandSpec;
pub use crate::destination::file::FileSpec;
pub use crate::destination::sql::SqlSpec;
pub use allow::AllowSpec;
pub use http::{ClientSpec, HttpSpec};
pub use kafka::{KafkaKeySpec, KafkaSpec};
pub use measure::{duration, rate, size};

/// A delivery file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "landonce delivery")]
pub struct Spec {
    /// The store whose outbox is delivered: `sqlite:landonce.db` or `postgres://…`. `${NAME}` is taken from the environment.
    /// `--store` wins.
    #[serde(default)]
    pub store: Option<String>,
    /// Where messages go, by a name of your own.
    pub destinations: BTreeMap<String, DestinationSpec>,
    /// How long messages that were sent or discarded are kept (`90d`); for ever when left out. What is deleted is forgotten:
    /// the same change would be told again.
    #[serde(default)]
    pub retention: Option<String>,
}

/// Something that takes the messages of its topics. One of `http`, `command`, `file`, `sql`, `kafka` says what it is.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DestinationSpec {
    /// Its topics. A topic belongs to one destination.
    pub topics: Vec<String>,
    /// A receiver by its URL.
    #[serde(default)]
    pub http: Option<HttpSpec>,
    /// A command that takes each message on its standard input.
    #[serde(default)]
    pub command: Option<CommandSpec>,
    /// A log file, one line a message.
    #[serde(default)]
    pub file: Option<FileSpec>,
    /// A table in another database.
    #[serde(default)]
    pub sql: Option<SqlSpec>,
    /// A Kafka topic; in builds with the feature `kafka`.
    #[serde(default)]
    pub kafka: Option<KafkaSpec>,
    /// The most requests at once, of one process; 16 when left out. Of one ordering key there is never more than one.
    #[serde(default)]
    pub concurrency: Option<usize>,
    /// How long a worker holds messages: as long as those of one that was killed wait for another. A live one renews it; `60s` when
    /// left out, and never less than three times what one handing over may take.
    #[serde(default)]
    pub lease: Option<String>,
    /// The most messages in a time, of one process: `100/s`, `600/min`; as fast as it goes when left out.
    #[serde(default)]
    pub rate: Option<String>,
    /// When a message that failed is tried again, and when it is given up.
    #[serde(default)]
    pub retry: RetrySpec,
    /// When the destination as a whole is left alone for a while.
    #[serde(default)]
    pub breaker: BreakerSpec,
}

/// When a message that failed is tried again, and when it is given up.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetrySpec {
    /// The first wait; each further one doubles. `1s` when left out.
    #[serde(default)]
    pub first: Option<String>,
    /// The longest wait; `1h` when left out.
    #[serde(default)]
    pub most: Option<String>,
    /// How many attempts a message has before it is a dead letter; 20 when left out. Answers that are about the destination as a
    /// whole (429, 503 with `Retry-After`, a connection refused) don't count.
    #[serde(default)]
    pub attempts: Option<u32>,
    /// How old a message may be before a failure makes it a dead letter; `3d` when left out.
    #[serde(default)]
    pub deadline: Option<String>,
    /// The longest `Retry-After` that is believed; `24h` when left out.
    #[serde(default)]
    pub max_retry_after: Option<String>,
}

/// When the destination as a whole is left alone for a while.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BreakerSpec {
    /// How many failures in a row; 10 when left out.
    #[serde(default)]
    pub failures: Option<u32>,
    /// For how long; `30s` when left out. Then one message tries, and only when it is taken do more follow.
    #[serde(default)]
    pub pause: Option<String>,
}

impl Spec {
    /// Parses a delivery file's text.
    ///
    /// # Errors
    /// What is wrong, with line and column, and the nearest known name.
    pub fn parse(yaml: &str) -> Result<Self, SpecError> {
        landonce_core::spec::read(yaml)
    }

    /// The JSON Schema of delivery files, pretty-printed (committed as `docs/reference/deliver.schema.json`).
    pub fn json_schema() -> String {
        let schema = schemars::schema_for!(Self);
        // A schema is made of plain JSON values, which always serialise.
        serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTTP: &str =
        "destinations:\n  app:\n    topics: [t]\n    http:\n      url: https://crew.example/hooks\n";

    fn told(yaml: &str) -> String {
        Spec::parse(yaml).unwrap_err().to_string()
    }

    #[test]
    fn a_misspelled_key_is_told_with_its_place_and_the_nearest_name() {
        let told = told(&format!("{HTTP}    concurency: 3\n"));
        assert!(told.contains("line 6, column 5") && told.contains("did you mean `concurrency`?"), "{told}");
    }

    #[test]
    fn a_secret_that_is_written_out_is_refused_and_not_repeated() {
        for line in ["      bearer: s3kr3t\n", "      sign: [whsec_s3kr3t]\n", "      bearer: 1234567\n"] {
            let told = told(&format!("{HTTP}{line}"));
            assert!(told.contains("line 6") && told.contains("${NAME}"), "{told}");
            assert!(!told.contains("s3kr3t") && !told.contains("1234567"), "{told}");
        }
    }

    #[test]
    fn a_destination_has_one_place() {
        let told = told(&format!("{HTTP}  app:\n    topics: [u]\n"));
        assert_eq!(told, "line 6, column 3: duplicate key `app`");
    }

    #[test]
    fn networks_are_read_and_others_refused() {
        let spec = Spec::parse(&format!("{HTTP}      allow_private: [10.1.0.0/16]\n")).unwrap();
        let http = spec.destinations["app"].http.as_ref().unwrap();
        assert_eq!(http.allow_private, AllowSpec::Networks(vec!["10.1.0.0/16".parse().unwrap()]));
        assert!(told(&format!("{HTTP}      allow_private: [ten]\n")).contains("`ten` is no network"));
    }
}
