//! The state of a simulated fabric, and which event wakes what.

use std::sync::Arc;

use fairlane_engine::{Component, Engine, Event, Key};
use fairlane_scenario::Tenant;
use fairlane_units::{NodeId, Time};

use crate::baseline::Baseline;
use crate::buffer::SharedBuffer;
use crate::capture::Capture;
use crate::connections::Connections;
use crate::counters::Counters;
use crate::endpoint::Endpoints;
use crate::faults::Faults;
use crate::flow::Flow;
use crate::forwarding::{Forwarder, Plan};
use crate::log::Log;
use crate::nic::Nic;
use crate::notices::Notices;
use crate::ns3::Ns3;
use crate::packet::PacketPool;
use crate::parts::place::Place;
use crate::port::Port;
use crate::routing::{Graph, Routes};
use crate::rules::Rules;
use crate::sampler::Sampler;
use crate::schedule::Schedule;
use crate::spread::Shapes;
use crate::storm::Storms;
use crate::trace::Tracer;
use crate::watch::Watch;
use crate::watchdog::Watchdog;
use crate::{Ending, Flux, MessageRecord, MessageSpec, PauseRecord};

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
    /// A deadline of a host; in profile `hpcc-ns3` also that of a controller.
    Alarm,
    /// Something about the run as a whole, see the constants.
    Control,
    /// A NIC has a work request done, or the state of a connection.
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
            3 => Self::Alarm,
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
    /// A host hears of another out of band.
    pub(crate) const NOTICE: u32 = 9;
}

/// A simulated fabric, or a part of one that is cut at links.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) place: Place,
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
    pub(crate) specs: Arc<[MessageSpec]>,
    /// How many of them are messages.
    pub(crate) messages: usize,
    /// Records that there must be at the end; applications that haven't ended count as one each.
    pub(crate) owed: usize,
    pub(crate) endpoints: Option<Box<Endpoints>>,
    pub(crate) tenants: Vec<Tenant>,
    /// Whether transmissions are captured or counted by tenant.
    pub(crate) observed: bool,
    /// What the headers of messages say, by number.
    pub(crate) flows: Arc<Vec<Flow>>,
    /// How switches choose among equally short paths: what is the same everywhere, and each switch's state.
    pub(crate) plan: Plan,
    pub(crate) forwarders: Vec<Forwarder>,
    /// Of paths, where flows have more than one.
    pub(crate) shapes: Shapes,
    pub(crate) schedule: Schedule,
    pub(crate) notices: Notices,
    pub(crate) records: Log<MessageRecord>,
    pub(crate) counters: Counters,
    pub(crate) sampler: Sampler,
    pub(crate) tracer: Tracer,
    pub(crate) capture: Capture,
    pub(crate) pauses: Log<PauseRecord>,
    pub(crate) watch: Watch,
    pub(crate) faults: Faults,
    pub(crate) storms: Storms,
    pub(crate) watchdog: Watchdog,
    /// In profile `hpcc-ns3`.
    pub(crate) ns3: Option<Box<Ns3>>,
    /// Set when the run must end before all messages have.
    pub(crate) ending: Option<Ending>,
    /// Set when nothing can move a message any more.
    pub(crate) stuck: bool,
    /// Events about the run as a whole: how many there are depends on the parts.
    pub(crate) controls: u64,
    /// Events handled by other parts that have been taken in.
    pub(crate) handled: u64,
    /// Packets that were under way at the end, once they have been counted.
    pub(crate) left: Option<Flux>,
    /// The message that was found last to have so much to send that the run goes on.
    pub(crate) witness: u32,
}

impl World {
    #[inline]
    pub(crate) const fn now(&self) -> Time {
        self.engine.now()
    }

    /// Handles `most` events at most, those before `bound`, and if this is all of a run only up to its end;
    /// returns how many it has handled.
    ///
    /// This is the only loop over events, so that what is most frequent becomes part of it.
    pub(crate) fn handle(&mut self, most: u64, bound: Event, alone: bool) -> u64 {
        let mut handled = 0;
        while handled < most && !(alone && self.has_ended()) {
            if self.engine.near().is_empty() && !self.turn() {
                break;
            }
            let next = self.engine.next_event_before(bound);
            let Some(event) = next else {
                break;
            };
            handled += 1;
            let (waking, index) = Waking::of(event.component());
            match waking {
                Waking::Arrival => self.on_arrival(index, event),
                Waking::PortFree => self.on_port_free(index),
                Waking::Nic => self.on_nic_wake(index, event),
                Waking::Alarm => self.on_alarm(index, event),
                Waking::Control => self.on_control(index),
                Waking::Card => self.on_card(index, event),
                Waking::Client => self.on_application(index, event),
                Waking::Agent => self.on_agent(index, event),
            }
        }
        handled
    }

    /// Whether nothing is left to be handled, or the run was told to end.
    #[inline]
    fn has_ended(&self) -> bool {
        self.is_done() || self.ending.is_some()
    }

    /// Finds the next few events; `false` if there are none. Fetches what they will touch, so that the
    /// processor waits for much of it at once: packets early, and where they go once they are there. It
    /// is a hint: what turns out otherwise was fetched in vain, which costs less than branches that no
    /// processor foresees.
    #[inline(always)]
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
        self.controls += 1;
        match index {
            control::DUE => self.on_due(),
            control::POST => self.on_post(),
            control::DELAYED => self.on_delayed(),
            control::FAULT => self.on_fault(),
            control::SAMPLE => self.on_sample(),
            control::WATCH => self.on_watch(),
            control::STORM => self.on_storm(),
            control::WATCHDOG => self.on_watchdog(),
            control::NOTICE => self.on_notices(),
            _ => self.ending = Some(Ending::Stopped),
        }
    }

    /// An event of the run as a whole, in profile `exact`.
    pub(crate) fn control_event(&self, time: Time, index: u32) -> Event {
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

    /// Whether every message has ended.
    pub(crate) fn is_done(&self) -> bool {
        self.records.len() == self.owed
    }

    /// Whether a flow outlasts its messages: then it is a queue pair that stays open.
    #[inline]
    pub(crate) const fn stays_open(&self, flow: u32) -> bool {
        flow as usize >= self.messages
    }

    /// The number of a queue pair that stays open.
    pub(crate) const fn pair_of(&self, flow: u32) -> u32 {
        flow - self.messages as u32
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
