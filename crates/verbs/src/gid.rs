//! GIDs, which are addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::abi::Gid;

/// Slots of the table, of which few are taken.
pub(crate) const SLOTS: u32 = 16;
/// `IBV_GID_TYPE_ROCE_V2`.
pub(crate) const ROCE_V2: u32 = 2;

/// The GID in a slot of the table of a device. Of IPv4 a link-local one that contains the address (RFC 5214, section 6.1), and
/// the address mapped into IPv6 (A17.4.5.1); of IPv6 the address.
pub(crate) fn at(address: IpAddr, slot: u32) -> Option<Gid> {
    let raw = match (address, slot) {
        (IpAddr::V4(own), 0) => link_local(own).octets(),
        (IpAddr::V4(own), 1) => own.to_ipv6_mapped().octets(),
        (IpAddr::V6(own), 0) => own.octets(),
        _ => return None,
    };
    Some(Gid { raw })
}

/// The slot of the address as such.
pub(crate) const fn slot(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 1,
        IpAddr::V6(_) => 0,
    }
}

/// The GID of an address as such.
pub(crate) fn of(address: IpAddr) -> Gid {
    at(address, slot(address).into()).unwrap_or_default()
}

const fn link_local(address: Ipv4Addr) -> Ipv6Addr {
    let [a, b, c, d] = address.octets();
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0x5efe, high, low)
}

/// The address that a GID stands for.
pub(crate) fn address(gid: &Gid) -> IpAddr {
    let (all, [.., a, b, c, d]) = (Ipv6Addr::from(gid.raw), gid.raw);
    let short = Ipv4Addr::new(a, b, c, d);
    match all == link_local(short) || all == short.to_ipv6_mapped() {
        true => short.into(),
        false => all.into(),
    }
}

/// The GUID of the device at an address: the interface identifier of its first GID, of IPv4 marked as universal.
pub(crate) fn guid(address: IpAddr) -> u64 {
    let [.., a, b, c, d, e, f, g, h] = at(address, 0).unwrap_or_default().raw;
    let mark = if address.is_ipv4() { 2 } else { 0 };
    u64::from_ne_bytes([a | mark, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gid_leads_back_to_its_address() {
        for (own, count) in [("10.1.2.3", 2), ("fd00::17", 1), ("fe80::1:2:3", 1)] {
            let own: IpAddr = own.parse().expect("an address");
            let gids: Vec<Gid> = (0..SLOTS).filter_map(|slot| at(own, slot)).collect();
            assert_eq!(gids.len(), count);
            assert!(gids.iter().all(|gid| address(gid) == own));
            assert!(gids.contains(&of(own)));
        }
    }
}
