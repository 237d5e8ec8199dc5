//! A failure as it is told to whoever asked: `application/problem+json` (RFC 9457), with landonce's code and whether the same
//! request may be sent again.

mod of_error;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use landonce::Code;
use schemars::JsonSchema;
use serde::Serialize;

/// A failure, ready to be answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// Where the code is explained: a path that this server answers.
    #[serde(rename = "type")]
    pub about: Box<str>,
    /// The failure in a few words, the same for every one of its code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened this time.
    pub detail: String,
    /// landonce's code (`landonce explain L0501`).
    pub code: String,
    /// What the sender is to do.
    pub retry: Retry,
    /// How long to wait first, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
    /// The bad records of a batch that failed because of them, the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<Box<[Record]>>,
}

/// A bad record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Record {
    /// Its line or index, from 1.
    pub number: u64,
    /// The kind of fault, from a closed list.
    pub kind: &'static str,
    /// The field's path, or empty when the record as a whole is at fault.
    pub field: String,
    /// What was found and what would fit.
    pub detail: String,
}

impl Record {
    pub(crate) fn new(located: &landonce::error::Located) -> Self {
        Self {
            number: located.number,
            kind: located.bad.kind.as_str(),
            field: located.bad.field.clone(),
            detail: located.bad.detail.clone(),
        }
    }
}

/// What the sender is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// Send the same request again, with the same key: nothing has landed, or nobody knows.
    SameKey,
    /// Stop: the same request will fail again.
    Stop,
}

impl Problem {
    /// A failure that the same request will meet again.
    pub fn stop(status: StatusCode, code: &str, title: &str, detail: impl Into<String>) -> Self {
        Self {
            about: format!("/problems/{code}").into(),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            code: code.to_owned(),
            retry: Retry::Stop,
            retry_after: None,
            records: None,
        }
    }

    /// A failure that passes: the same request, with the same key, after so many seconds.
    pub fn again(
        status: StatusCode,
        code: &str,
        title: &str,
        detail: impl Into<String>,
        after_secs: u64,
    ) -> Self {
        Self {
            retry: Retry::SameKey,
            retry_after: Some(u32::try_from(after_secs).unwrap_or(u32::MAX)),
            ..Self::stop(status, code, title, detail)
        }
    }

    /// As [`Problem::stop`], with the title of the code's page.
    pub(crate) fn of(status: StatusCode, code: Code, detail: impl Into<String>) -> Self {
        Self::stop(status, code.as_str(), title(code), detail)
    }

    /// As [`Problem::again`], with the title of the code's page.
    pub(crate) fn passing(
        status: StatusCode,
        code: Code,
        detail: impl Into<String>,
        after_secs: u64,
    ) -> Self {
        Self::again(status, code.as_str(), title(code), detail, after_secs)
    }
}

/// The heading of a code's page, without the code.
pub(crate) fn title(code: Code) -> &'static str {
    let heading = code.page().lines().next().unwrap_or_default();
    heading.split_once(" · ").map_or(heading, |(_, title)| title)
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(after) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"landonce\""));
        }
        response.extensions_mut().insert(self);
        response
    }
}
