//! `landonce schema`: the JSON Schema of pipeline files, delivery files or server files, for editors.

use landonce::Spec;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::report;

/// `landonce schema`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The schema of the files that `landonce deliver` takes.
    #[arg(long)]
    deliver: bool,
    /// The schema of the files that `landonce serve --config` takes.
    #[arg(long, conflicts_with = "deliver")]
    serve: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let schema = if args.deliver {
        landonce_deliver::spec::Spec::json_schema()
    } else if args.serve {
        landonce_server::config::Spec::json_schema()
    } else {
        Spec::json_schema()
    };
    report::bytes(schema.as_bytes())?;
    Ok(Exit::Fine)
}
