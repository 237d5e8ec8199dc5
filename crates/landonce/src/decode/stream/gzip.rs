//! gzip: any number of members, each with its header, CRC and length checked, and nothing behind the last but zeros.
//!
//! One decoder per member instead of flate2's `MultiGzDecoder`: what may come between and behind members is decided here,
//! and an error is never followed by an end.

use std::io::{BufRead, Read};

use flate2::bufread::GzDecoder;

use super::{Compressed, DecodeError, Stream, explain, taken};

const GZIP: &str = "gzip";

/// A gzip stream.
pub(super) struct Gzip {
    /// The member being read; `None` once the end is proved.
    member: Option<GzDecoder<Compressed>>,
}

impl Gzip {
    /// The stream of `from`, which begins with a gzip header or with a part of one.
    pub(super) fn new(from: Compressed) -> Self {
        Self { member: Some(GzDecoder::new(from)) }
    }

    /// Looks behind a member: another one, padding, or the end.
    fn next_member(mut from: Compressed) -> Result<Option<GzDecoder<Compressed>>, DecodeError> {
        let mut is_padding = false;
        loop {
            let rest = match from.fill_buf() {
                Ok(rest) => rest,
                Err(error) => return Err(explain(GZIP, &mut from, &error)),
            };
            let Some(&first) = rest.first() else { return Ok(None) };
            if first == 0x1f && !is_padding {
                return Ok(Some(GzDecoder::new(from)));
            }
            // Tapes and some object stores pad with zeros; anything else isn't ours to explain away.
            let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
            if zeros < rest.len() {
                let offset = taken(&from) + zeros as u64;
                let detail = "bytes follow its last member that are neither a member nor padding".to_owned();
                return Err(DecodeError::Corrupt { compression: GZIP, offset, detail, records: 0 });
            }
            from.consume(zeros);
            is_padding = true;
        }
    }
}

impl Stream for Gzip {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, DecodeError> {
        while let Some(member) = &mut self.member {
            match member.read(into) {
                Ok(0) => {}
                Ok(read) => return Ok(read),
                Err(error) => return Err(explain(GZIP, member.get_mut(), &error)),
            }
            let ended = self.member.take();
            self.member = ended.map(|member| Self::next_member(member.into_inner())).transpose()?.flatten();
        }
        Ok(0)
    }
}
