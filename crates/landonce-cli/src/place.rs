//! Which store: `--store`, else the pipeline's, else `$LANDONCE_STORE` (or the file that `$LANDONCE_STORE_FILE` names), else `sqlite:landonce.db`.

use landonce::{Pipeline, Store};

use crate::args::StoreArgs;
use crate::failure::Failure;

/// The environment variable for the store's URL.
const VARIABLE: &str = "LANDONCE_STORE";
/// The store of a fresh machine.
const DEFAULT: &str = "sqlite:landonce.db";

/// The store to use. Only parses its URL: nothing is connected or made.
pub(crate) fn choose(args: &StoreArgs, pipeline: Option<&Pipeline>) -> Result<Store, Failure> {
    if args.store.is_some() {
        return choose_of(args, None);
    }
    choose_of(args, pipeline.map(Pipeline::store_url).transpose()?.flatten().as_deref())
}

/// As [`choose`], where `file` is what a file of another kind says.
pub(crate) fn choose_of(args: &StoreArgs, file: Option<&str>) -> Result<Store, Failure> {
    Ok(Store::open(named(args.store.as_deref().or(file))?.as_deref().unwrap_or(DEFAULT))?)
}

/// The URL that is given, else the environment's.
pub(crate) fn named(given: Option<&str>) -> Result<Option<String>, Failure> {
    if let Some(url) = given {
        return Ok(Some(url.to_owned()));
    }
    match landonce::environment::variable(VARIABLE) {
        Some(url) if !url.trim().is_empty() => Ok(Some(url.trim().to_owned())),
        // Whoever names a file means the store in it, and no other.
        None if std::env::var_os(format!("{VARIABLE}_FILE")).is_some() => Err(Failure::usage(
            format!("the file that ${VARIABLE}_FILE names can't be read"),
            "check its path, and whether this user may read it",
        )),
        _ => Ok(None),
    }
}
