//! The time series of chosen ports, at an interval of their own beside that of all ports.

use fairlane_network::Network;
use fairlane_network::port::Port;
use fairlane_network::routing::Graph;
use fairlane_scenario::Scenario;
use fairlane_units::{PortId, Time};

use crate::events::control;
use crate::sampler::Sampler;
use crate::{ChosenPorts, PortSeries};

/// Samples the ports that `output.ports` names.
///
/// A port says what waited most since it was last looked at, whoever looked. So that either series has that of its own
/// intervals, each keeps what the other's looks end.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) sampler: Sampler,
    /// The ports, ascending.
    ports: Vec<u32>,
    /// By port, most bytes waiting since the last row here, up to the last row of all ports.
    since_chosen: Vec<u64>,
    /// By port, most bytes waiting since the last row of all ports, up to the last row here.
    since_all: Vec<u64>,
}

impl Chosen {
    /// The ports that a scenario names, if it does. Their names have been checked with it.
    pub(crate) fn new(scenario: &Scenario, graph: &Graph, start: Time) -> Option<Box<Self>> {
        let interval = scenario.output.sample_interval?;
        let points = scenario.output.ports.iter();
        let points: Vec<_> = points.filter_map(|point| point.ports().ok()).collect();
        let mut ports = Vec::new();
        for (node, edges) in (0..).zip(&graph.edges) {
            for (number, edge) in (1..).zip(edges) {
                if points.iter().any(|point| point.contains(node, number)) {
                    ports.push(edge.port);
                }
            }
        }
        if ports.is_empty() {
            return None;
        }
        ports.sort_unstable();
        let mut sampler = Sampler::new(ports.len(), start, Some(interval));
        sampler.keep(ports.clone());
        Some(Box::new(Self {
            sampler,
            since_chosen: vec![0; ports.len()],
            since_all: vec![0; ports.len()],
            ports,
        }))
    }

    /// How many ports there are.
    pub(crate) fn count(&self) -> usize {
        self.ports.len()
    }

    /// Schedules the next row, if there are ports here.
    pub(crate) fn schedule(&self, net: &mut Network) {
        if self.count() > 0 {
            net.schedule_control(self.sampler.next, control::CHOSEN);
        }
    }

    /// Adds the row that is due.
    pub(crate) fn on_due(&mut self, net: &mut Network) {
        let now = net.now();
        self.add_row(net.sampled_ports(), now);
        self.sampler.next = now + self.sampler.series.interval;
        self.schedule(net);
    }

    /// Keeps these ports only.
    pub(crate) fn keep(&mut self, is_kept: impl Fn(u32) -> bool) {
        self.ports.retain(|&port| is_kept(port));
        self.since_chosen.truncate(self.ports.len());
        self.since_all.truncate(self.ports.len());
        self.sampler.keep(self.ports.clone());
    }

    /// All ports are about to get a row.
    pub(crate) fn before_all(&mut self, ports: &mut [Port]) {
        exchange(
            &self.ports,
            ports,
            &mut self.since_chosen,
            &mut self.since_all,
        );
    }

    /// Adds a row that ends now.
    fn add_row(&mut self, ports: &mut [Port], now: Time) {
        exchange(
            &self.ports,
            ports,
            &mut self.since_all,
            &mut self.since_chosen,
        );
        self.sampler.add_row(ports, now);
    }

    /// Adds the last row, perhaps a short one, if there are ports here.
    pub(crate) fn close(&mut self, net: &mut Network) {
        let now = net.now();
        if self.count() > 0 && now > self.sampler.next - self.sampler.series.interval {
            self.add_row(net.sampled_ports(), now);
        }
    }

    /// Takes in other ports of the same run.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.sampler.absorb(&other.sampler);
        self.ports.extend_from_slice(&other.ports);
        self.ports.sort_unstable();
    }

    /// What was sampled.
    pub(crate) fn into_series(mut self) -> ChosenPorts {
        let series: PortSeries = self.sampler.take();
        ChosenPorts {
            ports: self.ports.into_iter().map(PortId::new).collect(),
            series,
        }
    }
}

/// Keeps in `kept` what chosen ports had waiting since they were looked at, and gives them back what was kept for those
/// who look now.
fn exchange(chosen: &[u32], ports: &mut [Port], kept: &mut [u64], due: &mut [u64]) {
    for ((&port, kept), due) in chosen.iter().zip(kept).zip(due) {
        let port = &mut ports[port as usize];
        *kept = port.waiting_max.max(*kept);
        port.waiting_max = port.waiting_max.max(std::mem::take(due));
    }
}
