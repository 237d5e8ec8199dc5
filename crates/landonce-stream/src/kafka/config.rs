//! What librdkafka is told: the declaration's keys and properties, with what the promises hang on.

use landonce::Pipeline;
use landonce_core::pipeline::Kafka;
use landonce_core::spec::MechanismSpec;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::KafkaError;

use crate::error::Error;

/// What may be declared otherwise.
const DEFAULTS: [(&str, &str); 6] = [
    // A worker that is killed is missed after so long; one that was only slow is fenced by the store.
    ("session.timeout.ms", "10000"),
    // New topics and partitions are found within so long.
    ("topic.metadata.refresh.interval.ms", "30000"),
    // What is fetched ahead, of each partition: enough for a batch, and not the 64 MiB of the default.
    ("queued.max.messages.kbytes", "16384"),
    ("queued.min.messages", "50000"),
    ("fetch.wait.max.ms", "100"),
    ("fetch.error.backoff.ms", "200"),
];

/// Makes it.
pub(super) fn client(kafka: &Kafka, pipeline: &Pipeline) -> Result<ClientConfig, Error> {
    let expanded = |key: &str, text: &str| {
        Pipeline::expanded(&format!("source.kafka.{key}"), text)
            .map_err(|error| Error::Declared(error.to_string()))
    };
    let mut config = ClientConfig::new();
    for (name, value) in DEFAULTS {
        config.set(name, value);
    }
    for (name, text) in &kafka.properties {
        config.set(name, expanded(&format!("properties.{name}"), text)?);
    }
    let brokers: Result<Vec<_>, _> = kafka.brokers.iter().map(|broker| expanded("brokers", broker)).collect();
    let is_debugged = kafka.properties.iter().any(|(name, _)| name == "debug");
    secured(&mut config, kafka, pipeline, &expanded)?;
    config
        .set("bootstrap.servers", brokers?.join(","))
        .set("group.id", &kafka.group)
        // What is committed is what the desk has landed; the store decides where to go on.
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "error")
        .set("isolation.level", "read_committed")
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("enable.partition.eof", "true")
        .set_log_level(if is_debugged { RDKafkaLogLevel::Debug } else { RDKafkaLogLevel::Warning });
    config.create_native_config().map_err(|error| match error {
        // Its own words would repeat the value.
        KafkaError::ClientConfig(_, _, name, _) => Error::Declared(format!(
            "source.kafka: librdkafka has no property `{name}`, or not this value for it{}",
            if cfg!(feature = "kafka-tls") {
                ""
            } else {
                " (this build has no TLS: it was built without the feature `kafka-tls`)"
            }
        )),
        _ => Error::Declared("source.kafka.properties: librdkafka refuses them".to_owned()),
    })?;
    Ok(config)
}

fn secured(
    config: &mut ClientConfig,
    kafka: &Kafka,
    pipeline: &Pipeline,
    expanded: &dyn Fn(&str, &str) -> Result<String, Error>,
) -> Result<(), Error> {
    let needs_tls = |key: &str| {
        if cfg!(feature = "kafka-tls") {
            return Ok(());
        }
        Err(Error::Declared(format!(
            "source.kafka.{key}: this build has no TLS and no SCRAM; build landonce with `--features kafka-tls` (it needs OpenSSL's headers)"
        )))
    };
    let protocol = match (&kafka.tls, &kafka.sasl) {
        (None, None) => return Ok(()),
        (Some(_), None) => "ssl",
        (None, Some(_)) => "sasl_plaintext",
        (Some(_), Some(_)) => "sasl_ssl",
    };
    if let Some(tls) = &kafka.tls {
        needs_tls("tls")?;
        for (property, path) in [
            ("ssl.ca.location", &tls.ca),
            ("ssl.certificate.location", &tls.cert),
            ("ssl.key.location", &tls.key),
        ] {
            if let Some(path) = path {
                let path = pipeline.base().join(path);
                if !path.is_file() {
                    return Err(Error::Declared(format!("source.kafka.tls: {} is no file", path.display())));
                }
                config.set(property, path.to_string_lossy());
            }
        }
    }
    if let Some(sasl) = &kafka.sasl {
        if sasl.mechanism != MechanismSpec::Plain {
            needs_tls("sasl")?;
        }
        config
            .set("sasl.mechanisms", sasl.mechanism.as_str())
            .set("sasl.username", expanded("sasl.user", &sasl.user)?)
            .set("sasl.password", expanded("sasl.password", &sasl.password)?);
    }
    config.set("security.protocol", protocol);
    Ok(())
}
