//! Runs the command in a directory of its own.

pub(crate) mod flows;
pub(crate) mod pcapng;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory that goes away with the test.
pub(crate) struct Case {
    directory: tempfile::TempDir,
}

/// Two hosts on one switch, three messages.
pub(crate) const STAR: &str = r#"
name = "star"
[topology]
kind = "star"
hosts = 3
host_link = { rate = "100Gbps", delay = "1us" }
[[workload]]
kind = "flows"
[[workload.flow]]
source = 0
destination = 2
size = "1MB"
[[workload.flow]]
source = 1
destination = 2
size = "200kB"
start = "1us"
[[workload.flow]]
source = 2
destination = 0
size = "1B"
start = "2us"
"#;

/// Every verb between six hosts and an incast that is paused; all ports are captured.
pub(crate) fn mixed() -> String {
    let workload = |verb: &str, size: u32, from: u32| {
        let flow = |n: u32| {
            let (source, destination) = ((from + n) % 6, (from + 2 * n + 1) % 6);
            format!("{{ source = {source}, destination = {destination}, size = {size} }}")
        };
        let flows: Vec<_> = (0..3).map(flow).collect();
        let list = flows.join(", ");
        format!("[[workload]]\nkind = \"flows\"\nverb = \"{verb}\"\nflow = [{list}]\n")
    };
    let workloads = [
        workload("write", 30_001, 0),
        workload("send", 5_000, 1),
        workload("read", 20_003, 2),
        workload("fetch-add", 8, 3),
        workload("compare-swap", 8, 4),
        workload("write", 1, 4),
        workload("read", 1_024, 5),
    ];
    let incast = "[[workload]]\nkind = \"incast\"\ndegree = 5\nsize = \"60kB\"\nreceiver = 0\n";
    format!("{MIXED}{}{incast}", workloads.concat())
}

const MIXED: &str = r#"
capture = ["host:0", "host:1", "host:2", "host:3", "host:4", "host:5", "switch:6"]
[topology]
kind = "star"
hosts = 6
host_link = { rate = "100Gbps", delay = "100ns" }
[congestion]
algorithm = "fixed"
[switch]
buffer = "300kB"
"#;

/// So many messages that a run of them doesn't end during a test.
pub(crate) const ENDLESS: &str = r#"
[topology]
kind = "star"
hosts = 2
host_link = { rate = "100Gbps", delay = "1us" }
[output]
sample_interval = "1s"
[[workload]]
kind = "incast"
degree = 1
receiver = 1
size = "4GB"
rounds = 250
period = "1us"
"#;

/// Four hosts under two switches with two spines.
pub(crate) const LEAF_SPINE: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "400Gbps", delay = "1us" }
[[workload]]
kind = "permutation"
size = "10kB"
"#;

impl Case {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// A directory that holds one file.
    pub(crate) fn with(name: &str, text: &str) -> Self {
        Self::new().and(name, text)
    }

    /// Adds a file.
    pub(crate) fn and(self, name: &str, text: &str) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The command, ready to be started in the directory.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairlane"));
        command
            .current_dir(self.root())
            .env("COLUMNS", "100")
            .args(arguments.split_whitespace());
        command
    }

    pub(crate) fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What the command says, and its exit status, as a text for a snapshot.
    /// Runs a command until it says something on standard error, and interrupts it, as it says by its status; that line, and those
    /// behind it.
    pub(crate) fn interrupted(&self, arguments: &str) -> (String, Vec<String>) {
        let mut command = self.command(arguments);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let first = lines.next().expect("a first line").expect("text");
        let kill = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(kill.expect("there is `kill`").success());
        let rest: Vec<_> = lines.map(|line| line.expect("text")).collect();
        let status = child.wait().expect("it ends");
        assert_eq!(status.signal(), Some(2), "{rest:?}");
        (first, rest)
    }

    pub(crate) fn transcript(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let words = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        format!(
            "$ fairlane {arguments}\n{}--- stderr\n{}--- exit {}\n",
            words(&output.stdout),
            words(&output.stderr),
            output.status.code().unwrap(),
        )
        .replace(
            &self.root().canonicalize().unwrap().display().to_string(),
            "HERE",
        )
    }

    /// Everything in the directory, in order.
    pub(crate) fn list(&self) -> Vec<String> {
        list(self.root())
    }
}

/// Everything in a directory, in order.
pub(crate) fn list(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
