//! One file a command: its arguments, what it checks before anything is touched, what it does.

mod archive;
mod audit;
mod backfill;
mod completions;
mod consume;
mod deliver;
mod derive;
mod explain;
mod held;
mod init;
mod key;
mod outbox;
mod plan;
mod position;
mod prove;
mod quarantine;
mod repair;
mod replay;
mod run;
mod schema;
mod serve;
mod setup;
mod sql;
mod status;
mod why;

use clap::Subcommand;

use crate::args::OutputForm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Gate;
use crate::trace;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Land batches, each in one transaction; a batch that has landed before is skipped.
    Run(run::Args),
    /// Load many periods, each in one transaction; killed and started again, it goes on.
    Backfill(backfill::Args),
    /// Show what a run would do, without writing anything.
    Plan(plan::Args),
    /// Look at a sample and write a first pipeline file.
    Init(init::Args),
    /// Look at identities.
    Key(key::Args),
    /// Show what has landed, newest first.
    Status(status::Args),
    /// Tell why a row is as it is: every delivery of one record, what was decided, by which run.
    Why(why::Args),
    /// Show bad records that were kept aside, or deliver them again.
    Quarantine(quarantine::Args),
    /// Compute derived tables where batches have changed their base, or prove that they are equal to their queries.
    Derive(derive::Args),
    /// Hand the outbox's messages to their destinations, in order per key, at least once.
    Deliver(deliver::Args),
    /// Look at snapshots that were held, and release or reject them.
    Held(held::Args),
    /// Look at messages about changes, and send them again, discard or forget them.
    Outbox(outbox::Args),
    /// Apply batches out of the archive: what never landed, again, or into another table.
    Replay(replay::Args),
    /// Look into a pipeline's archive of source bytes, check it, prune it.
    Archive(archive::Args),
    /// Run any pipeline twice, kill it, cut its connection, and say what is wrong with it.
    Prove(prove::Args),
    /// Read code and SQL, and find what isn't safe to retry.
    Audit(audit::Args),
    /// Mend a table that another pipeline has broken: duplicates, keys.
    Repair(repair::Args),
    /// Take batches and webhooks over HTTP, and show what happened on a page.
    Serve(serve::Args),
    /// Land what a stream (Kafka, NATS) delivers, by as many workers as you like.
    Consume(consume::Args),
    /// Look at how far streams have been landed, and put that elsewhere.
    Position(position::Args),
    /// Make landonce's tables, or print the DDL for a DBA.
    Setup(setup::Args),
    /// Spell an upsert for a store: ON CONFLICT, UPSERT INTO and ON DUPLICATE KEY UPDATE, with one meaning.
    Sql(sql::Args),
    /// Explain an error code.
    Explain(explain::Args),
    /// Print the JSON Schema of pipeline files, delivery files or server files.
    Schema(schema::Args),
    /// Print a shell's completion script.
    Completions(completions::Args),
}

impl Command {
    /// The log of a command that is a service: it has one without being asked.
    pub(crate) fn log(&self) -> Option<trace::Form> {
        match self {
            Self::Serve(args) => args.log(),
            Self::Consume(args) => Some(args.log()),
            _ => None,
        }
    }
}

/// A command whose arguments have been checked.
#[derive(Debug)]
pub(crate) enum Job {
    /// `run`
    Run(run::Job),
    /// `backfill`
    Backfill(Box<backfill::Job>),
    /// `plan`
    Plan(plan::Job),
    /// `init`
    Init(init::Job),
    /// `key explain`
    Key(key::Job),
    /// `status`
    Status(status::Job),
    /// `why`
    Why(why::Job),
    /// `quarantine …`
    Quarantine(quarantine::Job),
    /// `derive`
    Derive(derive::Job),
    /// `deliver`
    Deliver(Box<deliver::Job>),
    /// `held …`
    Held(held::Job),
    /// `outbox …`
    Outbox(outbox::Job),
    /// `replay`
    Replay(replay::Job),
    /// `archive …`
    Archive(archive::Job),
    /// `prove`
    Prove(prove::Job),
    /// `audit`
    Audit(audit::Job),
    /// `repair …`
    Repair(repair::Job),
    /// `serve`
    Serve(Box<serve::Job>),
    /// `serve check`
    Check(serve::check::Job),
    /// `serve token`
    Token,
    /// `consume`
    Consume(Box<consume::Job>),
    /// `position …`
    Position(position::Job),
    /// `setup`
    Setup(setup::Job),
    /// `sql`
    Sql(Box<sql::Job>),
    /// `explain`
    Explain(explain::Args),
    /// `schema`
    Schema(schema::Args),
    /// `completions`
    Completions(completions::Args),
}

