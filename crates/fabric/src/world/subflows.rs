//! Between hosts and connections with several paths.

use std::collections::BTreeSet;

use fairlane_engine::Event;
use fairlane_network::Network;
use fairlane_network::packet::Side;
use fairlane_network::routing::Link;
use fairlane_nic::PairId;
use fairlane_transport::Status;
use fairlane_units::{Bytes, FlowId, HostId, MessageId, Time};

use super::World;
use super::ideal::push_record;
use crate::connections::Posted;
use crate::endpoint::subflow;
use crate::ideal::{KnownPaths, Paths};
use crate::multipath::{Heard, MessageEnd, Multipath, Output, PostedWork};
use crate::notice::{Frame, Notice};
use crate::{MessageRecord, Outcome};

/// So far behind what a queue pair has sent its successor begins to number packets: nothing that is still under way
/// is taken for new.
const APART: u32 = 1 << 20;

/// Posts a message over several paths.
pub(super) fn post(world: &mut World, message: MessageId) {
    let spec = *world.traffic.message(message);
    let posted = Posted::at(world.net.now());
    world.hosts.connections.posted.insert(message, posted);
    world.note_message_paths(message, KnownPaths::default());
    let (messages, schedule) = (world.traffic.messages(), &world.schedule);
    let successors = world.waiting_for(message);
    let elsewhere = |one: &u32| schedule.host_of(messages, *one) != spec.source;
    let awaited = successors.iter().any(elsewhere);
    let host = world.hosts.host(spec.source);
    act(world, host, |all, net| {
        all.post(net, message, &spec, awaited)
    });
}

/// Has the driver thread of a host do something, then does what follows.
fn act(world: &mut World, host: HostId, act: impl FnOnce(&mut Multipath, &mut Network)) {
    let Some(all) = world.multipath.as_deref_mut() else {
        return;
    };
    act(all, &mut world.net);
    all.arm(&mut world.net.engine, host);
    follow(world);
}

/// Does what connections have others do, each thing with all that follows from it.
fn follow(world: &mut World) {
    let Some(all) = world.multipath.as_deref_mut() else {
        return;
    };
    let mut outputs = std::mem::take(&mut all.outputs);
    for output in outputs.drain(..) {
        match output {
            Output::Post(posting) => ring(world, posting),
            Output::Close(flow, settled) => {
                world
                    .hosts
                    .close_end(&world.net, flow, Side::Requester, settled);
                world.disconnect(flow, settled);
            }
            Output::Renew(flow) => renew(world, flow),
            Output::Ended(ended) => finish(world, &ended),
            Output::Arrived(message) => world.on_message_received(message),
            Output::Grant { connection, id } => grant(world, connection, id),
        }
    }
    // Its memory is used again.
    if let Some(all) = world.multipath.as_deref_mut()
        && all.outputs.is_empty()
    {
        all.outputs = outputs;
    }
}

/// A work request goes to its queue pair, by way of the NIC if that costs something.
fn ring(world: &mut World, posting: PostedWork) {
    let flow = posting.flow;
    let Some(pair) = world.traffic.charged_qp(flow) else {
        return write(world, posting);
    };
    if let Some(all) = world.multipath.as_deref_mut() {
        all.queue(posting);
    }
    let size = posting.request().length;
    world.drive(|all, net| subflow::ring(all, &mut net.engine, pair, size));
}

/// A NIC is done with a work request.
pub(super) fn begin(world: &mut World, flow: FlowId) {
    let queued = world
        .multipath
        .as_deref_mut()
        .and_then(|all| all.dequeue(flow));
    if let Some(posting) = queued {
        return write(world, posting);
    }
    if let Some(pair) = world.traffic.charged_qp(flow) {
        world.drive(|all, net| subflow::take_back(all, &mut net.engine, pair));
    }
}

/// A work request goes to its queue pair.
fn write(world: &mut World, posting: PostedWork) {
    let PostedWork { flow, frame, .. } = posting;
    let request = posting.request();
    let spec = world.traffic.connection(flow);
    let (now, host) = (world.net.now(), world.hosts.host(spec.source));
    let open = world.hosts.connections.pair(flow, Side::Requester);
    let pair = open.unwrap_or_else(|| world.hosts.connect(&world.net, flow));
    let nic = world.hosts.nic_mut(host);
    nic.core.post(now, pair, request);
    if let Some(frame) = frame {
        let end = nic.core.pair(pair).requester().posted_psn().get();
        let ports = world.net.ports_of(flow);
        let ends = (spec.source, spec.destination);
        let half = world.hosts.half_round_trip(&world.net, ports, ends);
        let notice = Notice::Frame(flow, Frame { end, ..frame });
        world.send_notice(spec.destination, now.saturating_add(half), notice);
    }
    let port = world.net.port_at(flow, Side::Requester);
    world.send_from_plane(host, port);
}

