//! Which way data, tails and the answers to tails take at a switch.

use fairlane_wire::Opcode;

use super::{CONTROL, arm, enqueue, last, shared};
use crate::counters::Drop;
use crate::five_tuple::FiveTuple;
use crate::fork::{Fork, Forks};
use crate::forwarding::iofd::Misrule;
use crate::forwarding::iofd::merge::is_before;
use crate::forwarding::iofd::streams::{Origin, Passing, Tail, Way};
use crate::forwarding::{EgressPorts, Label};
use crate::network::Network;
use crate::packet::{Kind, NONE, PacketRecord, TAKEN};

/// The way of a packet that isn't known beforehand: its egress port, [`NONE`] if there is none, or [`TAKEN`].
pub(crate) fn route(net: &mut Network, ingress: u32, at: u32) -> u32 {
    let switch = net.ports[ingress as usize].owner;
    match net.packets.get(at).kind {
        Kind::Clear => on_clear(net, switch, at),
        Kind::Data | Kind::Tail => on_data(net, (switch, ingress), at),
        Kind::Ack | Kind::Nak | Kind::Cnp | Kind::Pause | Kind::Resume => net.choose(switch, at),
    }
}

/// Data, or a tail, is at a switch.
fn on_data(net: &mut Network, (switch, ingress): (u32, u32), at: u32) -> u32 {
    let packet = net.packets.get_mut(at);
    // In which class it has come, whichever it leaves in.
    packet.charged = packet.class;
    let packet = *packet;
    let tuple = net.tuple_of(&packet);
    let host = net
        .flow(packet.flow)
        .destination(packet.has(PacketRecord::BACK));
    let &[first, ref others @ ..] = net.routes.towards(switch, host, packet.epoch == net.epoch)
    else {
        return NONE;
    };
    if net.routes.is_last(switch, host) {
        return last::arrive(net, (switch, first), at);
    }
    let (one_way, span) = (others.is_empty(), net.routes.span(switch, host));
    let shared = shared(net);
    let changed = shared.changed.get(span).copied();
    if changed.is_some_and(|changed| is_before(packet.epoch, changed)) {
        net.drop_packet(at, ingress, Drop::Rerouted);
        return TAKEN;
    }
    if one_way && shared.valleys.is_none() {
        return first;
    }
    let passing = Passing {
        origin: Origin {
            flow: packet.flow,
            back: packet.has(PacketRecord::BACK),
            class: packet.class,
            tenant: packet.tenant,
            epoch: packet.epoch,
            sender: packet.sender,
        },
        forks: net.packets.forks(at),
        wire: packet.wire,
        is_tail: packet.kind == Kind::Tail,
    };
    match steer(net, (switch, ingress), (&passing, &tuple), span) {
        Some(way) => depart(net, switch, (at, &passing), way),
        None => NONE,
    }
}

/// Which way a packet takes that has several, and whether its stream has just been moved.
fn steer(
    net: &mut Network,
    (switch, ingress): (u32, u32),
    (packet, tuple): (&Passing, &FiveTuple),
    span: usize,
) -> Option<(Way, bool)> {
    let class = packet.origin.class;
    let numbers = net.routes.hops_of(span);
    let shared = net.deflection.as_deref_mut()?;
    let (numbers, detours, class) = match &shared.valleys {
        None => (numbers, &[][..], class),
        Some(valleys) => {
            // Nothing goes back to where it came from.
            let others = |port: &&u32| **port != ingress;
            shared.ports.clear();
            shared.ports.extend(numbers.iter().filter(others));
            let count = shared.ports.len();
            shared.ports.extend(valleys.of(span).iter().filter(others));
            let (numbers, detours) = shared.ports.split_at(count);
            let turns = valleys.leads_up(&net.graph, ingress)
                && valleys.leads_up(&net.graph, *numbers.first()?);
            (numbers, detours, class + u8::from(turns))
        }
    };
    let candidates = EgressPorts {
        numbers,
        detours,
        ports: &net.ports,
        class,
    };
    let count = numbers.len() as u32;
    let own = match count {
        1 => 0,
        _ => net.plan.foresee(switch, &Label { tuple: *tuple }, count)?,
    };
    let streams = net.forwarders[switch as usize].streams()?;
    let before = streams.forks;
    let way = streams.steer(net.engine.now(), packet, own, &candidates);
    Some((way, streams.forks > before))
}

