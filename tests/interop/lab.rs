//! Unmodified programs as hosts of a simulated fabric.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::pair::finish;
use crate::setup::{alone, fairlane, has, root, succeed};

const SCENARIO: &str = r#"
    name = "programs"
    topology = { kind = "dumbbell", left = 2, right = 2, host_link = { rate = "10Gbps", delay = "1us" }, core_link = { rate = "10Gbps", delay = "1us" } }
    workload = [{ kind = "poisson", sizes = "rpc", load = 0.05, duration = "2ms" }]
"#;
/// How long a program may take on a machine that does other things, too.
const MOST: Duration = Duration::from_secs(60);
/// How long a server gets until it listens, which can't be seen.
const LISTENS: Duration = Duration::from_millis(700);
/// The address of host 0.
const SERVER: &str = "127.1.0.1";

/// A lab that runs, in a folder of its own.
struct Lab {
    folder: PathBuf,
    process: Child,
}

impl Lab {
    fn start() -> Self {
        let folder = root().join("target/interop/lab");
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).expect("target can be written");
        std::fs::write(folder.join("programs.toml"), SCENARIO).expect("it can be written");
        let process = Command::new(fairlane())
            .args(["lab", "programs.toml", "--scale", "100", "--out", "out"])
            .current_dir(&folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let begun = Instant::now();
        while !folder.join("out.lab").exists() {
            assert!(begun.elapsed() < MOST, "the lab doesn't listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { folder, process }
    }

    fn exec(&self, host: &str, command: &[&str]) -> Command {
        let mut exec = Command::new(fairlane());
        exec.args(["exec", "--lab", "out.lab", "--host", host, "--"])
            .args(command)
            .current_dir(&self.folder);
        exec
    }

    /// Ends it as people do; what it has said.
    fn end(self) -> (PathBuf, String) {
        let mut kill = Command::new("kill");
        succeed(kill.args(["-INT", &self.process.id().to_string()]));
        let output = self.process.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        (self.folder.join("out"), said)
    }
}

/// A server at host 0 and its client at host 2, beyond the link between switches; both must end well.
fn assert_runs(lab: &Lab, server: &[&str], client: &[&str]) {
    let spawn = |mut command: Command| {
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        piped.spawn().expect("it can be started")
    };
    let server = spawn(lab.exec("0", server));
    std::thread::sleep(LISTENS);
    let output = [spawn(lab.exec("2", client)), server]
        .map(|process| finish(process, Instant::now() + MOST));
    for output in output {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{client:?}: {said}");
    }
}

#[test]
fn unmodified_programs_run_over_simulated_switches() {
    if !has("ib_write_bw", "perftest") || !has("rping", "rdmacm-utils") {
        return;
    }
    let _alone = alone();
    let lab = Lab::start();
    for both in [
        &["ib_write_bw", "-n", "50"][..],
        &["ib_read_bw", "-n", "50"],
        &["ib_send_lat", "-n", "50"],
        &["ib_atomic_bw", "-n", "50"],
        &["ib_write_bw", "-R", "-q", "4", "-n", "50"],
    ] {
        let client = [both, &[SERVER]].concat();
        assert_runs(&lab, both, &client);
    }
    let server = ["rping", "-s", "-a", SERVER, "-C", "5", "-V"];
    let client = ["rping", "-c", "-a", SERVER, "-C", "5", "-V"];
    assert_runs(&lab, &server, &client);
    let (results, said) = lab.end();
    assert!(
        said.contains("12 NICs attached; packets refused: 0,"),
        "{said}"
    );
    let exists = |name: &str| Path::new(&results).join(name).exists();
    assert!(exists("flows.csv") && exists("report.html") && exists("summary.json"));
}
