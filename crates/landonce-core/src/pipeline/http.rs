//! An HTTP API that is read page by page, as it is meant.

mod measure;
mod page;
mod path;
mod secret;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::check::{Checked, fault};
use super::feed::Fill;
use crate::spec::{FormatSpec, HttpAuthSpec, HttpSinceSpec, HttpSpec, RedirectsSpec, SourceSpec};

pub use page::{CursorFrom, Page, Size};
pub use path::{Path, Step};
pub use secret::{SECRET_HEADERS, Variable};

/// An HTTP API, read with GET.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http {
    /// The address, `${NAME}` not yet put in.
    pub url: String,
    /// Headers of every request, `${NAME}` not yet put in.
    pub headers: Vec<(String, String)>,
    /// How a request shows who asks.
    pub auth: Auth,
    /// Where the records are in the body; the body itself without.
    pub records: Option<Path>,
    /// How one page leads to the next.
    pub page: Page,
    /// Where the body says how many records there are on all pages.
    pub total: Option<Path>,
    /// Only what has changed since the last run.
    pub since: Option<Since>,
    /// How long the source may be silent.
    pub timeout: Duration,
    /// How long one page may take, with all attempts and pauses.
    pub deadline: Duration,
    /// When a page is asked for again.
    pub retry: Retry,
    /// The least time between the beginnings of two requests.
    pub pace: Duration,
    /// Which redirects are followed.
    pub redirects: RedirectsSpec,
    /// A file of certificates to trust, relative to the pipeline file.
    pub ca: Option<String>,
    /// The most bytes of a page that is read into memory, decompressed.
    pub max_page: u64,
    /// The most pages of one run.
    pub max_pages: u64,
}

/// How a request shows who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// It doesn't.
    None,
    /// By a token.
    Bearer(Variable),
    /// By a user, `${NAME}` not yet put in, and a password.
    Basic(String, Variable),
    /// By parameters of the address.
    Query(Vec<(String, Variable)>),
}

/// Only what has changed since the last run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since {
    /// The parameter that takes the value.
    pub param: String,
    /// The records' field that has it.
    pub field: Path,
    /// How much is read again.
    pub overlap: Overlap,
    /// What the first run asks from.
    pub start: Option<String>,
}

/// How much of what was read is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// A minute, where the field is a time.
    Default,
    /// So long: the field must be a time.
    Time(Duration),
    /// So much: the field must be a whole number.
    Number(i64),
}

/// When a page is asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often it is asked for at the most.
    pub attempts: u32,
    /// The first pause, which doubles.
    pub first: Duration,
    /// The longest pause of ours.
    pub most: Duration,
}

impl Http {
    pub(super) fn resolve(spec: &HttpSpec, source: &SourceSpec) -> Checked<Self> {
        let url = spec.url.trim().to_owned();
        let time = |key, text: &Option<String>, default| match text.as_deref() {
            None => Ok(default),
            Some(text) => measure::some_time(key, text),
        };
        let retry = Retry {
            attempts: spec.retry.attempts.unwrap_or(8),
            first: time("source.http.retry.first", &spec.retry.first, Duration::from_millis(500))?,
            most: time("source.http.retry.most", &spec.retry.most, Duration::from_mins(1))?,
        };
        if retry.attempts == 0 {
            return fault("source.http.retry.attempts", "a number of 1 or more is due");
        }
        if spec.max_page == Some(0) || spec.max_pages == Some(0) {
            return fault("source.http", "`max_page` and `max_pages` are numbers of 1 or more");
        }
        secret::check_url("source.http.url", &url)?;
        let http = Self {
            url,
            headers: secret::headers(&spec.headers)?,
            auth: auth(spec.auth.as_ref())?,
            records: spec
                .records
                .as_deref()
                .map(|text| Path::parse("source.http.records", text))
                .transpose()?,
            page: Page::resolve(spec.page.as_ref())?,
            total: spec.total.as_deref().map(|text| Path::parse("source.http.total", text)).transpose()?,
            since: spec.since.as_ref().map(since).transpose()?,
            timeout: time("source.http.timeout", &spec.timeout, Duration::from_secs(30))?,
            deadline: time("source.http.deadline", &spec.deadline, Duration::from_mins(10))?,
            retry,
            pace: spec
                .rate
                .as_deref()
                .map_or(Ok(Duration::ZERO), |text| measure::pace("source.http.rate", text))?,
            redirects: spec.redirects,
            ca: spec.tls.as_ref().map(|tls| tls.ca.clone()),
            max_page: spec.max_page.unwrap_or(64 << 20),
            max_pages: spec.max_pages.unwrap_or(100_000),
        };
        http.check(source)?;
        Ok(http)
    }

