//! Topics of a Kafka cluster: what is declared, checked.

use super::check::{Checked, fault};
use crate::spec::{
    KafkaSaslSpec, KafkaSpec, KafkaTlsSpec, LostSpec, MechanismSpec, RecreatedSpec, StartSpec,
};

/// What the promises of a consumer hang on, and what has a key of its own.
const OURS: [&str; 16] = [
    "bootstrap.servers",
    "metadata.broker.list",
    "group.id",
    "group.protocol",
    "enable.auto.commit",
    "auto.commit.enable",
    "enable.auto.offset.store",
    "auto.offset.reset",
    "isolation.level",
    "partition.assignment.strategy",
    "enable.partition.eof",
    "security.protocol",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.username",
    "sasl.password",
];

/// Topics of a Kafka cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kafka {
    /// Brokers to begin with; may hold `${NAME}`.
    pub brokers: Vec<String>,
    /// The consumer group.
    pub group: String,
    /// The topics, or one regular expression that begins with `^`.
    pub topics: Vec<String>,
    /// Where a partition begins of which nothing has been landed yet.
    pub start: StartSpec,
    /// What happens when the topic isn't the one that was landed.
    pub on_recreated: RecreatedSpec,
    /// What happens when messages are gone before they were landed.
    pub on_lost: LostSpec,
    /// TLS, if declared.
    pub tls: Option<KafkaTlsSpec>,
    /// Who the worker is, if declared; the password is a `${NAME}`.
    pub sasl: Option<KafkaSaslSpec>,
    /// Further properties of librdkafka, none that landonce sets; may hold `${NAME}`.
    pub properties: Vec<(String, String)>,
}

impl Kafka {
    /// Whether [`Kafka::topics`] is a regular expression.
    pub fn is_pattern(&self) -> bool {
        matches!(self.topics.as_slice(), [one] if one.starts_with('^'))
    }
}

/// Checks what is declared.
pub(super) fn resolve(spec: KafkaSpec) -> Checked<Kafka> {
    if spec.brokers.is_empty() || spec.brokers.iter().any(String::is_empty) {
        return fault("source.kafka.brokers", "names no broker; write `[host:9092]`");
    }
    if spec.group.is_empty() {
        return fault("source.kafka.group", "a group has a name");
    }
    let topics = match (spec.topics, spec.pattern) {
        (topics, None) if !topics.is_empty() => {
            for topic in &topics {
                let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
                if topic.is_empty() || !topic.bytes().all(is_name) {
                    return fault(
                        "source.kafka.topics",
                        format!("`{topic}` is no topic's name (letters, digits, `.`, `_`, `-`)"),
                    );
                }
            }
            topics
        }
        (topics, Some(pattern)) if topics.is_empty() && !pattern.is_empty() => {
            let inner = pattern.strip_prefix('^').unwrap_or(&pattern);
            let inner = inner.strip_suffix('$').unwrap_or(inner);
            vec![format!("^({inner})$")]
        }
        _ => return fault("source.kafka.topics", "one of `topics` and `pattern` is due"),
    };
    for (name, value) in &spec.properties {
        if OURS.contains(&name.as_str()) {
            return fault(
                "source.kafka.properties",
                format!(
                    "`{name}` is landonce's own: it has a key of its own, or the promises hang on it; leave it out"
                ),
            );
        }
        if ["password", "secret", "key.pem"].iter().any(|part| name.contains(part)) && !value.contains("${") {
            return fault("source.kafka.properties", written_out(name));
        }
    }
    if let Some(tls) = &spec.tls
        && tls.cert.is_some() != tls.key.is_some()
    {
        return fault("source.kafka.tls", "`cert` and `key` go together");
    }
    if let Some(sasl) = &spec.sasl {
        let name = sasl.password.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        if name.is_none_or(|name| name.is_empty() || name.contains(['$', '{', '}'])) {
            return fault("source.kafka.sasl", written_out("password"));
        }
        if sasl.mechanism == MechanismSpec::Plain && spec.tls.is_none() {
            return fault(
                "source.kafka.sasl",
                "PLAIN sends the password as it is, and nobody may read it on the way: declare `tls` too, or use SCRAM",
            );
        }
    }
    Ok(Kafka {
        brokers: spec.brokers,
        group: spec.group,
        topics,
        start: spec.start,
        on_recreated: spec.on_recreated,
        on_lost: spec.on_lost,
        tls: spec.tls,
        sasl: spec.sasl,
        properties: spec.properties.into_iter().collect(),
    })
}

fn written_out(name: &str) -> String {
    format!(
        "`{name}` is a secret, which isn't written into a file; put it into an environment variable, and write ${{NAME}} here"
    )
}

#[cfg(test)]
mod tests {
    use crate::pipeline::{Feed, Pipeline};
    use crate::spec::Spec;

    fn read(more: &str) -> Result<Pipeline, String> {
        let yaml = format!(
            "pipeline: p\nidentity: [id]\ntarget: {{table: t}}\nsource:\n  kafka:\n    brokers: [b:9092]\n    group: g\n{more}"
        );
        Pipeline::new(Spec::parse(&yaml).map_err(|error| error.to_string())?)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn topics_are_named_or_matched_as_a_whole() {
        let topics = |more| match &read(more).unwrap().source().feed {
            Feed::Kafka(kafka) => (kafka.topics.clone(), kafka.is_pattern()),
            other => panic!("{other:?}"),
        };
        assert_eq!(topics("    topics: [a.b, c]\n"), (vec!["a.b".into(), "c".into()], false));
        assert_eq!(topics("    pattern: a-.*\n"), (vec!["^(a-.*)$".into()], true));
        assert_eq!(topics("    pattern: '^a|b$'\n"), (vec!["^(a|b)$".into()], true));
    }

    #[test]
    fn what_can_not_be_is_told_with_its_key() {
        for (more, want) in [
            ("", "one of `topics` and `pattern`"),
            ("    topics: [a]\n    pattern: b\n", "one of `topics` and `pattern`"),
            ("    topics: [a b]\n", "`a b` is no topic's name"),
            (
                "    topics: [a]\n    properties: {enable.auto.commit: 'true'}\n",
                "`enable.auto.commit` is landonce's own",
            ),
            ("    topics: [a]\n    tls: {cert: x}\n", "`cert` and `key` go together"),
            (
                "    topics: [a]\n    sasl: {mechanism: PLAIN, user: u, password: '${P}'}\n",
                "declare `tls` too",
            ),
            ("    topics: [a]\n    start: yesterday\n", "earliest"),
            ("    topics: [a]\n  complete: none\n", ""),
            (
                "    topics: [a]\nwrite: {mode: snapshot, absent: delete}\n",
                "goes with `write.mode: insert_once` or `upsert`",
            ),
        ] {
            let told = read(more).unwrap_err();
            assert!(told.contains(want), "{more}: {told}");
        }
    }

    #[test]
    fn secrets_are_named_and_never_written_out() {
        for more in [
            "    topics: [a]\n    sasl: {mechanism: SCRAM-SHA-256, user: u, password: hunter2}\n",
            "    topics: [a]\n    properties: {ssl.key.password: hunter2}\n",
        ] {
            let told = read(more).unwrap_err();
            assert!(told.contains("${NAME}") && !told.contains("hunter2"), "{told}");
        }
    }
}
