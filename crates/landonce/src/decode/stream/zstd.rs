//! Zstandard: any number of frames, each complete, and nothing behind the last.

use std::io::{self, Read};

use ::zstd::stream::read::Decoder;

use super::{Compressed, DecodeError, Stream, explain};

/// A Zstandard stream.
pub(super) struct Zstd(Decoder<'static, Compressed>);

impl Zstd {
    /// The stream of `from`. Windows up to 128 MiB are read, as by the `zstd` command.
    pub(super) fn new(from: Compressed) -> Result<Self, DecodeError> {
        let decoder = Decoder::with_buffer(from).map_err(|source| DecodeError::Read { offset: 0, source })?;
        Ok(Self(decoder))
    }
}

impl Stream for Zstd {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, DecodeError> {
        loop {
            match self.0.read(into) {
                Ok(read) => return Ok(read),
                Err(again) if again.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(explain("zstd", self.0.get_mut(), &error)),
            }
        }
    }
}
