//! What a manager tells becomes events of ids, and moves their queue pairs.

use std::ffi::c_int;
use std::net::SocketAddr;

use fairlane_cm::{
    ConnectionId, Event, EventKind, IpHeader, Peer, PortSpace, Reason, Rej, Rep, Req, Rtu,
    ServiceId, SidrRep, SidrReq, SidrStatus,
};

use crate::channel::{event, give};
use crate::connect::place;
use crate::gsi::way_to;
use crate::id::make;
use crate::layout::{ConnParam, UdParam, event as kind};
use crate::object;
use crate::pair;
use crate::world::World;

/// Tells the id of a connection what has happened.
pub(crate) fn on_event(world: &mut World, port: usize, told: Event) {
    let connection = told.connection;
    match told.kind {
        EventKind::Requested(peer, req) => return on_request(world, port, connection, peer, req),
        EventKind::Asked(peer, question) => {
            return on_question(world, port, connection, peer, question);
        }
        _ => {}
    }
    let Some(&key) = world.connections.get(&(port, connection)) else {
        return;
    };
    match told.kind {
        EventKind::Replied(rep) => on_reply(world, (port, connection), key, rep),
        EventKind::Established => simple(world, key, kind::ESTABLISHED, 0),
        EventKind::Unreachable => {
            forget(world, (port, connection), key);
            simple(world, key, kind::UNREACHABLE, -libc::ETIMEDOUT);
        }
        EventKind::Rejected(rej) => {
            forget(world, (port, connection), key);
            let is_stale = rej.reason == Reason::STALE_CONNECTION;
            if is_stale && connect_again(world, port, key).is_some() {
                return;
            }
            fail(world, key);
            say(
                world,
                key,
                (kind::REJECTED, rej.reason.0.into()),
                None,
                &rej.private_data,
            );
        }
        EventKind::Disconnected => simple(world, key, kind::DISCONNECTED, 0),
        EventKind::Ended => {
            forget(world, (port, connection), key);
            simple(world, key, kind::TIMEWAIT_EXIT, 0);
        }
        EventKind::Resolved(answer) => {
            forget(world, (port, connection), key);
            on_answer(world, port, key, &answer);
        }
        EventKind::Requested(..) | EventKind::Asked(..) => {}
    }
}

/// The manager knows a connection no more.
fn forget(world: &mut World, connection: (usize, ConnectionId), key: usize) {
    world.connections.remove(&connection);
    let peer = world.ids.get_mut(&key).and_then(|id| {
        id.connection = None;
        Some(id.destination?.ip())
    });
    if let Some(peer) = peer {
        world.part(connection.0, peer);
    }
}

/// There won't be a connection: what is posted completes without one.
fn fail(world: &World, key: usize) {
    if let Some(id) = world.ids.get(&key) {
        pair::fail(id);
    }
}

/// The peer has believed in a connection of a process that has ended without a word, whose queue pair had this number, and
/// has just given it up. Asked once more it finds nothing in the way.
fn connect_again(world: &mut World, port: usize, key: usize) -> Option<()> {
    let id = world.ids.get_mut(&key)?;
    if id.is_accepted || std::mem::replace(&mut id.is_repeated, true) {
        return None;
    }
    let peer = Peer::at(id.destination?.ip());
    let req = id.req.as_deref()?.clone();
    let connection = world.act(port, |manager, now| manager.connect(peer, req, now));
    let connection = connection.ok()?;
    world.connections.insert((port, connection), key);
    world.ids.get_mut(&key)?.connection = Some(connection);
    world.meet(port, peer.address);
    Some(())
}

fn simple(world: &mut World, key: usize, what: c_int, status: c_int) {
    if let Some(id) = world.ids.get(&key) {
        let event = give(event(id, what, status), &[], id.is_datagram());
        world.queue(key, event);
    }
}

/// An event of a connection, with what the peer says.
fn say(
    world: &mut World,
    key: usize,
    (what, status): (c_int, c_int),
    param: Option<ConnParam>,
    said: &[u8],
) {
    let Some(id) = world.ids.get(&key) else {
        return;
    };
    let mut event = event(id, what, status);
    if let Some(param) = param {
        event.seen.param.conn = param;
    }
    let given = give(event, said, id.is_datagram());
    world.queue(key, given);
}

/// The active side's queue pair becomes ready, and the passive side is told; without one the program does both.
fn on_reply(world: &mut World, connection: (usize, ConnectionId), key: usize, rep: Rep) {
    let Some(id) = world.ids.get_mut(&key) else {
        return;
    };
    let param = ConnParam {
        private_data: std::ptr::null(),
        private_data_len: 0,
        responder_resources: rep.initiator_depth,
        initiator_depth: rep.responder_resources,
        flow_control: rep.flow_control.into(),
        retry_count: 0,
        rnr_retry_count: rep.rnr_retries,
        srq: rep.shared_queue.into(),
        qp_num: rep.queue_pair.get(),
    };
    let said = rep.private_data;
    id.rep = Some(Box::new(rep));
    if id.pointer.seen().qp.is_null() {
        return say(world, key, (kind::CONNECT_RESPONSE, 0), Some(param), &said);
    }
    let (port, connection) = connection;
    let ready = pair::connect(&world.ids[&key], &world.ports[port]);
    let confirmed = ready.and_then(|()| {
        world.act(port, |manager, _| {
            manager.confirm(connection, [0; Rtu::PRIVATE_DATA])
        })
    });
    match confirmed {
        Ok(()) => say(world, key, (kind::ESTABLISHED, 0), Some(param), &said),
        Err(errno) => {
            let said = [0; Rej::PRIVATE_DATA];
            let _ = world.act(port, |manager, now| {
                manager.reject(connection, Reason::CONSUMER, said, now)
            });
            forget(world, (port, connection), key);
            fail(world, key);
            simple(world, key, kind::CONNECT_ERROR, -errno.0);
        }
    }
}

