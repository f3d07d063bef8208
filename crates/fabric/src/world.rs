//! The state of a simulated fabric, and which event wakes what.

use fairlane_engine::{Component, Engine};
use fairlane_scenario::Tenant;
use fairlane_units::{NodeId, Time};

use crate::baseline::Baseline;
use crate::buffer::SharedBuffer;
use crate::capture::Capture;
use crate::connection::Connections;
use crate::counters::Counters;
use crate::endpoint::Endpoints;
use crate::enforcement::Enforcement;
use crate::faults::Faults;
use crate::nic::Nic;
use crate::ns3_random::Ns3Random;
use crate::packet::PacketPool;
use crate::port::Port;
use crate::routing::{Graph, Routes};
use crate::rules::Rules;
use crate::sampler::Sampler;
use crate::schedule::Schedule;
use crate::storm::Storms;
use crate::trace::Tracer;
use crate::watch::Watch;
use crate::watchdog::Watchdog;
use crate::{Ending, MessageRecord, MessageSpec, PauseRecord};

const INDEX_BITS: u32 = 23;
const RANK_BITS: u32 = 35;
/// For how many of the next events the ports are fetched to which packets go: most slots have no more.
const FETCHED: usize = 4;

/// What an event wakes. The order of the kinds is the order of simultaneous events in the exact
/// profile: a transmitter that becomes free does so before anything else can ask it to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Waking {
    /// The transmitter of a port becomes free.
    PortFree,
    /// The first packet on the link of a (sending) port arrives.
    Arrival,
    /// A queue pair of a host may send.
    Nic,
    /// A deadline of a connection.
    Connection,
    /// Something about the run as a whole, see the constants.
    Control,
    /// A card has a work request done, or the state of a connection.
    Card,
    /// The thread of an application is done with something.
    Client,
    /// The agent of a host has something to do.
    Agent,
}

impl Waking {
    #[inline]
    pub(crate) const fn component(self, index: u32) -> Component {
        Component::new((self as u32) << INDEX_BITS | index)
    }

    /// The rank of `number`, which must not depend on anything but the scenario.
    #[inline]
    pub(crate) const fn rank(self, number: u64) -> u64 {
        (self as u64) << RANK_BITS | number
    }

    #[inline]
    const fn index(component: Component) -> usize {
        (component.get() & ((1 << INDEX_BITS) - 1)) as usize
    }

    #[inline]
    const fn of(component: Component) -> (Self, u32) {
        let index = Self::index(component) as u32;
        let kind = match component.get() >> INDEX_BITS {
            0 => Self::PortFree,
            1 => Self::Arrival,
            2 => Self::Nic,
            3 => Self::Connection,
            4 => Self::Control,
            5 => Self::Card,
            6 => Self::Client,
            _ => Self::Agent,
        };
        (kind, index)
    }
}

/// Indices of [`Waking::Control`].
pub(crate) mod control {
    /// The next messages are due.
    pub(crate) const DUE: u32 = 0;
    /// Messages that are due are posted.
    pub(crate) const POST: u32 = 1;
    /// A message whose predecessor has arrived reaches its start time.
    pub(crate) const DELAYED: u32 = 2;
    /// A link goes down or comes back.
    pub(crate) const FAULT: u32 = 3;
    /// The time series gets a row.
    pub(crate) const SAMPLE: u32 = 4;
    /// Has anything progressed?
    pub(crate) const WATCH: u32 = 5;
    /// The scenario's end.
    pub(crate) const STOP: u32 = 6;
    /// A host that misuses pauses sends a frame.
    pub(crate) const STORM: u32 = 7;
    /// The watchdog of a port looks at it.
    pub(crate) const WATCHDOG: u32 = 8;
}

