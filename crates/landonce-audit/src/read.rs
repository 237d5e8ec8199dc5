//! Reads files on threads with deep stacks: a syntax tree is as deep as its author liked.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::UNREAD;
use crate::code::{self, Span, Unit, Unread};
use crate::file::{self, File};
use crate::finding::{Finding, Lines, Said};

/// A file that was read, or why it wasn't.
type Read = Result<Unit, Box<Finding>>;

/// Taken only as far as it is used.
const STACK: usize = 256 * 1024 * 1024;

/// Reads every file; gives the units in the files' order, and what isn't text.
pub(crate) fn files(files: &[File]) -> (Vec<Unit>, Vec<Finding>) {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Read)>> = Mutex::new(Vec::new());
    let work = || {
        while let Some((index, file)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            files.get(index).map(|file| (index, file))
        } {
            let read = one(file);
            match done.lock() {
                Ok(mut done) => done.push((index, read)),
                Err(poisoned) => poisoned.into_inner().push((index, read)),
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(files.len()).min(8);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            // Without another thread the work is done by those there are; without any, by this one below.
            let _ = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        }
    });
    work();
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    let (mut units, mut unread) = (Vec::new(), Vec::new());
    for (_, read) in done {
        match read {
            Ok(unit) => units.push(unit),
            Err(finding) => unread.push(*finding),
        }
    }
    (units, unread)
}

fn one(file: &File) -> Result<Unit, Box<Finding>> {
    let text = file::contents(&file.path).map_err(|why| Box::new(whole(file, why)))?;
    // The parsers are other people's: one file that breaks one of them must not end the audit.
    let read = catch_unwind(AssertUnwindSafe(|| code::read(file, text.clone())));
    Ok(read.unwrap_or_else(|_| Unit {
        path: file.path.clone(),
        language: file.language,
        functions: Vec::new(),
        unread: vec![Unread {
            span: Span { start: 0, end: 0 },
            why: "the parser broke down on this file".into(),
        }],
        text: text.into(),
    }))
}

/// A file of which nothing was read.
fn whole(file: &File, why: String) -> Finding {
    let mut finding = Finding::new(
        &UNREAD,
        crate::rule::Level::Warning,
        None,
        Said { message: why, fix: String::new(), is_fix_safe: false },
    );
    finding.file.clone_from(&file.path);
    finding
}

/// What a unit says it could not read.
pub(crate) fn unread(unit: &Unit, lines: &Lines<'_>) -> Vec<Finding> {
    let fix = "Check it by hand, or write the SQL as one constant text.";
    unit.unread
        .iter()
        .map(|it| {
            let said = Said { message: it.why.clone(), fix: fix.into(), is_fix_safe: false };
            Finding::new(&UNREAD, crate::rule::Level::Warning, Some((unit, lines, it.span)), said)
        })
        .collect()
}