/// Readies a packet for the way that it takes, and sends the tails that go before it; returns its port.
fn depart(
    net: &mut Network,
    switch: u32,
    (at, packet): (u32, &Passing),
    (way, moves): (Way, bool),
) -> u32 {
    if way.forks != packet.forks {
        net.packets.set_forks(at, way.forks);
    }
    let class = egress_class(net, &packet.origin, way.port, &way.forks);
    net.packets.get_mut(at).class = class;
    if moves {
        shared(net).note_move(packet.origin.flow);
    }
    let streams = net.forwarders[switch as usize].known_streams();
    if streams.is_some_and(|streams| !streams.tails.is_empty()) {
        send_tails(net, switch);
    }
    way.port
}

/// The class in which something leaves a switch: one higher where it came from above and goes up again, so that within
/// a class all ways go up and then down.
fn egress_class(net: &Network, origin: &Origin, port: u32, forks: &Forks) -> u8 {
    let shared = net.deflection.as_deref();
    let Some((shared, valleys)) = shared.and_then(|all| Some((all, all.valleys.as_ref()?))) else {
        return origin.class;
    };
    let base = net.flow(origin.flow).class;
    let up = valleys.leads_up(&net.graph, port);
    let from_above = valleys.leads_up(&net.graph, origin.sender ^ 1);
    let class = match shared.misrule {
        Some(Misrule::CountLabels) => base + forks.len() as u8,
        Some(Misrule::CountDetours) => {
            // A way down to a switch from which there is only one up again.
            let below = net.ports[port as usize].peer_owner;
            let host = net.flow(origin.flow).destination(origin.back);
            let hops = net.routes.towards(below, host, true);
            let detour = !up && hops.iter().any(|&hop| valleys.leads_up(&net.graph, hop));
            origin.class + u8::from(detour)
        }
        Some(Misrule::ChargeHeld) | None => origin.class + u8::from(from_above && up),
    };
    // Where links have failed, shortest ways turn as well.
    class.min(base + shared.labels)
}

/// Sends the tails that the streams of a switch have ready.
pub(crate) fn send_tails(net: &mut Network, switch: u32) {
    let mut tails = std::mem::take(&mut shared(net).tails);
    if let Some(streams) = net.forwarders[switch as usize].streams() {
        std::mem::swap(&mut tails, &mut streams.tails);
    }
    for tail in tails.drain(..) {
        send_tail(net, &tail);
    }
    shared(net).tails = tails;
    arm(net, switch);
}

fn send_tail(net: &mut Network, tail: &Tail) {
    let (origin, epoch) = (&tail.origin, net.epoch);
    let class = egress_class(net, origin, tail.port, &tail.forks);
    let (at, packet) = net.packets.alloc();
    *packet = PacketRecord::new(Kind::Tail, Opcode::Cnp, class, CONTROL);
    packet.flow = origin.flow;
    packet.tenant = origin.tenant;
    packet.epoch = if tail.again { epoch } else { origin.epoch };
    packet.sender = origin.sender;
    packet.flags = PacketRecord::UNCHARGED;
    packet.flags |= if origin.back { PacketRecord::BACK } else { 0 };
    packet.set_fork(tail.fork);
    net.packets.set_forks(at, tail.forks);
    let counts = &mut shared(net).counts;
    counts.tails += 1;
    counts.again += u64::from(tail.again);
    enqueue(net, tail.port, at);
}

/// The next port on the way to the switch of a fork.
pub(crate) fn towards_fork(net: &Network, switch: u32, fork: Fork) -> Option<u32> {
    let [high, low] = fork.halves();
    let reach = &net.deflection.as_deref()?.reach;
    let ends = (switch, fork.switch());
    reach.next((&net.graph, &net.routes), ends, high ^ low)
}

/// The answer to a tail is at a switch.
fn on_clear(net: &mut Network, switch: u32, at: u32) -> u32 {
    let fork = net.packets.get(at).fork();
    if fork.switch() != switch {
        return towards_fork(net, switch, fork).unwrap_or(NONE);
    }
    if let Some(streams) = net.forwarders[switch as usize].streams() {
        streams.on_clear(fork);
    }
    net.packets.release(at);
    TAKEN
}
