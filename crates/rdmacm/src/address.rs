//! Addresses: which device an id is at, and where to.

use std::ffi::c_int;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};

use fairlane_cm::gid_of;
use fairlane_verbs_abi::{Gid, IbvContext};

use crate::channel;
use crate::connect;
use crate::guard::{Errno, entry};
use crate::layout::{CmId, PathRecord, SockAddr, event};
use crate::object::{Ptr, read};
use crate::port::Port;
use crate::world::{self, Bound, World};

const INET: u16 = libc::AF_INET as u16;
const INET6: u16 = libc::AF_INET6 as u16;

impl SockAddr {
    pub(crate) fn of(address: SocketAddr) -> Self {
        let mut own = Self::default();
        own.rest[..2].copy_from_slice(&address.port().to_be_bytes());
        match address {
            SocketAddr::V4(four) => {
                own.family = INET;
                own.rest[2..6].copy_from_slice(&four.ip().octets());
            }
            SocketAddr::V6(six) => {
                own.family = INET6;
                own.rest[6..22].copy_from_slice(&six.ip().octets());
                own.rest[22..26].copy_from_slice(&six.scope_id().to_ne_bytes());
            }
        }
        own
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        let [a, b, rest @ ..] = self.rest;
        let port = u16::from_be_bytes([a, b]);
        match self.family {
            INET => {
                let octets: [u8; 4] = *rest.first_chunk()?;
                Some(SocketAddr::from((Ipv4Addr::from(octets), port)))
            }
            INET6 => {
                let octets: [u8; 16] = *rest[4..].first_chunk()?;
                let scope = u32::from_ne_bytes(*rest[20..].first_chunk()?);
                let six = SocketAddrV6::new(Ipv6Addr::from(octets), port, 0, scope);
                Some(SocketAddr::V6(six))
            }
            _ => None,
        }
    }

    /// Bytes of the structure that C means.
    pub(crate) const fn length(family: u16) -> Option<usize> {
        match family {
            INET => Some(16),
            INET6 => Some(28),
            _ => None,
        }
    }
}

/// An address of C.
pub(crate) fn of_program(at: *const SockAddr) -> Result<SocketAddr, Errno> {
    let family = read(at.cast::<u16>()).ok_or(Errno::INVALID)?;
    let length = SockAddr::length(family).ok_or(Errno(libc::EAFNOSUPPORT))?;
    let mut own = SockAddr {
        family,
        ..SockAddr::default()
    };
    let rest = crate::object::bytes(at.cast::<u8>().wrapping_add(2), length - 2);
    own.rest[..rest.len()].copy_from_slice(rest);
    own.address().ok_or(Errno::INVALID)
}

/// An address of C with its length, which is 0 if there is none.
pub(crate) fn of_length(at: *const SockAddr, length: u32) -> Result<Option<SocketAddr>, Errno> {
    if at.is_null() || length == 0 {
        return Ok(None);
    }
    if (length as usize) < size_of::<u16>() {
        return Err(Errno::INVALID);
    }
    let family = read(at.cast::<u16>()).and_then(SockAddr::length);
    let needs = family.ok_or(Errno(libc::EAFNOSUPPORT))?;
    match length as usize >= needs {
        true => of_program(at).map(Some),
        false => Err(Errno::INVALID),
    }
}

/// Puts an id at a device.
pub(crate) fn settle_at(world: &mut World, key: usize, port: usize) {
    let Port {
        context,
        domain,
        address,
        ..
    } = world.ports[port];
    let Some(id) = world.ids.get_mut(&key) else {
        return;
    };
    id.port = Some(port);
    let seen = id.pointer.seen();
    (seen.verbs, seen.pd) = (context.0, domain.0);
    seen.port_num = 1;
    seen.route.pkey = 0xffff_u16.to_be();
    seen.route.sgid = Gid {
        raw: gid_of(address),
    };
}

/// Gives an id an address of its own.
pub(crate) fn bind(world: &mut World, id: *mut CmId, mut to: SocketAddr) -> Result<(), Errno> {
    if to.ip().is_loopback() {
        // Which one it is says the list of devices.
        world.open()?;
    }
    let own = world.id(id)?;
    let (space, sharing) = (own.space, own.sharing);
    if own.bound.is_some() {
        return Err(Errno::INVALID);
    }
    if to.port() == 0 {
        to.set_port(world.free_port(space, to.ip())?);
    }
    let at = to;
    if let Some(errno) = world.bars(&Bound { space, at, sharing }, id.addr()) {
        return Err(errno);
    }
    if !world.is_any(to.ip()) {
        let port = world.port_at(to.ip().to_canonical())?;
        settle_at(world, id.addr(), port);
    }
    let own = world.id(id)?;
    own.bound = Some(to);
    own.pointer.seen().route.source = SockAddr::of(to);
    Ok(())
}

