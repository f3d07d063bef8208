//! Flows that are moved in order: which way data takes at a switch, and what the last one holds.
//!
//! `forwarding/iofd/` decides; here is what that does to packets, queues and timers.

use std::collections::BTreeSet;

use fairlane_scenario::{Error, Scenario};
use fairlane_units::{Bytes, Time};
use fairlane_wire::Opcode;

use crate::TraceEvent;
use crate::counters::Drop;
use crate::fork::Fork;
use crate::forwarding::iofd::merge::{Fate, Hold, Item, is_before};
use crate::forwarding::iofd::streams::{Origin, Passing, Tail};
use crate::forwarding::{EgressPorts, Label, Plan};
use crate::network::Network;
use crate::packet::{Kind, NONE, PacketRecord, TAKEN};
use crate::reach::Reach;
use crate::routing::{Graph, Routes};
use crate::waking::control;

/// Bytes of a tail on the wire, and of the answer to one: Ethernet with its check sequence, IPv4, UDP, and the header of
/// docs/wire.md.
pub(crate) const CONTROL: u16 = 94;

/// What switches have together that move flows in order.
#[derive(Clone, Debug)]
pub(crate) struct Deflection {
    /// What each switch holds, by number.
    pub(crate) holds: Vec<Hold>,
    /// Ways from switch to switch.
    reach: Reach,
    /// By target and switch, the epoch in which the next hops changed last; empty if links don't change.
    changed: Vec<u16>,
    /// By direction of a flow, the latest epoch of which something has passed; empty if links don't change.
    latest: Vec<u16>,
    /// When which switch has something to do.
    due: BTreeSet<(Time, u32)>,
    /// By switch, the earliest of these.
    armed: Vec<Time>,
    /// Flows that were ever moved, a bit for each.
    moved: Vec<u64>,
    pub(crate) counts: Counts,
    /// Fates that are being dealt with, and tails that are being sent.
    fates: Vec<(u32, Fate)>,
    tails: Vec<Tail>,
}

/// What the parts of a fabric count for themselves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Tails that switches have sent, and those of them that they had sent before.
    pub(crate) tails: u64,
    pub(crate) again: u64,
    /// Answers to tails.
    pub(crate) clears: u64,
}

impl Deflection {
    /// Of a fabric with so many flows, if its switches move any.
    ///
    /// # Errors
    /// If there are more switches than labels can tell apart.
    pub(crate) fn of(
        plan: &Plan,
        scenario: &Scenario,
        (graph, routes): (&Graph, &Routes),
        flows: usize,
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
        let this = Self::new(plan, scenario, (graph, routes), flows);
        Ok(Some(Box::new(this)))
    }

    fn new(
        plan: &Plan,
        scenario: &Scenario,
        (graph, routes): (&Graph, &Routes),
        flows: usize,
    ) -> Self {
        let parameters = &scenario.switch.iofd;
        let switches = graph.is_switch.iter().filter(|is| **is).count();
        let hold = Hold::new(parameters.hold, parameters.hold_timeout);
        Self {
            holds: vec![hold; switches],
            reach: Reach::new(graph),
            changed: if plan.sees_all {
                vec![0; routes.spans()]
            } else {
                Vec::new()
            },
            latest: if plan.sees_all {
                vec![0; 2 * flows]
            } else {
                Vec::new()
            },
            due: BTreeSet::new(),
            armed: vec![Time::MAX; switches],
            moved: Vec::new(),
            counts: Counts::default(),
            fates: Vec::new(),
            tails: Vec::new(),
        }
    }

    /// Whether a flow was ever moved.
    pub(crate) fn has_moved(&self, flow: u32) -> bool {
        let word = self.moved.get(flow as usize / 64);
        word.is_some_and(|word| word & 1 << (flow % 64) != 0)
    }

    fn note_move(&mut self, flow: u32) {
        let word = flow as usize / 64;
        if self.moved.len() <= word {
            self.moved.resize(word + 1, 0);
        }
        self.moved[word] |= 1 << (flow % 64);
    }

    /// Whether something is held: it passes or is lost in time.
    pub(crate) fn holds_any(&self) -> bool {
        self.holds.iter().any(|hold| hold.held().next().is_some())
    }