    /// Rules that span several keys.
    fn check(&self, source: &SourceSpec) -> Checked<()> {
        let format = source.format.unwrap_or(FormatSpec::Json);
        if format == FormatSpec::Parquet {
            return fault(
                "source.format",
                "Parquet is read from files and from `source.command`, not from an API's answers",
            );
        }
        if self.records.is_some() && format != FormatSpec::Json {
            return fault(
                "source.http.records",
                "goes with `format: json`: other bodies are records as a whole",
            );
        }
        if self.reads_body() && !matches!(format, FormatSpec::Json | FormatSpec::Geojson) {
            return fault(
                "source.http",
                "`total`, and pages that the body names, go with `format: json` or `geojson`",
            );
        }
        if format == FormatSpec::Csv && !self.is_one_body() {
            return fault("source.format", "CSV is read from one answer: leave `page` and `since` out");
        }
        Ok(())
    }

    /// Something beside the records is read from the body.
    fn reads_body(&self) -> bool {
        let pages = match &self.page {
            Page::Cursor { .. } | Page::Link(_) => true,
            Page::Number { pages, .. } => pages.is_some(),
            Page::One | Page::Header(_) | Page::Offset { .. } => false,
        };
        pages || self.total.is_some()
    }

    /// One answer is all there is, and nothing in it is looked at: it may be of any length.
    pub fn is_one_body(&self) -> bool {
        self.page == Page::One && self.records.is_none() && self.total.is_none() && self.since.is_none()
    }

    /// The same with a period put into its texts.
    pub(super) fn filled(&self, fill: &mut Fill<'_>) -> Checked<Self> {
        let mut filled = self.clone();
        filled.url = fill("source.http.url", &self.url)?;
        for (_, value) in &mut filled.headers {
            *value = fill("source.http.headers", value)?;
        }
        Ok(filled)
    }
}

fn auth(spec: Option<&HttpAuthSpec>) -> Checked<Auth> {
    let Some(HttpAuthSpec { bearer, basic, query }) = spec else { return Ok(Auth::None) };
    match (bearer, basic, query.is_empty()) {
        (Some(token), None, true) => Ok(Auth::Bearer(Variable::parse("source.http.auth.bearer", token)?)),
        (None, Some(basic), true) => {
            let password = Variable::parse("source.http.auth.basic.password", &basic.password)?;
            Ok(Auth::Basic(basic.user.clone(), password))
        }
        (None, None, false) => {
            let one = |(name, value): (&String, &String)| {
                Ok((name.clone(), Variable::parse("source.http.auth.query", value)?))
            };
            query.iter().map(one).collect::<Checked<_>>().map(Auth::Query)
        }
        _ => fault("source.http.auth", "one of `bearer`, `basic` and `query` is due"),
    }
}

fn since(spec: &HttpSinceSpec) -> Checked<Since> {
    const KEY: &str = "source.http.since.overlap";
    if spec.param.is_empty() {
        return fault("source.http.since.param", "is empty; the name of the address's parameter is due");
    }
    let overlap = match spec.overlap.as_deref().map(str::trim) {
        None => Overlap::Default,
        Some(text) => match text.parse() {
            Ok(number) if number >= 0 => Overlap::Number(number),
            _ => Overlap::Time(measure::time(KEY, text)?),
        },
    };
    let field = Path::parse("source.http.since.field", &spec.field)?;
    Ok(Since { param: spec.param.clone(), field, overlap, start: spec.start.clone() })
}
