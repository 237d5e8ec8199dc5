//! From the library's errors to answers: a pure function of an error's kind and code.

use axum::http::StatusCode;
use landonce::{Error, Kind};

use super::{Problem, Record};

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let code = error.code();
        // The lines behind the first list bad records; these have a field of their own.
        let told = error.to_string();
        let told = told.lines().next().unwrap_or_default();
        let stop = |status| Self::of(status, code, told);
        let again = |status, after| Self::passing(status, code, told, after);
        if code.as_str() == "L0503" {
            // Another process is landing the same batch.
            return again(StatusCode::CONFLICT, 1);
        }
        match (error.kind(), code.as_str()) {
            (Kind::Payload, "L0306") => stop(StatusCode::PAYLOAD_TOO_LARGE),
            (Kind::Payload | Kind::Held, _) => stop(StatusCode::UNPROCESSABLE_ENTITY),
            (Kind::BadRecords, _) => Self {
                records: Some(error.bad_records().iter().map(Record::new).collect()),
                ..stop(StatusCode::UNPROCESSABLE_ENTITY)
            },
            // Another load of the period has landed in between.
            (Kind::BatchMismatch, "L0502") => again(StatusCode::CONFLICT, 1),
            (Kind::BatchMismatch, _) => stop(StatusCode::UNPROCESSABLE_ENTITY),
            (Kind::Connect | Kind::Exhausted | Kind::Unresolved, _) => {
                again(StatusCode::SERVICE_UNAVAILABLE, 5)
            }
            (Kind::Interrupted, _) => again(StatusCode::SERVICE_UNAVAILABLE, 1),
            (Kind::NoSpace, _) => again(StatusCode::INSUFFICIENT_STORAGE, 60),
            // The archive's place is away; damaged bytes don't mend themselves.
            (Kind::Archive, "L0811") => again(StatusCode::SERVICE_UNAVAILABLE, 30),
            _ => stop(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Retry;
    use super::*;

    #[test]
    fn what_passes_is_sent_again_and_what_does_not_is_not() {
        let away = Error::interrupted();
        let problem = Problem::from(&away);
        assert_eq!((problem.status, problem.retry, problem.retry_after), (503, Retry::SameKey, Some(1)));
        assert_eq!((problem.code.as_str(), &*problem.about), ("L0701", "/problems/L0701"));
        let wrong = landonce::Pipeline::from_yaml("pipeline: p").unwrap_err();
        let problem = Problem::from(&wrong);
        assert_eq!((problem.status, problem.retry, problem.retry_after), (500, Retry::Stop, None));
    }
}
