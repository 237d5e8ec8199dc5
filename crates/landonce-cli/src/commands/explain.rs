//! `landonce explain`: the page of an error code, of what a proof finds, of an audit's rule.

use landonce::Code;
use landonce_prove::Class;
use serde::Serialize;

use crate::args::OutputForm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::report;

/// `landonce explain`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A code (L0401), what a proof found (blind-replay), an audit's rule (nullable-unique); all codes are listed when left
    /// out.
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

/// A page that isn't an error's.
#[derive(Serialize)]
struct Page {
    name: String,
    of: &'static str,
    #[serde(rename = "page")]
    text: &'static str,
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
    let pages = pages(given);
    if !pages.is_empty() {
        if form.is_json() {
            report::json(&pages)?;
        } else {
            report::print(&pages.iter().map(|page| page.text).collect::<Vec<_>>().join("\n"))?;
        }
        return Ok(Exit::Fine);
    }
    let Ok(code) = given.trim_matches(|character| matches!(character, '[' | ']')).parse::<Code>() else {
        return Err(Failure::usage(
            format!("`{given}` is no code of landonce's, no finding of a proof and no rule of an audit"),
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

/// The pages of this name: of what a proof finds, of an audit's rule, or of both.
fn pages(name: &str) -> Vec<Page> {
    let found = Class::ALL.into_iter().find(|class| class.name() == name);
    let found = found.map(|class| Page { name: name.to_owned(), of: "prove", text: class.page() });
    let rule = landonce_audit::rule::page(name);
    let rule = rule.map(|text| Page { name: name.to_owned(), of: "audit", text });
    found.into_iter().chain(rule).collect()
}

fn listing() -> String {
    Code::ALL.iter().map(|code| format!("  {code}  {}\n", title(*code))).collect()
}

/// The title: what stands behind the code in the page's heading.
fn title(code: Code) -> &'static str {
    let heading = code.page().lines().next().unwrap_or_default();
    heading.split_once(" · ").map_or(heading, |(_, title)| title)
}
