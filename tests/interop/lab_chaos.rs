//! Random programs over a lossy fabric with failing links, some of which are killed: nothing hangs, nothing is wrong, nothing leaks.
//!
//! `FAIRLANE_CHAOS_SECONDS=600 cargo test -p fairlane-tests --test interop random_programs` runs for ten minutes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::lab_scenarios::lab;
use crate::setup::{alone, has, root, succeed};

/// How long labs are started for.
fn lasts() -> Duration {
    let stated = std::env::var("FAIRLANE_CHAOS_SECONDS").ok();
    let seconds = stated.and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(0))
}

const SCALE: u64 = 50;
const HOSTS: u64 = 8;
/// Pairs of programs of a lab, of which one is started each second.
const PAIRS: u64 = 8;

const FABRIC: &str = r#"
    [topology]
    kind = "leaf-spine"
    leaves = 2
    spines = 2
    hosts_per_leaf = 4
    host_link = { rate = "10Gbps", delay = "1us" }
    fabric_link = { rate = "10Gbps", delay = "1us" }
    [[workload]]
    kind = "poisson"
    sizes = "rpc"
    load = 0.02
    duration = "50ms"
"#;

/// What servers are called with, and clients beside the address of theirs. rping and MPI compare payload.
const KINDS: [&str; 9] = [
    "ib_write_bw -n 200",
    "ib_read_bw -n 200",
    "ib_send_bw -n 200",
    "ib_write_lat -n 200",
    "ib_send_lat -n 200",
    "ib_atomic_bw -n 200",
    "ib_write_bw -R -q 4 -n 50",
    "rping",
    "mpi",
];

/// A sequence of numbers that look random (Marsaglia, xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// A scenario as text, under construction.
struct Chaos {
    text: String,
    random: Random,
    /// Programs that are killed, and their peers.
    killed: BTreeSet<String>,
}

impl Chaos {
    /// Half a millisecond in ten, one of the links between leaves and spines is down.
    fn links(&mut self, ends_ms: u64) {
        for down in (5..ends_ms).step_by(10) {
            let (leaf, spine) = (
                HOSTS + self.random.below(2),
                HOSTS + 2 + self.random.below(2),
            );
            let _ = writeln!(
                self.text,
                "[[faults.link]]\nbetween = [{leaf}, {spine}]\ndown = \"{down}ms\"\nup = \"{down}.5ms\""
            );
        }
    }

    fn program(&mut self, name: &str, host: u64, after: &str, command: &[String]) {
        let words: Vec<String> = command.iter().map(|word| format!("{word:?}")).collect();
        let _ = writeln!(
            self.text,
            "[[lab.program]]\nname = \"{name}\"\nhost = {host}\nafter = \"{after}\"\ncommand = [{}]",
            words.join(", ")
        );
    }

    /// A pair of programs, of which one may be killed.
    fn pair(&mut self, number: u64, collectives: Option<&str>) {
        let one = self.random.below(HOSTS);
        let other = (one + 1 + self.random.below(HOSTS - 1)) % HOSTS;
        let kind = KINDS[self.random.below(KINDS.len() as u64) as usize];
        let (server, client) = (format!("server-{number}"), format!("client-{number}"));
        let begins = format!("{number}s");
        let words = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        match (kind, collectives) {
            ("mpi", Some(collectives)) => {
                // Programs of hosts have the addresses before these.
                let second = 1 + 8 * (20 + number % 10);
                let rank = |host: u64| {
                    let address = format!("127.{second}.0.{}", host + 1);
                    format!("-n 1 -x FAIRLANE_ADDRESS={address} {collectives} 5")
                };
                let command = format!(
                    "mpirun.openmpi --allow-run-as-root --oversubscribe --mca pml ucx --mca osc ucx -x UCX_TLS=rc,ud,self {} : {}",
                    rank(one),
                    rank(other)
                );
                self.program(&server, one, &begins, &words(command));
                return;
            }
            ("mpi" | "rping", _) => {
                let command = |role: &str| {
                    words(format!(
                        "rping {role} -p {} -a {{address:{server}}} -C 20 -V",
                        19_000 + number
                    ))
                };
                self.program(&server, one, &begins, &command("-s"));
                self.program(&client, other, &server, &command("-c"));
            }
            _ => {
                let size = 1 << self.random.below(17);
                let sized = if kind.contains("atomic") {
                    String::new()
                } else {
                    format!(" -s {size}")
                };
                let command = format!("{kind}{sized} -u 10 -p {}", 19_000 + number);
                self.program(&server, one, &begins, &words(command.clone()));
                let command = format!("{command} {{address:{server}}}");
                self.program(&client, other, &server, &words(command));
            }
        }
        if self.random.below(5) == 0 {
            let victim = if self.random.below(2) == 0 {
                &server
            } else {
                &client
            };
            let at = number * 1000 / SCALE + 4;
            let _ = writeln!(
                self.text,
                "[[lab.fault]]\nprogram = \"{victim}\"\nat = \"{at}ms\"\naction = \"kill\""
            );
            self.killed.extend([server, client]);
        }
    }
}

