//! A program whose standard output is the payload: nothing of it lands before the program has ended with exit code 0.
//!
//! - `process` runs a program: its environment, its time, its end, the last lines of what it says;
//! - [`crate::singer`] reads a Singer tap, whose messages say themselves how far they may be taken.

pub(crate) mod process;

use std::io::Write as _;

use landonce::Pipeline;
use landonce_core::pipeline::CommandFeed;
use tokio::io::AsyncReadExt as _;

use crate::error::Error;
use crate::fetch::{Fetch, Limits, Pending, Piece};
use crate::gather::spooling;
use crate::spool::Spool;
use process::{Program, Setting};

/// How much is read at a time.
const CHUNK: usize = 128 * 1024;

/// A program that is run.
pub(crate) struct CommandFetch {
    setting: Setting,
    is_over: bool,
}

impl CommandFetch {
    /// What a pipeline declares.
    pub(crate) fn new(pipeline: &Pipeline, feed: &CommandFeed) -> Result<Self, Error> {
        Ok(Self { setting: Setting::new(pipeline, feed)?, is_over: false })
    }

    async fn piece(&mut self, limits: Limits) -> Result<Option<Piece>, Error> {
        let (mut program, mut stdout) = Program::start(&self.setting, &[])?;
        let mut to = Spool::new().map_err(|error| spooling(&error))?;
        let mut buffer = vec![0; CHUNK];
        loop {
            let read = program.in_time(stdout.read(&mut buffer)).await?;
            let read = read.map_err(|error| program.failed(&format!("its output can't be read: {error}")))?;
            if read == 0 {
                break;
            }
            to.write_all(&buffer[..read]).map_err(|error| spooling(&error))?;
        }
        program.ended().await?;
        let is_one = limits == Limits::NONE;
        // Nothing at all is nothing new, but for a run that speaks for all there is.
        if to.len() == 0 && !is_one {
            return Ok(None);
        }
        Ok(Some(Piece {
            payload: to.into_payload(self.setting.shown().to_owned())?,
            next: None,
            is_all: is_one.then(|| "the program ended with exit code 0".to_owned()),
        }))
    }
}

impl Fetch for CommandFetch {
    fn source(&self) -> String {
        self.setting.shown().to_owned()
    }

    fn begin(&mut self, _next: Option<&str>) -> Pending<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn next(&mut self, limits: Limits) -> Pending<'_, Option<Piece>> {
        Box::pin(async move {
            if self.is_over {
                return Ok(None);
            }
            // Only a program that has ended well is over; one that failed would run again, and fail again or not.
            let piece = self.piece(limits).await?;
            self.is_over = true;
            Ok(piece)
        })
    }
}
