//! Nodes and links of generated topologies.
//!
//! Hosts come first, switch by switch, then the switches: dumbbell left, right; leaf-spine leaves,
//! then spines; fat-tree ToRs pod by pod, then aggregations pod by pod, then cores. Of several planes all
//! switches of one come before those of the next, and so do links.

use fairlane_units::NodeId;

use crate::inputs::Inputs;
use crate::types::{LinkSpec, Scenario, Topology};
use fairlane_hpcc_files::{LinkText, TopologyText};

/// Numbers of nodes and links; saturating, since a scenario may ask for anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Hosts.
    pub hosts: u64,
    /// Switches.
    pub switches: u64,
    /// Links, those of hosts included.
    pub links: u64,
}

/// The hosts of a scenario, in ascending order of node number.
pub fn hosts(scenario: &Scenario, inputs: &Inputs) -> Vec<NodeId> {
    match &inputs.topology {
        Some(text) => text.hosts(),
        None => {
            let count = counts(&scenario.topology).hosts;
            (0..u32::try_from(count).unwrap_or(u32::MAX))
                .map(NodeId::new)
                .collect()
        }
    }
}

/// The nodes and links of a scenario that has been validated: those of its file, or generated; slow links at the rate
/// that they have.
pub fn layout(scenario: &Scenario, inputs: &Inputs) -> TopologyText {
    let stated = inputs.topology.clone();
    let mut text = stated.unwrap_or_else(|| generate(&scenario.topology));
    let links = text.links.iter_mut();
    let links = links.map(|link| ([link.a, link.b], &mut link.rate));
    scenario.faults.slow_down(links);
    text
}

/// How many nodes and links a shape has; none for a file, which says so itself.
pub fn counts(topology: &Topology) -> Counts {
    let planes = u128::from(topology.planes());
    let fits = |count: u128| u64::try_from(count).unwrap_or(u64::MAX);
    let counts = |hosts: u128, switches: u128, fabric: u128| Counts {
        hosts: fits(hosts),
        switches: fits(switches.saturating_mul(planes)),
        links: fits((hosts + fabric).saturating_mul(planes)),
    };
    match topology {
        Topology::Dumbbell(it) => counts(u128::from(it.left) + u128::from(it.right), 2, 1),
        Topology::Star(it) => counts(u128::from(it.hosts), 1, 0),
        Topology::LeafSpine(it) => {
            let [leaves, spines] = [it.leaves, it.spines].map(u128::from);
            let hosts = leaves * u128::from(it.hosts_per_leaf);
            counts(hosts, leaves + spines, leaves * spines)
        }
        Topology::Mesh(it) => {
            let [switches, hosts] = [it.switches, it.hosts_per_switch].map(u128::from);
            let fabric = switches * switches.saturating_sub(1) / 2;
            counts(switches * hosts, switches, fabric)
        }
        Topology::FatTree(it) => {
            let [pods, cores] = [it.pods, it.cores].map(u128::from);
            let tors = pods * u128::from(it.tors_per_pod);
            let aggregations = u128::from(it.aggregations_per_pod);
            let hosts = tors * u128::from(it.hosts_per_tor);
            let switches = tors + pods * aggregations + cores;
            counts(hosts, switches, tors * aggregations + pods * cores)
        }
        Topology::File(_) => counts(0, 0, 0),
    }
}

/// Generates a shape, which `counts` must have found to be of a sensible size; empty for a file.
pub fn generate(topology: &Topology) -> TopologyText {
    let (counts, planes) = (counts(topology), topology.planes());
    let fits = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let hosts = fits(counts.hosts);
    let nodes = fits(counts.hosts.saturating_add(counts.switches));
    let mut plan = Plan {
        first: hosts,
        links: Vec::with_capacity(usize::try_from(counts.links).unwrap_or(0)),
    };
    let switches = (nodes - hosts).checked_div(planes).unwrap_or(0);
    for _ in 0..planes {
        add_plane(topology, &mut plan);
        plan.first += switches;
    }
    TopologyText {
        nodes,
        switches: (hosts..nodes).collect(),
        links: plan.links,
    }
}

/// Adds the links of one plane.
fn add_plane(topology: &Topology, plan: &mut Plan) {
    match topology {
        Topology::Dumbbell(it) => {
            plan.attach(0, 0, it.left, it.host_link);
            plan.attach(1, it.left, it.right, it.host_link);
            plan.connect(0, 1, 1, it.core_link);
        }
        Topology::Star(it) => plan.attach(0, 0, it.hosts, it.host_link),
        Topology::LeafSpine(it) => {
            plan.attach_each(it.leaves, it.hosts_per_leaf, it.host_link);
            for leaf in 0..it.leaves {
                plan.connect(leaf, it.leaves, it.spines, it.fabric_link);
            }
        }
        Topology::Mesh(it) => {
            plan.attach_each(it.switches, it.hosts_per_switch, it.host_link);
            for a in 0..it.switches {
                plan.connect(a, a + 1, it.switches - a - 1, it.fabric_link);
            }
        }
        Topology::FatTree(it) => {
            let per_pod = it.aggregations_per_pod;
            let (tors, aggregations) = (it.pods * it.tors_per_pod, it.pods * per_pod);
            plan.attach_each(tors, it.hosts_per_tor, it.host_link);
            for tor in 0..tors {
                let first = tors + tor / it.tors_per_pod * per_pod;
                plan.connect(tor, first, per_pod, it.fabric_link);
            }
            let group = it.cores.checked_div(per_pod).unwrap_or(0);
            for index in 0..aggregations {
                let first = tors + aggregations + index % per_pod * group;
                plan.connect(tors + index, first, group, it.fabric_link);
            }
        }
        Topology::File(_) => {}
    }
}

struct Plan {
    /// The first switch of the plane at hand.
    first: u32,
    links: Vec<LinkText>,
}

impl Plan {
    /// Links `count` hosts from number `first` on to a switch, counted among those of the plane.
    fn attach(&mut self, switch: u32, first: u32, count: u32, link: LinkSpec) {
        for host in first..first + count {
            self.link(host, self.first + switch, link);
        }
    }

    fn attach_each(&mut self, switches: u32, hosts: u32, link: LinkSpec) {
        for switch in 0..switches {
            self.attach(switch, switch * hosts, hosts, link);
        }
    }

    /// Links a switch to `count` others from number `first` on, all counted among those of the plane.
    fn connect(&mut self, switch: u32, first: u32, count: u32, link: LinkSpec) {
        for other in first..first + count {
            self.link(self.first + switch, self.first + other, link);
        }
    }

    fn link(&mut self, a: u32, b: u32, LinkSpec { rate, delay }: LinkSpec) {
        self.links.push(LinkText {
            a,
            b,
            rate,
            delay,
            loss: 0.0,
        });
    }
}

impl Topology {
    /// How often a generated shape has its switches; 1 for a file, which says so itself.
    pub const fn planes(&self) -> u32 {
        match self {
            Self::Star(it) => it.planes,
            Self::LeafSpine(it) => it.planes,
            Self::FatTree(it) => it.planes,
            Self::Dumbbell(_) | Self::Mesh(_) | Self::File(_) => 1,
        }
    }
}
