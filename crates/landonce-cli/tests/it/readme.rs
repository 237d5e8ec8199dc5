//! The README's transcript is what the program prints.

use std::process::Command;

const README: &str = include_str!("../../../../README.md");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The commands of the n-th transcript, each with the lines that it prints.
fn transcript(nth: usize) -> Vec<(String, Vec<String>)> {
    let (start, _) = README.match_indices("```console\n").nth(nth).unwrap();
    let start = start + "```console\n".len();
    let block = &README[start..start + README[start..].find("```").unwrap()];
    let mut commands: Vec<(String, Vec<String>)> = Vec::new();
    for line in block.lines() {
        match line.strip_prefix("$ landonce ") {
            Some(command) => commands.push((command.to_owned(), Vec::new())),
            None => commands.last_mut().unwrap().1.push(line.to_owned()),
        }
    }
    commands
}

/// The one thing that differs between two machines.
fn without_time(line: &str) -> String {
    match line.trim_start().strip_prefix("took") {
        Some(_) => "  took".to_owned(),
        None => line.to_owned(),
    }
}

/// In a folder with the examples in it, as somebody who has cloned the repository is.
fn said(folder: &std::path::Path, command: &str) -> (Option<i32>, Vec<String>) {
    let output = Command::new(env!("CARGO_BIN_EXE_landonce"))
        .args(command.split(' '))
        .current_dir(folder)
        .env_remove("LANDONCE_STORE")
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), stdout.lines().map(without_time).collect())
}

fn folder_with_examples() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(format!("{ROOT}/examples"), folder.path().join("examples")).unwrap();
    folder
}

#[test]
fn the_readmes_proof_is_what_the_program_prints() {
    let folder = folder_with_examples();
    let commands = transcript(1);
    assert_eq!(commands.len(), 2);
    for (command, want) in commands {
        let (code, printed) = said(folder.path(), &command);
        assert_eq!(code, Some(1), "landonce {command}");
        // `…` stands for lines that are left out.
        let mut printed = printed.into_iter();
        for line in want.iter().filter(|line| *line != "…") {
            assert!(
                printed.any(|other| other == *line),
                "landonce {command} doesn't print, or not there: {line}"
            );
        }
    }
}

#[test]
fn the_readmes_transcript_is_what_the_program_prints() {
    let folder = folder_with_examples();
    let commands = transcript(0);
    assert_eq!(commands.len(), 2);
    for (command, want) in commands {
        let (code, printed) = said(folder.path(), &command);
        assert_eq!(code, Some(0), "landonce {command}");
        let want: Vec<String> = want.iter().map(|line| without_time(line)).collect();
        assert_eq!(printed, want, "landonce {command}");
    }
}
