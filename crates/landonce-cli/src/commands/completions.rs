//! `landonce completions`: a shell's completion script.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::report;

/// `landonce completions`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    // Into memory first: the generator panics where a pipe is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "landonce", &mut script);
    report::bytes(&script)?;
    Ok(Exit::Fine)
}
