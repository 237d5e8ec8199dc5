//! A message of JetStream as the desk takes it. In a bucket of the key-value store the key is the subject's, and a delete is a tombstone.

use async_nats::HeaderMap;
use async_nats::jetstream;
use async_nats::jetstream::message::StreamMessage;
use bytes::Bytes;
use landonce_core::pipeline::Message;
use tokio::sync::OwnedSemaphorePermit;

/// A message of JetStream.
#[derive(Debug)]
pub(super) struct Fetched {
    subject: String,
    headers: HeaderMap,
    payload: Bytes,
    pub(super) number: u64,
    timestamp_ms: i64,
    /// The bytes that it takes of its part's memory.
    pub(super) held: Option<OwnedSemaphorePermit>,
}

impl Fetched {
    /// One that a consumer has delivered, under this number; the time is in nanoseconds.
    pub(super) fn delivered(message: jetstream::Message, number: u64, published: i128) -> Self {
        let async_nats::Message { subject, headers, payload, .. } = message.message;
        Self {
            subject: subject.to_string(),
            headers: headers.unwrap_or_default(),
            payload,
            number,
            timestamp_ms: millis(published),
            held: None,
        }
    }

    /// One that was asked for by its number.
    pub(super) fn asked(message: StreamMessage) -> Self {
        Self {
            subject: message.subject.to_string(),
            headers: message.headers,
            payload: message.payload,
            number: message.sequence,
            timestamp_ms: millis(message.time.unix_timestamp_nanos()),
            held: None,
        }
    }

    /// About how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        let headers = self.headers.iter().map(|(name, values)| {
            let values: usize = values.iter().map(|value| value.as_str().len()).sum();
            AsRef::<str>::as_ref(name).len() + values
        });
        self.subject.len() + self.payload.len() + headers.sum::<usize>()
    }

    /// As the desk takes it; `stream` tells whether it is a bucket of the key-value store.
    pub(super) fn with<T>(&self, stream: &str, part: &str, then: impl FnOnce(&Message<'_>) -> T) -> T {
        let mut headers: Vec<(&str, &[u8])> = self
            .headers
            .iter()
            .flat_map(|(name, values)| values.iter().map(|value| (name.as_ref(), value.as_str().as_bytes())))
            .collect();
        // The client keeps them in no order; those of one name stay in theirs.
        headers.sort_by_key(|(name, _)| *name);
        let key = stream
            .strip_prefix("KV_")
            .and_then(|bucket| self.subject.strip_prefix("$KV.")?.strip_prefix(bucket)?.strip_prefix('.'));
        let is_deleted = key.is_some() && self.is_delete();
        then(&Message {
            topic: &self.subject,
            part,
            offset: self.number,
            key: key.map(str::as_bytes),
            value: (!is_deleted).then_some(&self.payload),
            headers: &headers,
            timestamp_ms: Some(self.timestamp_ms),
        })
    }

    fn is_delete(&self) -> bool {
        let operation = self.headers.get("KV-Operation").map(async_nats::HeaderValue::as_str);
        // The server's own mark of a key whose time is over.
        matches!(operation, Some("DEL" | "PURGE")) || self.headers.get("Nats-Marker-Reason").is_some()
    }
}

fn millis(nanos: i128) -> i64 {
    i64::try_from(nanos.div_euclid(1_000_000)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetched(subject: &str, headers: &[(&str, &str)], payload: &'static [u8]) -> Fetched {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, *value);
        }
        Fetched {
            subject: subject.into(),
            headers: map,
            payload: Bytes::from_static(payload),
            number: 7,
            timestamp_ms: 1,
            held: None,
        }
    }

    #[test]
    fn a_subject_is_the_topic_and_headers_come_along() {
        let message = fetched("orders.eu", &[("b", "2"), ("a", "1"), ("b", "3")], b"{}");
        message.with("ORDERS", "orders.*", |message| {
            assert_eq!((message.topic, message.part, message.offset), ("orders.eu", "orders.*", 7));
            assert_eq!((message.key, message.value), (None, Some(b"{}".as_slice())));
            let want: [(&str, &[u8]); 3] = [("a", b"1"), ("b", b"2"), ("b", b"3")];
            assert_eq!(message.headers, want);
        });
    }

    #[test]
    fn a_bucket_s_delete_is_a_tombstone_of_its_key() {
        let of = |message: Fetched, stream: &str| {
            message.with(stream, "", |message| {
                (message.key.map(<[u8]>::to_vec), message.value.map(<[u8]>::to_vec))
            })
        };
        let subject = "$KV.users.eu.17";
        let key = Some(b"eu.17".to_vec());
        assert_eq!(of(fetched(subject, &[], b"{}"), "KV_users"), (key.clone(), Some(b"{}".to_vec())));
        for header in [("KV-Operation", "DEL"), ("KV-Operation", "PURGE"), ("Nats-Marker-Reason", "MaxAge")] {
            assert_eq!(of(fetched(subject, &[header], b""), "KV_users"), (key.clone(), None), "{header:?}");
        }
        // Elsewhere the same header is a header.
        let elsewhere = of(fetched("orders.eu", &[("KV-Operation", "DEL")], b""), "ORDERS");
        assert_eq!(elsewhere, (None, Some(Vec::new())));
    }
}