/// The MPI program, if it can be made.
fn collectives() -> Option<String> {
    if !has("mpicc.openmpi", "libopenmpi-dev") || !has("mpirun.openmpi", "openmpi-bin") {
        return None;
    }
    let made = root().join("target/interop/collectives-lab");
    let mut compile = std::process::Command::new("mpicc.openmpi");
    compile.args(["-O1", "-o"]).arg(&made);
    succeed(compile.arg(root().join("tests/interop/c/collectives.c")));
    Some(made.display().to_string())
}

#[test]
fn random_programs_over_a_lossy_fabric_with_failing_links() {
    if !has("ib_write_bw", "perftest") || !has("rping", "rdmacm-utils") {
        return;
    }
    let _alone = alone();
    let collectives = collectives();
    let begun = Instant::now();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut rounds = 0;
    while rounds == 0 || begun.elapsed() < lasts() {
        rounds += 1;
        random.below(2);
        round(random.0, collectives.as_deref());
    }
    println!("{rounds} rounds of {PAIRS} pairs");
}

/// One lab.
fn round(seed: u64, collectives: Option<&str>) {
    let folder = root().join("target/interop/chaos");
    std::fs::create_dir_all(&folder).expect("target can be written");
    let mut chaos = Chaos {
        text: format!("[faults]\nloss_rate = 1e-5\n{FABRIC}\n[lab]\nscale = {SCALE}\n"),
        random: Random(seed),
        killed: BTreeSet::new(),
    };
    chaos.links((PAIRS + 60) * 1000 / SCALE);
    for number in 0..PAIRS {
        chaos.pair(number, collectives);
    }
    let scenario = folder.join("lab-random.toml");
    std::fs::write(&scenario, &chaos.text).expect("it can be written");
    let (out, output) = lab(&scenario, &[], Path::new(""));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // Books that don't balance would be an error, with another status.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    assert!(said.contains("results in"), "{said}");
    for line in said.lines().filter(|line| line.contains(" failed: ")) {
        let name = line.split(' ').nth(1).unwrap_or_default();
        let errors = std::fs::read_to_string(out.join(format!("programs/{name}.err")));
        let errors = errors.unwrap_or_default();
        assert!(chaos.killed.contains(name), "{seed}: {line}\n{errors}");
    }
    for number in 0..PAIRS {
        let output = out.join(format!("programs/server-{number}.out"));
        let text = std::fs::read_to_string(output).expect("it was started");
        assert!(
            !text.contains("wrong") || text.contains(" 0 wrong"),
            "{text}"
        );
    }
    let summary = std::fs::read_to_string(out.join("summary.json")).expect("it is there");
    let behind = summary.split("\"max_rss_bytes\": ").nth(1);
    let digits = behind.and_then(|text| text.split(|c: char| !c.is_ascii_digit()).next());
    let resident: u64 = digits
        .and_then(|digits| digits.parse().ok())
        .expect("a number");
    // Rows are some hundred bytes each.
    assert!(resident < 256 << 20, "{resident}");
}
