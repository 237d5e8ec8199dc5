//! A program whose output is read, as it is declared.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// A program whose standard output is read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandSpec {
    /// The program and its arguments, one each; no shell takes them apart. `{period.start}` and its like are put in.
    pub run: Vec<String>,
    /// Variables of its environment, beside PATH, HOME, USER, LANG, LC_*, TZ and TMPDIR, which it has from landonce's. `${NAME}` is taken
    /// from the environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The longest that it may run: `30s`, `1h` (when left out).
    #[serde(default)]
    pub timeout: Option<String>,
    /// The folder that it runs in, relative to the pipeline file; that file's own when left out.
    #[serde(default)]
    pub folder: Option<String>,
    /// The program is a Singer tap.
    #[serde(default)]
    pub singer: Option<SingerSpec>,
}

/// A Singer tap: it writes SCHEMA, RECORD and STATE messages, and its state comes back to it at the next run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SingerSpec {
    /// The stream whose records are taken.
    pub stream: String,
    /// Streams that may come as well and are passed over. Any other fails the run.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// The tap's own key (`key_properties`) may have fields that the identity doesn't have.
    #[serde(default)]
    pub ignore_keys: bool,
    /// The tap's configuration, given with `--config`; relative to the folder that it runs in.
    #[serde(default)]
    pub config: Option<String>,
    /// The tap's catalogue, given with `--catalog`; relative to the folder that it runs in.
    #[serde(default)]
    pub catalog: Option<String>,
}
