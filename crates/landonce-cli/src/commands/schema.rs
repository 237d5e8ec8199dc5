//! `landonce schema`: the JSON Schema of pipeline files, for editors.

use landonce::Spec;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::report;

pub(super) fn run() -> Result<Exit, Failure> {
    report::bytes(Spec::json_schema().as_bytes())?;
    Ok(Exit::Fine)
}
