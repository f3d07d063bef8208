//! What is run of a command: the command itself, made shorter where it takes long.

use std::path::Path;

/// What is done about a command.
pub(super) enum Step {
    /// This is run.
    Run(String),
    /// It isn't run, because.
    Left(&'static str),
    /// It names something that isn't there.
    Wrong(String),
}

/// What is done about a line of a page.
pub(super) fn step(line: &str, root: &Path) -> Step {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[0] {
        "fairlane" => fairlane(line, &words),
        "make" => make(line, root),
        "cargo" => cargo(&words, root),
        "git" => Step::Left("there is no address to clone from"),
        "python3" | "." | "pip" | "maturin" => {
            Step::Left("`make python` does the same, with versions that are tested")
        }
        "tshark" => Step::Left("crates/cli/tests/tshark.rs reads captures, where there is tshark"),
        _ => Step::Run(line.to_owned()),
    }
}

/// A run that a page takes to be there.
const RUN: &str = "fairlane run scenarios/incast-star.toml --quiet --set 'stop=\"20us\"'";

fn fairlane(line: &str, words: &[&str]) -> Step {
    let shorter = match words[1] {
        // The simulated time of a run is cut: what is written and read afterwards is the same.
        "run" if words[2].starts_with("scenarios/") => {
            format!("{line} --quiet --set 'stop=\"20us\"'")
        }
        "sweep" if !words.contains(&"--dry-run") => format!("{line} --dry-run"),
        "attack" => {
            let line = line.replace("--seeds 5", "");
            format!("{line} --quiet --seeds 1 --set 'stop=\"200us\"'")
        }
        "reproduce" if words[2] == "all" => {
            return Step::Left(
                "hours; every experiment's files are read by `--list` and by the tests of its crate",
            );
        }
        "reproduce" if words[2] != "--list" => format!("{line} --quiet --quick"),
        "compare" => {
            let runs = words[2..].iter().take_while(|word| !word.starts_with('-'));
            let runs = runs.map(|run| format!("[ -d {run} ] || {RUN} --out {run} >/dev/null; "));
            format!("{}{line}", runs.collect::<String>())
        }
        "drum" => line
            .replace("--hosts 10000", "--hosts 2")
            .replace("--hosts 1000", "--hosts 2")
            .replace("--apps 500", "--apps 20"),
        "doctor" => {
            return Step::Left("its status says what this machine lacks; tests/interop runs it");
        }
        "stat" => return Step::Left("no device runs; crates/cli/tests/stat.rs has one"),
        _ => line.to_owned(),
    };
    Step::Run(shorter)
}

/// Whether the Makefile, that of the page's folder, has the target.
fn make(line: &str, root: &Path) -> Step {
    let target = line.trim_start_matches("make").trim();
    let folder = match target.is_empty() {
        true => root.join("examples/key-value"),
        false => root.to_owned(),
    };
    Step::Run(format!(
        "cd {} && make --dry-run {target} >/dev/null",
        folder.display()
    ))
}

/// Whether packages, examples and paths are there. Installation takes the versions that are tested.
fn cargo(words: &[&str], root: &Path) -> Step {
    let after = |option: &str| {
        let at = words.iter().position(|word| *word == option)?;
        words.get(at + 1).copied()
    };
    let package = after("-p").map(|name| name.trim_start_matches("fairlane-"));
    let folder = package.map(|name| match name {
        "tests" => root.join(name),
        _ => root.join("crates").join(name),
    });
    let example = after("--example").zip(folder.as_ref());
    let example = example.map(|(name, folder)| {
        let single = folder.join("examples").join(format!("{name}.rs"));
        match single.exists() {
            true => single,
            false => folder.join("examples").join(name).join("main.rs"),
        }
    });
    let paths = [folder, example, after("--path").map(|path| root.join(path))];
    if let Some(missing) = paths.into_iter().flatten().find(|path| !path.exists()) {
        return Step::Wrong(format!("there is no {}", missing.display()));
    }
    if words[1] == "install" && !words.contains(&"--locked") {
        return Step::Wrong("without --locked it builds versions that nobody tested".into());
    }
    Step::Left("it builds; what it names is there")
}
