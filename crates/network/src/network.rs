//! Links and switches, or a part of them: all that a packet meets between two hosts.

pub(crate) mod build;
mod crossing;
pub mod deflection;
pub(crate) mod fault;
mod host;
pub(crate) mod link;
mod parts;
mod sampling;
mod switch;
mod trace;
mod watchdog;

use std::sync::Arc;

use fairlane_engine::Engine;
use fairlane_units::{FlowId, PortId, Time};

use crate::buffer::SharedBuffer;
use crate::counters::{Counters, Drop};
use crate::flow::Flow;
use crate::forwarding::iofd::Misrule;
use crate::forwarding::{Forwarder, Plan};
use crate::network::deflection::Deflection;
use crate::ns3_random::Ns3Random;
use crate::packet::PacketPool;
use crate::packet::Side;
use crate::place::Place;
use crate::port::Port;
use crate::recorder::Recorder;
use crate::records::PortInfo;
use crate::routing::{Graph, PortPair, Routes};
use crate::settings::Settings;
use crate::waking::Waking;
use crate::watchdog::Watchdog;

/// For how many of the next events the ports are fetched to which packets go: most slots have no more.
const FETCHED: usize = 4;

/// Links and switches, with the clock.
///
/// The network calls nobody: [`Network::on_arrival`] hands what comes to a host to the driver, which calls the host.
#[derive(Clone)]
pub struct Network {
    /// The clock, and the events of links, switches and the driver.
    pub engine: Engine,
    /// Sizes of packets, and what switches do.
    pub(crate) settings: Settings,
    /// The ports of all nodes, by number.
    pub(crate) ports: Vec<Port>,
    /// The buffers of switches, by number.
    pub(crate) buffers: Vec<SharedBuffer>,
    /// The packets under way.
    pub packets: PacketPool,
    /// What is linked to what.
    pub(crate) graph: Graph,
    /// The next hops of shortest paths.
    pub(crate) routes: Routes,
    /// Counts changes of the routes.
    pub(crate) epoch: u16,
    /// What packets of each flow have in common.
    pub(crate) flows: Arc<Vec<Flow>>,
    /// How switches choose among equally short paths: what is the same everywhere, and each switch's state.
    pub(crate) plan: Plan,
    /// How each switch chooses, by number.
    pub(crate) forwarders: Vec<Forwarder>,
    /// The moves of flows off hot ports, if switches deflect in order.
    pub(crate) deflection: Option<Box<Deflection>>,
    /// Which part of the fabric this network is, if it is split.
    pub(crate) place: Place,
    /// Counters of packets, drops, marks and pauses.
    pub(crate) counters: Counters,
    /// Whether transmissions are captured or counted by tenant.
    pub(crate) observed: bool,
    /// What is recorded of packets and pauses.
    pub recorder: Recorder,
    /// The watchdogs against pauses that don't end.
    pub(crate) watchdog: Watchdog,
    /// The random numbers of marks in profile `hpcc-ns3`.
    pub(crate) ns3_random: Option<Box<Ns3Random>>,
    /// Packets of hosts that were lost, if somebody asks: their places, flows and why.
    pub(crate) lost: Option<Vec<(u32, FlowId, Drop)>>,
}

impl Network {
    /// Finds the next few events; `false` if there are none. Fetches what they will touch, so that the
    /// processor waits for much of it at once: packets early, and where they go once they are there. It
    /// is a hint: what turns out otherwise was fetched in vain, which costs less than branches that no
    /// processor foresees.
    #[inline(always)]
    pub fn find_events(&mut self) -> bool {
        let (ports, packets) = (&self.ports, &self.packets);
        let found = self.engine.turn(|later| {
            if let Some(port) = ports.get(Waking::index(later.component())) {
                packets.fetch(port.flight.packets().head);
            }
        });
        let near = self.engine.near();
        let last = near.len().wrapping_sub(1);
        for ahead in 0..FETCHED {
            let event = near.get(last.saturating_sub(ahead));
            let port = event.and_then(|event| ports.get(Waking::index(event.component())));
            let packet = port.and_then(|port| packets.peek(port.flight.packets().head));
            if let Some(egress) = packet.and_then(|packet| ports.get(packet.egress as usize)) {
                egress.fetch();
            }
        }
        found
    }

