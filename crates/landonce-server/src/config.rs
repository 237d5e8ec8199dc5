//! How a server is set up. A [`Spec`] is what its user writes: YAML, every key known, every fault with its line and column. A
//! [`Config`] is what it means, checked as a whole.

mod limits;
mod spec;
mod telemetry;
mod token;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::{HeaderName, Uri};
use landonce_core::spec::SpecError;
use landonce_deliver::Fault;
use landonce_deliver::environment::Environment;
use landonce_deliver::spec::duration;

use crate::listen::Tls;

pub use limits::Limits;
pub use spec::{BatchIdSpec, DeliverSpec, DeriveSpec, LimitsSpec, Spec, TlsSpec, TokenSpec};
pub use telemetry::{Hidden, OpenLineage, OpenLineageSpec, Otlp, OtlpSpec, Telemetry, TelemetrySpec};
pub use token::Token;

/// Why a server can't be set up as a file says.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file doesn't parse.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The file parses, and what it says can't be.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// A server's set-up, checked as a whole.
#[derive(Debug, Clone)]
pub struct Config {
    store: Option<String>,
    listen: Option<SocketAddr>,
    tls: Option<TlsFiles>,
    is_behind_proxy: bool,
    public_url: Option<String>,
    hosts: BTreeSet<String>,
    tokens: Vec<Token>,
    limits: Limits,
    drain: Duration,
    deliver: Option<DeliverFile>,
    derive_every: Option<Duration>,
    batch_id: BatchIdFrom,
    telemetry: Telemetry,
}

/// Where the certificate is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate with its chain, PEM.
    pub certificate: PathBuf,
    /// The private key, PEM.
    pub key: PathBuf,
}

/// Which delivery file, and how many workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliverFile {
    /// The file.
    pub path: PathBuf,
    /// How many workers.
    pub workers: usize,
}

/// Where a batch's id is looked for, beside `Idempotency-Key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchIdFrom {
    /// A header of the sender's.
    pub header: Option<HeaderName>,
    /// A field of the query.
    pub query: String,
}

impl Default for Config {
    /// What holds for an empty file.
    fn default() -> Self {
        Self {
            store: None,
            listen: None,
            tls: None,
            is_behind_proxy: false,
            public_url: None,
            hosts: BTreeSet::new(),
            tokens: Vec::new(),
            limits: Limits::default(),
            drain: Duration::from_secs(25),
            deliver: None,
            derive_every: Some(Duration::from_mins(1)),
            batch_id: BatchIdFrom { header: None, query: "batch_id".to_owned() },
            telemetry: Telemetry::default(),
        }
    }
}