/// A queue pair is replaced: its packets that are under way are no more, once the other end has heard of it.
fn renew(world: &mut World, flow: FlowId) {
    let spec = world.traffic.connection(flow);
    let Some(pair) = world.hosts.connections.pair(flow, Side::Requester) else {
        return;
    };
    let nic = world.hosts.nic_at(spec.source);
    let behind = nic.core.pair(pair).requester().posted_psn();
    let first = behind.advance(APART).get();
    // A path that has died says nothing of congestion on others, with which it may share a controller.
    world
        .hosts
        .close_end(&world.net, flow, Side::Requester, true);
    world.hosts.connections.renew(flow, Side::Requester, first);
    if let Some(pair) = world.traffic.charged_qp(flow) {
        world.drive(|all, net| subflow::renew(all, &mut net.engine, pair));
    }
    let trip = world.hosts.baseline.largest.rtt;
    let at = world.net.now().saturating_add(trip);
    world.send_notice(spec.destination, at, Notice::Renewed(flow, first));
    world.send_notice(spec.source, at, Notice::Ready(flow));
}

/// The other end has one more receive.
fn grant(world: &mut World, connection: u32, id: u64) {
    let Some(all) = world.multipath.as_deref() else {
        return;
    };
    let one = *all.connection(connection);
    let ends = (one.destination, one.source);
    let [asks, answers] = world.net.ports_of(one.first);
    let half = world
        .hosts
        .half_round_trip(&world.net, [answers, asks], ends);
    let at = world.net.now().saturating_add(half);
    world.send_notice(one.source, at, Notice::Granted(connection, id));
}

/// Records the end of a message, and does what follows from it.
fn finish(world: &mut World, ended: &MessageEnd) {
    let outcome = match ended.succeeded {
        true => Outcome::Completed,
        false => Outcome::RetryExceeded,
    };
    let known = record(world, ended.message);
    let acknowledged = match ended.succeeded {
        true => known.size,
        false => ended.acknowledged,
    };
    let record = MessageRecord {
        finish: ended.succeeded.then_some(world.net.now()),
        acknowledged,
        placed: acknowledged,
        retransmitted: u32::try_from(ended.retransmitted).unwrap_or(u32::MAX),
        outcome,
        ..known
    };
    world.hosts.connections.posted.remove(&ended.message);
    let flow = world.traffic.flow_of(ended.message);
    push_record(world, record, (flow, None));
    if ended.succeeded {
        world.on_message_completed(ended.message);
    }
}

/// What is known of a message that is under way.
pub(super) fn record(world: &World, message: MessageId) -> MessageRecord {
    let posted = world.hosts.connections.posted.get(&message);
    let never = world.hosts.never_posted(&world.net, message);
    let all = world.multipath.as_deref();
    let acknowledged = all.and_then(|all| all.acknowledged(message));
    let acknowledged = acknowledged.unwrap_or_default();
    MessageRecord {
        acknowledged,
        placed: acknowledged,
        posted: true,
        start: posted.map_or(never.start, |posted| posted.start),
        ideal: posted
            .and_then(|posted| posted.ideal)
            .unwrap_or(never.standalone),
        ..never
    }
}

/// A work request of a queue pair has ended.
pub(super) fn on_completed(
    world: &mut World,
    (flow, pair): (FlowId, PairId),
    tag: u64,
    status: Status,
) {
    let spec = world.traffic.connection(flow);
    let host = world.hosts.host(spec.source);
    let current = world.hosts.connections.pair(flow, Side::Requester) == Some(pair);
    let known = world.hosts.nic(host).core.pair(pair);
    let heard = match current {
        true => (known.requester().retransmitted(), known.marks()),
        // It has been closed meanwhile, for what ended before.
        false => (0, 0),
    };
    let heard = Heard::new(tag, status, heard);
    let mut visible = world.net.now();
    if let Some(pair) = world.traffic.charged_qp(flow) {
        world.drive(|all, net| {
            visible = visible.saturating_add(all.costs.cqe_write);
            subflow::end(all, &mut net.engine, pair);
        });
    }
    act(world, host, |all, net| {
        all.on_completed(net.now(), (flow, visible), heard);
    });
}

/// Work requests of a queue pair have arrived at the other end.
pub(super) fn on_received(world: &mut World, flow: FlowId) {
    let host = world.hosts.host(world.traffic.connection(flow).destination);
    let Some(pair) = world.hosts.connections.pair(flow, Side::Responder) else {
        return;
    };
    let responder = world.hosts.nic(host).core.pair(pair).responder();
    let expected = responder.expected();
    act(world, host, |all, net| {
        all.on_expected(net.now(), flow, expected);
    });
}

/// The driver thread of a host has something to do.
#[cold]
pub(super) fn on_thread(world: &mut World, host: HostId, event: Event) {
    act(world, host, |all, net| {
        all.on_thread(&mut net.engine, host, event);
    });
}

