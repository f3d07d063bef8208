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

/// `RAI_PASSIVE`, `RAI_NUMERICHOST`, `RAI_FAMILY`
const PASSIVE: c_int = 1;
const NUMERIC: c_int = 2;
const FAMILY: c_int = 8;

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
    let taken = take_over((listener, on), next, recipe);
    taken.inspect_err(|_| {
        let _ = id::destroy(id);
    })?;
    Ok(id)
}

/// A request's id becomes one that waits itself, with a queue pair if the listener has a recipe.
fn take_over(
    (listener, on): (*mut CmId, Ptr<Channel>),
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

/// What a program wants to know of names: node, service, flags and family.
struct Names {
    node: *const c_char,
    service: *const c_char,
    is_passive: bool,
    is_numeric: bool,
    family: c_int,
}

/// The first address of a name, by the C library.
fn look_up(names: &Names) -> Result<SocketAddr, Errno> {
    // SAFETY: the structure is numbers and pointers, for which zero is right.
    let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
    hints.ai_family = names.family;
    hints.ai_socktype = libc::SOCK_STREAM;
    hints.ai_flags = if names.is_passive {
        libc::AI_PASSIVE
    } else {
        0
    };
    hints.ai_flags |= if names.is_numeric {
        libc::AI_NUMERICHOST
    } else {
        0
    };
    let mut found = std::ptr::null_mut();
    // SAFETY: names are texts or null, and there is room for the answer.
    let code =
        unsafe { libc::getaddrinfo(names.node, names.service, &raw const hints, &raw mut found) };
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

fn address_info(names: &Names, hints: Option<AddrInfo>) -> Result<AddrInfo, Errno> {
    let kind = hints.as_ref().map_or(0, |hints| hints.qp_type);
    let space = hints.as_ref().map_or(0, |hints| hints.port_space);
    let (kind, space) = match (kind, space) {
        (0, 0) => (pair::RELIABLE, PortSpace::TCP.0.into()),
        (0, space) if space == i32::from(PortSpace::UDP.0) => (pair::DATAGRAM, space),
        (0, space) => (pair::RELIABLE, space),
        (pair::DATAGRAM, 0) => (pair::DATAGRAM, PortSpace::UDP.0.into()),
        (kind, 0) => (kind, PortSpace::TCP.0.into()),
        both => both,
    };
    let given = hints
        .as_ref()
        .and_then(|hints| address::of_program(hints.src_addr).ok());
    let found = match names.node.is_null() && names.service.is_null() {
        true => None,
        false => Some(look_up(names)?),
    };
    let (source, destination) = match names.is_passive {
        true => (found.or(given), None),
        false => (given, found),
    };
    let family = source
        .or(destination)
        .map_or(0, |address| i32::from(SockAddr::of(address).family));
    let (src_addr, src_len) = allocated(source);
    let (dst_addr, dst_len) = allocated(destination);
    Ok(AddrInfo {
        flags: hints.map_or(0, |hints| hints.flags),
        family,
        qp_type: kind,
        port_space: space,
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
    })
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
        // SAFETY: programs pass null or hints, which are numbers and pointers.
        let hints = (!hints.is_null()).then(|| unsafe { hints.read() });
        if node.is_null() && service.is_null() && hints.is_none() {
            return Err(Errno::INVALID);
        }
        let flags = hints.as_ref().map_or(0, |hints| hints.flags);
        let with_family = hints.as_ref().filter(|hints| hints.flags & FAMILY != 0);
        let names = Names {
            node,
            service,
            is_passive: flags & PASSIVE != 0,
            is_numeric: flags & NUMERIC != 0,
            family: with_family.map_or(0, |hints| hints.family),
        };
        tell(result, Ptr::give(address_info(&names, hints)?).0)?;
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
