//! A scenario in words, for the head of the report.

use fairlane_scenario::{Figures, LinkSpec, Loaded, Profile, Scenario, Topology};
use fairlane_units::Bytes;

use crate::report::Heading;

/// The phrases that a heading borrows.
pub struct Words {
    congestion: String,
    topology: String,
    workload: String,
}

impl Words {
    /// The phrases for a scenario.
    pub fn of(loaded: &Loaded) -> Self {
        let scenario = &loaded.scenario;
        let parts = scenario.workload.iter().enumerate();
        let parts = parts.map(|(number, it)| match scenario.own_congestion(it) {
            Some(own) => format!(
                "{} under {}",
                workload(loaded, number),
                own.algorithm.title()
            ),
            None => workload(loaded, number),
        });
        let programs = scenario.lab.iter().flat_map(|lab| &lab.program);
        let programs = programs.map(|program| format!("program {}", program.name));
        let parts: Vec<_> = parts.chain(programs).collect();
        Self {
            congestion: scenario.of_controls(|control| control.title().into()),
            topology: topology(&scenario.topology),
            workload: parts.join("; "),
        }
    }

    /// The heading of the report.
    pub fn heading<'a>(&'a self, scenario: &'a Scenario) -> Heading<'a> {
        Heading {
            name: &scenario.name,
            profile: profile(scenario.profile),
            congestion: &self.congestion,
            topology: &self.topology,
            workload: &self.workload,
            seed: scenario.seed,
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// The name of a profile as the scenario writes it.
pub fn profile(profile: Profile) -> &'static str {
    match profile {
        Profile::Exact => "exact",
        Profile::HpccNs3 => "hpcc-ns3",
    }
}

fn topology(topology: &Topology) -> String {
    let shape = shape(topology);
    match topology.planes() {
        1 => shape,
        planes => format!("{shape}, {planes} planes"),
    }
}

fn shape(topology: &Topology) -> String {
    match topology {
        Topology::Dumbbell(it) => format!(
            "dumbbell, {} and {} hosts at {}, {} between",
            it.left, it.right, it.host_link.rate, it.core_link.rate
        ),
        Topology::Star(it) => format!("star, {} hosts at {}", it.hosts, it.host_link.rate),
        Topology::LeafSpine(it) => format!(
            "leaf-spine, {} leaves of {} hosts, {} spines, {}",
            it.leaves,
            it.hosts_per_leaf,
            it.spines,
            rates(it.host_link, it.fabric_link)
        ),
        Topology::Mesh(it) => format!(
            "mesh of {} switches with {} hosts each, {}",
            it.switches,
            it.hosts_per_switch,
            rates(it.host_link, it.fabric_link)
        ),
        Topology::FatTree(it) => format!(
            "fat-tree, {} pods of {} aggregation and {} ToR switches, {} cores, {} hosts per ToR, {}",
            it.pods,
            it.aggregations_per_pod,
            it.tors_per_pod,
            it.cores,
            it.hosts_per_tor,
            rates(it.host_link, it.fabric_link)
        ),
        Topology::File(it) => format!("from {}", it.path.display()),
    }
}

fn rates(host: LinkSpec, fabric: LinkSpec) -> String {
    format!("hosts at {}, fabric at {}", host.rate, fabric.rate)
}

fn workload(loaded: &Loaded, number: usize) -> String {
    loaded.scenario.workload[number].heading(&Texts { loaded, number })
}

/// How a heading writes the figures of a workload.
struct Texts<'a> {
    loaded: &'a Loaded,
    number: usize,
}

impl Figures for Texts<'_> {
    fn size(&self, size: Bytes) -> String {
        let key = format!("workload[{}].size", self.number);
        self.loaded.size_text(&key, size)
    }

    fn percent(&self, part: f64) -> String {
        crate::table::digits(part * 100.0)
    }
}
