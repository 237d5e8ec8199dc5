//! `landonce run` of a pipeline whose source is fetched: piece by piece, each told as it has landed.

use std::ops::ControlFlow;
use std::time::Instant;

use jiff::Timestamp;
use landonce::{Batch, Error, Receipt};
use landonce_pull::Watch;

use super::Job;
use crate::args::OutputForm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::hint;
use crate::interrupt::Gate;
use crate::progress::Bar;
use crate::report::{self, BatchReport, Batches, Way};

/// What is told of the pieces.
struct Told<'a> {
    job: &'a Job,
    form: OutputForm,
    gate: &'a Gate,
    bar: Bar,
    way: Way,
    done: Vec<BatchReport>,
    /// When the piece at hand was begun.
    began: Instant,
    /// What the data of a piece that failed says about what was meant.
    hint: Option<String>,
    /// Nobody hears the report any more.
    failed: Option<Failure>,
}

impl Told<'_> {
    fn tell(&mut self, batch: BatchReport) -> Result<(), Failure> {
        let told = if self.form.is_json() {
            Ok(())
        } else {
            let width = report::line(&self.way.source).chars().count();
            self.bar.suspend(|| {
                report::print(&batch.one_line(width))?;
                report::print(&batch.notes())
            })
        };
        self.done.push(batch);
        self.began = Instant::now();
        told
    }
}

impl Watch for Told<'_> {
    fn landed(&mut self, receipt: &Receipt) -> ControlFlow<()> {
        let batch = BatchReport::landed(self.way.clone(), receipt, self.began.elapsed());
        let told = self.tell(batch);
        self.gate.settled();
        match told {
            Ok(()) if !self.gate.is_stopping() => ControlFlow::Continue(()),
            Ok(()) => ControlFlow::Break(()),
            Err(failure) => {
                self.failed = Some(failure);
                ControlFlow::Break(())
            }
        }
    }

    fn failed(&mut self, error: &Error, batch: &Batch) {
        self.hint = hint::absent_key(error, &self.job.delivery.pipeline, batch);
    }
}

pub(super) async fn run(job: &Job, form: OutputForm, gate: &Gate) -> Result<Exit, Failure> {
    let pipeline = &job.delivery.pipeline;
    // Before the first look at the source: what comes after it may be missing in what is read (C34).
    let started_at = Timestamp::now();
    let mut fetch = landonce_pull::open(pipeline)?;
    let way = Way {
        pipeline: pipeline.name().to_owned(),
        source: fetch.source(),
        target: pipeline.declared().target().table.to_string(),
        store: job.store.place(),
    };
    let bar = Bar::new(&report::line(&way.source), job.has_progress);
    let mut options = job.options.0.clone();
    options.started_at = Some(started_at);
    options.progress = Some(bar.told_of_pieces(gate.clone()));
    let run_id = options.run_id.unwrap_or_default();
    let (done, began) = (Vec::new(), Instant::now());
    let mut told = Told { job, form, gate, bar, way, done, began, hint: None, failed: None };
    let ended = landonce_pull::run(fetch.as_mut(), pipeline, &job.store, &options, &mut told).await;
    gate.settled();
    if let Err(error) = ended {
        let hint = told.hint.take();
        let failure = Failure::from(error).with_hint(|_| hint);
        let batch = BatchReport::failed(told.way.clone(), None, run_id, &failure, told.began.elapsed());
        told.tell(batch)?;
        report::failure(&failure);
    }
    let Told { done, failed, bar, .. } = told;
    drop(bar);
    if let Some(failure) = failed {
        return Err(failure);
    }
    if !form.is_json() {
        let total = Batches::new(&done).total(0);
        report::print(if done.is_empty() { "nothing new to fetch; nothing was written\n" } else { &total })?;
    }
    job.end(&done, false, form, gate).await
}
