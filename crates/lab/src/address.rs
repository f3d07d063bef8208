//! Addresses of NICs: of 127.0.0.0/8, so that programs on one machine have them all.

use std::net::Ipv4Addr;

use fairlane_units::NodeId;

/// Ports of a host that have addresses.
const PLANES: u8 = 8;
/// NICs of a port that have addresses, each for a program.
const PROGRAMS: u8 = 30;

/// Where a NIC is: one of the programs at a port of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The host, by its node.
    pub host: NodeId,
    /// Its port, counted from 0.
    pub plane: u8,
    /// The number of the program among those that use the port, from 0.
    pub program: u8,
}

impl Place {
    /// The address of the NIC; `None` if there is none for so large a number.
    pub fn address(&self) -> Option<Ipv4Addr> {
        let number = u16::try_from(self.host.get()).ok()?.checked_add(1)?;
        let [high, low] = number.to_be_bytes();
        if self.plane >= PLANES || self.program >= PROGRAMS {
            return None;
        }
        let second = 1 + self.plane + PLANES * self.program;
        Some(Ipv4Addr::new(127, second, high, low))
    }

    /// Where the NIC with an address is.
    pub fn of(address: Ipv4Addr) -> Option<Self> {
        let [first, second, high, low] = address.octets();
        let place = second.checked_sub(1)?;
        let number = u16::from_be_bytes([high, low]).checked_sub(1)?;
        let place = Self {
            host: NodeId::new(number.into()),
            plane: place % PLANES,
            program: place / PLANES,
        };
        (first == 127 && place.program < PROGRAMS).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nic_has_an_address_of_its_own() {
        let address = |host, plane, program| {
            let host = NodeId::new(host);
            Place {
                host,
                plane,
                program,
            }
            .address()
        };
        assert_eq!(address(0, 0, 0), Some(Ipv4Addr::new(127, 1, 0, 1)));
        assert_eq!(address(299, 0, 0), Some(Ipv4Addr::new(127, 1, 1, 44)));
        assert_eq!(address(3, 1, 2), Some(Ipv4Addr::new(127, 18, 0, 4)));
        assert_eq!(address(65_535, 0, 0), None);
        assert_eq!((address(0, 8, 0), address(0, 0, 30)), (None, None));
        for (host, plane, program) in [(0, 0, 0), (65_534, 7, 29), (256, 3, 4)] {
            let own = address(host, plane, program).unwrap();
            let place = Place {
                host: NodeId::new(host),
                plane,
                program,
            };
            assert_eq!(Place::of(own), Some(place));
        }
        for strange in [
            [10, 1, 0, 1],
            [127, 0, 0, 1],
            [127, 1, 0, 0],
            [127, 255, 0, 1],
        ] {
            assert_eq!(Place::of(strange.into()), None);
        }
    }
}
