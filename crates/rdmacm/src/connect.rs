//! Connections: waited for, asked for, accepted, refused, ended.

use std::ffi::{c_int, c_void};
use std::net::SocketAddr;

use fairlane_cm::{
    Dreq, IpHeader, Path, PortSpace, Reason, Rej, Rep, Req, Rtu, ServiceId, SidrRep, SidrReq,
    SidrStatus, Wait, gid_of,
};
use fairlane_units::QpNumber;
use fairlane_verbs_abi::Ece;

use crate::address::{complete, set_route, settle_at};
use crate::guard::{Errno, entry};
use crate::id::{Id, Sharing, unlisten};
use crate::layout::{CmId, ConnParam, DATAGRAM_KEY, SockAddr};
use crate::object::{bytes, read, tell};
use crate::pair;
use crate::port::Port;
use crate::signs::{Sign, Words};
use crate::world::{self, Bound, World};

/// `RDMA_MAX_RESP_RES`, `RDMA_MAX_INIT_DEPTH`: as many as there may be.
const MOST: u8 = 0xff;
/// The time that an acknowledgement may take, unless an option says so: 67 ms.
const ACK_TIMEOUT: u8 = 14;
/// The LID that stands for any: `IB_LID_PERMISSIVE`.
const PERMISSIVE: u16 = 0xffff;
/// Listeners whose programs name no backlog may have so many requests waiting.
const BACKLOG: u32 = 1024;

/// What a program says of a connection, or what is usual: as many READs as the device has, repeated seven times.
#[derive(Clone, Debug)]
struct Asked {
    said: Vec<u8>,
    responder_resources: u8,
    initiator_depth: u8,
    flow_control: bool,
    retries: u8,
    rnr_retries: u8,
    shared_queue: bool,
    queue_pair: QpNumber,
}

fn asked(param: *const ConnParam, id: &Id, most: u8) -> Asked {
    let param = read(param);
    let pair = pair::pair_of(id);
    let number = pair.map_or_else(
        || param.map_or(0, |param| param.qp_num),
        |pair| pair.number(),
    );
    let own_shared = pair.is_some_and(|pair| pair.kind().1);
    let or_most = |depth: Option<u8>| {
        depth
            .filter(|depth| *depth != MOST)
            .unwrap_or(most)
            .min(most)
    };
    Asked {
        said: param.map_or_else(Vec::new, |param| {
            bytes(param.private_data, param.private_data_len.into()).to_vec()
        }),
        responder_resources: or_most(param.map(|param| param.responder_resources)),
        initiator_depth: or_most(param.map(|param| param.initiator_depth)),
        flow_control: param.is_some_and(|param| param.flow_control != 0),
        retries: param.map_or(7, |param| param.retry_count.min(7)),
        rnr_retries: param.map_or(7, |param| param.rnr_retry_count.min(7)),
        shared_queue: own_shared || pair.is_none() && param.is_some_and(|param| param.srq != 0),
        queue_pair: QpNumber::new(number & 0xff_ffff),
    }
}

/// Private data of a fixed length that begin with what is said.
fn padded<const N: usize>(said: &[u8]) -> Result<[u8; N], Errno> {
    let mut whole = [0; N];
    let room = whole.get_mut(..said.len());
    room.ok_or(Errno::INVALID)?.copy_from_slice(said);
    Ok(whole)
}

/// The two ends of an id that is about to be connected.
fn ends(id: &Id) -> Result<(SocketAddr, SocketAddr), Errno> {
    let ends = id.bound.zip(id.destination);
    ends.ok_or(Errno(libc::EINVAL))
}

/// What a request says first, of which programs don't know.
fn private_data<const N: usize>(id: &Id, said: &[u8]) -> Result<[u8; N], Errno> {
    if id.space == PortSpace::IB.0 {
        return padded(said);
    }
    let (source, destination) = ends(id)?;
    let header = IpHeader {
        source_port: source.port(),
        source: source.ip(),
        destination: destination.ip(),
    };
    Ok(header.before(said)?)
}

