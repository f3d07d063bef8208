//! What the last switch before a host does with data and tails.

use fairlane_wire::Opcode;

use super::steer::towards_fork;
use super::{CONTROL, arm, enqueue, shared};
use crate::counters::Drop;
use crate::fork::{Fork, Forks};
use crate::forwarding::iofd::Misrule;
use crate::forwarding::iofd::merge::{Fate, Item};
use crate::network::Network;
use crate::packet::{Kind, PacketRecord, TAKEN};

/// Something has arrived for a host; returns the port if it goes on at once.
pub(crate) fn arrive(net: &mut Network, (switch, port): (u32, u32), at: u32) -> u32 {
    let packet = *net.packets.get(at);
    let item = Item {
        at,
        flow: u64::from(packet.flow.get()) << 1 | u64::from(packet.has(PacketRecord::BACK)),
        forks: net.packets.forks(at),
        tail: match packet.kind {
            Kind::Tail => packet.fork(),
            _ => Fork::NONE,
        },
        wire: packet.wire,
        epoch: packet.epoch,
    };
    let now = net.engine.now();
    let shared = shared(net);
    let mut fates = std::mem::take(&mut shared.fates);
    let mut same = packet.epoch;
    let latest = shared.latest.get_mut(item.flow as usize);
    let latest = latest.unwrap_or(&mut same);
    shared.holds[switch as usize].on_arrival(now, item, latest, &mut fates);
    // Most often it passes. Then others may be lost after that, but none passes.
    let passes = matches!(fates[..], [(_, Fate::Passes(false)), ..]);
    if passes {
        fates.remove(0);
        ready(net, at);
    } else if fates.is_empty() {
        charge(net, at);
    }
    if passes && fates.is_empty() {
        self::shared(net).fates = fates;
        return port;
    }
    settle(net, (switch, port), fates);
    if passes { port } else { TAKEN }
}

/// Gives up what a switch has held for too long.
pub(crate) fn expire(net: &mut Network, switch: u32) {
    let now = net.now();
    let shared = shared(net);
    let mut fates = std::mem::take(&mut shared.fates);
    shared.holds[switch as usize].expire(now, &mut fates);
    // Nothing passes, so no port is needed.
    settle(net, (switch, 0), fates);
}

/// A packet leaves without labels, in the class that it was sent in: there is one queue for all of its flow.
fn ready(net: &mut Network, at: u32) {
    net.packets.set_forks(at, Forks::default());
    let packet = net.packets.get_mut(at);
    packet.class = net.flows[packet.flow.index()].class;
}

/// Something is held: in the pool, for which no buffer is charged.
fn charge(net: &mut Network, at: u32) {
    let packet = net.packets.get(at);
    let (sender, class, wire) = (packet.sender, packet.charged, packet.wire);
    let charged = shared(net).misrule == Some(Misrule::ChargeHeld)
        && packet_is_data(net, at)
        && net.admit(sender, class, wire);
    if !charged {
        net.packets.get_mut(at).flags |= PacketRecord::UNCHARGED;
    }
}

fn packet_is_data(net: &Network, at: u32) -> bool {
    net.packets.get(at).kind == Kind::Data
}

/// Does to packets what has been decided, and keeps the memory.
fn settle(net: &mut Network, (switch, port): (u32, u32), mut fates: Vec<(u32, Fate)>) {
    for (at, fate) in fates.drain(..) {
        match fate {
            Fate::Passes(_) => {
                ready(net, at);
                let packet = net.packets.get_mut(at);
                packet.hop += 1;
                let (wire, pooled) = (packet.wire, packet.has(PacketRecord::UNCHARGED));
                if !pooled {
                    shared(net).holds[switch as usize].on_left(wire);
                }
                enqueue(net, port, at);
            }
            Fate::Over(fork) => {
                answer(net, switch, at, fork);
                net.packets.release(at);
            }
            Fate::NoRoom => lose(net, at, Drop::HoldFull),
            Fate::TooLong => lose_held(net, at, Drop::HoldTimeout),
            Fate::Overtaken(false) => lose(net, at, Drop::Rerouted),
            Fate::Overtaken(true) => lose_held(net, at, Drop::Rerouted),
        }
    }
    shared(net).fates = fates;
    arm(net, switch);
}

/// Loses a packet that has come to a switch.
fn lose(net: &mut Network, at: u32, reason: Drop) {
    let sender = net.packets.get(at).sender;
    let ingress = net.ports[sender as usize].peer;
    net.drop_packet(at, ingress, reason);
}

/// Loses one that it has held.
fn lose_held(net: &mut Network, at: u32, reason: Drop) {
    if !net.packets.get(at).has(PacketRecord::UNCHARGED) {
        net.evict(at);
    }
    lose(net, at, reason);
}

/// Answers a tail that is through.
fn answer(net: &mut Network, switch: u32, tail: u32, fork: Fork) {
    let tail = *net.packets.get(tail);
    let (at, packet) = net.packets.alloc();
    *packet = PacketRecord::new(Kind::Clear, Opcode::Cnp, 0, CONTROL);
    (packet.flow, packet.tenant, packet.epoch) = (tail.flow, tail.tenant, tail.epoch);
    packet.flags = tail.flags & PacketRecord::BACK;
    packet.set_fork(fork);
    shared(net).counts.clears += 1;
    match towards_fork(net, switch, fork) {
        Some(port) => enqueue(net, port, at),
        None => net.packets.release(at),
    }
}