    /// Sizes of packets, and what switches do.
    #[inline]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The ports of all nodes, by number.
    #[inline]
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The buffers of switches, by number.
    #[inline]
    pub fn buffers(&self) -> &[SharedBuffer] {
        &self.buffers
    }

    /// What is linked to what.
    #[inline]
    pub const fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The next hops of shortest paths.
    #[inline]
    pub const fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Counts changes of the routes.
    #[inline]
    pub const fn epoch(&self) -> u16 {
        self.epoch
    }

    /// How switches choose among equally short paths: what is the same everywhere, and each switch's state.
    #[inline]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How each switch chooses, by number.
    #[inline]
    pub fn forwarders(&self) -> &[Forwarder] {
        &self.forwarders
    }

    /// The moves of flows off hot ports, if switches deflect in order.
    #[inline]
    pub fn deflection(&self) -> Option<&Deflection> {
        self.deflection.as_deref()
    }

    /// Which part of the fabric this network is, if it is split.
    #[inline]
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// Counters of packets, drops, marks and pauses.
    #[inline]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The watchdogs against pauses that don't end.
    #[inline]
    pub const fn watchdog(&self) -> &Watchdog {
        &self.watchdog
    }

    /// Has switches that move flows in order break a rule: only tests may want that.
    #[doc(hidden)]
    pub fn break_rule(&mut self, misrule: Misrule) {
        if let Some(deflection) = &mut self.deflection {
            deflection.misrule = Some(misrule);
        }
    }

    /// The present time.
    #[inline]
    pub const fn now(&self) -> Time {
        self.engine.now()
    }

    /// Schedules an event of the run as a whole.
    pub fn schedule_control(&mut self, at: Time, index: u32) {
        let rank = Waking::Control.rank(u64::from(index));
        let key = self.engine.reserve(rank, Waking::Control.component(index));
        self.engine.schedule(at, key);
    }

    /// Gives a number to a flow: one that is free, or the next.
    pub(crate) fn set_flow(&mut self, number: FlowId, mut flow: Flow) {
        if self.plan.fixed {
            let swaps = self.settings.quirks.five_tuples;
            flow.foresee(&self.graph, &self.routes, &self.plan, swaps);
        }
        let flows = Arc::make_mut(&mut self.flows);
        match flows.get_mut(number.index()) {
            Some(known) => *known = flow,
            None => flows.push(flow),
        }
        if let Some(deflection) = &mut self.deflection {
            deflection.expect(flows.len());
        }
    }

    /// Foresees the paths of all flows, if they follow from their packets.
    pub(crate) fn foresee_flows(&mut self) {
        if !self.plan.fixed {
            return;
        }
        for flow in Arc::make_mut(&mut self.flows) {
            flow.foresee(
                &self.graph,
                &self.routes,
                &self.plan,
                self.settings.quirks.five_tuples,
            );
        }
    }

    /// What packets of a flow have in common.
    #[inline]
    pub fn flow(&self, flow: FlowId) -> &Flow {
        &self.flows[flow.index()]
    }

    /// The ports of requester and responder that packets of a flow take.
    #[inline]
    pub fn ports_of(&self, flow: FlowId) -> PortPair {
        match self.graph.ports {
            1 => [0, 0],
            _ => self.flow(flow).ports,
        }
    }

    /// The port that packets of a flow take at its requester, or at its responder.
    #[inline]
    pub fn port_at(&self, flow: FlowId, side: Side) -> u8 {
        self.ports_of(flow)[side as usize]
    }

    /// A port as results describe it.
    pub fn port_info(&self, number: u32) -> PortInfo {
        let port = &self.ports[number as usize];
        PortInfo {
            node: port.node(),
            on_switch: port.on_switch,
            number: self.graph.port_number(number),
            peer: PortId::new(port.peer),
            peer_node: self.ports[port.peer as usize].node(),
            rate: port.rate,
        }
    }
}