fn request(id: &Id, port: &Port, param: *const ConnParam) -> Result<Req, Errno> {
    let asked = asked(param, id, port.depth);
    let (_, to) = ends(id)?;
    let service_id = ServiceId::of_port(PortSpace(id.space), to.port());
    let timeout = id.ack_timeout.unwrap_or(ACK_TIMEOUT);
    Ok(Req {
        queue_pair: asked.queue_pair,
        starting_psn: id.first_psn,
        responder_resources: asked.responder_resources,
        initiator_depth: asked.initiator_depth,
        service: id.service_kind(),
        flow_control: asked.flow_control,
        retries: asked.retries,
        rnr_retries: asked.rnr_retries,
        mtu: port.mtu,
        shared_queue: asked.shared_queue,
        path: Path {
            local_gid: gid_of(port.address),
            remote_gid: gid_of(to.ip()),
            hop_limit: 64,
            traffic_class: id.traffic_class,
            // Routers may be on the way, and Ethernet has no LIDs.
            local_lid: PERMISSIVE,
            remote_lid: PERMISSIVE,
            subnet_local: false,
            ack_timeout: Wait::of_bits(timeout),
            ..Path::default()
        },
        private_data: private_data(id, &asked.said)?,
        ..Req::to(service_id)
    })
}

fn connect(world: &mut World, id: *mut CmId, param: *const ConnParam) -> Result<(), Errno> {
    let own = world.id(id)?;
    if own.connection.is_some() {
        return Err(Errno(libc::EISCONN));
    }
    let at = own.port.ok_or(Errno::INVALID)?;
    let (_, to) = ends(world.id(id)?)?;
    let peer = fairlane_cm::Peer::at(to.ip());
    if let Some(neighbour) = world.meet(at, to.ip()) {
        neighbour.ask();
    }
    let (own, port) = (&world.ids[&id.addr()], &world.ports[at]);
    let connection = if own.is_datagram() {
        let said = asked(param, own, port.depth).said;
        let question = SidrReq {
            request_id: 0,
            partition_key: 0xffff,
            service_id: ServiceId::of_port(PortSpace::UDP, to.port()),
            private_data: private_data(own, &said)?,
        };
        world.manage(at, |manager, now| manager.ask(peer, question, now))?
    } else {
        let req = request(own, port, param)?;
        world.id(id)?.req = Some(Box::new(req.clone()));
        world.manage(at, |manager, now| manager.connect(peer, req, now))?
    };
    world.connections.insert((at, connection), id.addr());
    world.id(id)?.connection = Some(connection);
    Ok(())
}

/// What a bound id would listen to, and at which devices.
fn heard(world: &mut World, id: *mut CmId) -> Result<(ServiceId, Vec<usize>), Errno> {
    let own = world.id(id)?;
    let (at, sharing, device) = (own.bound.ok_or(Errno::INVALID)?, own.sharing, own.port);
    let service = ServiceId::of_port(PortSpace(own.space), at.port());
    let is_meant = |port: &Port| !sharing.is_only(at) || port.address.is_ipv4() == at.is_ipv4();
    let ports = match device {
        Some(device) => vec![device],
        None => (0..world.ports.len())
            .filter(|port| is_meant(&world.ports[*port]))
            .collect(),
    };
    Ok((service, ports))
}

/// Makes ready for a program that listens soon: it may tell others of the port first (qperf), as a kernel takes no time for it.
pub(crate) fn prepare(world: &mut World, id: *mut CmId) -> Result<(), Errno> {
    world.open()?;
    let (service, ports) = heard(world, id)?;
    for port in ports {
        world.manage(port, |_, _| Ok(()))?;
        let now = world.now();
        world.waiting.leave(port, service, now);
    }
    Ok(())
}

fn listen(world: &mut World, id: *mut CmId, backlog: c_int) -> Result<(), Errno> {
    world.open()?;
    let own = world.id(id)?;
    if own.service.is_some() || own.connection.is_some() {
        return Err(Errno::INVALID);
    }
    if own.bound.is_none() {
        let any = SocketAddr::from(([0, 0, 0, 0], 0));
        crate::address::bind(world, id, any)?;
    }
    let own = world.id(id)?;
    let (space, at, sharing) = (own.space, own.bound.ok_or(Errno::INVALID)?, own.sharing);
    let is_any = own.port.is_none();
    if sharing.reuse {
        // Who listens shares no more.
        let sharing = Sharing {
            reuse: false,
            ..sharing
        };
        if let Some(errno) = world.bars(&Bound { space, at, sharing }, id.addr()) {
            return Err(errno);
        }
        world.id(id)?.sharing.reuse = false;
    }
    let backlog = u32::try_from(backlog)
        .ok()
        .filter(|backlog| *backlog > 0)
        .unwrap_or(BACKLOG);
    let (service, ports) = heard(world, id)?;
    for &port in &ports {
        let listens = world.manage(port, |manager, _| manager.listen(service, backlog));
        listens.inspect_err(|_| unlisten(world, id.addr(), service))?;
        world.listeners.insert((port, service), id.addr());
        let words = Words {
            service,
            is_any,
            address: world.ports[port].address,
        };
        world
            .signs
            .extend(Sign::hang(words).map(|sign| ((port, service), sign)));
    }
    world.id(id)?.service = Some(service);
    for port in ports {
        let waiting = world.waiting.arrive(port, service);
        world.hear(port, waiting);
    }
    Ok(())
}

