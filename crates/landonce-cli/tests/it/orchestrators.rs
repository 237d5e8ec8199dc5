//! Orchestrators as PyPI has them run the examples (H4): a day long ago, late and twice, is that day, landed once.
//!
//! `scripts/test` installs each into a folder of its own beside the Python of `LANDONCE_TEST_PYTHON`.

use std::path::{Path, PathBuf};
use std::process::Command;

use landonce_testkit::dump;

use crate::folder::Folder;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The Python that has the orchestrator.
fn python(of: &str) -> PathBuf {
    let python = std::env::var("LANDONCE_TEST_PYTHON").unwrap_or_default();
    let found = Path::new(&python).ancestors().nth(3).map(|folder| folder.join(of).join("bin/python"));
    found.filter(|python| python.exists()).unwrap_or_else(|| {
        panic!("no {of} beside the Python of LANDONCE_TEST_PYTHON (`{python}`); scripts/test installs it")
    })
}

/// A folder with the example's pipeline and days, and an orchestrator's program in one of its own.
fn folder(program: &str, driver: &str) -> Folder {
    let folder = Folder::new();
    let copy = |from: String, to: &str| folder.write(to, std::fs::read(from).unwrap());
    copy(format!("{ROOT}/examples/{program}"), "program/sales.py");
    copy(format!("{ROOT}/examples/retail/sales.yaml"), "sales.yaml");
    for day in ["2010-12-01", "2010-12-02", "2010-12-03"] {
        copy(format!("{ROOT}/examples/retail/orders/{day}.csv.gz"), &format!("orders/{day}.csv.gz"));
    }
    folder.write("drive.py", driver);
    folder
}

/// Runs Python in the folder, with landonce on the path, and gives the lines behind `RUN`.
fn drive(folder: &Folder, of: &str, args: &[&str]) -> Vec<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_landonce")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let store = format!("sqlite:{}", folder.path("landonce.db").display());
    let output = Command::new(python(of))
        .args(args)
        .current_dir(folder.path("."))
        .env("PATH", format!("{}:{path}", program.display()))
        .env("PYTHONPATH", folder.path("program"))
        .env("LANDONCE_STORE", store)
        .env("SALES_PIPELINE", folder.path("sales.yaml"))
        .env("AIRFLOW_HOME", folder.path("home"))
        .env("AIRFLOW__CORE__DAGS_FOLDER", folder.path("program"))
        .env("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
        .env("DAGSTER_DISABLE_TELEMETRY", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said.lines().filter_map(|line| line.strip_prefix("RUN ")).map(str::to_owned).collect()
}

/// `label loads rows` of the ledger.
fn ledger(folder: &Folder) -> Vec<String> {
    let database = rusqlite::Connection::open(folder.path("landonce.db")).unwrap();
    let mut rows = database
        .prepare("SELECT label || ' ' || loads || ' ' || row_count FROM landonce_ledger ORDER BY label")
        .unwrap();
    rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn airflow_runs_a_day_long_ago_twice_and_it_lands_once() {
    let folder = folder("airflow/dags/sales.py", include_str!("orchestrators/airflow.py"));
    drive(&folder, "airflow", &["-m", "airflow", "db", "migrate"]);
    let day = "2010-12-02 2010-12-01 00:00:00+00:00/2010-12-02 00:00:00+00:00 success";
    assert_eq!(drive(&folder, "airflow", &["drive.py", "2010-12-02"]), [day]);
    let landed = dump::sqlite(folder.path("landonce.db"));
    assert_eq!(ledger(&folder), ["2010-12-01 1 50"]);
    // Cleared, and run again later.
    assert_eq!(drive(&folder, "airflow", &["drive.py", "2010-12-02"]), [day]);
    landed.assert_same(&dump::sqlite(folder.path("landonce.db")));
    assert_eq!(ledger(&folder), ["2010-12-01 1 50"]);
}

#[test]
fn dagster_materializes_a_day_long_ago_twice_and_it_lands_once() {
    let folder = folder("dagster/sales.py", include_str!("orchestrators/dagster.py"));
    let said = drive(&folder, "dagster", &["drive.py", "2010-12-03", "2010-12-01"]);
    assert_eq!(said, ["2010-12-03 processed", "2010-12-01 processed"]);
    let landed = dump::sqlite(folder.path("landonce.db"));
    let said = drive(&folder, "dagster", &["drive.py", "2010-12-01", "2010-12-03"]);
    assert_eq!(said, ["2010-12-01 skipped_duplicate", "2010-12-03 skipped_duplicate"]);
    landed.assert_same(&dump::sqlite(folder.path("landonce.db")));
    assert_eq!(ledger(&folder), ["2010-12-01 1 50", "2010-12-03 1 64"]);
}
