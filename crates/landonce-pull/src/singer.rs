//! A Singer tap: SCHEMA, RECORD and STATE messages, a line each. What stands before a STATE may land, and that state with it, in one
//! transaction; the next run hands it back to the tap. What a tap that dies has written behind its last STATE is not taken.

mod message;

use std::ffi::OsString;
use std::io::Write as _;

use landonce::Pipeline;
use landonce_core::pipeline::{CommandFeed, IdentityFrom};
use landonce_core::spec::SingerSpec;
use tempfile::NamedTempFile;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::ChildStdout;

use crate::command::process::{Program, Setting};
use crate::error::Error;
use crate::fetch::{Fetch, Limits, Pending, Piece};
use crate::gather::{Gathered, spooling};
use message::{Message, Reader};

/// How much longer than a record a line may be.
const AROUND: u64 = 64 << 10;

/// A tap that is run.
pub(crate) struct SingerFetch {
    setting: Setting,
    spec: SingerSpec,
    /// The fields that make a record's identity in the pipeline, where fields do.
    identity: Option<Vec<String>>,
    max_record: u64,
    source: String,
    /// What the tap has been handed, or has given since.
    state: Option<String>,
    landed: Option<String>,
    is_started: bool,
    running: Option<Running>,
    reader: Reader,
    line: u64,
    /// Streams that have come and aren't taken.
    others: Vec<String>,
    has_schema: bool,
    /// Why the tap failed, to be told behind what could be taken.
    failed: Option<Error>,
    is_over: bool,
}

struct Running {
    program: Program,
    lines: BufReader<ChildStdout>,
    /// The state that it reads at its start; gone with us.
    _state: Option<NamedTempFile>,
}

impl SingerFetch {
    /// What a pipeline declares.
    pub(crate) fn new(pipeline: &Pipeline, feed: &CommandFeed, spec: &SingerSpec) -> Result<Self, Error> {
        let setting = Setting::new(pipeline, feed)?;
        let identity = match &pipeline.declared().identity().from {
            IdentityFrom::Fields { names, .. } => Some(names.clone()),
            IdentityFrom::SenderId(field) => Some(vec![field.clone()]),
            IdentityFrom::Content(_) => None,
        };
        Ok(Self {
            source: format!("{}, stream {}", setting.shown(), spec.stream),
            setting,
            spec: spec.clone(),
            identity,
            max_record: pipeline.declared().source().max_record,
            state: None,
            landed: None,
            is_started: false,
            running: None,
            reader: Reader::default(),
            line: 0,
            others: Vec::new(),
            has_schema: false,
            failed: None,
            is_over: false,
        })
    }

    fn start(&self) -> Result<Running, Error> {
        let mut arguments: Vec<OsString> = Vec::new();
        for (flag, file) in [("--config", &self.spec.config), ("--catalog", &self.spec.catalog)] {
            if let Some(file) = file {
                arguments.extend([flag.into(), file.into()]);
            }
        }
        let state = self.state.as_deref().map(state_file).transpose()?;
        if let Some(file) = &state {
            arguments.extend(["--state".into(), file.path().into()]);
        }
        let (program, stdout) = Program::start(&self.setting, &arguments)?;
        Ok(Running { program, lines: BufReader::with_capacity(128 * 1024, stdout), _state: state })
    }

    /// The next line, without its end; false behind the last one. A program that has failed has no last line.
    async fn line(&mut self, to: &mut Vec<u8>) -> Result<bool, Error> {
        to.clear();
        if !self.is_started {
            self.running = Some(self.start()?);
            self.is_started = true;
        }
        let Some(running) = &mut self.running else { return Ok(false) };
        let most = self.max_record.saturating_add(AROUND);
        loop {
            let read = running.program.in_time(running.lines.fill_buf()).await?;
            let found =
                read.map_err(|error| running.program.failed(&format!("its output can't be read: {error}")))?;
            if found.is_empty() {
                break;
            }
            let end = found.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(found.len(), |end| end + 1);
            to.extend_from_slice(&found[..end.unwrap_or(taken)]);
            running.lines.consume(taken);
            if to.len() as u64 > most {
                return Err(running.program.failed(&format!(
                    "line {} is longer than {most} bytes (`source.max_record`)",
                    self.line + 1
                )));
            }
            if end.is_some() {
                self.line += 1;
                return Ok(true);
            }
        }
        if let Some(running) = self.running.take() {
            running.program.ended().await?;
        }
        self.line += 1;
        Ok(!to.is_empty())
    }

    async fn piece(&mut self, limits: Limits) -> Result<Option<Piece>, Error> {
        let mut gathered = Gathered::with_limit(self.max_record);
        let mut line = Vec::new();
        loop {
            match self.message(&mut line, &mut gathered).await {
                Ok(Next::Record) => {}
                Ok(Next::State) => {
                    gathered.seal();
                    if gathered.count() >= limits.records || gathered.bytes() >= limits.bytes {
                        break;
                    }
                }
                // All there is has been seen, so what stands behind the last state is whole, too; it comes again.
                Ok(Next::End) => {
                    self.is_over = true;
                    self.check_stream()?;
                    gathered.seal();
                    break;
                }
                Err(error) => {
                    self.running = None;
                    if gathered.sealed() == 0 {
                        self.failed = Some(self.failed_before());
                        return Err(error);
                    }
                    self.failed = Some(error);
                    break;
                }
            }
        }
        if gathered.sealed() == 0 && self.state == self.landed {
            return Ok(None);
        }
        self.landed.clone_from(&self.state);
        Ok(Some(Piece {
            payload: gathered.into_sealed(&self.source)?,
            next: self.state.clone(),
            is_all: None,
        }))
    }

