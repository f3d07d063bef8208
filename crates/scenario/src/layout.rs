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
    for link in &mut text.links {
        link.rate = scenario.faults.rate_of((link.a, link.b), link.rate);
    }
    text
}

/// How many nodes and links a shape has; none for a file, which says so itself.
pub fn counts(topology: &Topology) -> Counts {
    let product = |factors: &[u32]| {
        factors.iter().fold(1u64, |product, factor| {
            product.saturating_mul(u64::from(*factor))
        })
    };
    let planes = u64::from(topology.planes());
    let counts = |hosts: u64, switches: u64, fabric: u64| Counts {
        hosts,
        switches: switches.saturating_mul(planes),
        links: hosts.saturating_add(fabric).saturating_mul(planes),
    };
    match *topology {
        Topology::Dumbbell { left, right, .. } => counts(u64::from(left) + u64::from(right), 2, 1),
        Topology::Star { hosts, .. } => counts(u64::from(hosts), 1, 0),
        Topology::LeafSpine {
            leaves,
            spines,
            hosts_per_leaf,
            ..
        } => counts(
            product(&[leaves, hosts_per_leaf]),
            u64::from(leaves) + u64::from(spines),
            product(&[leaves, spines]),
        ),
        Topology::Mesh {
            switches,
            hosts_per_switch,
            ..
        } => counts(
            product(&[switches, hosts_per_switch]),
            u64::from(switches),
            product(&[switches, switches.saturating_sub(1)]) / 2,
        ),
        Topology::FatTree {
            pods,
            tors_per_pod,
            aggregations_per_pod,
            cores,
            hosts_per_tor,
            ..
        } => counts(
            product(&[pods, tors_per_pod, hosts_per_tor]),
            product(&[pods, tors_per_pod])
                .saturating_add(product(&[pods, aggregations_per_pod]))
                .saturating_add(u64::from(cores)),
            product(&[pods, tors_per_pod, aggregations_per_pod])
                .saturating_add(product(&[pods, cores])),
        ),
        Topology::File { .. } => counts(0, 0, 0),
    }
}

/// Generates a shape, which `counts` must have found to be of a sensible size; empty for a file.
pub fn generate(topology: &Topology) -> TopologyText {
    let (counts, planes) = (counts(topology), topology.planes());
    let mut plan = Plan::new(counts);
    let switches = (plan.text.nodes - plan.hosts).checked_div(planes);
    for plane in 0..planes {
        plan.first = plan.hosts + plane * switches.unwrap_or(0);
        add_plane(topology, &mut plan);
    }
    plan.text
}

/// Adds the links of one plane.
fn add_plane(topology: &Topology, plan: &mut Plan) {
    match *topology {
        Topology::Dumbbell {
            left,
            right,
            host_link,
            core_link,
        } => {
            plan.attach(0, 0, left, host_link);
            plan.attach(1, left, right, host_link);
            plan.connect(0, 1, core_link);
        }
        Topology::Star {
            hosts, host_link, ..
        } => plan.attach(0, 0, hosts, host_link),
        Topology::LeafSpine {
            leaves,
            spines,
            hosts_per_leaf,
            host_link,
            fabric_link,
            ..
        } => {
            plan.attach_each(leaves, hosts_per_leaf, host_link);
            for leaf in 0..leaves {
                (0..spines).for_each(|spine| plan.connect(leaf, leaves + spine, fabric_link));
            }
        }
        Topology::Mesh {
            switches,
            hosts_per_switch,
            host_link,
            fabric_link,
        } => {
            plan.attach_each(switches, hosts_per_switch, host_link);
            for a in 0..switches {
                (a + 1..switches).for_each(|b| plan.connect(a, b, fabric_link));
            }
        }
        Topology::FatTree {
            pods,
            tors_per_pod,
            aggregations_per_pod,
            cores,
            hosts_per_tor,
            host_link,
            fabric_link,
            ..
        } => {
            let (tors, aggregations) = (pods * tors_per_pod, pods * aggregations_per_pod);
            plan.attach_each(tors, hosts_per_tor, host_link);
            for tor in 0..tors {
                let first = tors + tor / tors_per_pod * aggregations_per_pod;
                (0..aggregations_per_pod).for_each(|a| plan.connect(tor, first + a, fabric_link));
            }
            let group = cores.checked_div(aggregations_per_pod).unwrap_or(0);
            for index in 0..aggregations {
                let first = tors + aggregations + index % aggregations_per_pod * group;
                let cores = first..first + group;
                cores.for_each(|core| plan.connect(tors + index, core, fabric_link));
            }
        }
        Topology::File { .. } => {}
    }
}

struct Plan {
    hosts: u32,
    /// The first switch of the plane at hand.
    first: u32,
    text: TopologyText,
}

impl Plan {
    fn new(counts: Counts) -> Self {
        let fits = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let (hosts, nodes) = (
            fits(counts.hosts),
            fits(counts.hosts.saturating_add(counts.switches)),
        );
        let links = Vec::with_capacity(usize::try_from(counts.links).unwrap_or(0));
        Self {
            hosts,
            first: hosts,
            text: TopologyText {
                nodes,
                switches: (hosts..nodes).collect(),
                links,
            },
        }
    }

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

    /// Links two switches, counted among those of the plane.
    fn connect(&mut self, a: u32, b: u32, link: LinkSpec) {
        self.link(self.first + a, self.first + b, link);
    }

    fn link(&mut self, a: u32, b: u32, LinkSpec { rate, delay }: LinkSpec) {
        self.text.links.push(LinkText {
            a,
            b,
            rate,
            delay,
            loss: 0.0,
        });
    }
}
