//! What is counted, and how it is told.

use super::settings::{SECOND, Settings};

/// Counts of one run.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) landed: u64,
    pub(crate) batches: u64,
    pub(crate) takes: u64,
    pub(crate) fenced: u64,
    pub(crate) crashes: u64,
    pub(crate) found: u64,
    pub(crate) checks: u64,
    /// The database's time, all of it and what was rolled back.
    pub(crate) worked: f64,
    pub(crate) lost: f64,
    /// Time in which a part had no owner, summed over the parts.
    pub(crate) ownerless: u64,
    /// From production to COMMIT: the first and the last message of each batch, each for half of it.
    pub(crate) latencies: Vec<(u64, u64)>,
    /// What must never be, and was.
    pub(crate) violation: Option<String>,
}

impl Figures {
    fn percentile(&mut self, share: f64) -> u64 {
        self.latencies.sort_unstable();
        let all: u64 = self.latencies.iter().map(|(_, weight)| weight).sum();
        let mut left = (all as f64 * share) as u64;
        for (latency, weight) in &self.latencies {
            if left <= *weight {
                return *latency;
            }
            left -= weight;
        }
        0
    }

    /// A line of the table.
    pub(crate) fn line(&mut self, settings: &Settings) -> String {
        let seconds = settings.duration as f64 / SECOND as f64;
        let latency = if settings.offered.is_finite() {
            format!("{} | {}", self.percentile(0.5) / 1_000, self.percentile(0.99) / 1_000)
        } else {
            "– | –".to_owned()
        };
        let all = settings.parts as f64 * settings.duration as f64;
        format!(
            "| {} | {} | {} | {:.0} | {latency} | {:.1} | {:.2} | {:.2} | {:.1} | {} | {} |",
            settings.workers,
            if settings.is_eager { "eager" } else { "cooperative" },
            if settings.offered.is_finite() { "70 %" } else { "all" },
            self.landed as f64 / seconds,
            100.0 * self.worked / (settings.cores as f64 * settings.duration as f64),
            100.0 * self.lost / self.worked.max(1.0),
            100.0 * self.ownerless as f64 / all,
            self.takes as f64 / seconds,
            self.fenced,
            self.crashes,
        )
    }
}

/// The table's head.
pub(crate) const HEAD: &str = "\
| workers | rebalancing | load | messages/s | p50 ms | p99 ms | database busy % | of it lost % | parts ownerless % | takes/s | fenced | crashes |
|---|---|---|---|---|---|---|---|---|---|---|---|";
