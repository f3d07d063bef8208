//! Ids: what programs call a connection, a listener, or either to be.

use std::ffi::{c_int, c_void};
use std::net::SocketAddr;

use fairlane_cm::{ConnectionId, PortSpace, Rep, Req, Service, ServiceId, SidrReq};
use fairlane_units::Psn;
use fairlane_verbs_abi::Gid;

use crate::channel;
use crate::guard::{Errno, entry};
use crate::layout::{Channel, CmId, Route, SockAddr};
use crate::object::{Ptr, read, tell};
use crate::pair::Recipe;
use crate::world::{self, World, acknowledged};

/// What is known of an id.
#[derive(Debug)]
pub(crate) struct Id {
    pub(crate) pointer: Ptr<CmId>,
    pub(crate) channel: Ptr<Channel>,
    /// Whether calls wait for what they bring about, on a channel of the id's own.
    pub(crate) waits: bool,
    pub(crate) space: u16,
    /// Its device.
    pub(crate) port: Option<usize>,
    pub(crate) bound: Option<SocketAddr>,
    pub(crate) destination: Option<SocketAddr>,
    pub(crate) connection: Option<ConnectionId>,
    /// Whether it came with a request, so that its port is the listener's.
    pub(crate) is_accepted: bool,
    /// Whether its request has been refused as stale before.
    pub(crate) is_repeated: bool,
    /// What the active side has said, or is about to.
    pub(crate) req: Option<Box<Req>>,
    /// What the passive side has said.
    pub(crate) rep: Option<Box<Rep>>,
    pub(crate) question: Option<Box<SidrReq>>,
    pub(crate) service: Option<ServiceId>,
    /// Events that the program has taken and not acknowledged.
    pub(crate) unacknowledged: u32,
    pub(crate) first_psn: Psn,
    pub(crate) ack_timeout: Option<u8>,
    pub(crate) traffic_class: u8,
    pub(crate) sharing: Sharing,
    /// What queue pairs of connections to come are made with (`rdma_create_ep`).
    pub(crate) recipe: Option<Ptr<Recipe>>,
}

/// What an id leaves to others of the address that it is bound to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sharing {
    /// `RDMA_OPTION_ID_REUSEADDR`: others that have said so, too, may be bound to it, until one listens.
    pub(crate) reuse: bool,
    /// `RDMA_OPTION_ID_AFONLY`: any address is one of its own IP version.
    pub(crate) only: Option<bool>,
}

impl Sharing {
    /// Whether an id at an address stays with that one's IP version. The kernel takes IPv4 so, and IPv6 as `bindv6only`
    /// says, which is 0 unless somebody has changed it.
    pub(crate) fn is_only(self, at: SocketAddr) -> bool {
        self.only.unwrap_or_else(|| at.is_ipv4())
    }
}

impl Id {
    /// Sets an option by which addresses are shared, where its state allows that.
    fn share(&mut self, name: c_int, value: bool) -> Result<(), Errno> {
        let is_idle = self.bound.is_none();
        let is_open = self.service.is_none() && self.destination.is_none();
        match name {
            option::REUSE if is_idle || value && self.service.is_none() => {
                self.sharing.reuse = value;
            }
            option::ONLY if is_open => self.sharing.only = Some(value),
            _ => return Err(Errno::INVALID),
        }
        Ok(())
    }

    pub(crate) const fn is_datagram(&self) -> bool {
        self.space == PortSpace::UDP.0
    }

    /// The kind of its connection, by its queue pair's.
    pub(crate) fn service_kind(&self) -> Service {
        match self.pointer.seen().qp_type {
            crate::pair::UNRELIABLE => Service::Unreliable,
            _ => Service::Reliable,
        }
    }
}

/// Makes an id that hears by a channel.
pub(crate) fn make(
    world: &mut World,
    channel: Ptr<Channel>,
    waits: bool,
    context: *mut c_void,
    space: u16,
) -> Ptr<CmId> {
    let kind = if space == PortSpace::UDP.0 {
        crate::pair::DATAGRAM
    } else {
        crate::pair::RELIABLE
    };
    let pointer = Ptr::give(CmId {
        verbs: std::ptr::null(),
        channel: channel.0,
        context,
        qp: std::ptr::null(),
        route: Route {
            source: SockAddr::default(),
            destination: SockAddr::default(),
            sgid: Gid::default(),
            dgid: Gid::default(),
            pkey: 0,
            path_rec: std::ptr::null_mut(),
            num_paths: 0,
        },
        ps: space.into(),
        port_num: 0,
        event: std::ptr::null_mut(),
        send_cq_channel: std::ptr::null(),
        send_cq: std::ptr::null(),
        recv_cq_channel: std::ptr::null(),
        recv_cq: std::ptr::null(),
        srq: std::ptr::null(),
        pd: std::ptr::null(),
        qp_type: kind,
    });
    let id = Id {
        pointer,
        channel,
        waits,
        space,
        port: None,
        bound: None,
        destination: None,
        connection: None,
        is_accepted: false,
        is_repeated: false,
        req: None,
        rep: None,
        question: None,
        service: None,
        unacknowledged: 0,
        first_psn: Psn::new(crate::port::random() & 0xff_ffff),
        ack_timeout: None,
        traffic_class: 0,
        sharing: Sharing::default(),
        recipe: None,
    };
    world.ids.insert(pointer.key(), id);
    pointer
}

