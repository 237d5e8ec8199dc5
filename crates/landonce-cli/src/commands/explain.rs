//! `landonce explain`: an error code's page.

use landonce::Code;
use serde::Serialize;

use crate::args::OutputForm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::report;

/// `landonce explain`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The code, for example L0401; all codes are listed when left out.
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

/// The JSON object.
#[derive(Serialize)]
struct Report {
    code: &'static str,
    title: &'static str,
    page: &'static str,
}

impl Report {
    fn new(code: Code) -> Self {
        Self { code: code.as_str(), title: title(code), page: code.page() }
    }
}

pub(super) fn run(args: &Args, form: OutputForm) -> Result<Exit, Failure> {
    let Some(given) = &args.code else {
        if form.is_json() {
            report::json(&Code::ALL.iter().copied().map(Report::new).collect::<Vec<_>>())?;
        } else {
            report::print(&listing())?;
        }
        return Ok(Exit::Fine);
    };
    let Ok(code) = given.trim_matches(|character| matches!(character, '[' | ']')).parse::<Code>() else {
        return Err(Failure::usage(
            format!("`{given}` is no code of landonce's"),
            format!("the codes are\n{}", listing().trim_end()),
        ));
    };
    if form.is_json() {
        report::json(&Report::new(code))?;
    } else {
        report::print(&format!("{}\n", code.page()))?;
    }
    Ok(Exit::Fine)
}

fn listing() -> String {
    Code::ALL.iter().map(|code| format!("  {code}  {}\n", title(*code))).collect()
}

/// The title: what stands behind the code in the page's heading.
fn title(code: Code) -> &'static str {
    let heading = code.page().lines().next().unwrap_or_default();
    heading.split_once(" · ").map_or(heading, |(_, title)| title)
}
