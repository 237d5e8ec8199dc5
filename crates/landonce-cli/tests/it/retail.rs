//! The retail example's transcript is what the program prints, and the days hold what their files hold.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::process::Command;

const README: &str = include_str!("../../../../examples/retail/README.md");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What differs between two machines and two runs.
fn told(line: &str) -> String {
    match line.trim_start().split_once(' ') {
        Some((name @ ("run" | "took"), _)) if line.starts_with("  ") => format!("  {name} …"),
        _ => line.to_owned(),
    }
}

/// The commands of all transcripts, each with the lines that it prints.
fn commands() -> Vec<(&'static str, Vec<String>)> {
    let mut commands: Vec<(&str, Vec<String>)> = Vec::new();
    let blocks = README.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    for line in blocks.flat_map(str::lines) {
        match line.strip_prefix("$ landonce ") {
            Some(command) => commands.push((command, Vec::new())),
            None => commands.last_mut().unwrap().1.push(told(line)),
        }
    }
    commands
}

/// How often each line is in a day's file: invoice, item, quantity.
fn in_file(day: &str) -> BTreeMap<String, u32> {
    let file = std::fs::File::open(format!("{ROOT}/examples/retail/orders/{day}.csv.gz")).unwrap();
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text).unwrap();
    let mut lines = BTreeMap::new();
    for line in text.lines().skip(1) {
        let first: Vec<&str> = line.splitn(3, ',').collect();
        *lines.entry(format!("{},{}", first[0], first[1])).or_default() += 1;
    }
    lines
}

#[test]
fn the_transcript_is_what_the_program_prints() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(format!("{ROOT}/examples"), folder.path().join("examples")).unwrap();
    let commands = commands();
    assert_eq!(commands.len(), 8);
    for (command, want) in commands {
        let output = Command::new(env!("CARGO_BIN_EXE_landonce"))
            .args(command.split(' '))
            .current_dir(folder.path())
            .env_remove("LANDONCE_STORE")
            .output()
            .unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let mut said: Vec<String> = said.lines().map(told).collect();
        if let Some(at) = want.iter().position(|line| line == "…") {
            // Lines are left out.
            let behind = want.len() - at - 1;
            said.splice(at..said.len() - behind, ["…".to_owned()]);
        }
        assert_eq!(said, want, "landonce {command}");
    }
    let database = rusqlite::Connection::open(folder.path().join("landonce.db")).unwrap();
    for day in ["2010-12-01", "2010-12-02", "2010-12-03"] {
        let mut rows = database
            .prepare("SELECT invoice || ',' || item, count(*) FROM sale WHERE substr(sold_at, 1, 10) = ? GROUP BY 1")
            .unwrap();
        let held = rows.query_map([day], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let held: BTreeMap<String, u32> = held.map(Result::unwrap).collect();
        assert_eq!(held, in_file(day), "{day}");
        assert!(held.values().any(|copies| *copies > 1), "equal lines are sales");
    }
}