    /// Takes in what another part of the fabric has counted; `owns` says which switches are there.
    pub(crate) fn absorb(&mut self, mut other: Self, owns: impl Fn(u32) -> bool) {
        for switch in (0..self.holds.len()).filter(|&switch| owns(switch as u32)) {
            std::mem::swap(&mut self.holds[switch], &mut other.holds[switch]);
        }
        self.counts.tails += other.counts.tails;
        self.counts.again += other.counts.again;
        self.counts.clears += other.counts.clears;
        self.moved
            .resize(self.moved.len().max(other.moved.len()), 0);
        let words = self.moved.iter_mut().zip(&other.moved);
        words.for_each(|(all, part)| *all |= part);
    }
}

/// The way of a packet that isn't known beforehand: its egress port, [`NONE`] if there is none, or [`TAKEN`].
pub(super) fn route(net: &mut Network, ingress: u32, at: u32) -> u32 {
    let switch = net.ports[ingress as usize].owner;
    match net.packets.get(at).kind {
        Kind::Clear => on_clear(net, switch, at),
        Kind::Data | Kind::Tail => on_data(net, (switch, ingress), at),
        Kind::Ack | Kind::Nak | Kind::Cnp | Kind::Pause | Kind::Resume => net.choose(switch, at),
    }
}

/// Data, or a tail, is at a switch.
fn on_data(net: &mut Network, (switch, ingress): (u32, u32), at: u32) -> u32 {
    let packet = *net.packets.get(at);
    let tuple = net.tuple_of(&packet);
    let numbers = net
        .routes
        .towards(switch, tuple.destination, packet.epoch == net.epoch);
    if numbers.is_empty() {
        return NONE;
    }
    let Some(deflection) = net.deflection.as_deref() else {
        return NONE;
    };
    if net.routes.is_last(switch, tuple.destination) {
        let port = numbers[0];
        return on_last(net, (switch, port), at);
    }
    let row = net.routes.span(switch, tuple.destination);
    let changed = deflection.changed.get(row).copied();
    if changed.is_some_and(|changed| is_before(packet.epoch, changed)) {
        net.drop_packet(at, ingress, Drop::Rerouted);
        return TAKEN;
    }
    if let &[only] = numbers {
        return only;
    }
    let candidates = EgressPorts {
        numbers,
        ports: &net.ports,
        class: packet.class,
    };
    let own = net
        .plan
        .foresee(switch, &Label { tuple }, numbers.len() as u32);
    let passing = Passing {
        origin: origin(&packet),
        forks: net.packets.forks(at),
        wire: packet.wire,
        is_tail: packet.kind == Kind::Tail,
    };
    let forwarder = &mut net.forwarders[switch as usize];
    let Some(streams) = forwarder.streams() else {
        return NONE;
    };
    let forks = streams.forks;
    let way = streams.steer(net.engine.now(), &passing, own.unwrap_or(0), &candidates);
    let (moves, sends) = (streams.forks > forks, !streams.tails.is_empty());
    if way.forks != passing.forks {
        net.packets.set_forks(at, way.forks);
    }
    if moves && let Some(deflection) = net.deflection.as_deref_mut() {
        deflection.note_move(packet.flow);
    }
    if sends {
        send_tails(net, switch);
    }
    way.port
}

fn origin(packet: &PacketRecord) -> Origin {
    Origin {
        flow: packet.flow,
        back: packet.has(PacketRecord::BACK),
        class: packet.class,
        tenant: packet.tenant,
        epoch: packet.epoch,
        sender: packet.sender,
    }
}

/// Sends the tails that the streams of a switch have ready.
fn send_tails(net: &mut Network, switch: u32) {
    let Some(deflection) = net.deflection.as_deref_mut() else {
        return;
    };
    let mut tails = std::mem::take(&mut deflection.tails);
    if let Some(streams) = net.forwarders[switch as usize].streams() {
        std::mem::swap(&mut tails, &mut streams.tails);
    }
    for tail in tails.drain(..) {
        send_tail(net, &tail);
    }
    if let Some(deflection) = net.deflection.as_deref_mut() {
        deflection.tails = tails;
    }
    arm(net, switch);
}

