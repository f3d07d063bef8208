//! GIDs, which are addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fairlane_softnic::GidPlace;

use crate::abi::Gid;

/// Slots of the table, of which few are taken.
pub(crate) const SLOTS: u32 = 16;
/// `IBV_GID_TYPE_ROCE_V2`.
pub(crate) const ROCE_V2: u32 = 2;

/// The table of a device's GIDs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    pub(crate) address: IpAddr,
    /// Where the GID of the address is.
    pub(crate) place: GidPlace,
}

impl Table {
    /// That of a device at an address whose GID hasn't moved.
    pub(crate) const fn usual(address: IpAddr) -> Self {
        Self {
            address,
            place: GidPlace::Usual,
        }
    }

    /// The GID in a slot. Of IPv4 a link-local one that contains the address (RFC 5214, section 6.1), and the address mapped into
    /// IPv6 (A17.4.5.1); of IPv6 the address.
    pub(crate) fn at(self, slot: u32) -> Option<Gid> {
        let raw = match self.address {
            _ if self.known_slot().map(u32::from) == Some(slot) => return Some(of(self.address)),
            IpAddr::V4(own) if slot == 0 => link_local(own).octets(),
            _ => return None,
        };
        Some(Gid { raw })
    }

    /// The slot of the address as such, which is none if that has gone.
    const fn known_slot(self) -> Option<u8> {
        match (self.place, self.address) {
            (GidPlace::Usual, IpAddr::V4(_)) => Some(1),
            (GidPlace::Usual, IpAddr::V6(_)) => Some(0),
            (GidPlace::At(slot), _) => Some(slot),
            (GidPlace::Gone, _) => None,
        }
    }

    /// The same; if it has gone, where it has been at first.
    pub(crate) fn slot(self) -> u8 {
        let usual = Self::usual(self.address).known_slot();
        self.known_slot().or(usual).unwrap_or(0)
    }
}

/// The GID of an address as such.
pub(crate) fn of(address: IpAddr) -> Gid {
    let raw = match address {
        IpAddr::V4(own) => own.to_ipv6_mapped().octets(),
        IpAddr::V6(own) => own.octets(),
    };
    Gid { raw }
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
    let [.., a, b, c, d, e, f, g, h] = Table::usual(address).at(0).unwrap_or_default().raw;
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
            let table = Table::usual(own);
            let gids: Vec<Gid> = (0..SLOTS).filter_map(|slot| table.at(slot)).collect();
            assert_eq!(gids.len(), count);
            assert!(gids.iter().all(|gid| address(gid) == own));
            assert!(gids.contains(&of(own)));
        }
    }
    #[test]
    fn the_gid_of_the_address_moves_and_goes_alone() {
        for own in ["10.1.2.3", "fd00::17"] {
            let address: IpAddr = own.parse().expect("an address");
            let table = |place| Table { address, place };
            let others = |slot| address.is_ipv4() && slot == 0;
            for place in [GidPlace::At(5), GidPlace::Gone] {
                for slot in 0..SLOTS {
                    let is_moved = place == GidPlace::At(5) && slot == 5;
                    let found = table(place).at(slot);
                    assert_eq!(found.is_some(), is_moved || others(slot), "{own} {slot}");
                    assert_eq!(found == Some(of(address)), is_moved);
                }
            }
            assert_eq!(table(GidPlace::At(5)).slot(), 5);
            assert_eq!(table(GidPlace::Gone).slot(), Table::usual(address).slot());
        }
    }
}