impl Config {
    /// Reads a server file's text; paths in it are relative to the working folder, variables this process's.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(yaml: &str) -> Result<Self, ConfigError> {
        Self::parse_in(yaml, Path::new(""), Environment::process())
    }

    /// As [`Config::parse`], with the folder that paths are relative to, and with other variables.
    ///
    /// # Errors
    /// As for [`Config::parse`].
    pub fn parse_in(yaml: &str, base: &Path, environment: Environment<'_>) -> Result<Self, ConfigError> {
        Ok(Self::resolve(&Spec::parse(yaml)?, base, environment)?)
    }

    fn resolve(spec: &Spec, base: &Path, environment: Environment<'_>) -> Result<Self, Fault> {
        let time = |key: &str, text: &Option<String>, default: Duration| match text {
            None => Ok(default),
            Some(text) => duration(text).map_err(|told| fault(key, told)),
        };
        let tokens: Vec<Token> = spec
            .tokens
            .iter()
            .enumerate()
            .map(|(at, token)| Token::new(at, token))
            .collect::<Result<_, _>>()?;
        for (at, token) in tokens.iter().enumerate() {
            if tokens[..at].iter().any(|other| other.name() == token.name()) {
                return Err(fault(format!("tokens[{at}].name"), "another token has this name already"));
            }
            if tokens[..at].iter().any(|other| other.hash() == token.hash()) {
                return Err(fault(format!("tokens[{at}].hash"), "another token has this hash already"));
            }
        }
        let every = time("derive.every", &spec.derive.every, Duration::from_mins(1))?;
        if every < Duration::from_secs(1) {
            return Err(fault("derive.every", "must be a second at least"));
        }
        let mut hosts = BTreeSet::new();
        for (at, host) in spec.hosts.iter().enumerate() {
            hosts.insert(host_name(host).ok_or_else(|| {
                fault(format!("hosts[{at}]"), "is no name of a host; write it without scheme, port and path")
            })?);
        }
        let public_url = spec.public_url.as_deref().map(|url| url.trim_end_matches('/').to_owned());
        if let Some(url) = &public_url {
            hosts.insert(public_host(url).ok_or_else(|| {
                fault("public_url", "must be `https://NAME` or `http://NAME`, with a port where there is one")
            })?);
        }
        Ok(Self {
            store: spec.store.as_deref().map(|url| environment.expand("store", url)).transpose()?,
            listen: spec.listen.as_deref().map(listen).transpose()?,
            tls: spec
                .tls
                .as_ref()
                .map(|tls| TlsFiles { certificate: base.join(&tls.certificate), key: base.join(&tls.key) }),
            is_behind_proxy: spec.behind_proxy,
            public_url,
            hosts,
            tokens,
            limits: Limits::new(&spec.limits)?,
            drain: time("drain", &spec.drain, Duration::from_secs(25))?,
            deliver: spec.deliver.as_ref().map(|deliver| deliver_file(deliver, base)).transpose()?,
            derive_every: spec.derive.run.unwrap_or(true).then_some(every),
            batch_id: batch_id(&spec.batch_id)?,
            telemetry: Telemetry::new(&spec.telemetry, environment)?,
        })
    }

    /// The store that the file names.
    pub fn store(&self) -> Option<&str> {
        self.store.as_deref()
    }

    /// The address that the file names.
    pub fn listen(&self) -> Option<SocketAddr> {
        self.listen
    }

    /// Where the certificate is, if the server does TLS itself.
    pub fn tls(&self) -> Option<&TlsFiles> {
        self.tls.as_ref()
    }

    /// Whether people reach it by https, so that cookies are for https only.
    pub fn is_https(&self) -> bool {
        self.tls.is_some() || self.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
    }

    /// Where people reach it, without a slash at the end.
    pub fn public_url(&self) -> Option<&str> {
        self.public_url.as_deref()
    }

    /// The names that it answers to, beside `localhost` and addresses, in lower case.
    pub fn hosts(&self) -> &BTreeSet<String> {
        &self.hosts
    }

    /// Who may do what.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// What a request may use, and all of them together.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How long requests that were taken have for their answers once the server is told to stop.
    pub fn drain(&self) -> Duration {
        self.drain
    }

    /// The delivery file.
    pub fn deliver(&self) -> Option<&DeliverFile> {
        self.deliver.as_ref()
    }

    /// How often derived tables that are due are looked for; `None`: never, and not after batches either.
    pub fn derive_every(&self) -> Option<Duration> {
        self.derive_every
    }

    /// Where traces and lineage go.
    pub fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }

    /// Where a batch's id is looked for.
    pub fn batch_id(&self) -> &BatchIdFrom {
        &self.batch_id
    }

    /// Whether the tokens name only pipelines that are served, and the certificate can be used.
    ///
    /// # Errors
    /// What can't be.
    pub fn check(&self, pipelines: &[&str]) -> Result<(), Fault> {
        for (at, token) in self.tokens.iter().enumerate() {
            for name in token.pipelines().into_iter().flatten() {
                if !pipelines.contains(&name.as_str()) {
                    return Err(fault(
                        format!("tokens[{at}].pipelines"),
                        format!("no pipeline `{name}` is served"),
                    ));
                }
            }
        }
        match self.tls.as_ref().map(Tls::load) {
            Some(Err(error)) => Err(fault("tls", error.to_string())),
            _ => Ok(()),
        }
    }

    /// Whether it is safe to listen there.
    ///
    /// # Errors
    /// Others reach the address, and everybody could do everything, or read along.
    pub fn check_listen(&self, address: SocketAddr) -> Result<(), Fault> {
        if address.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        if self.tokens.is_empty() {
            return Err(fault(
                "tokens",
                format!(
                    "none is declared, and others reach {address}: whoever does could do everything. Make one with `landonce serve \
                     token`, or listen on 127.0.0.1"
                ),
            ));
        }
        if self.tls.is_none() && !self.is_behind_proxy {
            return Err(fault(
                "tls",
                format!(
                    "isn't declared, and others reach {address}: tokens would be sent in clear. Name a certificate, or say \
                     `behind_proxy: true` if a proxy does TLS"
                ),
            ));
        }
        Ok(())
    }
}

fn fault(key: impl Into<String>, told: impl Into<String>) -> Fault {
    Fault { key: key.into(), told: told.into() }
}

fn listen(text: &str) -> Result<SocketAddr, Fault> {
    text.parse().map_err(|_| {
        fault("listen", format!("`{text}` is no address; write `127.0.0.1:8080` or `[::]:8080`"))
    })
}

/// A host's name in lower case.
fn host_name(text: &str) -> Option<String> {
    let is_name = !text.is_empty()
        && text.len() <= 253
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    is_name.then(|| text.to_ascii_lowercase())
}

fn public_host(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    let is_bare = matches!(uri.scheme_str(), Some("http" | "https")) && matches!(uri.path(), "" | "/");
    uri.host()
        .filter(|_| is_bare && uri.query().is_none())
        .map(|host| host.trim_matches(['[', ']']).to_ascii_lowercase())
}

