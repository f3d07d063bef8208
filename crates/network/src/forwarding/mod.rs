//! Which of the equally short paths a packet takes: decided at every switch, when the packet is there.
//!
//! A policy is a file of this module whose type implements [`Forwarding`], and a line in the list of
//! `fairlane-scenario`, [`for_each_forwarding!`](fairlane_scenario::for_each_forwarding).
//! `docs/adding-forwarding.md` builds one.

pub mod adaptive;
pub mod ecmp;
pub mod flowlet;
pub mod iofd;
pub mod spray;

use fairlane_engine::Stream;
use fairlane_scenario::{Forwarding as Policy, Recovery, Scenario, Switch, for_each_forwarding};
use fairlane_units::{Bytes, NodeId, Time};

use crate::port::Port;
use crate::routing::{Graph, Leg, Routes, Seeds};

pub use crate::five_tuple::FiveTuple;
use iofd::streams::Streams;

/// The tutorial compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/adding-forwarding.md")]
struct Tutorial;

/// Keeps the streams of switches apart from those of ports, messages and workloads.
const STREAMS: u64 = 1 << 59;

/// How a switch chooses among equally short paths: the state of one switch, which nobody else touches.
pub trait Forwarding: Sized {
    /// Whether it moves flows and keeps their packets in order: what is foreseen is then where a flow begins, packets
    /// carry labels of [forks](iofd), and the last switch before a host holds what comes too early.
    const FORKS: bool = false;

    /// A switch before its first packet.
    fn new(parameters: &Switch, place: &Place) -> Self;

    /// The choice among `count` ports if it follows from switch and packet alone, so that all packets of
    /// a flow take one path. It is made while the packet is on its way to the switch.
    #[inline]
    fn foresee(_place: &Place, _packet: &Label, _count: u32) -> Option<u32> {
        None
    }

    /// The number of the candidate that the packet, which is there now, leaves by. There are at least two;
    /// links that are down are none.
    fn choose(&mut self, now: Time, packet: &Label, candidates: &impl Candidates) -> u32;

    /// The streams that data packets belong to, if it [forks](Self::FORKS) them: these say instead of
    /// [`choose`](Self::choose) where data goes.
    #[inline]
    fn streams(&mut self) -> Option<&mut Streams> {
        None
    }

    /// What [`streams`](Self::streams) gives, read-only.
    fn known_streams(&self) -> Option<&Streams> {
        None
    }
}

/// A switch, as its policy knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The switch.
    pub node: NodeId,
    /// Its number among switches.
    pub number: u32,
    /// What its hash of five-tuples begins with.
    pub hash_seed: u32,
    /// The seed of the run.
    pub seed: u64,
}

impl Place {
    /// The random numbers of this switch's policy.
    pub const fn stream(&self) -> Stream {
        Stream::new(self.seed, STREAMS | self.node.get() as u64)
    }
}

/// What the headers of a packet say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Addresses and ports.
    pub tuple: FiveTuple,
}

/// The egress ports on shortest paths to where the packet goes, and the state that they are in.
pub trait Candidates {
    /// How many there are.
    fn count(&self) -> u32;

    /// How many ports follow them that lead to the destination on a way that isn't shortest: candidates only for a
    /// policy that keeps flows from going astray.
    fn detours(&self) -> u32 {
        0
    }

    /// The port number of a candidate, which belongs to it whatever the destination.
    fn port(&self, candidate: u32) -> u32;

    /// Bytes that wait at a candidate, in all classes.
    fn waiting(&self, candidate: u32) -> Bytes;

    /// Whether a candidate may not send the packet's class now.
    fn is_paused(&self, candidate: u32) -> bool;
}

/// Candidates among the ports of a fabric.
pub(crate) struct EgressPorts<'a> {
    pub(crate) numbers: &'a [u32],
    /// Candidates beyond shortest paths.
    pub(crate) detours: &'a [u32],
    pub(crate) ports: &'a [Port],
    /// The class of the packet.
    pub(crate) class: u8,
}

impl Candidates for EgressPorts<'_> {
    #[inline]
    fn count(&self) -> u32 {
        self.numbers.len() as u32
    }

    #[inline]
    fn detours(&self) -> u32 {
        self.detours.len() as u32
    }

    #[inline]
    fn port(&self, candidate: u32) -> u32 {
        let at = candidate as usize;
        match self.numbers.get(at) {
            Some(port) => *port,
            None => self.detours[at - self.numbers.len()],
        }
    }

    #[inline]
    fn waiting(&self, candidate: u32) -> Bytes {
        Bytes::new(self.ports[self.port(candidate) as usize].waiting)
    }

    #[inline]
    fn is_paused(&self, candidate: u32) -> bool {
        // Class 0 is never paused.
        let paused = self.ports[self.port(candidate) as usize].paused & !1;
        paused & 1 << self.class != 0
    }
}

