//! Where traces and lineage go, as written and as meant. What this build can't do is a fault, not a silence.

use std::collections::BTreeMap;
use std::fmt;

use axum::http::{HeaderName, HeaderValue, Uri};
use landonce_deliver::Fault;
use landonce_deliver::environment::Environment;
use schemars::JsonSchema;
use serde::Deserialize;

use super::fault;

/// What is told to systems that watch; nothing when left out.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TelemetrySpec {
    /// Traces, by OTLP over HTTP: a span a request. Needs a build with the feature `otlp`.
    #[serde(default)]
    pub otlp: Option<OtlpSpec>,
    /// Lineage, as OpenLineage events: a run a batch. Needs a build with the feature `openlineage`.
    #[serde(default)]
    pub openlineage: Option<OpenLineageSpec>,
}

/// Where traces go.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtlpSpec {
    /// The collector: `http://collector:4318`. `/v1/traces` is put behind it, unless it has a path.
    pub endpoint: String,
    /// Headers of every request to it; `${NAME}` is taken from the environment.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The service's name in traces; `landonce` when left out.
    #[serde(default)]
    pub service: Option<String>,
}

/// Where lineage goes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenLineageSpec {
    /// The receiver: `http://marquez:5000`. `/api/v1/lineage` is put behind it, unless it has a path.
    pub url: String,
    /// The namespace of the jobs; `landonce` when left out.
    #[serde(default)]
    pub namespace: Option<String>,
    /// A bearer token for it; `${NAME}` is taken from the environment.
    #[serde(default)]
    pub token: Option<String>,
}

/// A secret: never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(String);

impl Hidden {
    /// The secret itself, to be sent.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// What is told to systems that watch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// Traces.
    pub otlp: Option<Otlp>,
    /// Lineage.
    pub openlineage: Option<OpenLineage>,
}

/// Where traces go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Otlp {
    /// The whole URL.
    pub url: String,
    /// Headers of every request.
    pub headers: Vec<(String, Hidden)>,
    /// The service's name.
    pub service: String,
}

/// Where lineage goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenLineage {
    /// The whole URL.
    pub url: String,
    /// The namespace of the jobs.
    pub namespace: String,
    /// The bearer token.
    pub token: Option<Hidden>,
}

impl Telemetry {
    pub(super) fn new(spec: &TelemetrySpec, environment: Environment<'_>) -> Result<Self, Fault> {
        Ok(Self {
            otlp: spec.otlp.as_ref().map(|otlp| Otlp::new(otlp, environment)).transpose()?,
            openlineage: spec
                .openlineage
                .as_ref()
                .map(|lineage| OpenLineage::new(lineage, environment))
                .transpose()?,
        })
    }
}

impl Otlp {
    fn new(spec: &OtlpSpec, environment: Environment<'_>) -> Result<Self, Fault> {
        built("telemetry.otlp", "otlp", cfg!(feature = "otlp"))?;
        let mut headers = Vec::new();
        for (name, value) in &spec.headers {
            let key = format!("telemetry.otlp.headers.{name}");
            if HeaderName::try_from(name.as_str()).is_err() {
                return Err(fault(key, "is no name of a header"));
            }
            headers.push((name.clone(), header(&key, value, environment)?));
        }
        Ok(Self {
            url: url("telemetry.otlp.endpoint", &spec.endpoint, "/v1/traces")?,
            headers,
            service: spec.service.clone().unwrap_or_else(|| "landonce".to_owned()),
        })
    }
}

impl OpenLineage {
    fn new(spec: &OpenLineageSpec, environment: Environment<'_>) -> Result<Self, Fault> {
        built("telemetry.openlineage", "openlineage", cfg!(feature = "openlineage"))?;
        let token = spec.token.as_deref();
        Ok(Self {
            url: url("telemetry.openlineage.url", &spec.url, "/api/v1/lineage")?,
            namespace: spec.namespace.clone().unwrap_or_else(|| "landonce".to_owned()),
            token: token
                .map(|token| header("telemetry.openlineage.token", token, environment))
                .transpose()?,
        })
    }
}

fn built(key: &str, feature: &str, is_built: bool) -> Result<(), Fault> {
    if is_built {
        return Ok(());
    }
    Err(fault(
        key,
        format!("this landonce is built without it; build it with `--features landonce-cli/{feature}`"),
    ))
}

fn header(key: &str, text: &str, environment: Environment<'_>) -> Result<Hidden, Fault> {
    let value = environment.expand(key, text)?;
    if HeaderValue::try_from(value.as_str()).is_err() {
        return Err(fault(key, "holds what no header may hold"));
    }
    Ok(Hidden(value))
}

fn url(key: &str, text: &str, path: &str) -> Result<String, Fault> {
    let parsed: Option<Uri> = text.parse().ok();
    let is_url = parsed.as_ref().is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
    });
    match parsed.filter(|_| is_url) {
        Some(uri) if matches!(uri.path(), "" | "/") && uri.query().is_none() => {
            Ok(format!("{}{path}", text.trim_end_matches('/')))
        }
        Some(_) => Ok(text.to_owned()),
        // It may hold a password, so it isn't repeated.
        None => {
            Err(fault(key, "must be `http://HOST:PORT` or `https://HOST:PORT`, without a user or a password"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_path_gets_the_usual_one() {
        for (text, whole) in [
            ("http://c:4318", "http://c:4318/v1/traces"),
            ("http://c:4318/", "http://c:4318/v1/traces"),
            ("https://c/otlp/v1/traces", "https://c/otlp/v1/traces"),
        ] {
            assert_eq!(url("k", text, "/v1/traces").unwrap(), whole);
        }
        for text in ["c:4318", "ftp://c", "http://ann:sekret@c", ""] {
            let told = url("k", text, "/v1/traces").unwrap_err().to_string();
            assert!(!told.contains("sekret"), "{told}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        assert_eq!(format!("{:?}", Hidden("sekret".to_owned())), "…");
    }
}
