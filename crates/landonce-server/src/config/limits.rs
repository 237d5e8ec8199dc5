//! What a request may use, and all of them together: as declared, with what holds where nothing is said.

use std::time::Duration;

use landonce_deliver::Fault;
use landonce_deliver::spec::{duration, size};

use super::fault;
use super::spec::LimitsSpec;

/// What a request may use, and all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest body of a batch as it is sent, in bytes.
    pub body: u64,
    /// The longest body of a webhook, in bytes.
    pub hook_body: usize,
    /// The longest batch when it is decompressed, in bytes.
    pub decoded: u64,
    /// The most records of a batch.
    pub records: u64,
    /// How long a body may take to arrive.
    pub request_time: Duration,
    /// How long a request's head may take to arrive, and a TLS handshake.
    pub header_time: Duration,
    /// How long nothing may arrive.
    pub idle_time: Duration,
    /// The most batches at once.
    pub concurrency: usize,
    /// The most batches at once of one token for one pipeline.
    pub per_pipeline: usize,
    /// The most connections.
    pub connections: usize,
    /// The most bytes of bodies that lie in temporary files at once.
    pub spool: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            body: 256 * MIB,
            hook_body: MIB as usize,
            decoded: 4096 * MIB,
            records: 10_000_000,
            request_time: Duration::from_mins(10),
            header_time: Duration::from_secs(10),
            idle_time: Duration::from_mins(1),
            concurrency: 32,
            per_pipeline: 16,
            connections: 1024,
            spool: 4096 * MIB,
        }
    }
}

impl Limits {
    pub(super) fn new(spec: &LimitsSpec) -> Result<Self, Fault> {
        let most = Self::default();
        let bytes = |key: &str, text: &Option<String>, default: u64| match text {
            None => Ok(default),
            Some(text) => {
                size(text).map(|size| size as u64).map_err(|told| fault(format!("limits.{key}"), told))
            }
        };
        let time = |key: &str, text: &Option<String>, default: Duration| match text {
            None => Ok(default),
            Some(text) => duration(text).map_err(|told| fault(format!("limits.{key}"), told)),
        };
        let limits = Self {
            body: bytes("body", &spec.body, most.body)?,
            hook_body: bytes("hook_body", &spec.hook_body, most.hook_body as u64)? as usize,
            decoded: bytes("decoded", &spec.decoded, most.decoded)?,
            records: spec.records.unwrap_or(most.records),
            request_time: time("request_time", &spec.request_time, most.request_time)?,
            header_time: time("header_time", &spec.header_time, most.header_time)?,
            idle_time: time("idle_time", &spec.idle_time, most.idle_time)?,
            concurrency: spec.concurrency.unwrap_or(most.concurrency),
            per_pipeline: spec.per_pipeline.unwrap_or(most.per_pipeline),
            connections: spec.connections.unwrap_or(most.connections),
            spool: bytes("spool", &spec.spool, most.spool)?,
        };
        limits.check()?;
        Ok(limits)
    }

    fn check(&self) -> Result<(), Fault> {
        let counts = [
            ("body", self.body),
            ("hook_body", self.hook_body as u64),
            ("decoded", self.decoded),
            ("records", self.records),
            ("concurrency", self.concurrency as u64),
            ("per_pipeline", self.per_pipeline as u64),
            ("connections", self.connections as u64),
        ];
        if let Some((key, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(fault(format!("limits.{key}"), "must be more than nothing"));
        }
        // A semaphore can't count further, and no machine gets there.
        if let Some((key, _)) = counts[4..].iter().find(|(_, count)| *count > 1_000_000) {
            return Err(fault(format!("limits.{key}"), "must be 1,000,000 at most"));
        }
        let times = [
            ("request_time", self.request_time),
            ("header_time", self.header_time),
            ("idle_time", self.idle_time),
        ];
        if let Some((key, _)) = times.iter().find(|(_, time)| time.is_zero()) {
            return Err(fault(format!("limits.{key}"), "must be longer than nothing"));
        }
        if self.spool < self.body {
            return Err(fault("limits.spool", "must hold one body (`limits.body`) at least"));
        }
        Ok(())
    }
}
