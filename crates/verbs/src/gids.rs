//! The table of a device's GIDs, of which one may have moved on purpose.

use std::net::IpAddr;

use fairlane_softnic::GidPlace;

use crate::abi::Gid;
use crate::gid;

/// The table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gids {
    pub(crate) address: IpAddr,
    /// Where the GID of the address is.
    pub(crate) place: GidPlace,
}

impl Gids {
    /// The GID in a slot.
    pub(crate) fn at(self, slot: u32) -> Option<Gid> {
        let own = self.own_slot().map(u32::from);
        let is_left = slot == u32::from(gid::slot(self.address));
        match own == Some(slot) {
            true => Some(gid::of(self.address)),
            false if is_left => None,
            false => gid::at(self.address, slot),
        }
    }

    /// The slot of the address as such, unless that has gone.
    const fn own_slot(self) -> Option<u8> {
        match self.place {
            GidPlace::Usual => Some(gid::slot(self.address)),
            GidPlace::At(slot) => Some(slot),
            GidPlace::Gone => None,
        }
    }

    /// The slot of the address as such; if that has gone, where it has been at first.
    pub(crate) fn slot(self) -> u8 {
        let own = self.own_slot();
        own.unwrap_or_else(|| gid::slot(self.address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gid_of_the_address_moves_and_goes_alone() {
        for own in ["10.1.2.3", "fd00::17"] {
            let address: IpAddr = own.parse().expect("an address");
            let table = |place| Gids { address, place };
            let usual = gid::slot(address);
            for (place, own_slot) in [
                (GidPlace::Usual, Some(usual.into())),
                (GidPlace::At(5), Some(5)),
                (GidPlace::Gone, None),
            ] {
                for slot in 0..gid::SLOTS {
                    let found = table(place).at(slot);
                    // That of IPv4 for Fairlane's own devices stays.
                    let stays = address.is_ipv4() && slot == 0;
                    let is_own = own_slot == Some(slot);
                    assert_eq!(found.is_some(), is_own || stays, "{own} {slot}");
                    assert_eq!(found == Some(gid::of(address)), is_own);
                }
            }
            let slots = [GidPlace::At(5), GidPlace::Gone].map(|place| table(place).slot());
            assert_eq!(slots, [5, usual]);
        }
    }
}
