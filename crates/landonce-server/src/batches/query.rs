//! The query of a batch: every field known, none twice.

use axum::http::{StatusCode, Uri};
use landonce::Code;
use uuid::Uuid;

use crate::problem::Problem;

/// What the query says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) batch_id: Option<String>,
    pub(super) period: Option<String>,
    pub(super) run_id: Option<Uuid>,
    pub(super) is_dry_run: bool,
}

impl Query {
    /// Reads it; `batch_id` is what the field of the batch's id is called.
    pub(super) fn of(uri: &Uri, batch_id: &str) -> Result<Self, Problem> {
        let told = |told: String| Problem::of(StatusCode::BAD_REQUEST, Code::L1027, told);
        let axum::extract::Query(fields) = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|_| told("the query can't be read".to_owned()))?;
        let mut query = Self::default();
        for (at, (name, value)) in fields.iter().enumerate() {
            if fields[..at].iter().any(|(other, _)| other == name) {
                return Err(told(format!("`{}` stands twice in the query", shown(name))));
            }
            let value = value.clone();
            match name.as_str() {
                name if name == batch_id => query.batch_id = Some(value),
                "period" => query.period = Some(value),
                "run_id" => {
                    let id = Uuid::try_parse(&value);
                    query.run_id = Some(id.map_err(|_| told("`run_id` must be a UUID".to_owned()))?);
                }
                "dry_run" => {
                    query.is_dry_run = match value.as_str() {
                        "true" => true,
                        "false" => false,
                        _ => return Err(told("`dry_run` must be `true` or `false`".to_owned())),
                    };
                }
                _ => {
                    return Err(told(format!(
                        "`{}` is no field of the query; known are {batch_id}, period, run_id, dry_run",
                        shown(name)
                    )));
                }
            }
        }
        Ok(query)
    }
}

/// A name as it can be told.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(50).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Result<Query, String> {
        Query::of(&format!("/x?{query}").parse().unwrap(), "id").map_err(|problem| problem.detail)
    }

    #[test]
    fn fields_are_read() {
        let query = of("id=a%20b&period=2026-03-01&dry_run=true").unwrap();
        assert_eq!((query.batch_id.as_deref(), query.period.as_deref()), (Some("a b"), Some("2026-03-01")));
        assert!(query.is_dry_run);
        assert_eq!(of("").unwrap(), Query::default());
    }

    #[test]
    fn what_is_not_known_or_stands_twice_is_refused() {
        for (query, told) in [
            ("perod=x", "`perod` is no field"),
            ("id=a&id=a", "`id` stands twice"),
            ("run_id=7", "must be a UUID"),
            ("dry_run=1", "`true` or `false`"),
        ] {
            assert!(of(query).unwrap_err().contains(told), "{query}");
        }
    }
}
