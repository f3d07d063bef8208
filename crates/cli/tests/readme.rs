//! The command lines of the README run as they stand.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::Case;

/// Lines that need what doesn't ship, or take long; of runs `check` is asked whether they could begin.
const NOT_RUN: [&str; 9] = [
    "import hpcc mix/config.txt",
    "run case.toml",
    "export hpcc-fct out/case",
    "run scenarios/websearch-leaf-spine-hpcc.toml",
    "compare out/hpcc out/dcqcn",
    "explain out/dcqcn",
    "sweep sweeps/incast.toml",
    "reproduce s0-fig8",
    "exec ",
];

/// What stands in code blocks, from the name of the command on.
fn lines(readme: &str) -> Vec<&str> {
    let blocks = readme.lines().filter_map(|line| line.strip_prefix("    "));
    let lines = blocks.map(|line| line.strip_prefix("$ ").unwrap_or(line));
    lines.filter(|line| line.starts_with("fairlane ")).collect()
}

/// Runs a line in a shell that finds the command under test.
fn shell(case: &Case, line: &str) -> (bool, String) {
    let programs = Path::new(env!("CARGO_BIN_EXE_fairlane")).parent();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c", line])
        .current_dir(case.root())
        .env(
            "PATH",
            format!("{}:{path}", programs.expect("a folder").display()),
        )
        .output()
        .expect("there is bash");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), words)
}

#[test]
fn command_lines_run_as_they_stand() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let case = Case::new();
    for folder in ["scenarios", "examples", "sweeps"] {
        std::os::unix::fs::symlink(root.join(folder), case.path(folder)).unwrap();
    }
    let mut run = Vec::new();
    for line in lines(&readme) {
        let arguments = line.trim_start_matches("fairlane ");
        let left = NOT_RUN.iter().find(|left| arguments.starts_with(**left));
        let line = match left {
            None => line.to_owned(),
            Some(_) if arguments.starts_with("run scenarios/") => {
                let checked = line.replace("fairlane run", "fairlane check");
                checked.split(" --out").next().unwrap().to_owned()
            }
            Some(_) => continue,
        };
        let (done, words) = shell(&case, &line);
        assert!(done, "{line}: {words}");
        run.push(line);
    }
    for command in [
        "check",
        "topology",
        "paths",
        "run",
        "export pcap",
        "drum solve",
        "drum schedule",
    ] {
        let command = format!("fairlane {command} ");
        assert!(
            run.iter().any(|line| line.starts_with(&command)),
            "{command}: {run:?}"
        );
    }
    // What a list leaves out must still be there.
    for left in NOT_RUN {
        assert!(readme.contains(&format!("fairlane {left}")), "{left}");
    }
}
