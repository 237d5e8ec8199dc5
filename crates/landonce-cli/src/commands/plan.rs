//! `landonce plan`: what a run would do, found out without writing anything, not even in landonce's own tables.

mod fetched;
mod spellings;

use landonce::{Batch, Preview, Store};

use crate::args::{Delivery, DeliveryArgs, OutputForm, StoreArgs};
use crate::blocking::blocking;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::hint;
use crate::input::Input;
use crate::place;
use crate::report::{self, PlanReport, Plans, Way};

/// `landonce plan`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,

    /// How many of the rows that would be written are shown.
    #[arg(long, value_name = "N", default_value_t = 5)]
    samples: u16,

    // Last, because its heading holds for all that follows.
    #[command(flatten)]
    delivery: DeliveryArgs,
}

/// A checked `plan`.
#[derive(Debug)]
pub(crate) struct Job {
    delivery: Delivery,
    store: Store,
    samples: usize,
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    let delivery = args.delivery.resolve()?;
    let store = place::choose(&args.store, Some(&delivery.pipeline))?;
    Ok(Job { delivery, store, samples: args.samples.into() })
}

pub(super) async fn run(job: Job, form: OutputForm) -> Result<Exit, Failure> {
    let mut done = Vec::new();
    if job.delivery.is_fetched() {
        let (plan, failure) = match fetched::peek(&job).await? {
            Some(found) => found,
            None if form.is_json() => return report::json(&Plans::new(&[])).map(|()| Exit::Fine),
            None => return report::print("nothing new to fetch; nothing was written\n").map(|()| Exit::Fine),
        };
        if !form.is_json() {
            report::print(&plan.paragraph())?;
        }
        if let Some(failure) = failure {
            report::failure(&failure);
        }
        done.push(plan);
    }
    for input in &job.delivery.inputs {
        let (plan, failure) = job.preview(input).await;
        if !form.is_json() {
            report::print(&plan.paragraph())?;
        }
        if let Some(failure) = failure {
            report::failure(&failure);
        }
        done.push(plan);
    }
    match done.as_slice() {
        [one] if form.is_json() => report::json(one)?,
        many if form.is_json() => report::json(&Plans::new(many))?,
        [_] if job.delivery.is_fetched() => {
            report::print("nothing was written; this is the first piece that a run would fetch\n")?;
        }
        [_] => report::print("nothing was written\n")?,
        _ => report::print("nothing was written; each file was held against the store as it is now\n")?,
    }
    Ok(if done.iter().any(PlanReport::is_failed) {
        Exit::CouldNot
    } else if done.iter().any(PlanReport::is_held) {
        Exit::Findings
    } else {
        Exit::Fine
    })
}

impl Job {
    async fn preview(&self, input: &Input) -> (PlanReport, Option<Failure>) {
        let opened = async {
            let batch = input.open().await?;
            Ok(match &self.delivery.batch_id {
                Some(id) => batch.with_id(id.clone()),
                None => batch,
            })
        };
        self.preview_of(input.name(), opened.await).await
    }

    /// Holds a batch against the store, if it could be read.
    async fn preview_of(
        &self,
        source: String,
        batch: Result<Batch, Failure>,
    ) -> (PlanReport, Option<Failure>) {
        let declared = self.delivery.pipeline.declared();
        let way = Way {
            pipeline: self.delivery.pipeline.name().to_owned(),
            source,
            target: declared.target().table.to_string(),
            store: self.store.place(),
        };
        let mut batch_id = None;
        let found = async {
            let batch = batch?;
            batch_id = Some(batch.id());
            let pipeline = self.delivery.pipeline.clone();
            let preview = pipeline.preview(&self.store, &batch, self.samples).await.map_err(|error| {
                Failure::from(error).with_hint(|error| hint::absent_key(error, &pipeline, &batch))
            })?;
            let plan = preview.plan.clone();
            let warnings = blocking(move || spellings::warnings(&pipeline, &plan, &batch)).await?;
            Ok::<(Preview, Vec<String>), Failure>((preview, warnings))
        };
        match found.await {
            Ok((preview, warnings)) => {
                (PlanReport::new(way, batch_id.unwrap_or_default(), declared, preview, warnings), None)
            }
            Err(failure) => (PlanReport::failed(way, batch_id, declared, &failure), Some(failure)),
        }
    }
}