/// Makes an id; without a channel it waits itself.
pub(crate) fn create(
    channel: *mut Channel,
    context: *mut c_void,
    space: c_int,
) -> Result<Ptr<CmId>, Errno> {
    let space = u16::try_from(space).map_err(|_| Errno::INVALID)?;
    if ![PortSpace::TCP.0, PortSpace::UDP.0, PortSpace::IB.0].contains(&space) {
        return Err(Errno(libc::EPROTONOSUPPORT));
    }
    let waits = channel.is_null();
    let channel = if waits {
        channel::create()?
    } else {
        Ptr(channel)
    };
    let mut world = world::lock();
    if !world.channels.contains_key(&channel.key()) {
        return Err(Errno::INVALID);
    }
    Ok(make(&mut world, channel, waits, context, space))
}

/// Forgets an id: the peer is told, untaken events go, and those taken are waited for.
pub(crate) fn destroy(id: *mut CmId) -> Result<(), Errno> {
    let key = id.addr();
    let mut world = world::lock();
    let own = world.id(id)?;
    let held = std::mem::replace(&mut own.pointer.seen().event, std::ptr::null_mut());
    if !held.is_null() {
        // The one that a waiting call has left for the program to look at.
        own.unacknowledged = own.unacknowledged.saturating_sub(1);
        Ptr::of_program(held)?.take();
    }
    quiet(&mut world, key);
    while world.ids.get(&key).is_some_and(|id| id.unacknowledged > 0) {
        world = world.wait_for_acknowledgement();
    }
    let Some(own) = world.ids.remove(&key) else {
        return Err(Errno::INVALID);
    };
    drop(world);
    if own.waits {
        channel::destroy(own.channel);
    }
    if let Some(recipe) = own.recipe {
        recipe.take();
    }
    own.pointer.take();
    acknowledged();
    Ok(())
}

/// An id waits no more for requests, on any port.
pub(crate) fn unlisten(world: &mut World, key: usize, service: ServiceId) {
    let ports = world.listeners.iter();
    let ports: Vec<usize> = ports
        .filter(|(at, id)| at.1 == service && **id == key)
        .map(|(at, _)| at.0)
        .collect();
    for port in ports {
        world.listeners.remove(&(port, service));
        world.signs.remove(&(port, service));
        let now = world.now();
        world.waiting.leave(port, service, now);
        let _ = world.manage(port, |manager, _| {
            manager.unlisten(service);
            Ok(())
        });
    }
}

/// From now on nothing happens to an id any more.
fn quiet(world: &mut World, key: usize) {
    let Some(own) = world.ids.get_mut(&key) else {
        return;
    };
    let (port, connection) = (own.port, own.connection.take());
    let (service, channel) = (own.service.take(), own.channel);
    let peer = own.destination.map(|destination| destination.ip());
    if let (Some(port), Some(connection)) = (port, connection) {
        world.connections.remove(&(port, connection));
        let _ = world.manage(port, |manager, now| {
            manager.destroy(connection, now);
            Ok(())
        });
        if let Some(peer) = peer {
            world.part(port, peer);
        }
    }
    if let Some(service) = service {
        unlisten(world, key, service);
    }
    // Of a listener also requests, whose ids no program knows.
    let Some(inbox) = world.channels.get_mut(&channel.key()) else {
        return;
    };
    let of_it = inbox.take_of(key);
    let unknown = of_it.iter().map(|event| event.event().seen.id.addr());
    let unknown: Vec<usize> = unknown.filter(|id| *id != key).collect();
    of_it
        .into_iter()
        .for_each(Ptr::<crate::object::Event>::take);
    for id in unknown {
        quiet(world, id);
        if let Some(id) = world.ids.remove(&id) {
            id.pointer.take();
        }
    }
}

/// `enum` of option levels and names.
mod option {
    use std::ffi::c_int;

    pub(super) const LEVEL: c_int = 0;
    pub(super) const TOS: c_int = 0;
    pub(super) const REUSE: c_int = 1;
    pub(super) const ONLY: c_int = 2;
    pub(super) const ACK_TIMEOUT: c_int = 3;
}

entry! {
    fn rdma_create_id(
        channel: *mut Channel,
        id: *mut *mut CmId,
        context: *mut c_void,
        space: c_int,
    ) -> c_int {
        if id.is_null() {
            return Err(Errno::INVALID);
        }
        tell(id, create(channel, context, space)?.0)?;
        Ok(0)
    }

    fn rdma_destroy_id(id: *mut CmId) -> c_int {
        destroy(id)?;
        Ok(0)
    }

    fn rdma_set_option(
        id: *mut CmId,
        level: c_int,
        name: c_int,
        value: *mut c_void,
        length: usize,
    ) -> c_int {
        let mut world = world::lock();
        let own = world.id(id)?;
        let number = || {
            let number = read(value.cast::<c_int>()).filter(|_| length == size_of::<c_int>());
            number.ok_or(Errno::INVALID)
        };
        let byte = || {
            let byte = read(value.cast::<u8>()).filter(|_| length == 1);
            byte.ok_or(Errno::INVALID)
        };
        match (level, name) {
            (option::LEVEL, option::TOS) => own.traffic_class = byte()?,
            (option::LEVEL, option::REUSE | option::ONLY) => own.share(name, number()? != 0)?,
            (option::LEVEL, option::ACK_TIMEOUT) => {
                let exponent = byte()?;
                own.ack_timeout = Some(exponent).filter(|exponent| *exponent < 32);
                own.ack_timeout.ok_or(Errno::INVALID)?;
            }
            _ => return Err(Errno(libc::ENOSYS)),
        }
        Ok(0)
    }
}
