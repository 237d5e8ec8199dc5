//! Tables in which tools write down their own runs. They grow with every run, and that is what they are for: told as a remark.
//!
//! A closed list of names, as a row with a moment in it, added once a run, may as well be a total that is added twice.

/// Tables that libraries make in the user's schema to log runs.
const TABLES: &[&str] = &[
    // dlt: one row for each load, with its load id and status.
    "_dlt_loads",
    // dlt: the pipeline's state, a new version of it where a run has changed it.
    "_dlt_pipeline_state",
];

/// Whether a table (with its schema, or without) is a tool's log of runs.
pub(crate) fn is_run_log(table: &str) -> bool {
    let name = table.rsplit('.').next().unwrap_or(table);
    TABLES.contains(&name.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_log_is_known_in_any_schema() {
        assert!(is_run_log("raw._dlt_loads") && is_run_log("_dlt_loads"));
        assert!(!is_run_log("raw.orders") && !is_run_log("raw.loads") && !is_run_log("_dlt_loads.orders"));
    }
}
