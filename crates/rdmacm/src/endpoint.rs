//! Ids with everything at once, and names of addresses.

use std::ffi::{c_char, c_int};
use std::net::SocketAddr;

use fairlane_cm::PortSpace;
use fairlane_verbs_abi::{IbvPd, QpInitAttr};

use crate::address::release;
use crate::guard::{Errno, entry};
use crate::layout::{AddrInfo, Channel, CmId, SockAddr, event};
use crate::object::{Event, Ptr, tell};
use crate::pair::{self, Recipe};
use crate::{address, channel, id, world};

/// `RAI_PASSIVE`, `RAI_NUMERICHOST`
const PASSIVE: c_int = 1;
const NUMERIC: c_int = 2;

/// A listener's next request, as an id that waits itself.
pub(crate) fn next_request(listener: *mut CmId) -> Result<*mut CmId, Errno> {
    let (waits, on, recipe) = {
        let mut world = world::lock();
        let own = world.id(listener)?;
        (own.waits, own.channel, own.recipe)
    };
    if !waits {
        return Err(Errno::INVALID);
    }
    release(listener)?;
    let next = channel::next(on)?;
    let seen = &next.event().seen;
    if seen.status != 0 || seen.event != event::CONNECT_REQUEST {
        let status = seen.status;
        channel::acknowledge(next);
        return Err(Errno(if status == 0 {
            libc::EINVAL
        } else {
            status.abs()
        }));
    }
    let id = seen.id;
    // Who is refused here hears of it.
    let taken = take_over(listener, on, next, recipe);
    taken.inspect_err(|_| {
        let _ = id::destroy(id);
    })?;
    Ok(id)
}

/// A request's id becomes one that waits itself, with a queue pair if the listener has a recipe.
fn take_over(
    listener: *mut CmId,
    on: Ptr<Channel>,
    request: Ptr<Event>,
    recipe: Option<Ptr<Recipe>>,
) -> Result<(), Errno> {
    let id = request.event().seen.id;
    let own = channel::create().inspect_err(|_| channel::acknowledge(request))?;
    let mut world = world::lock();
    // The event stays with the new id.
    let listening = world.id(listener)?;
    listening.unacknowledged = listening.unacknowledged.saturating_sub(1);
    let made = world.id(id)?;
    (made.channel, made.waits, made.unacknowledged) = (own, true, 1);
    request.event().of = id.addr();
    let seen = made.pointer.seen();
    (seen.channel, seen.event) = (own.0, &raw mut request.event().seen);
    channel::move_events(&mut world, id.addr(), on);
    if let Some(recipe) = recipe {
        let (domain, mut attributes) = recipe.parts();
        pair::create_pair(&mut world, id, domain, &mut attributes)?;
    }
    Ok(())
}

/// Makes an id as a result of `rdma_getaddrinfo` says.
fn create(
    info: &AddrInfo,
    pd: *mut IbvPd,
    attributes: *mut QpInitAttr,
) -> Result<*mut CmId, Errno> {
    // SAFETY: programs pass null or whole attributes, which nobody else uses meanwhile.
    if let Some(asked) = unsafe { attributes.as_mut() } {
        asked.qp_type = info.qp_type;
    }
    let made = id::create(std::ptr::null_mut(), std::ptr::null_mut(), info.port_space)?.0;
    world::lock().id(made)?.pointer.seen().qp_type = info.qp_type;
    let done = if info.flags & PASSIVE != 0 {
        passive(made, info, pd, attributes)
    } else {
        active(made, info, pd, attributes)
    };
    if let Err(errno) = done {
        let _ = id::destroy(made);
        return Err(errno);
    }
    Ok(made)
}