macro_rules! define {
    ($(
        $(#[$doc:meta])* $variant:ident($module:ident) $name:literal $(with $parameters:ident)?;
    )*) => {
        /// The state of one switch under any policy.
        #[derive(Clone, Debug)]
        pub enum Forwarder {
            $($(#[$doc])* $variant($module::$variant),)*
        }

        impl Forwarder {
            fn new(parameters: &Switch, place: &Place) -> Self {
                match parameters.forwarding {
                    $(Policy::$variant => Self::$variant(Forwarding::new(parameters, place)),)*
                }
            }

            /// See [`Forwarding::choose`].
            #[inline]
            pub(crate) fn choose(
                &mut self,
                now: Time,
                packet: &Label,
                candidates: &impl Candidates,
            ) -> u32 {
                match self {
                    $(Self::$variant(state) => state.choose(now, packet, candidates),)*
                }
            }

            /// See [`Forwarding::streams`].
            #[inline]
            pub(crate) fn streams(&mut self) -> Option<&mut Streams> {
                match self {
                    $(Self::$variant(state) => state.streams(),)*
                }
            }
        }

        impl Forwarder {
            /// The streams of a switch, to be looked at.
            pub fn known_streams(&self) -> Option<&Streams> {
                match self {
                    $(Self::$variant(state) => state.known_streams(),)*
                }
            }
        }

        const fn forks(policy: Policy) -> bool {
            match policy {
                $(Policy::$variant => $module::$variant::FORKS,)*
            }
        }

        fn foresee(policy: Policy, place: &Place, packet: &Label, count: u32) -> Option<u32> {
            match policy {
                $(Policy::$variant => $module::$variant::foresee(place, packet, count),)*
            }
        }
    };
}

for_each_forwarding!(define);

/// What a reader of a scenario's results should know of how its switches forward, one sentence each.
pub fn notes(scenario: &Scenario) -> Vec<String> {
    let policy = scenario.switch.forwarding;
    if Plan::is_foreseen(policy) || scenario.transport.recovery == Recovery::SelectiveRepeat {
        return Vec::new();
    }
    vec![format!(
        "note: under switch.forwarding = \"{policy}\" packets of a message can overtake each other, and \
         transport.recovery = \"go-back-n\" takes each that comes too early for a loss; \
         \"selective-repeat\" tolerates that"
    )]
}

/// What is the same for the whole run: the policy, and the switches as it knows them.
#[derive(Clone, Debug)]
pub struct Plan {
    policy: Policy,
    places: Vec<Place>,
    /// Whether all packets of a flow take one path.
    pub fixed: bool,
    /// Whether flows begin on a path that is foreseen. If that isn't all, they may fork, and stay in order.
    pub foreseen: bool,
    /// Whether flows fork.
    pub forks: bool,
    /// Whether switches must look at all data: because links change, or for more ways than the shortest.
    pub(crate) sees_all: bool,
    /// Whether flows may also take ways that aren't shortest.
    pub valley: bool,
}

impl Plan {
    /// How the switches of a graph choose by a policy.
    pub fn new(policy: Policy, graph: &Graph, seeds: Seeds, seed: u64) -> Self {
        let switches = (0..).zip(&graph.is_switch);
        let switches = switches.filter_map(|(node, is_switch)| is_switch.then_some(node));
        let place = |(number, node)| Place {
            node: NodeId::new(node),
            number,
            hash_seed: seeds.of(node),
            seed,
        };
        Self {
            policy,
            places: (0..).zip(switches).map(place).collect(),
            fixed: Self::is_foreseen(policy) && !forks(policy),
            foreseen: Self::is_foreseen(policy),
            forks: forks(policy),
            sees_all: false,
            valley: false,
        }
    }

    /// Whether a policy that is asked beforehand for any choice makes it.
    fn is_foreseen(policy: Policy) -> bool {
        foresee(policy, &Place::default(), &Label::default(), 2).is_some()
    }

    /// The choice at a switch, by its number among switches, if it follows from the packet alone.
    pub(crate) fn foresee(&self, switch: u32, packet: &Label, count: u32) -> Option<u32> {
        foresee(self.policy, &self.places[switch as usize], packet, count)
    }

    /// The switches before their first packet.
    /// The egress ports of switches on the path of packets that have only one.
    pub fn fixed_path(&self, graph: &Graph, routes: &Routes, leg: &Leg) -> Option<Vec<u32>> {
        let label = Label { tuple: leg.tuple };
        routes.trace(graph, leg, |switch, count| {
            let foreseen = self.foresee(switch, &label, count);
            foreseen.expect("a policy that foresees one packet foresees all")
        })
    }

    pub(crate) fn forwarders(&self, parameters: &Switch) -> Vec<Forwarder> {
        let places = self.places.iter();
        places
            .map(|place| Forwarder::new(parameters, place))
            .collect()
    }
}
