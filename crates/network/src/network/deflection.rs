//! Flows that are moved in order: what that does to packets, queues and timers.
//!
//! `forwarding/iofd/` decides. `steer` asks which way data takes at a switch, `last` what the last one holds.

mod last;
mod steer;

use std::collections::BTreeSet;

use fairlane_scenario::{Error, Scenario};
use fairlane_units::{Bytes, FlowId, Time};

use crate::counters::Drop;
use crate::fork::Fork;
use crate::forwarding::Plan;
use crate::forwarding::iofd::Misrule;
use crate::forwarding::iofd::merge::{Fate, Hold};
use crate::forwarding::iofd::streams::Tail;
use crate::network::Network;
use crate::packet::{Kind, PacketRecord};
use crate::port::CLASSES;
use crate::reach::Reach;
use crate::records::TraceEvent;
use crate::routing::{Graph, Routes};
use crate::valley::Valleys;
use crate::waking::timer;

pub(crate) use steer::route;

/// Bytes of a tail on the wire, and of the answer to one: docs/wire.md, "Tails".
pub const CONTROL: u16 = 90;

/// What switches have together that move flows in order.
#[derive(Clone, Debug)]
pub struct Deflection {
    /// What each switch holds, by number.
    pub holds: Vec<Hold>,
    /// Ways from switch to switch.
    reach: Reach,
    /// Ways down and up again, if flows may take them.
    valleys: Option<Valleys>,
    /// The most labels that a packet carries.
    labels: u8,
    /// By target and switch, the epoch in which the next hops changed last; empty if links don't change.
    changed: Vec<u16>,
    /// By direction of a flow, the latest epoch of which something has passed; empty if links don't change.
    latest: Vec<u16>,
    /// Whether links may fail.
    changes: bool,
    /// When which switch has something to do.
    due: BTreeSet<(Time, u32)>,
    /// By switch, the earliest of these.
    armed: Vec<Time>,
    /// Flows that were ever moved, a bit for each.
    moved: Vec<u64>,
    /// What switches have done.
    pub counts: Counts,
    /// The rule that they break, in tests of those rules.
    pub(crate) misrule: Option<Misrule>,
    // Memory that is used again.
    fates: Vec<(u32, Fate)>,
    tails: Vec<Tail>,
    ports: Vec<u32>,
}

/// What the parts of a fabric count for themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Tails that switches have sent, and those of them that they had sent before.
    pub tails: u64,
    /// Tails that had been sent before.
    pub again: u64,
    /// Answers to tails.
    pub clears: u64,
}

impl Deflection {
    /// The deflection state of a fabric whose hosts send in `classes`, if its switches move flows.
    ///
    /// # Errors
    /// If there are more switches than labels can tell apart, or fewer classes than flows need.
    pub fn of(
        plan: &Plan,
        scenario: &Scenario,
        (graph, routes): (&Graph, &Routes),
        classes: u8,
    ) -> Result<Option<Box<Self>>, Error> {
        let switches = graph.is_switch.iter().filter(|is| **is).count();
        if !plan.forks {
            return Ok(None);
        }
        let most = Fork::SWITCHES as usize;
        if switches > most {
            let message = format!("is \"iofd\" with {switches} switches, expected at most {most}");
            let hint = "labels tell no more switches apart; use another policy";
            return Err(Error::new("switch.forwarding", message, hint));
        }
        let parameters = &scenario.switch.iofd;
        if parameters.valley {
            check_classes(parameters.labels, classes)?;
        }
        let hold = Hold::new(parameters.hold, parameters.hold_timeout);
        let changing = |count| match scenario.faults.link.is_empty() {
            true => Vec::new(),
            false => vec![0; count],
        };
        let valleys = match parameters.valley {
            true => Some(Valleys::new(graph, routes)?),
            false => None,
        };
        Ok(Some(Box::new(Self {
            holds: vec![hold; switches],
            reach: Reach::new(graph),
            valleys,
            labels: parameters.labels as u8,
            changed: changing(routes.spans()),
            latest: Vec::new(),
            changes: !scenario.faults.link.is_empty(),
            due: BTreeSet::new(),
            armed: vec![Time::MAX; switches],
            moved: Vec::new(),
            counts: Counts::default(),
            misrule: None,
            fates: Vec::new(),
            tails: Vec::new(),
            ports: Vec::new(),
        })))
    }

    /// There are so many flows.
    pub(crate) fn expect(&mut self, flows: usize) {
        if self.changes {
            self.latest.resize(2 * flows, 0);
        }
    }

    /// Whether a flow was ever moved.
    pub fn has_moved(&self, flow: FlowId) -> bool {
        let word = self.moved.get(flow.index() / 64);
        word.is_some_and(|word| word & 1 << (flow.get() % 64) != 0)
    }

    fn note_move(&mut self, flow: FlowId) {
        let word = flow.index() / 64;
        if self.moved.len() <= word {
            self.moved.resize(word + 1, 0);
        }
        self.moved[word] |= 1 << (flow.get() % 64);
    }

    /// How much is held: it passes or is lost in time.
    pub fn held(&self) -> usize {
        self.holds.iter().map(|hold| hold.held().count()).sum()
    }