fn deliver_file(spec: &DeliverSpec, base: &Path) -> Result<DeliverFile, Fault> {
    let workers = spec.workers.unwrap_or(1);
    if !(1..=256).contains(&workers) {
        return Err(fault("deliver.workers", "must be from 1 to 256"));
    }
    Ok(DeliverFile { path: base.join(&spec.file), workers })
}

fn batch_id(spec: &BatchIdSpec) -> Result<BatchIdFrom, Fault> {
    let header = spec.header.as_deref().map(|name| {
        HeaderName::try_from(name)
            .map_err(|_| fault("batch_id.header", format!("`{name}` is no name of a header")))
    });
    let query = spec.query.clone().unwrap_or_else(|| "batch_id".to_owned());
    if query.is_empty() || ["period", "run_id", "dry_run"].contains(&query.as_str()) {
        return Err(fault(
            "batch_id.query",
            format!("`{query}` can't be the field's name: it means something else"),
        ));
    }
    Ok(BatchIdFrom { header: header.transpose()?, query })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(yaml: &str) -> String {
        Config::parse(yaml).unwrap_err().to_string()
    }

    fn token(more: &str) -> String {
        format!("tokens: [{{name: a, hash: 'sha256:{}', {more}}}]\n", "ab".repeat(32))
    }

    #[test]
    fn an_empty_file_is_the_default() {
        let config = Config::parse("{}").unwrap();
        assert_eq!(config.limits(), &Limits::default());
        assert_eq!(config.drain(), Duration::from_secs(25));
        assert_eq!(config.derive_every(), Config::default().derive_every());
        assert_eq!(config.batch_id(), Config::default().batch_id());
    }

    #[test]
    fn a_misspelled_key_is_told_with_its_place_and_the_nearest_name() {
        let told = told("limits:\n  bodi: 1MiB\n");
        assert!(told.contains("line 2, column 3") && told.contains("did you mean `body`?"), "{told}");
    }

    #[test]
    fn faults_name_their_key() {
        for (yaml, fault) in [
            ("listen: here", "listen: `here` is no address"),
            ("limits: {body: 0}", "limits.body: must be more than nothing"),
            ("limits: {spool: 1MiB}", "limits.spool: must hold one body"),
            ("limits: {header_time: soon}", "limits.header_time: `soon` is no length of time"),
            ("limits: {idle_time: 0s}", "limits.idle_time: must be longer"),
            ("derive: {every: 10ms}", "derive.every: must be a second"),
            ("hosts: ['https://a.example']", "hosts[0]: is no name of a host"),
            ("public_url: a.example", "public_url: must be `https://NAME`"),
            ("batch_id: {header: 'a b'}", "batch_id.header: `a b` is no name"),
            ("batch_id: {query: period}", "batch_id.query: `period` can't"),
            ("deliver: {file: d.yaml, workers: 0}", "deliver.workers: must be from 1"),
            ("tokens: [{name: a, hash: s3kr3t, may: [read]}]", "tokens[0].hash: must be `sha256:`"),
        ] {
            assert!(told(yaml).contains(fault), "{}", told(yaml));
            assert!(!told(yaml).contains("s3kr3t"), "{}", told(yaml));
        }
        assert!(told(&token("may: []")).contains("tokens[0].may: is empty"));
        assert!(told(&token("may: [read], pipelines: []")).contains("tokens[0].pipelines: is empty"));
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let empty = format!("tokens: [{{name: a, hash: '{empty}', may: [read]}}]");
        assert!(told(&empty).contains("tokens[0].hash: is the hash of no text"));
        let twice = format!(
            "{}{}",
            token("may: [read]").trim_end().trim_end_matches(']'),
            ", {name: a, hash: 'sha256:"
        ) + &"cd".repeat(32)
            + "', may: [read]}]";
        assert!(told(&twice).contains("tokens[1].name: another token"), "{}", told(&twice));
    }

    #[test]
    fn others_reach_it_only_with_tokens_and_tls() {
        let open: SocketAddr = "0.0.0.0:1".parse().unwrap();
        let check = |yaml: &str, at: SocketAddr| Config::parse(yaml).unwrap().check_listen(at);
        for loopback in ["127.0.0.1:1", "[::1]:1", "127.9.9.9:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(check("{}", loopback.parse().unwrap()), Ok(()));
        }
        assert!(check("{}", open).unwrap_err().told.contains("landonce serve token"));
        assert!(check(&token("may: [read]"), open).unwrap_err().told.contains("behind_proxy"));
        assert_eq!(check(&format!("{}behind_proxy: true\n", token("may: [read]")), open), Ok(()));
        let tls = "tls: {certificate: c.pem, key: k.pem}\n";
        assert_eq!(check(&format!("{}{tls}", token("may: [read]")), open), Ok(()));
    }
}
