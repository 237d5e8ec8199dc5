//! The progress bar: on stderr, only if that is a terminal, and only once a batch has taken a moment.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use landonce::{Batch, Progress};

use crate::interrupt::Gate;

/// How long a batch may take before a bar is drawn.
const MOMENT: Duration = Duration::from_millis(250);

/// One batch's bar.
#[derive(Debug)]
pub(crate) struct Bar {
    bar: ProgressBar,
    appears: Option<tokio::task::JoinHandle<()>>,
}

impl Bar {
    /// A bar for a batch; it never draws unless `is_wanted` and stderr is a terminal.
    pub(crate) fn new(name: &str, is_wanted: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if !is_wanted || !std::io::stderr().is_terminal() {
            return Self { bar, appears: None };
        }
        bar.set_style(style("{spinner} {prefix}  {msg}  {elapsed}"));
        bar.set_prefix(name.to_owned());
        bar.set_message("reading");
        let shown = bar.clone();
        let appears = tokio::spawn(async move {
            tokio::time::sleep(MOMENT).await;
            shown.set_draw_target(ProgressDrawTarget::stderr());
            shown.enable_steady_tick(Duration::from_millis(100));
        });
        Self { bar, appears: Some(appears) }
    }

    /// What the engine tells of the pieces of a fetch, whose lengths nobody knows before.
    pub(crate) fn told_of_pieces(&self, gate: Gate) -> Arc<dyn Fn(Progress) + Send + Sync> {
        let bar = self.bar.clone();
        Arc::new(move |progress| match progress {
            Progress::Read { records, .. } => bar.set_message(format!("{records} records of a piece read")),
            Progress::Committing => gate.commit(),
            Progress::ToWrite { .. } | Progress::Written { .. } | Progress::Retry { .. } => {}
        })
    }

    /// Says something without the bar in its way.
    pub(crate) fn suspend<T>(&self, say: impl FnOnce() -> T) -> T {
        self.bar.suspend(say)
    }

    /// What the engine tells: the bar moves, and the gate learns of a COMMIT before it is sent.
    pub(crate) fn told(&self, batch: &Batch, gate: Gate) -> Arc<dyn Fn(Progress) + Send + Sync> {
        let bar = self.bar.clone();
        let len = batch.len();
        // A compressed file's bytes say nothing about how many records are still to come.
        let is_compressed = [".gz", ".gzip", ".zst", ".zstd"]
            .iter()
            .any(|end| batch.source().to_ascii_lowercase().ends_with(end));
        Arc::new(move |progress| match progress {
            Progress::Read { records, offset } => {
                if !is_compressed && bar.length().is_none() {
                    bar.set_length(len);
                    bar.set_style(style("{spinner} {prefix}  {bar:30} {bytes} of {total_bytes}  {msg}"));
                }
                bar.set_position(offset);
                bar.set_message(format!("{records} records read"));
            }
            Progress::ToWrite { rows } => {
                bar.set_length(rows);
                bar.set_position(0);
                bar.set_style(style("{spinner} {prefix}  {bar:30} {pos} of {len} rows written"));
            }
            Progress::Written { rows } => bar.set_position(rows),
            Progress::Retry { attempt } => {
                bar.unset_length();
                bar.set_style(style("{spinner} {prefix}  {msg}  {elapsed}"));
                bar.set_message(format!("attempt {attempt} failed for a passing reason; trying again"));
            }
            Progress::Committing => gate.commit(),
        })
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(appears) = &self.appears {
            appears.abort();
        }
        self.bar.finish_and_clear();
    }
}

/// The bar of many periods.
#[derive(Debug)]
pub(crate) struct PeriodsBar(Bar);

impl PeriodsBar {
    /// A bar for so many periods; it never draws unless `is_wanted` and stderr is a terminal.
    pub(crate) fn new(name: &str, count: usize, is_wanted: bool) -> Self {
        let bar = Bar::new(name, is_wanted);
        bar.bar.set_message("");
        bar.bar.set_length(count as u64);
        bar.bar.set_style(style("{spinner} {prefix}  {bar:30} {pos} of {len} periods{msg}  {elapsed}"));
        Self(bar)
    }

    /// So many are done, and so many of them have failed.
    pub(crate) fn done(&self, count: usize, failed: usize) {
        self.0.bar.set_position(count as u64);
        if failed > 0 {
            self.0.bar.set_message(format!(", {failed} failed"));
        }
    }

    /// Says something without the bar in its way.
    pub(crate) fn suspend<T>(&self, say: impl FnOnce() -> T) -> T {
        self.0.bar.suspend(say)
    }
}

fn style(template: &str) -> ProgressStyle {
    // A template is fixed text; a broken one costs the bar its looks and nothing else.
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}