fn passive(
    made: *mut CmId,
    info: &AddrInfo,
    pd: *mut IbvPd,
    attributes: *mut QpInitAttr,
) -> Result<(), Errno> {
    let at = address::of_program(info.src_addr)?;
    let mut world = world::lock();
    address::bind(&mut world, made, at)?;
    if !pd.is_null() {
        world.id(made)?.pointer.seen().pd = pd;
    }
    if !attributes.is_null() {
        world.id(made)?.recipe = Some(Ptr::<Recipe>::copy(pd, attributes));
    }
    Ok(())
}

fn active(
    made: *mut CmId,
    info: &AddrInfo,
    pd: *mut IbvPd,
    attributes: *mut QpInitAttr,
) -> Result<(), Errno> {
    // SAFETY: pointers are those of a result; the id has just been made.
    unsafe {
        if address::rdma_resolve_addr(made, info.src_addr, info.dst_addr, 2_000) != 0 {
            return Err(Errno::last());
        }
        if address::rdma_resolve_route(made, 2_000) != 0 {
            return Err(Errno::last());
        }
    }
    if attributes.is_null() {
        return Ok(());
    }
    pair::create_for_program(made, pd, attributes)
}

/// What a program wants to know of names.
struct Names {
    node: *const c_char,
    service: *const c_char,
    is_passive: bool,
    is_numeric: bool,
    /// 0 for any.
    family: c_int,
    /// Whether the service takes datagrams, which may have other ports by the same names.
    is_datagram: bool,
}

impl Names {
    /// The first address of the names, by the C library.
    fn look_up(&self) -> Result<SocketAddr, Errno> {
        // SAFETY: the structure is numbers and pointers, for which zero is right.
        let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
        let or_none = |is_set, flag| if is_set { flag } else { 0 };
        hints.ai_family = self.family;
        hints.ai_socktype = match self.is_datagram {
            true => libc::SOCK_DGRAM,
            false => libc::SOCK_STREAM,
        };
        hints.ai_flags = or_none(self.is_passive, libc::AI_PASSIVE)
            | or_none(self.is_numeric, libc::AI_NUMERICHOST);
        let mut found = std::ptr::null_mut();
        // SAFETY: names are texts or null, and there is room for the answer.
        let code =
            unsafe { libc::getaddrinfo(self.node, self.service, &raw const hints, &raw mut found) };
        if code != 0 || found.is_null() {
            return Err(Errno(if code == libc::EAI_SYSTEM {
                Errno::last().0
            } else {
                libc::EADDRNOTAVAIL
            }));
        }
        // SAFETY: the first answer is there.
        let address = address::of_program(unsafe { (*found).ai_addr }.cast());
        // SAFETY: it is the answer from above.
        unsafe { libc::freeaddrinfo(found) };
        address
    }
}

/// What hints say, or nothing if there are none.
#[derive(Clone, Copy, Default)]
struct Hints {
    flags: c_int,
    family: c_int,
    kind: c_int,
    space: c_int,
    source: Option<SocketAddr>,
    destination: Option<SocketAddr>,
}

impl Hints {
    fn of_program(hints: *const AddrInfo) -> Result<Self, Errno> {
        // SAFETY: programs pass null or whole hints, which nobody changes meanwhile.
        let Some(hints) = (unsafe { hints.as_ref() }) else {
            return Ok(Self::default());
        };
        Ok(Self {
            flags: hints.flags,
            family: hints.family,
            kind: hints.qp_type,
            space: hints.port_space,
            source: address::of_length(hints.src_addr, hints.src_len)?,
            destination: address::of_length(hints.dst_addr, hints.dst_len)?,
        })
    }

    const fn is_passive(&self) -> bool {
        self.flags & PASSIVE != 0
    }

    /// The kind of queue pair and the port space, either of which says what the other is if that isn't said.
    fn service(&self) -> (c_int, c_int) {
        let (tcp, udp) = (PortSpace::TCP.0.into(), PortSpace::UDP.0.into());
        match (self.kind, self.space) {
            (0, 0) => (pair::RELIABLE, tcp),
            (0, space) if space == udp => (pair::DATAGRAM, space),
            (0, space) => (pair::RELIABLE, space),
            (pair::DATAGRAM, 0) => (pair::DATAGRAM, udp),
            (kind, 0) => (kind, tcp),
            both => both,
        }
    }