fn send_tail(net: &mut Network, tail: &Tail) {
    let (origin, epoch) = (&tail.origin, net.epoch);
    let (at, packet) = net.packets.alloc();
    *packet = PacketRecord::new(Kind::Tail, Opcode::Cnp, origin.class, CONTROL);
    packet.flow = origin.flow;
    packet.tenant = origin.tenant;
    packet.epoch = if tail.again { epoch } else { origin.epoch };
    packet.sender = origin.sender;
    packet.flags = PacketRecord::UNCHARGED;
    packet.flags |= if origin.back { PacketRecord::BACK } else { 0 };
    packet.set_fork(tail.fork);
    net.packets.set_forks(at, tail.forks);
    if let Some(deflection) = net.deflection.as_deref_mut() {
        deflection.counts.tails += 1;
        deflection.counts.again += u64::from(tail.again);
    }
    enqueue(net, tail.port, at);
}

/// Adds a packet of the switch's own, or one that it has held, to a queue.
fn enqueue(net: &mut Network, port: u32, at: u32) {
    let (class, flags) = (net.packets.get(at).class, net.packets.get(at).flags);
    if !net.ports[port as usize].up {
        if flags & PacketRecord::UNCHARGED != 0 {
            uncharge(net, at);
        }
        net.drop_packet(at, port, Drop::LinkDown);
        return;
    }
    net.ports[port as usize].enqueue(&mut net.packets, class, at);
    if net.tracer.is_on() {
        net.trace(port, at, TraceEvent::Enqueued);
    }
    net.send_from_switch(port);
}

/// Data, or a tail, is at the last switch before its host.
fn on_last(net: &mut Network, (switch, port): (u32, u32), at: u32) -> u32 {
    let packet = *net.packets.get(at);
    let item = Item {
        at,
        flow: origin(&packet).direction(),
        forks: net.packets.forks(at),
        tail: match packet.kind {
            Kind::Tail => packet.fork(),
            _ => Fork::NONE,
        },
        wire: packet.wire,
        epoch: packet.epoch,
    };
    let now = net.engine.now();
    let Some(deflection) = net.deflection.as_deref_mut() else {
        return NONE;
    };
    let mut fates = std::mem::take(&mut deflection.fates);
    let mut none = packet.epoch;
    let latest = deflection
        .latest
        .get_mut(item.flow as usize)
        .unwrap_or(&mut none);
    deflection.holds[switch as usize].on_arrival(now, item, latest, &mut fates);
    // Most often it passes. Then at most others are lost after that.
    let passes = matches!(fates[..], [(_, Fate::Passes(false)), ..]);
    if passes {
        fates.remove(0);
        net.packets.set_forks(at, Default::default());
    }
    settle(net, (switch, port), fates);
    if passes { port } else { TAKEN }
}

/// Does to packets at the last switch what has been decided; returns the memory.
fn settle(net: &mut Network, (switch, port): (u32, u32), mut fates: Vec<(u32, Fate)>) {
    for (at, fate) in fates.drain(..) {
        match fate {
            Fate::Passes(held) => {
                net.packets.set_forks(at, Default::default());
                let packet = net.packets.get_mut(at);
                packet.hop += 1;
                packet.flags |= if held { PacketRecord::UNCHARGED } else { 0 };
                enqueue(net, port, at);
            }
            Fate::Over(fork) => {
                answer(net, switch, at, fork);
                net.packets.release(at);
            }
            Fate::NoRoom => lose(net, at, Drop::HoldFull),
            Fate::TooLong => lose(net, at, Drop::HoldTimeout),
            Fate::Overtaken => lose(net, at, Drop::Rerouted),
        }
    }
    if let Some(deflection) = net.deflection.as_deref_mut() {
        deflection.fates = fates;
    }
    arm(net, switch);
}

/// Loses a packet that has come to a switch and that nothing is charged for.
fn lose(net: &mut Network, at: u32, reason: Drop) {
    let sender = net.packets.get(at).sender;
    let ingress = net.ports[sender as usize].peer;
    net.drop_packet(at, ingress, reason);
}

/// A packet for which no buffer is charged leaves the switch, one way or another.
#[cold]
pub(super) fn uncharge(net: &mut Network, at: u32) {
    let packet = net.packets.get_mut(at);
    packet.flags &= !PacketRecord::UNCHARGED;
    let (kind, wire, sender) = (packet.kind, packet.wire, packet.sender);
    let switch = net.ports[sender as usize].peer_owner;
    if kind != Kind::Tail
        && let Some(deflection) = net.deflection.as_deref_mut()
    {
        deflection.holds[switch as usize].on_left(wire);
    }
}

