//! `landonce repair dedupe`.

use landonce::Store;
use landonce::repair::{Added, Constrain, Dedupe, Keep, Report, Status};
use landonce_core::plan::TableName;

use super::{RepairArgs, show};
use crate::args::{OutputForm, StoreArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Gate;
use crate::{place, report};

const EXAMPLES: &str = "\
Examples:
  landonce repair dedupe --store postgres://app@db.example/flights --table duty_event --key flight_id,event_kind,instant_utc
  landonce repair dedupe --table duty_event --key flight_id,event_kind --keep latest:updated_at --apply

Exit codes: 0 nothing to repair, or repaired; 1 there is something to repair, and --apply wasn't given; 2 could not.";

/// `landonce repair dedupe`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The table: `table` or `schema.table`.
    #[arg(long, value_name = "TABLE")]
    table: String,

    /// The natural key's columns. Two rows in which they are equal are one; two NULLs are equal.
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',', required = true)]
    key: Vec<String>,

    /// Which row stays: `earliest:COLUMN` or `latest:COLUMN`. Without it: the row of the earliest run (landonce_run_id), or by
    /// the one column that says when a row was written (created_at, loaded_at …), else by the smallest primary key.
    #[arg(long, value_name = "WHICH:COLUMN", value_parser = parse_keep)]
    keep: Option<Keep>,

    /// When the unique constraint is added: `after` the transaction beside writers (PostgreSQL), `inside` it, or `none`.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    constraint: When,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    repair: RepairArgs,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum When {
    /// After the transaction, beside writers, where the database can do that.
    #[default]
    After,
    /// In the transaction: no copy can come in between.
    Inside,
    /// Not at all.
    None,
}

pub(super) fn parse_keep(text: &str) -> Result<Keep, String> {
    match text.split_once(':') {
        Some(("earliest", column)) if !column.is_empty() => Ok(Keep::Earliest(column.to_owned())),
        Some(("latest", column)) if !column.is_empty() => Ok(Keep::Latest(column.to_owned())),
        _ => Err("`earliest:COLUMN` or `latest:COLUMN` is due".to_owned()),
    }
}

/// A checked `repair dedupe`.
#[derive(Debug)]
pub(crate) struct Job {
    dedupe: Dedupe,
    store: Store,
    repair: RepairArgs,
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    args.repair.check()?;
    let table = match args.table.split('.').collect::<Vec<_>>().as_slice() {
        [name] if !name.is_empty() => TableName { schema: None, name: (*name).to_owned() },
        [schema, name] if !schema.is_empty() && !name.is_empty() => {
            TableName { schema: Some((*schema).to_owned()), name: (*name).to_owned() }
        }
        _ => {
            return Err(Failure::usage(
                format!("--table `{}`: no table", args.table),
                "`table` or `schema.table` is due",
            ));
        }
    };
    let constrain = match args.constraint {
        When::After => Constrain::After,
        When::Inside => Constrain::Inside,
        When::None => Constrain::Never,
    };
    let key = args.key.iter().map(|name| name.trim().to_owned()).collect();
    Ok(Job {
        dedupe: Dedupe { table, key, keep: args.keep, constrain },
        store: place::choose(&args.store, None)?,
        repair: args.repair,
    })
}

pub(super) async fn run(job: Job, form: OutputForm, gate: &Gate) -> Result<Exit, Failure> {
    let Job { dedupe, store, repair } = job;
    let options = repair.options(gate);
    let found =
        if repair.apply { dedupe.apply(&store, &options).await } else { dedupe.plan(&store, &options).await };
    gate.settled();
    let found = found?;
    if form.is_json() {
        report::json(&found)?;
    } else {
        report::print(&show::dedupe(&found))?;
    }
    Ok(exit(&found))
}

fn exit(report: &Report) -> Exit {
    match report.status {
        Status::Clean => Exit::Fine,
        Status::Applied if report.constraint.state == Added::Failed => Exit::CouldNot,
        Status::Applied => Exit::Fine,
        Status::Planned => Exit::Findings,
        Status::Refused => Exit::CouldNot,
    }
}