    /// Most bytes that one switch ever held.
    pub fn most_held(&self) -> Bytes {
        let most = self.holds.iter().map(|hold| hold.most);
        most.max().unwrap_or(Bytes::ZERO)
    }

    /// Takes in what another part of the fabric has counted.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.counts.tails += other.counts.tails;
        self.counts.again += other.counts.again;
        self.counts.clears += other.counts.clears;
        let words = self.moved.len().max(other.moved.len());
        self.moved.resize(words, 0);
        let words = self.moved.iter_mut().zip(&other.moved);
        words.for_each(|(all, part)| *all |= part);
    }
}

/// Refuses flows in classes above which there aren't enough: each way down and up again takes a packet to the next one.
fn check_classes(labels: u32, classes: u8) -> Result<(), Error> {
    let highest = classes.checked_ilog2();
    let last = CLASSES as u32 - 1;
    let Some(highest) = highest.filter(|highest| highest + labels > last) else {
        return Ok(());
    };
    let message = match last - highest {
        0 => format!(
            "is {labels}, expected none with switch.iofd.valley, as there is a message of class {highest}"
        ),
        most => format!(
            "is {labels}, expected at most {most} with switch.iofd.valley, as there is a message of class {highest}"
        ),
    };
    let hint = format!(
        "each label takes a class of its own, up to {last}: lower the class or the number of labels"
    );
    Err(Error::new("switch.iofd.labels", message, hint))
}

/// What the switches of a network share, which come here only if they move flows.
fn shared(net: &mut Network) -> &mut Deflection {
    let shared = net.deflection.as_deref_mut();
    shared.expect("switches that fork share what they need")
}

/// Adds a packet of the switch's own, or one that it has held, to a queue.
fn enqueue(net: &mut Network, port: u32, at: u32) {
    let packet = net.packets.get(at);
    let (class, uncharged) = (packet.class, packet.has(PacketRecord::UNCHARGED));
    if !net.ports[port as usize].up {
        if uncharged {
            uncharge(net, at);
        }
        net.drop_packet(at, port, Drop::LinkDown);
        return;
    }
    net.ports[port as usize].enqueue(&mut net.packets, class, at);
    if net.recorder.tracer.is_on() {
        net.trace(port, at, TraceEvent::Enqueued);
    }
    net.send_from_switch(port);
}

/// A packet for which no buffer is charged leaves the switch, one way or another.
#[cold]
pub(crate) fn uncharge(net: &mut Network, at: u32) {
    let packet = net.packets.get_mut(at);
    packet.flags &= !PacketRecord::UNCHARGED;
    let (kind, wire, sender) = (packet.kind, packet.wire, packet.sender);
    let switch = net.ports[sender as usize].peer_owner;
    if kind != Kind::Tail {
        shared(net).holds[switch as usize].on_left(wire);
    }
}

/// Sees to it that a switch acts when something of it is due.
fn arm(net: &mut Network, switch: u32) {
    let streams = net.forwarders[switch as usize].known_streams();
    let tails = streams.and_then(|streams| streams.next_due());
    let shared = shared(net);
    let hold = shared.holds[switch as usize].next_due();
    let Some(at) = tails.into_iter().chain(hold).min() else {
        return;
    };
    if at < shared.armed[switch as usize] {
        shared.armed[switch as usize] = at;
        shared.due.insert((at, switch));
        net.schedule_control(at, timer::DEFLECTION);
    }
}

/// Something is due at some switches.
pub fn on_due(net: &mut Network) {
    let now = net.now();
    while let Some(&(at, switch)) = shared(net).due.first().filter(|due| due.0 <= now) {
        let shared = shared(net);
        shared.due.remove(&(at, switch));
        shared.armed[switch as usize] = Time::MAX;
        net.recorder.set_order(switch);
        last::expire(net, switch);
        if let Some(streams) = net.forwarders[switch as usize].streams() {
            streams.on_due(now);
        }
        steer::send_tails(net, switch);
    }
    net.recorder.set_order(0);
}

/// Routes have changed: forgets the streams whose ways have.
pub(crate) fn on_reroute(net: &mut Network, old: &Routes) {
    let Some(shared) = net.deflection.as_deref_mut() else {
        return;
    };
    let before = shared.valleys.clone();
    shared.reach = Reach::new(&net.graph);
    if let Some(valleys) = &mut shared.valleys {
        valleys.update(&net.graph, &net.routes);
    }
    let detours = |valleys: &Option<Valleys>, span| {
        let valleys = valleys.as_ref();
        valleys.map(|valleys| valleys.of(span).to_vec())
    };
    for (span, changed) in shared.changed.iter_mut().enumerate() {
        if old.hops_of(span) != net.routes.hops_of(span)
            || detours(&before, span) != detours(&shared.valleys, span)
        {
            *changed = net.epoch;
        }
    }
    let (routes, flows, changed) = (&net.routes, &net.flows, &shared.changed);
    for (switch, forwarder) in (0..).zip(&mut net.forwarders) {
        let Some(streams) = forwarder.streams() else {
            continue;
        };
        streams.retain(|origin| {
            let host = flows[origin.flow.index()].destination(origin.back);
            changed[routes.span(switch, host)] != net.epoch
        });
    }
}
