//! What a fabric amounts to.

use fairlane_fabric::load::{TierLoad, tier_loads};
use fairlane_fabric::topology::{self, Facts, Link, Topology};
use fairlane_fabric::{Control, Results, Simulation};
use fairlane_scenario::{Error, Loaded};
use fairlane_units::NodeId;
use serde::Serialize;

/// What a fabric amounts to.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What its links and nodes amount to.
    #[serde(flatten)]
    pub facts: Facts,
    /// Node numbers of the hosts.
    pub host_nodes: Vec<u32>,
    /// Round-trip time without queues, the largest of all host pairs.
    pub base_rtt_ns: f64,
    /// Bandwidth-delay product, the largest of all host pairs.
    pub bdp_bytes: u64,
    /// What messages at random times offer the links of each tier, from hosts up and down again.
    pub offered: Vec<TierLoad>,
}

impl Report {
    /// Builds the fabric of a scenario and describes it.
    ///
    /// # Errors
    /// If the fabric can't be built.
    pub fn new(loaded: &Loaded) -> Result<Self, Error> {
        let fabric = build(loaded)?;
        let totals = idle(loaded)?.totals;
        Ok(Self {
            facts: topology::facts(&fabric),
            host_nodes: fabric.hosts().map(NodeId::get).collect(),
            base_rtt_ns: totals.base_rtt.as_secs_f64() * 1e9,
            bdp_bytes: totals.bdp.get(),
            offered: tier_loads(loaded, &fabric)?,
        })
    }
}

/// All switches and links of a fabric.
#[derive(Debug, Serialize)]
pub struct Lists {
    /// Switches, by node number.
    pub switch_list: Vec<SwitchRow>,
    /// Links, in the order in which they number ports.
    pub link_list: Vec<LinkRow>,
}

/// A switch.
#[derive(Debug, Serialize)]
pub struct SwitchRow {
    /// Its node number.
    pub node: u32,
    /// Links to the nearest host: 1 is next to hosts.
    pub tier: u8,
    /// Its ports.
    pub ports: u32,
    /// Rate of all its links, each way.
    pub rate_gbps: f64,
}

/// A link between two nodes, `a` and `b`.
#[derive(Debug, Serialize)]
pub struct LinkRow {
    /// Its number, from 1.
    pub link: usize,
    /// One end.
    pub a: u32,
    /// Number of its port there, from 1.
    pub a_port: u32,
    /// Tier of that end; 0 is a host.
    pub a_tier: u8,
    /// The other end.
    pub b: u32,
    /// Number of its port there, from 1.
    pub b_port: u32,
    /// Tier of that end; 0 is a host.
    pub b_tier: u8,
    /// Rate, each way.
    pub rate_gbps: f64,
    /// Propagation delay, each way.
    pub delay_ns: f64,
    /// Probability that a packet is lost, each way.
    pub loss: f64,
}

impl Lists {
    /// Builds the fabric of a scenario and lists its switches and links.
    ///
    /// # Errors
    /// If the fabric can't be built.
    pub fn new(loaded: &Loaded) -> Result<Self, Error> {
        let fabric = build(loaded)?;
        let mut ports = vec![0; fabric.nodes.len()];
        let mut rates = vec![0.0; fabric.nodes.len()];
        let mut row = |(number, link): (usize, &Link)| {
            let rate_gbps = link.rate.as_bps() as f64 / 1e9;
            let mut next = |node: NodeId| {
                rates[node.index()] += rate_gbps;
                let port = &mut ports[node.index()];
                *port += 1;
                *port
            };
            LinkRow {
                link: number,
                a: link.a.get(),
                a_port: next(link.a),
                a_tier: fabric.tiers[link.a.index()],
                b: link.b.get(),
                b_port: next(link.b),
                b_tier: fabric.tiers[link.b.index()],
                rate_gbps,
                delay_ns: link.delay.as_secs_f64() * 1e9,
                loss: link.loss,
            }
        };
        let link_list = (1..).zip(&fabric.links).map(&mut row).collect();
        let switch = |node: NodeId| SwitchRow {
            node: node.get(),
            tier: fabric.tiers[node.index()],
            ports: ports[node.index()],
            rate_gbps: rates[node.index()],
        };
        Ok(Self {
            switch_list: fabric.switches().map(switch).collect(),
            link_list,
        })
    }
}

/// The fabric of a scenario, its slow links included.
fn build(loaded: &Loaded) -> Result<Topology, Error> {
    let scenario = &loaded.scenario;
    let file = loaded.inputs.topology.as_ref();
    let fabric = Topology::build(&scenario.topology, file, scenario.faults.loss_rate)
        .map_err(|error| Error::new("topology", error.message(), error.hint()))?;
    Ok(fabric.slowed(&scenario.faults))
}

/// The fabric of a scenario without traffic: what it would measure of itself.
fn idle(loaded: &Loaded) -> Result<Results, Error> {
    let mut idle = loaded.clone();
    idle.scenario.workload.clear();
    idle.scenario.attack = None;
    idle.scenario.faults.link.clear();
    idle.scenario.faults.pause.clear();
    Ok(Simulation::new(&idle)?.run(&mut |_| Control::Interrupt))
}