/// Checks all that can be checked without a database.
pub(crate) fn validate(command: Command) -> Result<Job, Failure> {
    Ok(match command {
        Command::Run(args) => Job::Run(run::validate(args)?),
        Command::Backfill(args) => Job::Backfill(Box::new(backfill::validate(&args)?)),
        Command::Plan(args) => Job::Plan(plan::validate(args)?),
        Command::Init(args) => Job::Init(init::validate(args)?),
        Command::Key(args) => Job::Key(key::validate(args)?),
        Command::Status(args) => Job::Status(status::validate(&args)?),
        Command::Why(args) => Job::Why(why::validate(&args)?),
        Command::Quarantine(args) => Job::Quarantine(quarantine::validate(args)?),
        Command::Derive(args) => Job::Derive(derive::validate(&args)?),
        Command::Deliver(args) => Job::Deliver(Box::new(deliver::validate(&args)?)),
        Command::Held(args) => Job::Held(held::validate(args)?),
        Command::Outbox(args) => Job::Outbox(outbox::validate(args)?),
        Command::Replay(args) => Job::Replay(replay::validate(args)?),
        Command::Archive(args) => Job::Archive(archive::validate(args)?),
        Command::Prove(args) => Job::Prove(prove::validate(args)?),
        Command::Audit(args) => Job::Audit(audit::validate(args)),
        Command::Repair(args) => Job::Repair(repair::validate(args)?),
        Command::Serve(args) if args.is_token() => Job::Token,
        Command::Serve(serve::Args { action: Some(serve::Action::Check { url }), .. }) => {
            Job::Check(serve::check::validate(&url)?)
        }
        Command::Serve(args) => Job::Serve(Box::new(serve::validate(&args)?)),
        Command::Consume(args) => Job::Consume(Box::new(consume::validate(&args)?)),
        Command::Position(args) => Job::Position(position::validate(args)?),
        Command::Setup(args) => Job::Setup(setup::validate(&args)?),
        Command::Sql(args) => Job::Sql(Box::new(sql::validate(args)?)),
        Command::Explain(args) => Job::Explain(args),
        Command::Schema(args) => Job::Schema(args),
        Command::Completions(args) => Job::Completions(args),
    })
}

/// Does it.
pub(crate) async fn run(job: Job, form: OutputForm, gate: Gate) -> Result<Exit, Failure> {
    let has_figures = matches!(&job, Job::Outbox(job) if job.has_figures());
    if form == OutputForm::Prometheus && !has_figures {
        return Err(Failure::usage("--output prometheus is for figures", "`landonce outbox stats` has some"));
    }
    match job {
        Job::Run(job) => run::run(job, form, &gate).await,
        Job::Backfill(job) => backfill::run(*job, form, &gate).await,
        Job::Plan(job) => plan::run(job, form).await,
        Job::Init(job) => init::run(job, form).await,
        Job::Key(job) => key::run(job, form).await,
        Job::Status(job) => status::run(job, form).await,
        Job::Why(job) => why::run(job, form).await,
        Job::Quarantine(job) => quarantine::run(job, form, gate).await,
        Job::Derive(job) => derive::run(job, form, &gate).await,
        Job::Deliver(job) => deliver::run(*job, form, gate).await,
        Job::Held(job) => held::run(job, form, gate).await,
        Job::Outbox(job) => outbox::run(job, form).await,
        Job::Replay(job) => replay::run(job, form, &gate).await,
        Job::Archive(job) => archive::run(job, form).await,
        Job::Prove(job) => prove::run(job, form, gate).await,
        Job::Audit(job) => audit::run(job, form).await,
        Job::Repair(job) => repair::run(job, form, gate).await,
        Job::Serve(job) => serve::run(*job, gate).await,
        Job::Token => serve::token(form),
        Job::Check(job) => serve::check::run(job).await,
        Job::Consume(job) => consume::run(*job, form, gate).await,
        Job::Position(job) => position::run(job, form).await,
        Job::Setup(job) => setup::run(job, form).await,
        Job::Sql(job) => sql::run(*job, form).await,
        Job::Explain(args) => explain::run(&args, form),
        Job::Schema(args) => schema::run(&args),
        Job::Completions(args) => completions::run(&args),
    }
}
