//! The user's file, cut short as transports cut it: in the middle, to nothing, at a record's end.
//!
//! Files are read and written as streams: a file of many gigabytes costs a buffer. Where a record ends is found in
//! `records`; this file knows names, packing, and where the result goes.

mod records;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use records::Format;

/// How a file is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Half of its bytes: inside a record, a gzip block, a JSON array.
    Middle,
    /// All of them: the file is empty.
    Nothing,
    /// At the end of a record near the middle, so that the rest looks whole (for gzip and zstd: unpacked, cut, packed; a CSV
    /// keeps its header; a JSON array is closed again).
    Record,
}

/// Writes the cut file into this folder under the same base name; `None` where it can't be cut so: too short, or, for
/// [`Cut::Record`], of a format whose records we don't know.
///
/// Fails when the file can't be read, the folder can't be written, or the file lies in that very folder.
pub fn cut(file: &Path, how: Cut, folder: &Path) -> Result<Option<PathBuf>> {
    let name = file.file_name().ok_or_else(|| Error::new(format!("`{}` is no file", file.display())))?;
    let target = folder.join(name);
    // Opened before the target is made, or we could empty what we are about to read.
    let source = File::open(file).map_err(|source| cannot("read", file, source))?;
    if target.canonicalize().ok().is_some_and(|target| file.canonicalize().is_ok_and(|file| file == target)) {
        return Err(Error::new(format!(
            "the cut file would replace `{}`; give another folder",
            file.display()
        )));
    }
    let is_cut = match how {
        Cut::Middle => half(source, &target),
        Cut::Nothing => nothing(&source, &target),
        Cut::Record => at_record(source, Path::new(name), &target),
    };
    match is_cut {
        Ok(true) => Ok(Some(target)),
        Ok(false) => Ok(None),
        Err(source) => Err(cannot("cut", file, source)),
    }
}

fn cannot(what: &str, file: &Path, source: io::Error) -> Error {
    Error::because(format!("could not {what} the input file `{}`", file.display()), source)
}

fn nothing(source: &File, target: &Path) -> io::Result<bool> {
    if source.metadata()?.len() == 0 {
        return Ok(false);
    }
    File::create(target)?;
    Ok(true)
}

fn half(mut source: File, target: &Path) -> io::Result<bool> {
    let length = source.metadata()?.len();
    if length < 2 {
        return Ok(false);
    }
    let at = inside_a_record(&mut source, length)?;
    copy_start(&mut source, at, &mut File::create(target)?)?;
    Ok(true)
}

/// The middle, or the next place after it that isn't beside white space: a cut between two lines would tear no record.
fn inside_a_record(source: &mut File, length: u64) -> io::Result<u64> {
    let middle = length / 2;
    source.seek(SeekFrom::Start(middle - 1))?;
    let mut around = Vec::new();
    (&*source).take(256).read_to_end(&mut around)?;
    let beyond = around.windows(2).position(|pair| !pair.iter().any(u8::is_ascii_whitespace));
    Ok(middle + beyond.unwrap_or(0) as u64)
}

fn copy_start(source: &mut File, length: u64, out: &mut dyn Write) -> io::Result<()> {
    source.seek(SeekFrom::Start(0))?;
    let copied = io::copy(&mut source.take(length), out)?;
    if copied < length {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the file became shorter while it was read",
        ));
    }
    Ok(())
}

fn at_record(source: File, name: &Path, target: &Path) -> io::Result<bool> {
    match extension(name).as_deref() {
        Some("gz" | "gzip") => {
            let mut plain = tempfile::tempfile()?;
            io::copy(&mut flate2::read::MultiGzDecoder::new(BufReader::new(source)), &mut plain)?;
            let Some(cut) = find(&mut plain, name.file_stem())? else { return Ok(false) };
            let out = BufWriter::new(File::create(target)?);
            let mut out = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            write_cut(&mut plain, &cut, &mut out)?;
            out.finish()?.flush()?;
        }
        Some("zst" | "zstd") => {
            let mut plain = tempfile::tempfile()?;
            zstd::stream::copy_decode(BufReader::new(source), &mut plain)?;
            let Some(cut) = find(&mut plain, name.file_stem())? else { return Ok(false) };
            let out = BufWriter::new(File::create(target)?);
            let mut out = zstd::stream::write::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
            write_cut(&mut plain, &cut, &mut out)?;
            out.finish()?.flush()?;
        }
        _ => {
            let mut plain = source;
            let Some(cut) = find(&mut plain, Some(name.as_os_str()))? else { return Ok(false) };
            let mut out = BufWriter::new(File::create(target)?);
            write_cut(&mut plain, &cut, &mut out)?;
            out.flush()?;
        }
    }
    Ok(true)
}

/// Where the unpacked file of this name is cut, if we know its records and there are at least two.
fn find(plain: &mut File, name: Option<&OsStr>) -> io::Result<Option<records::End>> {
    let format = match name.map(Path::new).and_then(extension).as_deref() {
        Some("csv" | "tsv" | "tab" | "psv") => Format::Csv,
        Some("json" | "geojson") => Format::Json,
        // `export.20240101` and `export` are lines as often as not; what is no text is found out below.
        Some("ndjson" | "jsonl" | "ldjson" | "geojsonl" | "geojsons" | "txt" | "log" | "dat") | None => {
            Format::Lines
        }
        Some(other) if other.bytes().all(|byte| byte.is_ascii_digit()) => Format::Lines,
        Some(_) => return Ok(None),
    };
    plain.seek(SeekFrom::Start(0))?;
    let mut start = Vec::new();
    (&*plain).take(8192).read_to_end(&mut start)?;
    // Binary, or UTF-16: its ends of lines aren't where we would look for them.
    if start.contains(&0) {
        return Ok(None);
    }
    let length = plain.metadata()?.len();
    plain.seek(SeekFrom::Start(0))?;
    records::end_near(length / 2, format, BufReader::with_capacity(64 * 1024, plain))
}

fn write_cut(plain: &mut File, cut: &records::End, out: &mut dyn Write) -> io::Result<()> {
    copy_start(plain, cut.at, out)?;
    out.write_all(cut.closed_with)
}

fn extension(name: &Path) -> Option<String> {
    name.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase)
}
