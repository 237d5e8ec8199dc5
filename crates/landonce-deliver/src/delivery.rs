//! Destinations as they are declared, resolved: what is left to be done is to deliver.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use landonce::Store;
use tokio::sync::watch;

use crate::desk;
use crate::destination::Destination;
use crate::destination::http::Http;
use crate::environment::Environment;
use crate::error::{Error, Fault};
use crate::policy::{Policy, some_time};
use crate::run::{self, Options};
use crate::spec::{DestinationSpec, Spec};
use crate::summary::Summary;
use crate::veil::{self, Veil};

/// The longest name of a destination, in bytes.
const NAME: usize = 100;

/// All destinations of a file, checked and ready.
#[derive(Debug)]
pub struct Delivery {
    pub(crate) store_url: Option<String>,
    pub(crate) retention: Option<Duration>,
    pub(crate) routes: Vec<Declared>,
}

/// A destination and what belongs to it.
#[derive(Debug, Clone)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// Its topics.
    pub topics: Vec<String>,
    /// How it is treated.
    pub policy: Policy,
    /// What takes the messages.
    pub destination: Arc<dyn Destination>,
}

impl Delivery {
    /// From a file. Certificates that it names are read; nothing is connected to.
    ///
    /// # Errors
    /// When the file can't be read, doesn't parse, or says what can't be.
    pub fn from_file(path: &Path, environment: Environment<'_>) -> Result<Self, Error> {
        let shown = path.display().to_string();
        let yaml = std::fs::read_to_string(path)
            .map_err(|source| Error::Unreadable { path: shown.clone(), source })?;
        Self::parse(&yaml, &shown, path.parent().unwrap_or(Path::new("")), environment)
    }

    /// From a file's text; `base` is the folder that paths in it are relative to.
    ///
    /// # Errors
    /// As for [`Delivery::from_file`].
    pub fn parse(yaml: &str, path: &str, base: &Path, environment: Environment<'_>) -> Result<Self, Error> {
        let spec = Spec::parse(yaml).map_err(|source| Error::Spec { path: path.to_owned(), source })?;
        Self::resolve(&spec, base, environment)
            .map_err(|fault| Error::Declared { path: path.to_owned(), fault })
    }

    /// From destinations made in code: what a program of one's own delivers with.
    ///
    /// # Errors
    /// When a topic is nobody's, or belongs to two.
    pub fn new(routes: Vec<Declared>) -> Result<Self, Fault> {
        let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
        for route in &routes {
            let key = || format!("destinations.{}.topics", route.name);
            if route.topics.is_empty() {
                return Err(Fault::new(key(), "names no topic"));
            }
            for topic in &route.topics {
                if topic.is_empty() {
                    return Err(Fault::new(key(), "a topic has a name"));
                }
                if let Some(other) = owners.insert(topic, &route.name) {
                    let told = if other == route.name {
                        format!("`{topic}` is here twice")
                    } else {
                        format!(
                            "`{topic}` belongs to `{other}` already; for two receivers enqueue it under two topics"
                        )
                    };
                    return Err(Fault::new(key(), told));
                }
            }
        }
        if routes.is_empty() {
            return Err(Fault::new("destinations", "names no destination"));
        }
        Ok(Self { store_url: None, retention: None, routes })
    }

