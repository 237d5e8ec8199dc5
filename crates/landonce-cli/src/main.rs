//! The `landonce` program, in four steps: parse, validate, run, report.
//!
//! Everything that can be known to be wrong before a database is touched is found in the second step. stdout is data,
//! stderr is talk, and the exit code says how it went ([`exit::Exit`]).

mod args;
mod blocking;
mod commands;
mod exit;
mod failure;
mod hint;
mod input;
mod interrupt;
mod place;
mod progress;
mod report;
mod trace;
mod window;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::Cli;
use crate::failure::Failure;
use crate::interrupt::Interrupted;

fn main() -> ExitCode {
    // 1. Parse: clap reports what it can't parse, and ends with 2.
    let cli = Cli::parse();
    let form = cli.output;
    trace::start(cli.verbose, cli.command.log());

    // 2. Validate: the pipeline, the store's URL, the files.
    let job = match commands::validate(cli.command) {
        Ok(job) => job,
        Err(failure) => return report::end(form, Err(failure)).into(),
    };

    // 3. Run, until it is done or somebody says stop.
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report::end(form, Err(Failure::system("can't start threads", error))).into(),
    };
    let ended = runtime.block_on(interrupt::guard(|gate| commands::run(job, form, gate)));
    // An interrupted SQLite thread is not waited for: it ends with the process, and its transaction with it.
    runtime.shutdown_background();

    // 4. Report.
    match ended {
        Ok(done) => report::end(form, done).into(),
        Err(Interrupted { signal, is_written }) => report::interrupted(signal, is_written).into(),
    }
}