fn accept(world: &mut World, id: *mut CmId, param: *const ConnParam) -> Result<(), Errno> {
    let own = world.id(id)?;
    let (at, connection) = own.port.zip(own.connection).ok_or(Errno::INVALID)?;
    let own = &world.ids[&id.addr()];
    let said = asked(param, own, world.ports[at].depth);
    if let Some(question) = &own.question {
        let answer = SidrRep {
            request_id: 0,
            status: SidrStatus::VALID,
            queue_pair: said.queue_pair,
            service_id: question.service_id,
            queue_key: DATAGRAM_KEY,
            private_data: padded(&said.said)?,
        };
        return world.manage(at, |manager, now| manager.answer(connection, answer, now));
    }
    let req = own.req.as_deref().ok_or(Errno::INVALID)?;
    // As the active side gives and takes, unless the program says less.
    let rep = Rep {
        queue_pair: said.queue_pair,
        starting_psn: own.first_psn,
        responder_resources: said.responder_resources.min(req.initiator_depth),
        initiator_depth: said.initiator_depth.min(req.responder_resources),
        flow_control: said.flow_control,
        rnr_retries: said.rnr_retries,
        shared_queue: said.shared_queue,
        private_data: padded(&said.said)?,
        ..Rep::to(req)
    };
    world.id(id)?.rep = Some(Box::new(rep.clone()));
    pair::connect(&world.ids[&id.addr()], &world.ports[at])?;
    world.manage(at, |manager, now| manager.accept(connection, rep, now))
}

fn reject(id: *mut CmId, reason: Reason, said: &[u8]) -> Result<(), Errno> {
    let mut world = world::lock();
    let own = world.id(id)?;
    let (at, connection) = own.port.zip(own.connection).ok_or(Errno::INVALID)?;
    let service = own.question.as_ref().map(|question| question.service_id);
    if let Some(service_id) = service {
        let answer = SidrRep {
            request_id: 0,
            status: SidrStatus::REJECTED,
            queue_pair: QpNumber::new(0),
            service_id,
            queue_key: 0,
            private_data: padded(said)?,
        };
        return world.manage(at, |manager, now| manager.answer(connection, answer, now));
    }
    let said: [u8; Rej::PRIVATE_DATA] = padded(said)?;
    pair::fail(world.id(id)?);
    world.manage(at, |manager, now| {
        manager.reject(connection, reason, said, now)
    })
}