    fn resolve(spec: &Spec, base: &Path, environment: Environment<'_>) -> Result<Self, Fault> {
        // Commands inherit the environment: what of it this file names is never quoted from them.
        let taken = RefCell::new(Vec::new());
        let noted = |name: &str| {
            let value = environment.look_up(name)?;
            taken.borrow_mut().push(value.clone());
            Some(value)
        };
        let environment = Environment::new(&noted);
        let hidden: Arc<OnceLock<Veil>> = Arc::default();
        let mut routes = Vec::new();
        for (name, spec) in &spec.destinations {
            let key = format!("destinations.{name}");
            if name.is_empty() || name.len() > NAME || name.chars().any(char::is_control) {
                return Err(Fault::new(key, "a destination has a name of up to 100 printable characters"));
            }
            let declared = declared(name, spec, base, environment, &hidden);
            routes.push(declared.map_err(|fault| fault.within(&key))?);
        }
        let mut delivery = Self::new(routes)?;
        delivery.store_url = spec.store.as_deref().map(|url| environment.expand("store", url)).transpose()?;
        delivery.retention = match &spec.retention {
            None => None,
            some => Some(some_time("retention", some.as_deref(), Duration::ZERO)?),
        };
        // Where the file's store isn't the one that is used.
        environment.look_up("LANDONCE_STORE");
        let mut values: Vec<String> = taken.take();
        values.extend(delivery.store_url.clone());
        let passwords: Vec<String> = values.iter().flat_map(|value| veil::passwords(value)).collect();
        values.extend(passwords);
        let _ = hidden.set(Veil::new(values.iter().map(String::as_str)));
        Ok(delivery)
    }

    /// Delivers what is in the store's outbox, until `stop` says so; with [`Options::is_once`], until nothing is left that is due.
    ///
    /// # Errors
    /// When the outbox couldn't be read at all, or what became of messages couldn't be recorded in the end. What happens in
    /// between (a database that goes away and comes back, a receiver that fails) is no error.
    pub async fn run(
        &self,
        store: &Store,
        options: &Options,
        stop: watch::Receiver<bool>,
    ) -> Result<Summary, Error> {
        let store = store.clone();
        run::deliver(self, options, move || store.outbox().with_retry(desk::patience()), stop).await
    }

    /// The store that the file names.
    pub fn store_url(&self) -> Option<&str> {
        self.store_url.as_deref()
    }

    /// The destinations, ready to take messages.
    pub fn destinations(&self) -> impl Iterator<Item = &Arc<dyn Destination>> {
        self.routes.iter().map(|route| &route.destination)
    }

    /// The topics that there are destinations for.
    pub fn topics(&self) -> impl Iterator<Item = &str> {
        self.routes.iter().flat_map(|route| &route.topics).map(String::as_str)
    }
}

fn declared(
    name: &str,
    spec: &DestinationSpec,
    base: &Path,
    environment: Environment<'_>,
    hidden: &Arc<OnceLock<Veil>>,
) -> Result<Declared, Fault> {
    let policy = Policy::new(spec)?;
    Ok(Declared {
        name: name.to_owned(),
        topics: spec.topics.clone(),
        destination: make(spec, &policy, base, environment, hidden)?,
        policy,
    })
}

/// The destination of what a file says: the one place that knows all kinds.
fn make(
    spec: &DestinationSpec,
    policy: &Policy,
    base: &Path,
    environment: Environment<'_>,
    hidden: &Arc<OnceLock<Veil>>,
) -> Result<Arc<dyn Destination>, Fault> {
    type Made = Result<Arc<dyn Destination>, Fault>;
    let mut made: Vec<(&str, Made)> = Vec::new();
    if let Some(http) = &spec.http {
        made.push(("http", Http::new(http, policy.concurrency, base, environment).map(arc)));
    }
    if let Some(command) = &spec.command {
        made.push((
            "command",
            command.open(base, environment).map(|made| arc(made.hiding(Arc::clone(hidden)))),
        ));
    }
    if let Some(file) = &spec.file {
        made.push(("file", file.open(base, environment).map(arc)));
    }
    if let Some(sql) = &spec.sql {
        made.push(("sql", sql.open(base, environment).map(arc)));
    }
    if let Some(kafka) = &spec.kafka {
        #[cfg(feature = "kafka")]
        made.push(("kafka", kafka.open(base, environment).map(arc)));
        #[cfg(not(feature = "kafka"))]
        return Err(Fault::new(
            "kafka",
            format!(
                "this build has no Kafka client for topic `{}`; build landonce with `--features kafka`",
                kafka.topic
            ),
        ));
    }
    match (made.pop(), made.pop()) {
        (Some((kind, made)), None) => made.map_err(|fault| fault.within(kind)),
        (Some((one, _)), Some((other, _))) => {
            Err(Fault::new(one, format!("the destination is `{other}` already; make another one of it")))
        }
        (None, _) => Err(Fault::new(
            "http",
            "one of `http`, `command`, `file`, `sql`, `kafka` says where the messages go",
        )),
    }
}

