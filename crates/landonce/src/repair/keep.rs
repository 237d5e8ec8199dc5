//! Which of several rows stays: the column that says when each was written, if one says so beyond doubt.

use landonce_store::repair::{Keep, Known, Repair};

use super::report::KeptBy;
use crate::error::Error;

/// The column in which landonce, and whoever follows its habit, names the run that wrote a row.
const RUN_ID: &str = "landonce_run_id";

/// Names by which tables say when a row was written, without case and `_`.
const MOMENTS: &[&str] = &[
    "createdat",
    "createdon",
    "created",
    "insertedat",
    "insertedon",
    "loadedat",
    "loadedon",
    "ingestedat",
    "ingestedon",
    "importedat",
    "firstseenat",
    "firstseen",
    "receivedat",
    "createtime",
    "inserttime",
    "loadtime",
];

/// Which row stays.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) keep: Option<Keep>,
    pub(super) told: KeptBy,
    /// Nothing in the table tells which row was first.
    pub(super) is_guess: bool,
}

/// Whether a column says when, or by whom, a row was written, rather than what it says.
pub(super) fn is_provenance(name: &str) -> bool {
    name == RUN_ID || is_moment_name(name)
}

fn is_moment_name(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect();
    MOMENTS.contains(&plain.as_str())
}

/// Decides; asks the database whether run ids are in the order of time.
pub(super) async fn decide<C: Repair>(
    connection: &mut C,
    known: &Known,
    asked: Option<&Keep>,
) -> Result<Decided, Error> {
    let told = |rule: String, why: String| KeptBy { rule, why };
    if let Some(keep) = asked {
        let rule = match keep {
            Keep::Earliest(column) => format!("earliest {column}"),
            Keep::Latest(column) => format!("latest {column}"),
        };
        let why = format!("as asked; {}", ties(known));
        return Ok(Decided { keep: Some(keep.clone()), told: told(rule, why), is_guess: false });
    }
    let mut doubts = Vec::new();
    if known.columns.iter().any(|column| column.name == RUN_ID) {
        let order = connection.order(known, RUN_ID).await?;
        if order.nulls == 0 && order.other_than_v7 == 0 {
            let why = format!(
                "{RUN_ID} is of UUID version 7 in every row, which sorts by time: the run that first wrote it; {}",
                ties(known)
            );
            let keep = Some(Keep::Earliest(RUN_ID.to_owned()));
            return Ok(Decided { keep, told: told(format!("earliest {RUN_ID}"), why), is_guess: false });
        }
        doubts.push(format!(
            "{RUN_ID} isn't in the order of time in every row ({} NULL, {} of another version than 7)",
            order.nulls, order.other_than_v7
        ));
    }
    let moments: Vec<&String> = known
        .columns
        .iter()
        .filter(|column| column.is_moment && is_moment_name(&column.name))
        .map(|column| &column.name)
        .collect();
    match moments.as_slice() {
        [column] => {
            doubts.push(format!(
                "{column} is the only column that says when a row was written; {}",
                ties(known)
            ));
            let keep = Some(Keep::Earliest((*column).clone()));
            return Ok(Decided {
                keep,
                told: told(format!("earliest {column}"), doubts.join("; ")),
                is_guess: false,
            });
        }
        [] => doubts.push("no column says when a row was written".to_owned()),
        several => {
            let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
            doubts.push(format!("{} could each say when a row was written", names.join(" and ")));
        }
    }
    let (rule, is_guess) = if !known.primary_key.is_empty() {
        (format!("smallest primary key ({})", known.primary_key.join(", ")), false)
    } else if let Some(number) = &known.row_number {
        (format!("smallest {number}, the order in which rows came"), false)
    } else {
        ("the row that lies first in the table, which is no order".to_owned(), true)
    };
    doubts.push("--keep earliest:COLUMN says otherwise".to_owned());
    Ok(Decided { keep: None, told: told(rule, doubts.join("; ")), is_guess })
}

fn ties(known: &Known) -> String {
    if known.primary_key.is_empty() {
        "of equal ones the row that lies first".to_owned()
    } else {
        format!("of equal ones the smallest {}", known.primary_key.join(", "))
    }
}