/// The device that leads to an address: the one whose address the system's routes choose, else the first of that version;
/// the first one for an address that stands for all.
fn port_to(world: &mut World, to: SocketAddr) -> Result<usize, Errno> {
    world.open()?;
    let unspecified: IpAddr = if to.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let socket = UdpSocket::bind((unspecified, 0));
    let local = socket.and_then(|socket| socket.connect(to).and_then(|()| socket.local_addr()));
    let chosen = local.ok().and_then(|local| world.port_at(local.ip()).ok());
    let first = || {
        world
            .ports
            .iter()
            .position(|port| port.address.is_ipv4() == to.is_ipv4())
    };
    let any = || world.is_here(to.ip()).then_some(0);
    let found = chosen.or_else(first).or_else(any);
    found.ok_or(Errno(libc::EADDRNOTAVAIL))
}

fn resolve(id: *mut CmId, from: Option<SocketAddr>, to: SocketAddr) -> Result<(), Errno> {
    let mut world = world::lock();
    world.open()?;
    let mut to = SocketAddr::new(to.ip().to_canonical(), to.port());
    let own = world.id(id)?;
    if own.connection.is_some() || own.service.is_some() {
        return Err(Errno::INVALID);
    }
    if own.bound.is_none() {
        let port = match from.filter(|from| !world.is_any(from.ip())) {
            Some(from) => world.port_at(from.ip().to_canonical())?,
            None => port_to(&mut world, to)?,
        };
        let address = world.ports[port].address;
        bind(
            &mut world,
            id,
            SocketAddr::new(address, from.map_or(0, |from| from.port())),
        )?;
    } else if own.port.is_none() {
        let port = port_to(&mut world, to)?;
        settle_at(&mut world, id.addr(), port);
        let address = world.ports[port].address;
        let own = world.id(id)?;
        let bound = own.bound.map_or(0, |bound| bound.port());
        let bound = SocketAddr::new(address, bound);
        own.bound = Some(bound);
        own.pointer.seen().route.source = SockAddr::of(bound);
    }
    if world.is_here(to.ip()) {
        let own = world.id(id)?;
        let (space, port) = (own.space, own.port.ok_or(Errno::NO_DEVICE)?);
        to.set_ip(world.home_of(space, to.port(), port));
    }
    let own = world.id(id)?;
    own.destination = Some(to);
    let seen = own.pointer.seen();
    seen.route.destination = SockAddr::of(to);
    seen.route.dgid = Gid {
        raw: gid_of(to.ip()),
    };
    let event = channel::event(own, event::ADDR_RESOLVED, 0);
    let event = channel::give(event, &[], false);
    world.queue(id.addr(), event);
    Ok(())
}

/// The path of a RoCE device as the kernel gives it to programs (`cma_resolve_iboe_route`).
mod path {
    /// `IB_SA_EQ`: a number is exactly that.
    pub(super) const EXACTLY: u8 = 2;
    /// `IB_RATE_100_GBPS`: as fast as the device says that it is.
    pub(super) const RATE: u8 = 16;
    /// `CMA_IBOE_PACKET_LIFETIME`: 1.07 s.
    pub(super) const LIFETIME: u8 = 18;
    /// `IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL`.
    pub(super) const PREFERENCE: u8 = 0x2b;
}

/// Gives an id the path between its two ends.
pub(crate) fn set_route(world: &World, key: usize) {
    let Some(id) = world.ids.get(&key) else {
        return;
    };
    let port = id.port.and_then(|port| world.ports.get(port));
    let route = &mut id.pointer.seen().route;
    let record = PathRecord {
        dgid: route.dgid,
        sgid: route.sgid,
        dlid: 0,
        slid: 0,
        raw_traffic: 0,
        flow_label: 0,
        hop_limit: 64,
        traffic_class: id.traffic_class,
        reversible: 1,
        numb_path: 1,
        pkey: route.pkey,
        sl: 0,
        mtu_selector: path::EXACTLY,
        mtu: port.map_or(0, |port| port.mtu),
        rate_selector: path::EXACTLY,
        rate: path::RATE,
        packet_life_time_selector: path::EXACTLY,
        packet_life_time: path::LIFETIME,
        preference: path::PREFERENCE,
    };
    let before = std::mem::replace(&mut route.path_rec, Ptr::give(record).0);
    route.num_paths = 1;
    if !before.is_null() {
        Ptr(before).take();
    }
}