    /// Reads a message and takes what is ours.
    async fn message(&mut self, line: &mut Vec<u8>, gathered: &mut Gathered) -> Result<Next, Error> {
        loop {
            if !self.line(line).await? {
                return Ok(Next::End);
            }
            let number = self.line;
            let message = self.reader.read(line).map_err(|why| {
                Error::Unreadable(format!("{}: line {number} of its output: {why}", self.setting.shown()))
            })?;
            match message {
                Message::Blank => {}
                Message::State(value) => {
                    self.state = Some(value.to_owned());
                    return Ok(Next::State);
                }
                Message::Schema { stream, keys } => {
                    let stream = stream.into_owned();
                    if self.takes(&stream)? {
                        self.check_keys(&keys)?;
                        self.has_schema = true;
                    }
                }
                Message::Record { stream, record } => {
                    if *stream == *self.spec.stream {
                        if !self.has_schema {
                            return Err(Error::Unreadable(format!(
                                "{}: line {number} of its output: a RECORD of stream `{stream}` before its SCHEMA",
                                self.setting.shown()
                            )));
                        }
                        gathered.record(number, record.as_bytes())?;
                        return Ok(Next::Record);
                    }
                    let stream = stream.into_owned();
                    self.takes(&stream)?;
                }
                Message::Version { stream } => {
                    let stream = stream.into_owned();
                    self.takes(&stream)?;
                }
            }
        }
    }

    /// Whether a stream is the one that is taken; an error for one that nobody has spoken of.
    fn takes(&mut self, stream: &str) -> Result<bool, Error> {
        if *stream == *self.spec.stream {
            return Ok(true);
        }
        if !self.spec.ignore.iter().any(|ignored| ignored == stream) {
            return Err(Error::Inconsistent(format!(
                "{}: it gives the stream `{stream}`, and the pipeline takes `{}`: deselect it in the tap's catalogue, or name it under \
                 `source.command.singer.ignore`",
                self.setting.shown(),
                self.spec.stream
            )));
        }
        if !self.others.iter().any(|other| other == stream) {
            self.others.push(stream.to_owned());
        }
        Ok(false)
    }

    /// A tap's keys that aren't in the pipeline's identity are records that would become one row.
    fn check_keys(&self, keys: &[String]) -> Result<(), Error> {
        let Some(identity) = self.identity.as_ref().filter(|_| !self.spec.ignore_keys) else { return Ok(()) };
        let missing: Vec<&str> =
            keys.iter().filter(|key| !identity.contains(key)).map(String::as_str).collect();
        if !missing.is_empty() {
            return Err(Error::Inconsistent(format!(
                "{}: records of the stream `{}` differ by {}, says the tap (`key_properties`), and the pipeline's identity is {}: records \
                 would become one row that aren't one (`source.command.singer.ignore_keys: true` where they are)",
                self.setting.shown(),
                self.spec.stream,
                keys.join(", "),
                identity.join(", ")
            )));
        }
        if !keys.is_empty() && identity.len() > keys.len() {
            tracing::warn!(
                stream = self.spec.stream,
                ?keys,
                ?identity,
                "the identity has fields that the tap's key hasn't"
            );
        }
        Ok(())
    }

    fn failed_before(&self) -> Error {
        Error::Inconsistent(format!("{}: the tap has failed before", self.setting.shown()))
    }

    fn check_stream(&self) -> Result<(), Error> {
        if self.has_schema || self.others.is_empty() {
            return Ok(());
        }
        Err(Error::Inconsistent(format!(
            "{}: it gave no stream `{}`, but {}: is the name right, and is the stream selected in the tap's catalogue?",
            self.setting.shown(),
            self.spec.stream,
            self.others.join(", ")
        )))
    }
}

/// What has come.
enum Next {
    Record,
    State,
    End,
}

impl Fetch for SingerFetch {
    fn source(&self) -> String {
        self.source.clone()
    }

    fn begin(&mut self, next: Option<&str>) -> Pending<'_, ()> {
        self.state = next.map(str::to_owned);
        self.landed.clone_from(&self.state);
        Box::pin(async { Ok(()) })
    }

    fn next(&mut self, limits: Limits) -> Pending<'_, Option<Piece>> {
        Box::pin(async move {
            if let Some(error) = self.failed.take() {
                // Asked again, it fails again: it never gives an end.
                self.failed = Some(self.failed_before());
                return Err(error);
            }
            if self.is_over {
                return Ok(None);
            }
            self.piece(limits).await
        })
    }
}

/// The state as the tap reads it, in a file that nobody else may read.
fn state_file(state: &str) -> Result<NamedTempFile, Error> {
    let mut file = tempfile::Builder::new()
        .prefix("landonce-state-")
        .suffix(".json")
        .tempfile()
        .map_err(|error| spooling(&error))?;
    file.write_all(state.as_bytes()).map_err(|error| spooling(&error))?;
    Ok(file)
}
