//! The transcript of the payments example is what happens (I8, I4).

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::folder::Folder;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/payments");
const README: &str = include_str!("../../../../examples/payments/README.md");
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A server that ends with the test.
struct Serving {
    process: Child,
    address: String,
}

impl Serving {
    fn of(folder: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_landonce"))
            .args(["serve", "payments.yaml", "--listen", "127.0.0.1:0"])
            .current_dir(folder)
            .env("PAYMENTS_SECRET", SECRET)
            .env_remove("LANDONCE_STORE")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map(Result::unwrap);
        let address = lines
            .find_map(|line| line.split_once("listening on http://").map(|(_, at)| at.trim().to_owned()));
        // Whatever it says later is read, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, address: address.unwrap() }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The README's commands, each with the lines that it prints.
fn transcript() -> Vec<(String, Vec<String>)> {
    let mut commands: Vec<(String, Vec<String>)> = Vec::new();
    let blocks = README.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    for line in blocks.flat_map(str::lines) {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push((command.to_owned(), Vec::new())),
            None => commands.last_mut().unwrap().1.push(line.to_owned()),
        }
    }
    commands
}

/// A query's rows as `sqlite3` prints them. The program isn't everywhere; the transcript's other commands are.
fn queried(folder: &Folder, command: &str) -> Option<String> {
    let sql = command.strip_prefix("sqlite3 payments.db '")?.strip_suffix('\'')?;
    let database = rusqlite::Connection::open(folder.path("payments.db")).unwrap();
    let mut statement = database.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let value = |at| {
            Ok(match row.get_ref(at)? {
                rusqlite::types::ValueRef::Integer(whole) => whole.to_string(),
                other => String::from_utf8_lossy(other.as_bytes()?).into_owned(),
            })
        };
        (0..columns).map(value).collect::<rusqlite::Result<Vec<_>>>()
    });
    Some(rows.unwrap().map(|row| row.unwrap().join("|") + "\n").collect())
}

fn shell(folder: &Folder, server: &str, command: &str) -> String {
    let ran = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder.path(""))
        .env("PAYMENTS_SECRET", SECRET)
        .env("SERVER", server)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn the_payments_transcript_is_what_happens() {
    let folder = Folder::new();
    for file in ["payments.yaml", "schema.sql", "send"] {
        let to = folder.path(file);
        std::fs::copy(Path::new(EXAMPLE).join(file), to).unwrap();
    }
    let schema = std::fs::read_to_string(folder.path("schema.sql")).unwrap();
    rusqlite::Connection::open(folder.path("payments.db")).unwrap().execute_batch(&schema).unwrap();
    let serving = Serving::of(&folder.path(""));
    let commands = transcript();
    assert_eq!(commands.len(), 9);
    for (command, want) in commands {
        let printed =
            queried(&folder, &command).unwrap_or_else(|| shell(&folder, &serving.address, &command));
        let printed: Vec<&str> = printed.lines().collect();
        assert_eq!(printed.len(), want.len(), "{command}: {printed:?}");
        for (line, want) in printed.iter().zip(&want) {
            match want.strip_suffix('…') {
                Some(begin) => assert!(line.starts_with(begin), "{command} prints {line}"),
                None => assert_eq!(line, want, "{command}"),
            }
        }
    }
}
