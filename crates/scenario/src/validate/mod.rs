//! What can be known to be wrong before a run.

mod attack;
mod capture;
mod classes;
mod connections;
mod controls;
mod faults;
mod graph;
mod guarantees;
mod lab;
mod multipath;
mod nic;
mod ns3;
mod policies;
mod sections;
mod tenants;
mod verbs;
mod workload;

pub(crate) use policies::default_floors;

use std::cell::OnceCell;

use fairlane_units::{NodeId, Rate};

use crate::error::{Error, ensure};
use crate::inputs::Inputs;
use crate::layout::{hosts, layout};
use crate::planes::Planes;
use crate::section::{Check, Section};
use crate::types::{HostSet, Scenario};
use fairlane_hpcc_files::{LinkText, TopologyText};

/// What all checks look at.
struct Subject<'a> {
    scenario: &'a Scenario,
    inputs: &'a Inputs,
    fabric: TopologyText,
    hosts: Vec<NodeId>,
    /// The ports of hosts, once somebody has asked.
    planes: OnceCell<Planes>,
    /// By node, the rates of its links together, and of its fastest one, once somebody has asked.
    rates: OnceCell<[Vec<Rate>; 2]>,
}

/// Checks everything that can be checked before the fabric is built.
///
/// # Errors
/// The first mistake, at its key path such as `workload[0].load`, or at a file and line.
pub fn validate(scenario: &Scenario, inputs: &Inputs) -> Check {
    scenario.check(scenario.profile)?;
    ns3::check(scenario)?;
    graph::counts(scenario)?;
    let subject = Subject {
        scenario,
        inputs,
        fabric: layout(scenario, inputs),
        hosts: hosts(scenario, inputs),
        planes: OnceCell::new(),
        rates: OnceCell::new(),
    };
    sections::check(&subject)?;
    graph::check(&subject)?;
    faults::check(&subject)?;
    capture::check(&subject)?;
    policies::check(&subject)?;
    classes::check(&subject)?;
    controls::check(&subject)?;
    tenants::check(&subject)?;
    workload::check(&subject)?;
    nic::check(&subject)?;
    verbs::check(&subject)?;
    multipath::check(&subject)?;
    connections::check(&subject)?;
    lab::check(scenario, |host, place| subject.check_host(host, || place))?;
    attack::check(&subject)
}

impl Subject<'_> {
    /// Whether each node is a switch.
    fn switch_flags(&self) -> Vec<bool> {
        let nodes = 0..self.fabric.nodes;
        nodes.map(|node| !self.is_host(node)).collect()
    }

    /// The ends of links: the node, the other node and the rate.
    fn ends(&self) -> impl Iterator<Item = (usize, usize, Rate)> {
        let ends = self.fabric.links.iter().map(|link| {
            [(link.a, link.b), (link.b, link.a)].map(|(a, b)| (a as usize, b as usize, link.rate))
        });
        ends.flatten()
    }

    /// Links with a switch at an end, numbered among all.
    fn switch_links(&self) -> impl Iterator<Item = (usize, &LinkText)> {
        let links = self.fabric.links.iter().enumerate();
        links.filter(|(_, link)| !self.is_host(link.a) || !self.is_host(link.b))
    }

    /// The ports of hosts. Whether they may have them has been checked.
    fn planes(&self) -> Planes {
        *self.planes.get_or_init(|| {
            let ends = self.fabric.links.iter().map(|link| (link.a, link.b));
            let found = Planes::find(&self.switch_flags(), &ends.collect::<Vec<_>>());
            found.unwrap_or(Planes { count: 1, ports: 1 })
        })
    }

    /// By node, the rates of the links that messages take: all of a node, or if they take a plane the fastest.
    fn rates(&self, plane: Option<u8>) -> &[Rate] {
        let [all, fastest] = self.rates.get_or_init(|| {
            let mut rates = [(); 2].map(|()| vec![Rate::ZERO; self.fabric.nodes as usize]);
            for (node, _, rate) in self.ends() {
                rates[0][node] = rates[0][node] + rate;
                rates[1][node] = rates[1][node].max(rate);
            }
            rates
        });
        match plane {
            Some(_) => fastest,
            None => all,
        }
    }

    /// The hosts of a set, which a key at `place` names.
    fn members(&self, set: &HostSet, place: String) -> Result<Vec<NodeId>, Error> {
        set.resolve(&self.hosts).map_err(|error| error.at(place))
    }

    fn is_host(&self, node: u32) -> bool {
        self.hosts.binary_search(&NodeId::new(node)).is_ok()
    }

    fn check_host(&self, node: u32, place: impl FnOnce() -> String) -> Check {
        ensure!(self.is_host(node), place(), "node {node} isn't a host";
            "`fairlane topology` lists the hosts");
        Ok(())
    }

    /// The place of link number `link`: a line of the topology file, or the section.
    fn link_place(&self, link: usize) -> String {
        match self.inputs.file("topology.path") {
            Some(file) => {
                let lines = fairlane_hpcc_files::lines::lines(&file.text, "").count();
                file.line(lines - self.fabric.links.len() + link)
            }
            None => "topology".into(),
        }
    }
}
