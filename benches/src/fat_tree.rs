//! Fat trees of four sizes under the traffic of `scenarios/hadoop-fat-tree.toml`.

use std::path::Path;

use fairlane_fabric::{Control, Simulation};

use crate::table::{self, row};
use crate::{Outcome, process};

/// One size of fat tree: 16 hosts on each ToR, every pod with four aggregation switches, no
/// oversubscription above the ToRs.
#[derive(Clone, Copy, Debug)]
struct Tree {
    hosts: u32,
    pods: u32,
    tors_per_pod: u32,
    /// Shorter on larger fabrics, so that each measures a similar number of packets; 320 hosts are
    /// the shipped scenario.
    duration: &'static str,
}

const TREES: [Tree; 4] = [
    Tree {
        hosts: 32,
        pods: 2,
        tors_per_pod: 1,
        duration: "20ms",
    },
    Tree {
        hosts: 128,
        pods: 4,
        tors_per_pod: 2,
        duration: "5ms",
    },
    Tree {
        hosts: 320,
        pods: 5,
        tors_per_pod: 4,
        duration: "5ms",
    },
    Tree {
        hosts: 1024,
        pods: 16,
        tors_per_pod: 4,
        duration: "1ms",
    },
];

const REPETITIONS: usize = 2;

impl Tree {
    fn scenario(&self) -> String {
        let Self {
            pods,
            tors_per_pod,
            duration,
            ..
        } = self;
        let cores = 4 * tors_per_pod;
        format!(
            "[congestion]\nalgorithm = \"dcqcn\"\n\
             [topology]\nkind = \"fat-tree\"\npods = {pods}\ntors_per_pod = {tors_per_pod}\n\
             aggregations_per_pod = 4\ncores = {cores}\nhosts_per_tor = 16\n\
             host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             fabric_link = {{ rate = \"400Gbps\", delay = \"1us\" }}\n\
             [[workload]]\nkind = \"poisson\"\nsizes = \"hadoop\"\nload = 0.5\n\
             duration = \"{duration}\"\n"
        )
    }
}

/// What one run cost.
#[derive(Clone, Copy, Debug)]
struct Run {
    transmissions: u64,
    events: u64,
    setup_us: u64,
    user_us: u64,
    rss_kib: u64,
}

impl Run {
    /// Runs a tree in a process of its own.
    fn of(tree: &Tree) -> Outcome<Self> {
        let numbers = process::measure(&["tree", &tree.hosts.to_string()])?;
        let [transmissions, events, setup_us, user_us, rss_kib] = numbers[..] else {
            return Err("expected five numbers".into());
        };
        Ok(Self {
            transmissions,
            events,
            setup_us,
            user_us,
            rss_kib,
        })
    }

    fn best(tree: &Tree) -> Outcome<Self> {
        let runs: Vec<Self> = (0..REPETITIONS)
            .map(|_| Self::of(tree))
            .collect::<Outcome<_>>()?;
        runs.into_iter()
            .min_by_key(|run| run.user_us)
            .ok_or_else(|| "no run".into())
    }

    /// User time of a transmission in nanoseconds.
    fn ns(&self) -> f64 {
        self.user_us as f64 * 1e3 / self.transmissions as f64
    }

    fn row(&self, tree: &Tree) -> Vec<String> {
        let millions = |count: u64| count as f64 / 1e6;
        vec![
            tree.hosts.to_string(),
            tree.duration.into(),
            format!("{:.1}", millions(self.transmissions)),
            format!("{:.2}", self.events as f64 / self.transmissions as f64),
            format!("{:.2}", millions(self.setup_us)),
            format!("{:.2}", millions(self.user_us)),
            format!("{:.2}", self.transmissions as f64 / self.user_us as f64),
            format!("{:.1}", self.ns()),
            format!("{:.0}", self.rss_kib as f64 / 1024.0),
        ]
    }
}

/// Measures every tree and prints a table.
pub(crate) fn table() -> Outcome<()> {
    let header = [
        "hosts",
        "arrivals",
        "M tx",
        "events/tx",
        "set-up s",
        "user s",
        "M tx/s",
        "ns/tx",
        "MiB",
    ];
    let mut rows = vec![row(header)];
    let mut runs = Vec::new();
    for tree in &TREES {
        let run = Run::best(tree)?;
        rows.push(run.row(tree));
        runs.push(run);
    }
    if let (Some(first), Some(last)) = (runs.first(), runs.last()) {
        let growth = last.ns() / first.ns();
        let (small, large) = (TREES[0].hosts, TREES[TREES.len() - 1].hosts);
        let name = format!("growth of ns/tx from {small} to {large} hosts: {growth:.2}");
        rows.push(vec![String::new()]);
        rows.push(vec![name]);
    }
    let title = "Fat tree, Hadoop sizes at 50 % load, DCQCN. tx: a data packet or acknowledgement put on a\n\
                 link; user s: user time of set-up and run, one thread";
    table::print(title, &rows)
}

/// Runs one tree and prints what it cost.
pub(crate) fn one(hosts: &str) -> Outcome<()> {
    let hosts: u32 = hosts.parse()?;
    let tree = TREES
        .iter()
        .find(|tree| tree.hosts == hosts)
        .ok_or("no tree of that size")?;
    let loaded =
        fairlane_scenario::parse(&tree.scenario(), "benchmark", Path::new("."), &[], None)?;
    let before = process::user_us()?;
    let simulation = Simulation::new(&loaded)?;
    let built = process::user_us()?;
    let totals = simulation.run(&mut |_| Control::Continue).totals;
    let done = process::user_us()?;
    table::numbers(&[
        totals.message_transmissions,
        totals.events,
        built - before,
        done - before,
        process::max_rss_kib()?,
    ])
}
