//! `landonce sql`: an upsert, however it is spelled, as a store spells it. Runs nothing.

use landonce::Store;
use landonce_sql::{Dialect, Keys, Refused, Rendered, Spelled, Upsert};
use serde::Serialize;

use crate::args::OutputForm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place;
use crate::report;

const EXAMPLES: &str = "\
Examples:
  landonce sql 'UPSERT INTO account (id, balance) VALUES ($1, $2)' --for sqlite --key id
  landonce sql \"INSERT INTO account (id, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = n + VALUES(n)\" --store postgres://app@db.example/shop";

/// `landonce sql`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// INSERT … ON CONFLICT, UPSERT INTO or INSERT … ON DUPLICATE KEY UPDATE; `-` reads it from stdin.
    #[arg(value_name = "STATEMENT")]
    statement: String,

    /// The store that it is spelled for, whose catalogue tells the table's keys (nothing is written there). Without it and
    /// without --for: `$LANDONCE_STORE`.
    #[arg(long, value_name = "URL")]
    store: Option<String>,

    /// The kind of store that it is spelled for: postgres, sqlite, mariadb, mysql. Connects to nothing, unless --store is
    /// given as well.
    #[arg(long = "for", value_name = "STORE")]
    dialect: Option<String>,

    /// The columns by which a row is the same, where the statement doesn't name them.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    key: Vec<String>,
}

/// A checked `sql`.
#[derive(Debug)]
pub(crate) struct Job {
    spelled: Spelled,
    dialect: Dialect,
    /// Whose catalogue is asked, and how it takes names.
    catalogue: Option<(Store, Dialect)>,
    key: Vec<String>,
}

/// The JSON object.
#[derive(Serialize)]
struct Report<'a> {
    store: &'static str,
    table: String,
    key: &'a [String],
    sql: &'a str,
    params: Vec<&'a str>,
    row_count: &'static str,
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    let given = args
        .dialect
        .as_deref()
        .map(str::parse::<Dialect>)
        .transpose()
        .map_err(|refused| failure(&refused))?;
    let url = match (&args.store, given) {
        (None, Some(_)) => None,
        (store, _) => place::named(store.as_deref())?,
    };
    let dialect = match (given, url.as_deref()) {
        (Some(dialect), _) => dialect,
        (None, Some(url)) => of_url(url),
        (None, None) => {
            return Err(Failure::usage(
                "which store should the statement be spelled for?",
                "add `--store URL`, or `--for postgres`, sqlite, mariadb or mysql",
            ));
        }
    };
    let catalogue = match url.as_deref() {
        Some(url) => Some((Store::open(url)?, of_url(url))),
        None => None,
    };
    let statement = if args.statement == "-" {
        std::io::read_to_string(std::io::stdin().lock()).map_err(|error| Failure::system("stdin", error))?
    } else {
        args.statement
    };
    let spelled = landonce_sql::parse(&statement).map_err(|refused| failure(&refused))?;
    let key = args.key.into_iter().map(|column| column.trim().to_owned()).collect();
    Ok(Job { spelled, dialect, catalogue, key })
}

pub(super) async fn run(job: Job, form: OutputForm) -> Result<Exit, Failure> {
    let Job { spelled, dialect, catalogue, key } = job;
    let shape = match &catalogue {
        Some((store, takes)) => {
            let table = spelled.table(*takes).map_err(|refused| failure(&refused))?;
            let shape = store.shape(&table).await?;
            Some(shape.ok_or_else(|| {
                Failure::usage(
                    format!(
                        "{} has no table {}",
                        report::line(&store.place()),
                        report::line(&table.to_string())
                    ),
                    "correct the table's name, or make it first",
                )
            })?)
        }
        None => None,
    };
    let keys = match (&shape, &key[..]) {
        (None, []) => Keys::Unknown,
        (None, key) => Keys::Given(key),
        (Some(shape), []) => Keys::Catalogue(shape),
        (Some(shape), key) => Keys::Checked(key, shape),
    };
    let spelt = |spelled: &Spelled| -> Result<(Upsert, Rendered), Refused> {
        let upsert = spelled.upsert(dialect, &keys)?;
        let rendered = landonce_sql::render(&upsert, dialect)?;
        Ok((upsert, rendered))
    };
    let (upsert, rendered) = spelt(&spelled).map_err(|refused| failure(&refused))?;
    let params: Vec<&str> =
        rendered.params.iter().map(|number| spelled.params()[number - 1].as_str()).collect();
    if form.is_json() {
        report::json(&Report {
            store: dialect.as_str(),
            table: upsert.table.to_string(),
            key: &upsert.key,
            sql: &rendered.sql,
            params,
            row_count: rendered.tells(),
        })?;
        return Ok(Exit::Fine);
    }
    report::bytes(format!("{}\n", rendered.sql).as_bytes())?;
    report::say(&format!("key: {}", report::line(&upsert.key.join(", "))));
    let is_renamed = params
        .iter()
        .enumerate()
        .any(|(at, name)| !matches!(*name, "?" | "%s") && *name != format!("${}", at + 1));
    if is_renamed {
        report::say(&format!("bound in this order: {}", report::line(&params.join(", "))));
    }
    report::say(&format!("who wrote: {}", rendered.tells()));
    Ok(Exit::Fine)
}

/// The dialect of a store's URL. Of `mysql:` it isn't known whose server answers: what MariaDB takes, MySQL takes as well.
fn of_url(url: &str) -> Dialect {
    match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("postgres" | "postgresql") => Dialect::Postgres,
        Some("mysql" | "mariadb") => Dialect::MariaDb,
        _ => Dialect::Sqlite,
    }
}

fn failure(refused: &Refused) -> Failure {
    Failure::usage(refused.what(), refused.fix())
}
