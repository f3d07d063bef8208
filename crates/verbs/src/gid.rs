//! GIDs, as programs have them.

use std::net::{IpAddr, Ipv6Addr};

use fairlane_softnic::gid;
pub(crate) use fairlane_softnic::gid::{SLOTS, slot};

use crate::abi::Gid;

/// `IBV_GID_TYPE_ROCE_V2`.
pub(crate) const ROCE_V2: u32 = 2;

fn raw(own: Ipv6Addr) -> Gid {
    Gid { raw: own.octets() }
}

/// The GID in a slot of the table of a device.
pub(crate) fn at(address: IpAddr, slot: u32) -> Option<Gid> {
    gid::at(address, slot).map(raw)
}

/// The GID of an address as such.
pub(crate) fn of(address: IpAddr) -> Gid {
    raw(gid::of(address))
}

/// The address that a GID stands for.
pub(crate) fn address(own: &Gid) -> IpAddr {
    gid::address(own.raw.into())
}

/// The GUID of the device at an address, in network order.
pub(crate) fn guid(address: IpAddr) -> u64 {
    u64::from_ne_bytes(gid::guid(address))
}