/// Where a request goes and where it comes from.
fn ends(
    world: &World,
    port: usize,
    peer: Peer,
    service: ServiceId,
    private_data: &[u8],
) -> ((SocketAddr, SocketAddr), usize) {
    let own_port = service.port().map_or(0, |(_, port)| port);
    let own = SocketAddr::new(world.ports[port].address, own_port);
    let is_ip = service
        .port()
        .is_some_and(|(space, _)| space != PortSpace::IB);
    let header = is_ip.then(|| IpHeader::parse(private_data).ok()).flatten();
    match header {
        Some((header, _)) => {
            let from = SocketAddr::new(header.source.to_canonical(), header.source_port);
            ((own, from), IpHeader::LENGTH)
        }
        None => ((own, SocketAddr::new(peer.address, 0)), 0),
    }
}

/// Makes the id of a request, which its listener's channel tells of.
fn accepted(
    world: &mut World,
    port: usize,
    connection: ConnectionId,
    service: ServiceId,
) -> Option<(usize, usize)> {
    let listener = *world.listeners.get(&(port, service))?;
    let known = world.ids.get(&listener)?;
    let (channel, space) = (known.channel, known.space);
    let context = known.pointer.seen().context;
    let made = make(world, channel, false, context, space);
    world.connections.insert((port, connection), made.key());
    let id = world.ids.get_mut(&made.key())?;
    (id.connection, id.is_accepted) = (Some(connection), true);
    Some((made.key(), listener))
}

fn on_request(world: &mut World, port: usize, connection: ConnectionId, peer: Peer, req: Req) {
    let service = req.service_id;
    let Some((key, listener)) = accepted(world, port, connection, service) else {
        return drop_request(world, port, connection);
    };
    let (ends, behind) = ends(world, port, peer, service, &req.private_data);
    place(world, key, port, ends);
    let param = ConnParam {
        private_data: std::ptr::null(),
        private_data_len: 0,
        responder_resources: req.initiator_depth,
        initiator_depth: req.responder_resources,
        flow_control: req.flow_control.into(),
        retry_count: req.retries,
        rnr_retry_count: req.rnr_retries,
        srq: req.shared_queue.into(),
        qp_num: req.queue_pair.get(),
    };
    let said = req.private_data;
    let depth = world.ports[port].depth;
    let is_unreliable = req.service == fairlane_cm::Service::Unreliable;
    let Some(id) = world.ids.get_mut(&key) else {
        return;
    };
    if is_unreliable {
        id.pointer.seen().qp_type = pair::UNRELIABLE;
    }
    // What is going to be said unless the program says otherwise: it may make its queue pair ready before that.
    let rep = Rep {
        starting_psn: id.first_psn,
        responder_resources: req.initiator_depth.min(depth),
        initiator_depth: req.responder_resources.min(depth),
        ..Rep::to(&req)
    };
    (id.req, id.rep) = (Some(Box::new(req)), Some(Box::new(rep)));
    let mut event = event(id, kind::CONNECT_REQUEST, 0);
    event.seen.param.conn = param;
    queue_request(world, listener, event, &said[behind..], false);
}

fn on_question(
    world: &mut World,
    port: usize,
    connection: ConnectionId,
    peer: Peer,
    question: SidrReq,
) {
    let service = question.service_id;
    let Some((key, listener)) = accepted(world, port, connection, service) else {
        return drop_request(world, port, connection);
    };
    let (ends, behind) = ends(world, port, peer, service, &question.private_data);
    place(world, key, port, ends);
    let said = question.private_data;
    let Some(id) = world.ids.get_mut(&key) else {
        return;
    };
    id.question = Some(Box::new(question));
    let event = event(id, kind::CONNECT_REQUEST, 0);
    queue_request(world, listener, event, &said[behind..], true);
}

/// Nobody listens any more.
fn drop_request(world: &mut World, port: usize, connection: ConnectionId) {
    let _ = world.act(port, |manager, now| {
        manager.destroy(connection, now);
        Ok(())
    });
}

/// The listener's channel tells of a request, and the listener waits for the acknowledgement.
fn queue_request(
    world: &mut World,
    listener: usize,
    mut event: object::Event,
    said: &[u8],
    is_datagram: bool,
) {
    if let Some(id) = world.ids.get(&listener) {
        event.seen.listen_id = id.pointer.0;
        event.of = listener;
    }
    let given = give(event, said, is_datagram);
    world.queue(listener, given);
}

fn on_answer(world: &mut World, port: usize, key: usize, answer: &SidrRep) {
    if answer.status != SidrStatus::VALID {
        let status = (kind::UNREACHABLE, answer.status.0.into());
        return say(world, key, status, None, &answer.private_data);
    }
    let gid_index = world.ports[port].gid_index;
    let Some(id) = world.ids.get(&key) else {
        return;
    };
    let Some(to) = id.destination else { return };
    let mut event = event(id, kind::ESTABLISHED, 0);
    event.seen.param.ud = UdParam {
        private_data: std::ptr::null(),
        private_data_len: 0,
        ah_attr: way_to(to.ip(), gid_index),
        qp_num: answer.queue_pair.get(),
        qkey: answer.queue_key,
    };
    let given = give(event, &answer.private_data, true);
    world.queue(key, given);
}