/// Waits for what a call brings about, if the id is one that does; the event stays with the id until the next.
pub(crate) fn complete(id: *mut CmId) -> Result<(), Errno> {
    let (waits, on) = {
        let mut world = world::lock();
        let own = world.id(id)?;
        (own.waits, own.channel)
    };
    if !waits {
        return Ok(());
    }
    release(id)?;
    let next = channel::next(on)?;
    let seen = &mut next.event().seen;
    let (status, what) = (seen.status, seen.event);
    let stays = world::lock()
        .id(id)
        .map(|own| own.pointer.seen().event = seen);
    stays.inspect_err(|_| channel::acknowledge(next))?;
    match status {
        0 => Ok(()),
        _ if what == event::REJECTED => Err(Errno(libc::ECONNREFUSED)),
        status => Err(Errno(status.abs())),
    }
}

/// Acknowledges the event that has stayed with an id.
pub(crate) fn release(id: *mut CmId) -> Result<(), Errno> {
    let held = {
        let mut world = world::lock();
        let seen = world.id(id)?.pointer.seen();
        std::mem::replace(&mut seen.event, std::ptr::null_mut())
    };
    if !held.is_null() {
        channel::acknowledge(Ptr::of_program(held)?);
    }
    Ok(())
}

/// The port of an address as C has it, 0 if there is none.
fn port_of(id: *mut CmId, of: impl Fn(&CmId) -> SockAddr) -> Result<u16, Errno> {
    let mut world = world::lock();
    let address = of(world.id(id)?.pointer.seen()).address();
    Ok(address.map_or(0, |address| address.port()).to_be())
}

entry! {
    fn rdma_bind_addr(id: *mut CmId, at: *const SockAddr) -> c_int {
        let at = of_program(at)?;
        let mut world = world::lock();
        bind(&mut world, id, at)?;
        // What is wrong with devices is said when they are needed.
        let _ = connect::prepare(&mut world, id);
        Ok(0)
    }

    fn rdma_resolve_addr(
        id: *mut CmId,
        from: *const SockAddr,
        to: *const SockAddr,
        _timeout: c_int,
    ) -> c_int {
        let from = if from.is_null() { None } else { Some(of_program(from)?) };
        resolve(id, from, of_program(to)?)?;
        complete(id)?;
        Ok(0)
    }

    fn rdma_resolve_route(id: *mut CmId, _timeout: c_int) -> c_int {
        {
            let mut world = world::lock();
            let own = world.id(id)?;
            if own.destination.is_none() {
                return Err(Errno::INVALID);
            }
            set_route(&world, id.addr());
            let event = channel::event(world.id(id)?, event::ROUTE_RESOLVED, 0);
            world.queue(id.addr(), channel::give(event, &[], false));
        }
        complete(id)?;
        Ok(0)
    }

    /// In network order.
    fn rdma_get_src_port(id: *mut CmId) -> u16 {
        port_of(id, |seen| seen.route.source)
    }

    /// In network order.
    fn rdma_get_dst_port(id: *mut CmId) -> u16 {
        port_of(id, |seen| seen.route.destination)
    }

    fn rdma_get_devices(count: *mut c_int) -> *mut *mut IbvContext {
        let mut world = world::lock();
        world.open()?;
        let contexts = world.ports.iter().map(|port| port.context.0);
        let contexts: Vec<*mut IbvContext> = contexts.chain([std::ptr::null_mut()]).collect();
        if !count.is_null() {
            crate::object::tell(count, contexts.len() as c_int - 1)?;
        }
        // SAFETY: it takes a number; the room is filled below.
        let list = unsafe { libc::calloc(contexts.len(), size_of::<*mut IbvContext>()) };
        let list = list.cast::<*mut IbvContext>();
        if list.is_null() {
            return Err(Errno::NO_MEMORY);
        }
        // SAFETY: there is room for so many.
        unsafe { list.copy_from_nonoverlapping(contexts.as_ptr(), contexts.len()) };
        Ok(list)
    }

    fn rdma_free_devices(list: *mut *mut IbvContext) {
        // SAFETY: it is null or from `rdma_get_devices`.
        unsafe { libc::free(list.cast()) };
        Ok(())
    }
}