entry! {
    fn rdma_listen(id: *mut CmId, backlog: c_int) -> c_int {
        listen(&mut world::lock(), id, backlog)?;
        Ok(0)
    }

    fn rdma_connect(id: *mut CmId, param: *const ConnParam) -> c_int {
        connect(&mut world::lock(), id, param)?;
        complete(id)?;
        Ok(0)
    }

    fn rdma_accept(id: *mut CmId, param: *const ConnParam) -> c_int {
        let is_datagram = {
            let mut world = world::lock();
            accept(&mut world, id, param)?;
            world.id(id)?.is_datagram()
        };
        // Who asks for a datagram service says nothing more.
        if !is_datagram {
            complete(id)?;
        }
        Ok(0)
    }

    /// The active side is ready, whose queue pair this library doesn't know.
    fn rdma_establish(id: *mut CmId) -> c_int {
        let mut world = world::lock();
        let own = world.id(id)?;
        if !own.pointer.seen().qp.is_null() {
            return Err(Errno::INVALID);
        }
        let (at, connection) = own.port.zip(own.connection).ok_or(Errno::INVALID)?;
        world.manage(at, |manager, _| manager.confirm(connection, [0; Rtu::PRIVATE_DATA]))?;
        Ok(0)
    }

    fn rdma_reject(id: *mut CmId, said: *const u8, length: u8) -> c_int {
        reject(id, Reason::CONSUMER, bytes(said, length.into()))?;
        Ok(0)
    }

    fn rdma_reject_ece(id: *mut CmId, said: *const u8, length: u8) -> c_int {
        reject(id, Reason::VENDOR_OPTION, bytes(said, length.into()))?;
        Ok(0)
    }

    fn rdma_disconnect(id: *mut CmId) -> c_int {
        {
            let mut world = world::lock();
            let own = world.id(id)?;
            if own.req.is_none() {
                return Err(Errno::INVALID);
            }
            pair::fail(own);
            // Its end may have been heard of, and its time of waiting be over.
            let Some((at, connection)) = own.port.zip(own.connection) else {
                return Ok(0);
            };
            let peer = world.id(id)?.destination.map(|destination| destination.ip());
            if let Some(neighbour) = peer.and_then(|peer| world.meet(at, peer)) {
                neighbour.ask();
            }
            let ended = world.manage(at, |manager, now| {
                manager.disconnect(connection, [0; Dreq::PRIVATE_DATA], now)
            });
            // The peer may have ended it before.
            if ended.is_err() {
                return Ok(0);
            }
        }
        complete(id)?;
        Ok(0)
    }

    fn rdma_notify(id: *mut CmId, event: c_int) -> c_int {
        /// `IBV_EVENT_COMM_EST`
        const ESTABLISHED: c_int = 4;
        let mut world = world::lock();
        let own = world.id(id)?;
        let (at, connection) = own.port.zip(own.connection).ok_or(Errno::INVALID)?;
        if event != ESTABLISHED {
            return Err(Errno::INVALID);
        }
        // It may be established already.
        let _ = world.manage(at, |manager, _| manager.communication_established(connection));
        Ok(0)
    }

    /// A listener's next request, which is waited for.
    fn rdma_get_request(listener: *mut CmId, id: *mut *mut CmId) -> c_int {
        if id.is_null() {
            return Err(Errno::INVALID);
        }
        tell(id, crate::endpoint::next_request(listener)?)?;
        Ok(0)
    }

    fn rdma_join_multicast(id: *mut CmId, _group: *const SockAddr, _context: *mut c_void) -> c_int {
        world::lock().id(id)?;
        Err(Errno::NOT_SUPPORTED)
    }

    fn rdma_join_multicast_ex(id: *mut CmId, _group: *const c_void, _context: *mut c_void) -> c_int {
        world::lock().id(id)?;
        Err(Errno::NOT_SUPPORTED)
    }

    fn rdma_leave_multicast(id: *mut CmId, _group: *const SockAddr) -> c_int {
        world::lock().id(id)?;
        Err(Errno(libc::EADDRNOTAVAIL))
    }

    /// There are no enhancements, which is what an option of 0 says.
    fn rdma_set_local_ece(id: *mut CmId, ece: *const Ece) -> c_int {
        world::lock().id(id)?;
        // SAFETY: programs pass null or a structure.
        let ece = unsafe { ece.as_ref() }.ok_or(Errno::INVALID)?;
        if ece.options == 0 { Ok(0) } else { Err(Errno::NOT_SUPPORTED) }
    }

    fn rdma_get_remote_ece(id: *mut CmId, ece: *mut Ece) -> c_int {
        world::lock().id(id)?;
        let (vendor_id, options, comp_mask) = (0, 0, 0);
        tell(ece, Ece { vendor_id, options, comp_mask })?;
        Ok(0)
    }
}

/// Puts the id of a request at the device that it came to.
pub(crate) fn place(world: &mut World, key: usize, port: usize, ends: (SocketAddr, SocketAddr)) {
    settle_at(world, key, port);
    if let Some(id) = world.ids.get_mut(&key) {
        (id.bound, id.destination) = (Some(ends.0), Some(ends.1));
        let route = &mut id.pointer.seen().route;
        (route.source, route.destination) = (SockAddr::of(ends.0), SockAddr::of(ends.1));
        route.dgid.raw = gid_of(ends.1.ip());
    }
    set_route(world, key);
    world.meet(port, ends.1.ip());
}
