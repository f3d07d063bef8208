//! Commands and snippets of README and docs run, page by page, in a folder that has what a clone has. Python's are for
//! `python/tests/test_pages.py`, those in Rust are doctests of the crates that they are about.

mod blocks;
mod reduced;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Case;
use blocks::{Block, blocks, commands, inline};
use reduced::{Step, step};

/// What a case of HPCC's simulator is made of: two hosts, a switch, a message.
const HPCC: [(&str, &str); 4] = [
    (
        "config.txt",
        "TOPOLOGY_FILE mix/topology.txt\nFLOW_FILE mix/flow.txt\nTRACE_FILE mix/trace.txt\nCC_MODE 3\nMULTI_RATE 0\n\
         RATE_AI 50Mb/s\nRATE_HAI 100Mb/s\nL2_ACK_INTERVAL 1\nSIMULATOR_STOP_TIME 3.00\nKMAX_MAP 1 100000000000 1600\n\
         KMIN_MAP 1 100000000000 400\nPMAX_MAP 1 100000000000 0.2\n",
    ),
    (
        "topology.txt",
        "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n",
    ),
    ("trace.txt", "1\n0\n"),
    ("flow.txt", "1\n0 1 3 100 100000 2\n"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README and the pages that it leads to, by their paths in the repository.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    for folder in ["docs", "scenarios", "report", "examples/key-value"] {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let named = names.filter(|name| name.ends_with(".md"));
        pages.extend(named.map(|name| format!("{folder}/{name}")));
    }
    pages.sort();
    pages
}

/// A folder like a clone, with what pages take to be there and programs that stand in for those of others.
fn clone() -> Case {
    let case = Case::new();
    for name in ["scenarios", "examples", "sweeps", "experiments"] {
        symlink(root().join(name), case.path(name)).unwrap();
    }
    let case = HPCC.iter().fold(case, |case, (name, text)| {
        case.and(&format!("mix/{name}"), text)
    });
    fs::copy(case.path("mix/config.txt"), case.path("CONFIG.txt")).unwrap();
    fs::copy(
        root().join("examples/drum/host.json"),
        case.path("problem.json"),
    )
    .unwrap();
    symlink(root().join("experiments/s0/fig2b"), case.path("mine")).unwrap();
    fs::create_dir_all(case.path("target/verbs")).unwrap();
    fs::write(case.path("target/verbs/libibverbs.so.1"), "").unwrap();
    for name in [
        "ib_write_bw",
        "ibv_rc_pingpong",
        "ibv_devinfo",
        "docker",
        "ucx_perftest",
        "mpicc",
        "mpirun",
        "valkey-server",
        "rdma-test",
        "kv-server",
        "kv-client",
    ] {
        symlink("/bin/true", case.path(name)).unwrap();
    }
    case
}

/// Runs a line in a shell that finds the command under test and the stand-ins.
fn shell(case: &Case, line: &str) -> Result<String, String> {
    let programs = Path::new(env!("CARGO_BIN_EXE_fairlane")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{}:{path}", programs.display(), case.root().display());
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c", line])
        .current_dir(case.root())
        .env("PATH", path)
        .env("FAIRLANE_VERBS", case.path("target/verbs"))
        .output()
        .expect("there is bash");
    let [data, talk] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    match output.status.success() {
        true => Ok(data),
        false => Err(format!("{line}\n{data}{talk}")),
    }
}

/// Runs the commands of a page; those that are left out, with their reasons.
fn run(page: &str, text: &str) -> Vec<(String, &'static str)> {
    let case = clone();
    let mut left = Vec::new();
    for line in commands(text) {
        match step(&line, &root()) {
            Step::Run(command) => {
                let done = shell(&case, &command);
                done.unwrap_or_else(|words| panic!("{page}: {line}\n{words}"));
            }
            Step::Left(reason) => left.push((line, reason)),
            Step::Wrong(why) => panic!("{page}: {line}: {why}"),
        }
    }
    let own = case.list();
    let clone = clone().list();
    let new: Vec<_> = own.iter().filter(|name| !clone.contains(name)).collect();
    // Git ignores `out`.
    assert!(new.is_empty() || new == ["out"], "{page}: {new:?}");
    left
}

#[test]
fn commands_run_as_they_stand() {
    let mut left = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        left.extend(
            run(&page, &text)
                .into_iter()
                .map(|(line, reason)| format!("{page}: {line}  ({reason})")),
        );
    }
    // What is left out is little: the rest has run.
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("commands_of_pages_left_out", left.join("\n"));
    });
}

#[test]
fn snippets_are_read() {
    let mut read = 0;
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        for Block { language, text } in blocks(&text) {
            let case = clone();
            let (name, command) = match language.as_str() {
                "json" => ("snippet.json", "fairlane drum solve snippet.json"),
                "toml" if text.contains("[topology]") => {
                    ("snippet.toml", "fairlane check snippet.toml")
                }
                "toml" if text.contains("scenario = ") => (
                    "snippet.toml",
                    "cp sweeps/incast.scenario.toml . && fairlane sweep snippet.toml --dry-run",
                ),
                // Every key of an experiment is in these two, some of which stand for several: tests of the crate read them all.
                "toml" => continue,
                "" | "text" | "python" | "rust" => continue,
                other => panic!("{page}: nothing runs snippets in \"{other}\""),
            };
            let case = case.and(name, &text);
            shell(&case, command).unwrap_or_else(|words| panic!("{page}: {words}"));
            read += 1;
        }
    }
    assert!(read >= 4, "{read}");
}

#[test]
fn commands_in_sentences_exist() {
    let case = Case::new();
    let mut asked = std::collections::BTreeSet::new();
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        for command in inline(&text) {
            if asked.insert(command.clone()) {
                shell(&case, &format!("{command} --help"))
                    .unwrap_or_else(|words| panic!("{page}: {words}"));
            }
        }
    }
    assert!(asked.len() > 10, "{asked:?}");
}
