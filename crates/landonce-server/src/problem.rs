//! A failure as it is told to whoever asked: `application/problem+json` (RFC 9457), with landonce's code and whether the same
//! request may be sent again.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// A failure, ready to be answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where the code is explained.
    #[serde(rename = "type")]
    pub about: String,
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
    pub retry_after: Option<u64>,
}

/// What the sender is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
            about: format!("urn:landonce:{code}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            code: code.to_owned(),
            retry: Retry::Stop,
            retry_after: None,
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
            retry_after: Some(after_secs),
            ..Self::stop(status, code, title, detail)
        }
    }
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
        response
    }
}
