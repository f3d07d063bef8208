//! Interfaces of this machine, as far as devices need them.
//!
//! Invariant of the `unsafe` blocks: the list of the system stays as it is, and is only read, until it is freed.
#![allow(
    unsafe_code,
    reason = "getifaddrs and an ioctl, which the standard library doesn't have"
)]

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;
use std::ptr;

use fairlane_wire::{Ipv4, Ipv6};

/// Headers of a packet beside IP and its payload: UDP, BTH, the longest extension headers and ICRC.
pub(crate) const HEADERS: u32 = 8 + 12 + 28 + 4;

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The name of the interface.
    pub name: String,
    /// Its number.
    pub number: u32,
    /// The address.
    pub address: IpAddr,
    /// Bits of the address that all of its network have in common.
    pub prefix: u32,
    /// Whether it is up and has a link.
    pub is_up: bool,
    /// Whether it leads to this machine itself: then all addresses of the network are local.
    pub is_loopback: bool,
}

impl Interface {
    /// Every address of every interface.
    ///
    /// # Errors
    /// If the system doesn't say.
    pub fn all() -> io::Result<Vec<Self>> {
        let mut first = ptr::null_mut();
        // SAFETY: the system writes the list's beginning to the stack.
        if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut all = Vec::new();
        let mut next = first;
        while !next.is_null() {
            // SAFETY: it is an entry of the list, which hasn't been freed.
            let entry = unsafe { &*next };
            all.extend(read(entry));
            next = entry.ifa_next;
        }
        // SAFETY: it is the list, and nothing refers to it any more.
        unsafe { libc::freeifaddrs(first) };
        Ok(all)
    }

    /// The interface that an address of this machine belongs to.
    pub fn of(address: IpAddr) -> Option<Self> {
        let all = Self::all().ok()?;
        let exact = all.iter().find(|one| one.address == address);
        exact
            .or_else(|| all.iter().find(|one| one.covers(address)))
            .cloned()
    }

    /// Whether an address is local because all of its network are.
    fn covers(&self, address: IpAddr) -> bool {
        let (IpAddr::V4(own), IpAddr::V4(other)) = (self.address, address) else {
            return false;
        };
        let host = u32::MAX.checked_shr(self.prefix).unwrap_or(0);
        self.is_loopback && (own.to_bits() ^ other.to_bits()) & !host == 0
    }

    /// The largest IP packet that it sends, in bytes.
    pub fn mtu(&self) -> Option<u32> {
        // Any socket knows; what is mounted at /sys may be of another network namespace.
        let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
        // SAFETY: zeros are a request without name.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        let (end, room) = request.ifr_name.split_last_mut()?;
        *end = 0;
        let name = self.name.as_bytes();
        for (letter, byte) in room.get_mut(..name.len())?.iter_mut().zip(name) {
            *letter = byte.cast_signed();
        }
        // SAFETY: the request outlives the call, and its name ends with a zero.
        let said = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU, &raw mut request) };
        // SAFETY: any bits are a number.
        let mtu = unsafe { request.ifr_ifru.ifru_mtu };
        (said == 0).then(|| u32::try_from(mtu).ok()).flatten()
    }
}

/// Whether an address is one of this machine, whose UDP port 4791 nobody has.
pub fn is_free(address: IpAddr) -> bool {
    std::net::UdpSocket::bind((address, fairlane_wire::Udp::ROCE_PORT)).is_ok()
}

/// The largest path MTU that packets from an address of an interface have room for.
pub(crate) fn largest_mtu(interface: &Interface, address: IpAddr) -> Option<u16> {
    let network = if address.is_ipv4() {
        Ipv4::LENGTH
    } else {
        Ipv6::LENGTH
    };
    let room = interface.mtu()?;
    let fits = |mtu: &u16| u32::from(*mtu) + HEADERS + network as u32 <= room;
    [4096, 2048, 1024, 512, 256].into_iter().find(fits)
}

/// The number of the interface that an address belongs to if it holds for a link only, else 0.
pub(crate) fn number_of(address: IpAddr) -> u32 {
    match address {
        IpAddr::V6(own) if own.is_unicast_link_local() => {
            Interface::of(address).map_or(0, |interface| interface.number)
        }
        _ => 0,
    }
}

/// What an entry of the list says, if it is of IP.
fn read(entry: &libc::ifaddrs) -> Option<Interface> {
    if entry.ifa_addr.is_null() {
        return None;
    }
    // SAFETY: the entry's name ends with a zero, and lives as long as the list.
    let name = unsafe { CStr::from_ptr(entry.ifa_name) };
    let flags = entry.ifa_flags as libc::c_int;
    let up = libc::IFF_UP | libc::IFF_RUNNING;
    let (address, mask) = (address_of(entry.ifa_addr)?, address_of(entry.ifa_netmask));
    Some(Interface {
        name: name.to_string_lossy().into_owned(),
        // SAFETY: the name ends with a zero.
        number: unsafe { libc::if_nametoindex(entry.ifa_name) },
        address,
        prefix: match mask {
            Some(IpAddr::V4(mask)) => mask.to_bits().count_ones(),
            Some(IpAddr::V6(mask)) => mask.to_bits().count_ones(),
            None => 0,
        },
        is_up: flags & up == up,
        is_loopback: flags & libc::IFF_LOOPBACK != 0,
    })
}

fn address_of(name: *const libc::sockaddr) -> Option<IpAddr> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the system's names have the size of their family.
    unsafe {
        match libc::c_int::from((*name).sa_family) {
            libc::AF_INET => {
                let name = ptr::read_unaligned(name.cast::<libc::sockaddr_in>());
                Some(Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let name = ptr::read_unaligned(name.cast::<libc::sockaddr_in6>());
                Some(Ipv6Addr::from(name.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_loopback_interface_are_found() {
        let own = Interface::of(Ipv4Addr::new(127, 3, 2, 1).into()).unwrap();
        assert!(own.is_loopback && own.is_up && own.number > 0);
        assert_eq!((own.address, own.prefix), (Ipv4Addr::LOCALHOST.into(), 8));
        assert!(own.mtu().unwrap() >= 1500);
        let name = "a name that is too long".to_owned();
        assert_eq!(Interface { name, ..own }.mtu(), None);
        assert_eq!(Interface::of(Ipv4Addr::new(203, 0, 113, 77).into()), None);
    }
}
