//! Links and switches, or a part of them: all that a packet meets between two hosts.

mod crossing;
pub(crate) mod deflection;
pub(crate) mod fault;
pub(crate) mod link;
mod paths;
mod switch;
mod trace;
mod watchdog;

use std::sync::Arc;

use fairlane_engine::{Engine, Event, Key};
use fairlane_units::{FlowId, NodeId, PortId, Time};

use crate::buffer::SharedBuffer;
use crate::capture::Capture;
use crate::connections::Side;
use crate::counters::Counters;
use crate::flow::Flow;
use crate::forwarding::{Forwarder, Plan};
use crate::log::Log;
use crate::ns3_random::Ns3Random;
use crate::packet::PacketPool;
use crate::place::Place;
use crate::port::Port;
use crate::routing::{Graph, PortPair, Routes};
use crate::rules::Rules;
use crate::spread::Shapes;
use crate::trace::Tracer;
use crate::waking::Waking;
use crate::watchdog::Watchdog;
use crate::{PauseRecord, PortInfo};
use deflection::Deflection;

/// Links and switches, with the clock.
///
/// It calls nobody: what comes to a host is told by [`Network::on_arrival`], and whoever drives it asks the
/// host.
#[derive(Clone)]
pub(crate) struct Network {
    pub(crate) engine: Engine,
    pub(crate) rules: Rules,
    pub(crate) ports: Vec<Port>,
    pub(crate) buffers: Vec<SharedBuffer>,
    pub(crate) packets: PacketPool,
    pub(crate) graph: Graph,
    pub(crate) routes: Routes,
    /// Counts changes of the routes.
    pub(crate) epoch: u16,
    /// What packets of each flow have in common.
    pub(crate) flows: Arc<Vec<Flow>>,
    /// How switches choose among equally short paths: what is the same everywhere, and each switch's state.
    pub(crate) plan: Plan,
    pub(crate) forwarders: Vec<Forwarder>,
    /// If they move flows in order.
    pub(crate) deflection: Option<Box<Deflection>>,
    /// Of paths, where flows have more than one.
    pub(crate) shapes: Shapes,
    pub(crate) place: Place,
    pub(crate) counters: Counters,
    /// Whether transmissions are captured or counted by tenant.
    pub(crate) observed: bool,
    pub(crate) tracer: Tracer,
    pub(crate) capture: Capture,
    pub(crate) pauses: Log<PauseRecord>,
    pub(crate) watchdog: Watchdog,
    /// The random numbers of marks in profile `hpcc-ns3`.
    pub(crate) ns3_random: Option<Box<Ns3Random>>,
}

impl Network {
    #[inline]
    pub(crate) const fn now(&self) -> Time {
        self.engine.now()
    }

    /// An event of the run as a whole, in profile `exact`.
    pub(crate) fn control_event(time: Time, index: u32) -> Event {
        let rank = Waking::Control.rank(u64::from(index));
        Event {
            time,
            key: Key::ranked(rank, Waking::Control.component(index)),
        }
    }

    /// Schedules an event of the run as a whole.
    pub(crate) fn schedule_control(&mut self, at: Time, index: u32) {
        let rank = Waking::Control.rank(u64::from(index));
        let key = self.engine.reserve(rank, Waking::Control.component(index));
        self.engine.schedule(at, key);
    }

    /// Gives the order of what is recorded next within the present event, which several parts may handle: the
    /// order in which one that handles all of it comes to it.
    pub(crate) fn set_order(&mut self, order: u32) {
        self.tracer.records.order = order;
        self.capture.records.order = order;
        self.pauses.order = order;
    }

    #[inline]
    pub(crate) fn flow(&self, flow: FlowId) -> &Flow {
        &self.flows[flow.index()]
    }

    /// The ports of requester and responder that packets of a flow take.
    #[inline]
    pub(crate) fn ports_of(&self, flow: FlowId) -> PortPair {
        match self.graph.ports {
            1 => [0, 0],
            _ => self.flow(flow).ports,
        }
    }

    /// The port that packets of a flow take at its requester, or at its responder.
    #[inline]
    pub(crate) fn port_at(&self, flow: FlowId, side: Side) -> u8 {
        self.ports_of(flow)[side as usize]
    }

    /// The node of a port.
    pub(crate) fn node_of(&self, port: u32) -> NodeId {
        NodeId::new(self.ports[port as usize].node)
    }

    pub(crate) fn port_info(&self, number: u32) -> PortInfo {
        let port = &self.ports[number as usize];
        PortInfo {
            node: self.node_of(number),
            on_switch: port.on_switch,
            number: self.graph.port_number(number),
            peer: PortId::new(port.peer),
            peer_node: self.node_of(port.peer),
            rate: port.rate,
        }
    }
}