/// A simulated fabric.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) rules: Rules,
    pub(crate) ports: Vec<Port>,
    pub(crate) buffers: Vec<SharedBuffer>,
    pub(crate) nics: Vec<Nic>,
    pub(crate) packets: PacketPool,
    pub(crate) connections: Connections,
    pub(crate) graph: Graph,
    pub(crate) routes: Routes,
    /// Counts changes of the routes.
    pub(crate) epoch: u16,
    pub(crate) baseline: Baseline,
    pub(crate) base_rtt: fairlane_scenario::BaseRtt,
    /// Host number of each node; meaningless for switches.
    pub(crate) host_of: Vec<u32>,
    /// Messages, then the queue pairs that stay open, as if each were a message.
    pub(crate) specs: Vec<MessageSpec>,
    /// How many of them are messages.
    pub(crate) messages: usize,
    /// Records that there must be at the end; applications that haven't ended count as one each.
    pub(crate) owed: usize,
    pub(crate) endpoints: Option<Box<Endpoints>>,
    /// Under a scope that shares controllers.
    pub(crate) enforcement: Option<Box<Enforcement>>,
    pub(crate) tenants: Vec<Tenant>,
    /// Whether transmissions are captured or counted by tenant.
    pub(crate) observed: bool,
    pub(crate) source_ports: Vec<u16>,
    pub(crate) schedule: Schedule,
    pub(crate) records: Vec<MessageRecord>,
    pub(crate) counters: Counters,
    pub(crate) sampler: Sampler,
    pub(crate) tracer: Tracer,
    pub(crate) capture: Capture,
    pub(crate) pauses: Vec<PauseRecord>,
    pub(crate) watch: Watch,
    pub(crate) faults: Faults,
    pub(crate) storms: Storms,
    pub(crate) watchdog: Watchdog,
    /// In profile `hpcc-ns3`, the random numbers of marks.
    pub(crate) ns3_random: Option<Ns3Random>,
    /// Set when the run must end before all messages have.
    pub(crate) ending: Option<Ending>,
}

impl World {
    #[inline]
    pub(crate) const fn now(&self) -> Time {
        self.engine.now()
    }

    /// Handles the next event; `false` when there is none.
    #[inline(always)]
    pub(crate) fn step(&mut self) -> bool {
        if self.engine.near().is_empty() && !self.turn() {
            return false;
        }
        let Some(event) = self.engine.next_event() else {
            return false;
        };
        let (waking, index) = Waking::of(event.component());
        match waking {
            Waking::Arrival => self.on_arrival(index, event),
            Waking::PortFree => self.on_port_free(index),
            Waking::Nic => self.on_nic_wake(index, event),
            Waking::Connection => self.on_connection_deadline(index, event),
            Waking::Control => self.on_control(index),
            Waking::Card => self.on_card(index, event),
            Waking::Client => self.on_application(index, event),
            Waking::Agent => self.on_agent(index, event),
        }
        true
    }

    /// Finds the next few events; `false` if there are none. Fetches what they will touch, so that the
    /// processor waits for much of it at once: packets early, and where they go once they are there. It
    /// is a hint: what turns out otherwise was fetched in vain, which costs less than branches that no
    /// processor foresees.
    #[inline]
    fn turn(&mut self) -> bool {
        let (ports, packets) = (&self.ports, &self.packets);
        let found = self.engine.turn(|later| {
            let component = later.component();
            if let Some(port) = ports.get(Waking::index(component)) {
                let frees = component.get() >> INDEX_BITS == Waking::PortFree as u32;
                let heads = [port.flight.packets().head, port.first_waiting()];
                packets.fetch(heads[usize::from(frees)]);
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

    fn on_control(&mut self, index: u32) {
        match index {
            control::DUE => self.on_due(),
            control::POST => self.on_post(),
            control::DELAYED => self.on_delayed(),
            control::FAULT => self.on_fault(),
            control::SAMPLE => self.on_sample(),
            control::WATCH => self.on_watch(),
            control::STORM => self.on_storm(),
            control::WATCHDOG => self.on_watchdog(),
            _ => self.ending = Some(Ending::Stopped),
        }
    }

    /// Schedules an event of the run as a whole.
    pub(crate) fn schedule_control(&mut self, at: Time, index: u32) {
        let rank = Waking::Control.rank(u64::from(index));
        let key = self.engine.reserve(rank, Waking::Control.component(index));
        self.engine.schedule(at, key);
    }

    /// Whether every message has ended.
    pub(crate) fn is_done(&self) -> bool {
        self.records.len() == self.owed
    }

    /// The host number of a node.
    pub(crate) fn host(&self, node: NodeId) -> u32 {
        self.host_of[node.index()]
    }

    /// Nodes at both ends of a port.
    pub(crate) fn ends(&self, port: u32) -> (u32, u32) {
        (self.graph.owners[port as usize], self.graph.peer(port))
    }
}
