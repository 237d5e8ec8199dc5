//! What a server is to be, checked before anything is touched: its pipelines, their one store, who may do what.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use landonce::{Pipeline, Store};
use landonce_deliver::Delivery;
use landonce_deliver::environment::Environment;
use landonce_server::{App, Config, Hooks};

use super::{Args, Job};
use crate::args;
use crate::failure::Failure;
use crate::place;

/// Where it listens when nothing is said.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
const SEE: &str = "see docs/reference/serve.md";

pub(super) fn validate(args: &Args) -> Result<Job, Failure> {
    let config = match &args.config {
        None => Config::default(),
        Some(path) => read(path)?,
    };
    let named = args.config.as_deref().map_or_else(String::new, |path| format!("{}: ", path.display()));
    let fault = |fault: landonce_deliver::Fault| Failure::usage(format!("{named}{fault}"), SEE);
    let listen = args.listen.or(config.listen()).unwrap_or(LISTEN);
    config.check_listen(listen).map_err(fault)?;
    let pipelines = pipelines(&args.pipelines)?;
    let served: Vec<&str> = pipelines.iter().map(|(_, pipeline)| pipeline.name()).collect();
    config.check(&served).map_err(fault)?;
    let store = store(args, &config, &pipelines)?;
    let delivery = config.deliver().map(|file| {
        let delivery = Delivery::from_file(&file.path, Environment::process())?;
        if args.store.store.is_none() {
            one_store(&store, &file.path, delivery.store_url())?;
        }
        Ok::<_, Failure>((delivery, file.workers))
    });
    let delivery = delivery.transpose()?;
    let pipelines: Vec<Pipeline> = pipelines.into_iter().map(|(_, pipeline)| pipeline).collect();
    let hooks = Hooks::new(&store, &pipelines, landonce::environment::variable)
        .map_err(|error| Failure::usage(error.to_string(), "set it before the server starts"))?;
    let app = App::new(config, store, pipelines).with_hooks(hooks);
    let app = match delivery {
        Some((delivery, workers)) => app.delivering(delivery, workers),
        None => app,
    };
    Ok(Job { app, listen })
}

fn read(path: &Path) -> Result<Config, Failure> {
    let told = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()), SEE);
    let yaml = std::fs::read_to_string(path).map_err(|error| told(&error))?;
    let base = path.parent().unwrap_or(Path::new(""));
    Config::parse_in(&yaml, base, Environment::process()).map_err(|error| told(&error))
}

/// The pipelines with their files; a name stands for one of them.
fn pipelines(paths: &[PathBuf]) -> Result<Vec<(PathBuf, Pipeline)>, Failure> {
    let mut all: Vec<(PathBuf, Pipeline)> = Vec::new();
    for path in paths {
        for file in files(path)? {
            let pipeline = args::pipeline_file(&file)?;
            if let Some((other, _)) = all.iter().find(|(_, other)| other.name() == pipeline.name()) {
                return Err(Failure::usage(
                    format!(
                        "{} and {}: both are called `{}`",
                        other.display(),
                        file.display(),
                        pipeline.name()
                    ),
                    "give each pipeline a name of its own: it stands in the URL, and in the inbox",
                ));
            }
            all.push((file, pipeline));
        }
    }
    Ok(all)
}

/// A folder's pipeline files by name, or the file itself.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    const HELP: &str = "give pipeline files, or a folder of them";
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let told = |error: std::io::Error| Failure::usage(format!("{}: {error}", path.display()), HELP);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(told)? {
        let path = entry.map_err(told)?.path();
        if path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml") {
            found.push(path);
        }
    }
    if found.is_empty() {
        return Err(Failure::usage(format!("{}: no pipeline file (.yaml) is in it", path.display()), HELP));
    }
    found.sort();
    Ok(found)
}

/// The one store of all of them. `--store` wins over what files say, as it does everywhere; files must agree.
fn store(args: &Args, config: &Config, pipelines: &[(PathBuf, Pipeline)]) -> Result<Store, Failure> {
    let urls: Vec<Option<String>> =
        pipelines.iter().map(|(_, pipeline)| pipeline.store_url()).collect::<Result<_, _>>()?;
    let first = urls.iter().flatten().next();
    let store = place::choose_of(&args.store, config.store().or(first.map(String::as_str)))?;
    if args.store.store.is_none() {
        for ((file, _), url) in pipelines.iter().zip(&urls) {
            one_store(&store, file, url.as_deref())?;
        }
    }
    Ok(store)
}

fn one_store(store: &Store, file: &Path, url: Option<&str>) -> Result<(), Failure> {
    let Some(url) = url else { return Ok(()) };
    let other = Store::open(url)?.place();
    if other == store.place() {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{} names the store {other}, and the server's is {}", file.display(), store.place()),
        "a server has one store: serve the others by a process of their own, or say which with --store",
    ))
}