/// Answers a tail that is through.
fn answer(net: &mut Network, switch: u32, tail: u32, fork: Fork) {
    let tail = *net.packets.get(tail);
    let (at, packet) = net.packets.alloc();
    *packet = PacketRecord::new(Kind::Clear, Opcode::Cnp, 0, CONTROL);
    (packet.flow, packet.tenant, packet.epoch) = (tail.flow, tail.tenant, tail.epoch);
    packet.flags = tail.flags & PacketRecord::BACK;
    packet.set_fork(fork);
    if let Some(deflection) = net.deflection.as_deref_mut() {
        deflection.counts.clears += 1;
    }
    match next_to(net, switch, fork) {
        Some(port) => enqueue(net, port, at),
        None => net.packets.release(at),
    }
}

/// The next port on the way to the switch of a fork.
fn next_to(net: &Network, switch: u32, fork: Fork) -> Option<u32> {
    let [high, low] = fork.halves();
    let reach = &net.deflection.as_deref()?.reach;
    reach.next(
        (&net.graph, &net.routes),
        (switch, fork.switch()),
        high ^ low,
    )
}

/// The answer to a tail is at a switch.
fn on_clear(net: &mut Network, switch: u32, at: u32) -> u32 {
    let fork = net.packets.get(at).fork();
    if fork.switch() != switch {
        return next_to(net, switch, fork).unwrap_or(NONE);
    }
    if let Some(streams) = net.forwarders[switch as usize].streams() {
        streams.on_clear(fork);
    }
    net.packets.release(at);
    TAKEN
}

/// Sees to it that a switch acts when something of it is due.
fn arm(net: &mut Network, switch: u32) {
    let tails = net.forwarders[switch as usize]
        .streams()
        .and_then(|streams| streams.next_due());
    let Some(deflection) = net.deflection.as_deref_mut() else {
        return;
    };
    let hold = deflection.holds[switch as usize].next_due();
    let Some(at) = tails.into_iter().chain(hold).min() else {
        return;
    };
    if at < deflection.armed[switch as usize] {
        deflection.armed[switch as usize] = at;
        deflection.due.insert((at, switch));
        net.schedule_control(at, control::DEFLECTION);
    }
}

/// Something is due at some switches.
pub(crate) fn on_due(net: &mut Network) {
    let now = net.now();
    while let Some(deflection) = net.deflection.as_deref_mut()
        && let Some(&(at, switch)) = deflection.due.first()
        && at <= now
    {
        deflection.due.remove(&(at, switch));
        deflection.armed[switch as usize] = Time::MAX;
        let mut fates = std::mem::take(&mut deflection.fates);
        deflection.holds[switch as usize].expire(now, &mut fates);
        net.set_order(switch);
        // Nothing passes now, so there is no port.
        settle(net, (switch, NONE), fates);
        if let Some(streams) = net.forwarders[switch as usize].streams() {
            streams.on_due(now);
        }
        send_tails(net, switch);
    }
    net.set_order(0);
}

/// Routes have changed: forgets the streams whose ways have.
pub(super) fn on_reroute(net: &mut Network, old: &Routes) {
    let Some(deflection) = net.deflection.as_deref_mut() else {
        return;
    };
    deflection.reach = Reach::new(&net.graph);
    for (span, changed) in deflection.changed.iter_mut().enumerate() {
        if old.hops_of(span) != net.routes.hops_of(span) {
            *changed = net.epoch;
        }
    }
    let (routes, flows, changed) = (&net.routes, &net.flows, &deflection.changed);
    for (switch, forwarder) in (0..).zip(&mut net.forwarders) {
        let Some(streams) = forwarder.streams() else {
            continue;
        };
        streams.retain(|origin| {
            let host = flows[origin.flow as usize].destination(origin.back);
            changed[routes.span(switch, host)] != net.epoch
        });
    }
}

/// The room that switches hold packets in, and that is in use.
pub(crate) fn most_held(deflection: &Deflection) -> Bytes {
    let holds = deflection.holds.iter();
    holds.map(|hold| hold.most).max().unwrap_or(Bytes::ZERO)
}
