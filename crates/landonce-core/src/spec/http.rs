//! An HTTP API that is read page by page, as it is declared.

mod page;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

pub use page::{CursorSpec, LinkMap, LinkSpec, NumberSpec, OffsetSpec, PageSizeSpec, PageSpec};

/// An HTTP API, read with GET, page by page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpSpec {
    /// The address, with the parameters that every page has. `{period.…}` stands for the period of the run, `${NAME}` for an environment
    /// variable.
    pub url: String,
    /// Headers of every request. A secret is written as `${NAME}`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// How a request shows who asks.
    #[serde(default)]
    pub auth: Option<HttpAuthSpec>,
    /// Where the list of records is in the body, as names with dots between (`data.items`); the body itself when left out.
    #[serde(default)]
    pub records: Option<String>,
    /// How one page leads to the next; the answer is all there is when left out.
    #[serde(default)]
    pub page: Option<PageSpec>,
    /// Where the body says how many records there are on all pages (`meta.total`): counted against what was read.
    #[serde(default)]
    pub total: Option<String>,
    /// Only what has changed since the last run.
    #[serde(default)]
    pub since: Option<HttpSinceSpec>,
    /// How long the source may be silent: before an answer begins, and between two pieces of it. 30 s when left out.
    #[serde(default)]
    pub timeout: Option<String>,
    /// How long one page may take, with all attempts and pauses. 10 m when left out.
    #[serde(default)]
    pub deadline: Option<String>,
    /// When a page is asked for again.
    #[serde(default)]
    pub retry: HttpRetrySpec,
    /// How many requests at the most: `5/s`, `100/min`. As fast as it answers when left out.
    #[serde(default)]
    pub rate: Option<String>,
    /// Which redirects are followed; `same_origin` when left out. What is secret goes to the declared origin only.
    #[serde(default)]
    pub redirects: RedirectsSpec,
    /// Whom we trust beyond the system's certificates.
    #[serde(default)]
    pub tls: Option<HttpTlsSpec>,
    /// The most bytes of one page, decompressed, where it is read into memory; 64 MiB when left out.
    #[serde(default)]
    pub max_page: Option<u64>,
    /// The most pages of one run; 100,000 when left out. More is taken for an API that leads round in a circle.
    #[serde(default)]
    pub max_pages: Option<u64>,
}

/// How a request shows who asks: one of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpAuthSpec {
    /// A token, as `${NAME}`: `Authorization: Bearer …`.
    #[serde(default)]
    pub bearer: Option<String>,
    /// A user and a password: `Authorization: Basic …`.
    #[serde(default)]
    pub basic: Option<HttpBasicSpec>,
    /// Parameters of the address, each as `${NAME}`.
    #[serde(default)]
    pub query: BTreeMap<String, String>,
}

/// A user and a password.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpBasicSpec {
    /// The user; may be `${NAME}`.
    pub user: String,
    /// The password, as `${NAME}`.
    pub password: String,
}

/// Only what has changed since the last run: the highest value read, less an overlap, is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpSinceSpec {
    /// The parameter of the address that takes the value (`updated_since`).
    pub param: String,
    /// The field of the records that has it (`updated_at`), with dots for a field inside another.
    pub field: String,
    /// How much of what was read is read again: a time (`5m`), or for a field of whole numbers a number. 1 m for times when left out.
    /// What comes again is equal, and left untouched.
    #[serde(default)]
    pub overlap: Option<String>,
    /// What the first run asks from; everything when left out.
    #[serde(default)]
    pub start: Option<String>,
}

/// When a page is asked for again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpRetrySpec {
    /// How often a page is asked for at the most; 8 when left out.
    #[serde(default)]
    pub attempts: Option<u32>,
    /// The first pause, which doubles; 500 ms when left out.
    #[serde(default)]
    pub first: Option<String>,
    /// The longest pause of ours; 1 m when left out. `Retry-After` may ask for a longer one, up to `deadline`.
    #[serde(default)]
    pub most: Option<String>,
}

/// Which redirects are followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RedirectsSpec {
    /// Within the scheme, host and port of the address.
    #[default]
    SameOrigin,
    /// To other hosts, too, without headers of ours and without credentials; never from https to http.
    Any,
    /// None.
    None,
}

/// Whom we trust.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpTlsSpec {
    /// A file of certificates in PEM form, relative to the pipeline file, that are trusted beside the system's.
    pub ca: String,
}