/// Hears of something that concerns a connection with several paths, behind what is heard of others.
pub(super) fn on_notice(world: &mut World, notice: Notice) {
    let all = world.traffic.flow_count() as u32;
    let order = match notice {
        Notice::Arrived(node, _) => node,
        Notice::Closed(flow, _) => flow.get(),
        Notice::Frame(flow, _) => 2 * all + flow.get(),
        Notice::Renewed(flow, _) => 3 * all + flow.get(),
        Notice::Ready(flow) => 4 * all + flow.get(),
        Notice::Granted(connection, _) => 5 * all + connection,
    };
    world.net.recorder.set_order(order);
    hear(world, notice);
    world.net.recorder.set_order(0);
}

fn hear(world: &mut World, notice: Notice) {
    match notice {
        Notice::Frame(flow, frame) => {
            if let Some(all) = world.multipath.as_deref_mut() {
                all.on_frame(flow, &frame);
            }
            on_received(world, flow);
        }
        Notice::Renewed(flow, first) => {
            world
                .hosts
                .close_end(&world.net, flow, Side::Responder, true);
            let connections = &mut world.hosts.connections;
            connections.renew(flow, Side::Responder, first);
            if let Some(all) = world.multipath.as_deref_mut() {
                all.forget_frames(flow);
            }
        }
        Notice::Ready(flow) => {
            let host = world.hosts.host(world.traffic.connection(flow).source);
            act(world, host, |all, _| all.on_renewed(flow));
        }
        Notice::Granted(connection, id) => {
            let Some(all) = world.multipath.as_deref() else {
                return;
            };
            let host = all.connection(connection).hosts[0];
            act(world, host, |all, net| {
                all.on_grant(net.now(), connection, id)
            });
        }
        Notice::Arrived(..) | Notice::Closed(..) => {}
    }
}

/// Whether a message has several paths.
pub(super) fn has_several(world: &World, message: MessageId) -> bool {
    let all = world.multipath.as_deref();
    all.is_some_and(|all| all.connection_of_message(message).is_some())
}

/// Whether the packets of a message with several paths are cut where those of one queue pair would be.
pub(super) fn keeps_packets(world: &World, message: MessageId, size: Bytes) -> Option<bool> {
    let all = world.multipath.as_deref()?;
    all.connection_of_message(message)?;
    Some(all.keeps_packets(size))
}

/// The paths of a message: of one with several paths those of all queue pairs.
pub(super) fn paths(world: &mut World, message: MessageId) -> KnownPaths {
    let all = world.multipath.as_deref();
    let connection = all.and_then(|all| Some(*all.connection(all.connection_of_message(message)?)));
    let Some(connection) = connection else {
        let flow = world.traffic.flow_of(message);
        return world.profiles.known_paths(&world.net, flow);
    };
    let mut paths = KnownPaths::default();
    let mut ports = [BTreeSet::new(), BTreeSet::new()];
    for flow in connection.flows() {
        for (ports, port) in ports.iter_mut().zip(world.net.ports_of(flow)) {
            ports.insert(port);
        }
        let more = world.profiles.known_paths(&world.net, flow);
        extend(&mut paths.known, more.known);
        // Whether they are moved isn't asked.
        extend(&mut paths.known, more.any);
    }
    let [asks, answers] = ports.map(|ports| ports.len() as u64);
    if asks.max(answers) > 1 {
        widen(&mut paths.known[0], [asks, answers]);
        widen(&mut paths.known[1], [answers, asks]);
    }
    paths
}

/// Adds paths that aren't known.
fn extend(all: &mut Paths, more: Paths) {
    for (all, more) in all.iter_mut().zip(more) {
        for path in more {
            if !all.contains(&path) {
                all.push(path);
            }
        }
    }
}

/// Hosts that use so many ports, at both ends of paths, are no faster than so many of the fastest that they use.
fn widen(paths: &mut [Vec<Link>], [first, last]: [u64; 2]) {
    let fastest = |end: fn(&[Link]) -> Option<&Link>| {
        let links = paths.iter().filter_map(|path| end(path));
        links.map(|link| link.rate).max().unwrap_or_default()
    };
    let rates = [
        fastest(<[Link]>::first) * first,
        fastest(<[Link]>::last) * last,
    ];
    for path in paths.iter_mut() {
        let end = path.len() - 1;
        path[0].rate = rates[0];
        if end > 0 {
            path[end].rate = rates[1];
        }
    }
}

/// Whether a message over several paths can't end `until` then.
pub(super) fn has_to_send(world: &World, message: MessageId, until: Time) -> bool {
    let Some(all) = world.multipath.as_deref() else {
        return false;
    };
    if !all.goes_on(message, until) {
        return false;
    }
    let source = world.traffic.message(message).source;
    let nic = &world.hosts.nic_at(source).core;
    let fails = |flow: FlowId| {
        let pair = world.hosts.connections.pair(flow, Side::Requester);
        let deadline = pair.and_then(|pair| nic.pair(pair).requester().deadline());
        deadline.is_some_and(|at| at <= until)
    };
    !all.open_flows(message).any(fails)
}