fn arc(destination: impl Destination + 'static) -> Arc<dyn Destination> {
    Arc::new(destination)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(yaml: &str) -> Result<Delivery, Error> {
        let set = |name: &str| match name {
            "TOKEN" => Some("s3kr3t".to_owned()),
            "SHORT" => Some("whsec_c2hvcnQ=".to_owned()),
            _ => None,
        };
        Delivery::parse(yaml, "deliver.yaml", Path::new(""), Environment::new(&set))
    }

    fn told(yaml: &str) -> String {
        parse(yaml).unwrap_err().to_string()
    }

    #[test]
    fn a_topic_belongs_to_one_destination() {
        let two = "destinations:\n  a: {topics: [t], http: {url: 'https://a.example'}}\n  b: {topics: [t], http: {url: 'https://b.example'}}\n";
        assert!(told(two).contains("destinations.b.topics: `t` belongs to `a` already"), "{}", told(two));
        let none = "destinations:\n  a: {topics: [], http: {url: 'https://a.example'}}\n";
        assert!(told(none).contains("names no topic"));
        assert!(told("destinations: {}").contains("names no destination"));
        assert!(told("destinations: {a: {topics: [t]}}").contains("destinations.a.http: one of `http`"));
    }

    #[test]
    fn faults_name_their_key() {
        let with = |more: &str| {
            format!("destinations:\n  a: {{topics: [t], http: {{url: 'https://a.example'}}, {more}}}\n")
        };
        for (more, fault) in [
            ("concurrency: 0", "destinations.a.concurrency: must be from 1"),
            ("rate: fast", "destinations.a.rate: `fast` is no rate"),
            ("retry: {first: 1h, most: 1s}", "destinations.a.retry.most: is shorter than `first`"),
            ("retry: {attempts: 0}", "destinations.a.retry.attempts: must be 1"),
            ("retry: {deadline: 0s}", "destinations.a.retry.deadline: must be longer than nothing"),
            ("breaker: {pause: 0s}", "destinations.a.breaker.pause: must be longer"),
        ] {
            assert!(told(&with(more)).contains(fault), "{}", told(&with(more)));
        }
    }

    #[test]
    fn a_retention_or_a_time_limit_of_nothing_is_refused() {
        let a = "destinations:\n  a: {topics: [t], command: {run: [x]}}\n";
        assert!(told(&format!("retention: 0s\n{a}")).contains("retention: must be longer than nothing"));
        assert!(told(&format!("retention: soon\n{a}")).contains("retention: `soon` is no length of time"));
        assert!(parse(&format!("retention: 1d\n{a}")).unwrap().retention.is_some());
        let none = a.replace("[x]", "[x], timeout: 0s");
        assert!(told(&none).contains("command.timeout: must be longer than nothing"), "{}", told(&none));
    }

    #[test]
    fn nothing_that_is_secret_is_in_an_error_or_in_debug() {
        let with = |more: &str| format!("destinations:\n  a: {{topics: [t], http: {{{more}}}}}\n");
        for more in [
            "url: 'https://u:s3kr3t@a.example'",
            "url: 'https://a.example/${TOKEN} x'",
            "url: 'ftp://a.example/${TOKEN}'",
            "url: 'https://a.example', sign: ['${TOKEN}']",
            "url: 'https://a.example', sign: ['${SHORT}']",
            "url: 'https://a.example', headers: {authorization: s3kr3t}",
            "url: 'https://a.example', headers: {x: \"${TOKEN}\\n\"}",
        ] {
            let told = told(&with(more));
            assert!(told.contains("destinations.a.http.") && !told.contains("s3kr3t"), "{told}");
        }
        let shown = format!(
            "{:?}",
            parse(&with("url: 'https://a.example/${TOKEN}', bearer: '${TOKEN}', headers: {x: '${TOKEN}'}"))
                .unwrap()
        );
        assert!(!shown.contains("s3kr3t"), "{shown}");
    }
}
