//! How much of what streams in lands in one transaction.

use schemars::JsonSchema;
use serde::Deserialize;

/// Where a batch ends: at whichever comes first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CutSpec {
    /// So many records; 50,000 when left out.
    #[serde(default)]
    pub records: Option<u64>,
    /// So many bytes; 32 MiB when left out.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// With a stream: so long behind the first record, in milliseconds; 200 when left out.
    #[serde(default)]
    pub wait_ms: Option<u64>,
}
