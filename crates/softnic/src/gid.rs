//! GIDs, which are addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Slots of the table, of which few are taken.
pub const SLOTS: u32 = 16;

/// The GID in a slot of the table of a device. Of IPv4 a link-local one that contains the address (RFC 5214, section 6.1), and
/// the address mapped into IPv6 (IBTA A17.4.5.1); of IPv6 the address.
pub fn at(address: IpAddr, slot: u32) -> Option<Ipv6Addr> {
    match (address, slot) {
        (IpAddr::V4(own), 0) => Some(link_local(own)),
        (IpAddr::V4(own), 1) => Some(own.to_ipv6_mapped()),
        (IpAddr::V6(own), 0) => Some(own),
        _ => None,
    }
}

/// The slot of the address as such.
pub const fn slot(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 1,
        IpAddr::V6(_) => 0,
    }
}

/// The GID of an address as such.
pub const fn of(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(own) => own.to_ipv6_mapped(),
        IpAddr::V6(own) => own,
    }
}

/// The address that a GID stands for.
pub fn address(gid: Ipv6Addr) -> IpAddr {
    let [.., a, b, c, d] = gid.octets();
    let short = Ipv4Addr::new(a, b, c, d);
    match gid == link_local(short) || gid == short.to_ipv6_mapped() {
        true => short.into(),
        false => gid.into(),
    }
}

/// The GUID of the device at an address, in network order: the interface identifier of its first GID, of IPv4 marked as universal.
pub fn guid(address: IpAddr) -> [u8; 8] {
    let first = match address {
        IpAddr::V4(own) => link_local(own),
        IpAddr::V6(own) => own,
    };
    let [.., a, b, c, d, e, f, g, h] = first.octets();
    let mark = if address.is_ipv4() { 2 } else { 0 };
    [a | mark, b, c, d, e, f, g, h]
}

const fn link_local(address: Ipv4Addr) -> Ipv6Addr {
    let [a, b, c, d] = address.octets();
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0x5efe, high, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gid_leads_back_to_its_address() {
        for (own, count) in [("10.1.2.3", 2), ("fd00::17", 1), ("fe80::1:2:3", 1)] {
            let own: IpAddr = own.parse().expect("an address");
            let gids: Vec<Ipv6Addr> = (0..SLOTS).filter_map(|slot| at(own, slot)).collect();
            assert_eq!(gids.len(), count);
            assert!(gids.iter().all(|gid| address(*gid) == own));
            assert_eq!(at(own, slot(own).into()), Some(of(own)));
        }
    }
}
