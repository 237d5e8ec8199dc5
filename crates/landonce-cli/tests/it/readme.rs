//! The README's transcript is what the program prints.

use std::process::Command;

const README: &str = include_str!("../../../../README.md");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The transcript's commands, each with the lines that it prints.
fn transcript() -> Vec<(String, Vec<String>)> {
    let start = README.find("```console\n").unwrap() + "```console\n".len();
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

#[test]
fn the_readmes_transcript_is_what_the_program_prints() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(format!("{ROOT}/examples"), folder.path().join("examples")).unwrap();
    let commands = transcript();
    assert_eq!(commands.len(), 2);
    for (command, want) in commands {
        let output = Command::new(env!("CARGO_BIN_EXE_landonce"))
            .args(command.split(' '))
            .current_dir(folder.path())
            .env_remove("LANDONCE_STORE")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let stdout = String::from_utf8(output.stdout).unwrap();
        let printed: Vec<String> = stdout.lines().map(without_time).collect();
        let want: Vec<String> = want.iter().map(|line| without_time(line)).collect();
        assert_eq!(printed, want, "landonce {command}");
    }
}