    /// A result: what hints say, except for the end that has been found by its names. A passive side with names has no
    /// destination.
    fn result(&self, found: Option<SocketAddr>) -> AddrInfo {
        let (source, destination) = match found {
            Some(_) if self.is_passive() => (found, None),
            Some(_) => (self.source, found),
            None => (self.source, self.destination),
        };
        let said = if found.is_some() { 0 } else { self.family };
        let known = found.or(source).or(destination);
        let family = match known.filter(|_| said == 0) {
            Some(address) => SockAddr::of(address).family.into(),
            None => said,
        };
        let (qp_type, port_space) = self.service();
        let (src_addr, src_len) = allocated(source);
        let (dst_addr, dst_len) = allocated(destination);
        AddrInfo {
            flags: self.flags,
            family,
            qp_type,
            port_space,
            src_len,
            dst_len,
            src_addr,
            dst_addr,
            src_canonname: std::ptr::null_mut(),
            dst_canonname: std::ptr::null_mut(),
            route_len: 0,
            route: std::ptr::null_mut(),
            connect_len: 0,
            connect: std::ptr::null_mut(),
            next: std::ptr::null_mut(),
        }
    }
}

fn allocated(address: Option<SocketAddr>) -> (*mut SockAddr, u32) {
    let Some(address) = address else {
        return (std::ptr::null_mut(), 0);
    };
    let own = SockAddr::of(address);
    let length = SockAddr::length(own.family).unwrap_or(0);
    (Ptr::give(own).0, length as u32)
}

entry! {
    fn rdma_create_ep(
        id: *mut *mut CmId,
        info: *const AddrInfo,
        pd: *mut IbvPd,
        attributes: *mut QpInitAttr,
    ) -> c_int {
        // SAFETY: programs pass null or a result of `rdma_getaddrinfo`.
        let info = unsafe { info.as_ref() }.ok_or(Errno::INVALID)?;
        if id.is_null() {
            return Err(Errno::INVALID);
        }
        tell(id, create(info, pd, attributes)?)?;
        Ok(0)
    }

    fn rdma_destroy_ep(id: *mut CmId) {
        pair::destroy_pair(id)?;
        pair::destroy_shared(id)?;
        id::destroy(id)
    }

    fn rdma_getaddrinfo(
        node: *const c_char,
        service: *const c_char,
        hints: *const AddrInfo,
        result: *mut *mut AddrInfo,
    ) -> c_int {
        if result.is_null() {
            return Err(Errno::INVALID);
        }
        if node.is_null() && service.is_null() && hints.is_null() {
            return Err(Errno::INVALID);
        }
        let hints = Hints::of_program(hints)?;
        let names = Names {
            node,
            service,
            is_passive: hints.is_passive(),
            is_numeric: hints.flags & NUMERIC != 0,
            // As rdma-core does, with RAI_FAMILY and without.
            family: hints.family,
            is_datagram: hints.service().0 == pair::DATAGRAM,
        };
        let has_names = !node.is_null() || !service.is_null();
        let found = has_names.then(|| names.look_up()).transpose()?;
        tell(result, Ptr::give(hints.result(found)).0)?;
        Ok(0)
    }

    fn rdma_freeaddrinfo(info: *mut AddrInfo) {
        if info.is_null() {
            return Ok(());
        }
        // SAFETY: it is a result of `rdma_getaddrinfo`, as are the addresses in it.
        unsafe {
            let info = Box::from_raw(info);
            for address in [info.src_addr, info.dst_addr] {
                if !address.is_null() {
                    drop(Box::from_raw(address));
                }
            }
        }
        Ok(())
    }
}
