//! What became of requests: counts by answer, and latencies.

use std::collections::BTreeMap;
use std::time::Duration;

/// Of many requests.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    micros: Vec<u32>,
    answers: BTreeMap<String, u64>,
    unexpected: u64,
    missed: f64,
}

impl Figures {
    pub(crate) fn add(&mut self, took: Duration, answer: &str, wanted: &str) {
        self.micros.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
        *self.answers.entry(answer.to_owned()).or_default() += 1;
        self.unexpected += u64::from(answer != wanted);
    }

    /// So many events were due, and never sent.
    pub(crate) fn miss(&mut self, events: f64) {
        self.missed += events;
    }

    /// As one line of JSON. Latencies in milliseconds.
    pub(crate) fn told(&mut self, over: Duration) -> serde_json::Value {
        self.micros.sort_unstable();
        let at = |permille: usize| {
            let last = self.micros.len().saturating_sub(1);
            f64::from(self.micros.get(last * permille / 1000).copied().unwrap_or_default()) / 1000.0
        };
        let count = f64::from(u32::try_from(self.micros.len()).unwrap_or(u32::MAX));
        serde_json::json!({
            "requests": self.micros.len(),
            "per_second": (count / over.as_secs_f64()).round(),
            "unexpected": self.unexpected,
            "missed": self.missed.round(),
            "answers": self.answers,
            "p50": at(500),
            "p90": at(900),
            "p99": at(990),
            "max": at(1000),
        })
    }
}
