//! Names that mean something wherever they stand: of runs, of clocks. Which rule they matter to is left to the rules.

/// Whether a name (lower-case) is that of a run: `run_id`, `batch_id`, `invocation_id`, `self.run.id`, `ctx["run_id"]`.
pub(crate) fn is_run_id(name: &str) -> bool {
    const RUNS: [&str; 16] = [
        "run_id",
        "runid",
        "batch_id",
        "batchid",
        "execution_id",
        "executionid",
        "invocation_id",
        "invocationid",
        "job_id",
        "jobid",
        "load_id",
        "loadid",
        "attempt_id",
        "try_number",
        "job_run_id",
        "task_instance_key_str",
    ];
    name.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| RUNS.contains(&word))
        || ["run.id", "batch.id", "job.id", "execution.id", "attempt.id"]
            .iter()
            .any(|path| name.ends_with(path))
}
