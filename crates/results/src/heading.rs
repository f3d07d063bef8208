//! A scenario in words, for the head of the report.

use fairlane_scenario::{LinkSpec, Loaded, Profile, Scenario, Sizes, Topology, Workload};
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
        let parts: Vec<_> = parts.collect();
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
    let size = |size: &Bytes| loaded.size_text(&format!("workload[{number}].size"), *size);
    match &loaded.scenario.workload[number] {
        Workload::Poisson(it) => format!(
            "{} sizes at {} % load for {}",
            sizes_name(&it.sizes),
            percent(it.load),
            it.duration
        ),
        Workload::Incast(it) => {
            let rounds = match (it.load, it.duration) {
                (Some(load), Some(time)) => format!("at {} % load for {time}", percent(load)),
                _ => format!("{} rounds", it.rounds()),
            };
            format!("incast of {} x {}, {rounds}", it.degree, size(&it.size))
        }
        Workload::Permutation(it) => format!("permutation of {}", size(&it.size)),
        Workload::AllToAll(it) => format!("all-to-all of {}", size(&it.size)),
        Workload::RingAllReduce(it) => {
            format!(
                "ring all-reduce of {}, {} rounds",
                size(&it.size),
                it.rounds
            )
        }
        Workload::Collective(it) => format!(
            "{:?} of {}, {} rounds in {} groups",
            it.operation,
            size(&it.size),
            it.rounds,
            it.groups
        ),
        Workload::Training(it) => format!(
            "training for {} steps, {} tensor ranks, {} stages",
            it.steps, it.tensor, it.pipeline
        ),
        Workload::Program(it) => format!("program of {}", it.path.name()),
        Workload::KeyValue(it) => format!(
            "{} key-value applications a client, {} connections each, batches of {}",
            it.applications, it.connections, it.batch
        ),
        Workload::Flows(it) => match &it.path {
            Some(path) => format!("flows from {}", path.display()),
            None => format!("{} flows", it.flow.len()),
        },
    }
}

fn sizes_name(sizes: &Sizes) -> &str {
    match sizes {
        Sizes::Named(name) => name,
        Sizes::Points(_) => "own",
    }
}

fn percent(load: f64) -> String {
    crate::table::digits(load * 100.0)
}
