//! A program whose output is read, as it is meant.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Pipeline;
use super::check::{Checked, fault};
use super::feed::Fill;
use crate::spec::{CommandSpec, SingerSpec};

/// How long a program may run.
const TIMEOUT: Duration = Duration::from_hours(1);

/// A program whose standard output is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFeed {
    /// The program and its arguments, with the period's placeholders still in them; never empty.
    pub run: Vec<String>,
    /// Variables of its environment, with `${NAME}` still in their values.
    pub env: BTreeMap<String, String>,
    /// The longest that it may run.
    pub timeout: Duration,
    /// The folder that it runs in, relative to the pipeline file.
    pub folder: String,
    /// The stream that is taken, if it is a Singer tap.
    pub singer: Option<SingerSpec>,
}

impl CommandFeed {
    /// Reads what is declared.
    pub(super) fn new(spec: CommandSpec) -> Checked<Self> {
        if spec.run.first().is_none_or(String::is_empty) {
            return fault("source.command.run", "a program is due: `run: [python3, extract.py]`");
        }
        if spec.run.iter().any(|argument| argument.contains('\0')) {
            return fault("source.command.run", "an argument can't hold U+0000");
        }
        if spec.run.iter().any(|argument| argument.contains("${")) {
            return fault(
                "source.command.run",
                "`${NAME}` can't stand here, where every user of the machine can read it: give it to the program with `env`",
            );
        }
        let is_name = |name: &String| !name.is_empty() && !name.contains(['=', '\0']);
        if let Some(name) = spec.env.keys().find(|name| !is_name(name)) {
            return fault("source.command.env", format!("`{}` is no variable's name", name.escape_debug()));
        }
        if let Some(singer) = &spec.singer {
            if singer.stream.is_empty() {
                return fault("source.command.singer.stream", "the name of a stream is due");
            }
            if singer.ignore.contains(&singer.stream) {
                return fault("source.command.singer.ignore", "names the stream that is taken");
            }
        }
        Ok(Self {
            run: spec.run,
            env: spec.env,
            timeout: spec.timeout.map_or(Ok(TIMEOUT), |text| duration("source.command.timeout", &text))?,
            folder: spec.folder.unwrap_or_else(|| ".".to_owned()),
            singer: spec.singer,
        })
    }

    /// Rules that need the whole pipeline.
    pub(super) fn across(&self, pipeline: &Pipeline) -> Checked<()> {
        if self.singer.is_some() && pipeline.source.format.is_some() {
            return fault(
                "source.format",
                "a Singer tap's messages have a format of their own; leave it out",
            );
        }
        let whole = pipeline.write.whole.as_ref();
        if let (Some(_), Some(whole)) = (&self.singer, whole) {
            return fault(
                "source.command.singer",
                format!(
                    "goes with `write.mode: insert_once` or `upsert`: a run in mode `{}` speaks for all rows, and a tap that has a \
                     state gives a part of them",
                    whole.mode_name()
                ),
            );
        }
        Ok(())
    }

    /// The program of one period's run.
    pub(super) fn filled(&self, fill: &mut Fill<'_>) -> Checked<Self> {
        let run = self.run.iter().map(|argument| fill("source.command.run", argument));
        Ok(Self { run: run.collect::<Checked<_>>()?, ..self.clone() })
    }
}

/// A length of time above zero, as people write it: `30s`, `5m`, `1h 30m`.
pub(super) fn duration(key: &'static str, text: &str) -> Checked<Duration> {
    let parsed = text.trim().parse::<jiff::SignedDuration>().ok();
    match parsed.and_then(|parsed| Duration::try_from(parsed).ok()).filter(|parsed| !parsed.is_zero()) {
        Some(duration) => Ok(duration),
        None => fault(
            key,
            format!(
                "a length of time above zero is due (`30s`, `5m`, `1h`), not `{}`",
                crate::bad_record::shorten(text)
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::Feed;
    use crate::spec::Spec;

    fn declared(command: &str) -> Result<CommandFeed, String> {
        let yaml =
            format!("pipeline: p\nidentity: [id]\ntarget: {{table: t}}\nsource:\n  command: {command}\n");
        let spec = Spec::parse(&yaml).map_err(|error| error.to_string())?;
        match Pipeline::new(spec).map_err(|error| error.to_string())?.source.feed {
            Feed::Command(feed) => Ok(*feed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_program_has_defaults() {
        let feed = declared("{run: [tap, -x]}").unwrap();
        assert_eq!((feed.timeout, feed.folder.as_str()), (TIMEOUT, "."));
        let feed = declared("{run: [tap], timeout: 1h 30m, env: {KEY: '${KEY}'}}").unwrap();
        assert_eq!(feed.timeout, Duration::from_mins(90));
    }

    #[test]
    fn what_cannot_be_run_is_told_with_its_key() {
        for (command, want) in [
            ("{run: []}", "source.command.run: a program is due"),
            ("{run: [tap, '${KEY}']}", "source.command.run: `${NAME}` can't stand here"),
            ("{run: [tap], env: {'A=B': x}}", "source.command.env"),
            ("{run: [tap], timeout: -1s}", "source.command.timeout"),
            ("{run: [tap, '{period.start}']}", "isn't loaded by periods"),
            ("{run: [tap], singer: {stream: a, ignore: [a]}}", "source.command.singer.ignore"),
            ("{run: [tap], shell: true}", "shell"),
        ] {
            let told = declared(command).unwrap_err();
            assert!(told.contains(want), "{command}: {told}");
        }
    }
}
