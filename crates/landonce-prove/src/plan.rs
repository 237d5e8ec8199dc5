//! What a user asks a proof to do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::scenario::Scenario;

/// How many moments a scenario tries by default.
const TRIALS: usize = 8;

/// What to prove, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) database: String,
    pub(crate) command: Vec<String>,
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) setup: Option<String>,
    pub(crate) input: Option<PathBuf>,
    pub(crate) seed: u64,
    pub(crate) ignore: Vec<String>,
    pub(crate) in_place: Option<String>,
    pub(crate) only: Option<String>,
    pub(crate) trials: usize,
    pub(crate) timeout: Option<Duration>,
    pub(crate) folder: PathBuf,
    pub(crate) lets_calls_out: bool,
}

impl Plan {
    /// The database (it is only read) and the command, whose arguments may hold `{db}` and `{input}`.
    pub fn new(database: impl Into<String>, command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            database: database.into(),
            command: command.into_iter().map(Into::into).collect(),
            scenarios: Scenario::ALL.to_vec(),
            setup: None,
            input: None,
            seed: 1,
            ignore: Vec::new(),
            in_place: None,
            only: None,
            trials: TRIALS,
            timeout: None,
            folder: PathBuf::from("."),
            lets_calls_out: false,
        }
    }

    /// Only these scenarios; all of them by default.
    #[must_use]
    pub fn scenarios(mut self, scenarios: impl IntoIterator<Item = Scenario>) -> Self {
        self.scenarios = scenarios.into_iter().collect();
        self
    }

    /// A shell command that prepares the base copy once (DDL, seed rows), with the database in its environment.
    #[must_use]
    pub fn setup(mut self, command: impl Into<String>) -> Self {
        self.setup = Some(command.into());
        self
    }

    /// The command's input: replaces `{input}`, or the argument that names it. `truncated` needs it.
    #[must_use]
    pub fn input(mut self, file: impl Into<PathBuf>) -> Self {
        self.input = Some(file.into());
        self
    }

    /// Chooses the moments of faults: the same seed, the same moments.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// What may differ: `table.column`, or `table.*` for a whole table.
    #[must_use]
    pub fn ignore(mut self, what: impl Into<String>) -> Self {
        self.ignore.push(what.into());
        self
    }

    /// A scratch database of the same server that may be emptied, where no database can be created.
    #[must_use]
    pub fn in_place(mut self, url: impl Into<String>) -> Self {
        self.in_place = Some(url.into());
        self
    }

    /// Only the trial with this id, as a finding's replay names it.
    #[must_use]
    pub fn only(mut self, id: impl Into<String>) -> Self {
        self.only = Some(id.into());
        self
    }

    /// How many moments a scenario tries at most (8 by default).
    #[must_use]
    pub fn trials(mut self, most: usize) -> Self {
        self.trials = most.max(1);
        self
    }

    /// How long one run may take. By default ten times as long as the first clean run, and 20 s more.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// The folder that the command works in (copied for every trial); the current one by default.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// Lets the command's HTTP calls out in every scenario but `notified`, each as often as there are runs. By default calls
    /// that may have an effect (POST, PUT …) are answered `200 {}` and go nowhere; those that only read are passed on.
    #[must_use]
    pub fn let_calls_out(mut self) -> Self {
        self.lets_calls_out = true;
        self
    }
}

impl Plan {
    /// The command line that replays one trial.
    pub(crate) fn replay(&self, scenario: Scenario, trial: &str) -> String {
        // A URL with a password stays out of reports.
        let has_secret = self.database.split_once("://").is_some_and(|(_, rest)| rest.contains('@'))
            || self.database.contains("password");
        let database = if has_secret { "\"$DATABASE_URL\"".to_owned() } else { quoted(&self.database) };
        let mut words: Vec<String> = vec!["landonce".into(), "prove".into(), "--db".into(), database];
        let mut option = |name: &str, value: &str| {
            words.push(name.into());
            words.push(quoted(value));
        };
        if let Some(setup) = &self.setup {
            option("--setup", setup);
        }
        if let Some(input) = &self.input {
            option("--input", &input.display().to_string());
        }
        for what in &self.ignore {
            option("--ignore", what);
        }
        if self.folder != Path::new(".") {
            option("--folder", &self.folder.display().to_string());
        }
        // How many moments there are decides which they are.
        if self.trials != TRIALS {
            option("--trials", &self.trials.to_string());
        }
        if let Some(limit) = self.timeout {
            option("--timeout", &limit.as_secs().max(1).to_string());
        }
        option("--scenario", scenario.name());
        option("--only", trial);
        option("--seed", &self.seed.to_string());
        if self.lets_calls_out {
            words.push("--let-calls-out".into());
        }
        if self.in_place.is_some() {
            words.extend(["--in-place", "\"$SCRATCH_URL\""].map(str::to_owned));
        }
        words.push("--".into());
        words.extend(self.command.iter().map(|word| quoted(word)));
        words.join(" ")
    }
}

/// A word as a POSIX shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+{}".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_is_a_command_line_for_a_shell() {
        let plan =
            Plan::new("postgres://u:secret@h/d", ["sh", "-c", "psql -f 'a b.sql'"]).ignore("runs.*").seed(7);
        assert_eq!(
            plan.replay(Scenario::Killed, "killed:after:3"),
            r#"landonce prove --db "$DATABASE_URL" --ignore 'runs.*' --scenario killed --only killed:after:3 --seed 7 -- sh -c 'psql -f '\''a b.sql'\'''"#
        );
    }

    #[test]
    fn a_replay_chooses_the_same_moments_in_the_same_place() {
        let plan = Plan::new("postgres://h/d", ["load"])
            .trials(4)
            .folder("etl")
            .timeout(Duration::from_secs(90))
            .in_place("postgres://u:secret@h/scratch");
        assert_eq!(
            plan.replay(Scenario::Twice, "twice"),
            r#"landonce prove --db postgres://h/d --folder etl --trials 4 --timeout 90 --scenario twice --only twice --seed 1 --in-place "$SCRATCH_URL" -- load"#
        );
    }
}
