//! What tells one flow from another in the headers of its packets, and the hash of it.

use fairlane_units::NodeId;

/// What ECMP hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    /// Sender of the packet.
    pub source: NodeId,
    /// Receiver of the packet.
    pub destination: NodeId,
    /// UDP source port.
    pub source_port: u16,
    /// UDP destination port.
    pub destination_port: u16,
}

impl FiveTuple {
    /// The tuple of packets that go the other way. RoCEv2 packets all go to port 4791, so they have
    /// the same source port; HPCC's simulator swaps the ports (`swaps`).
    #[inline]
    #[must_use]
    pub const fn answering(self, swaps: bool) -> Self {
        let (source_port, destination_port) = if swaps {
            (self.destination_port, self.source_port)
        } else {
            (self.source_port, self.destination_port)
        };
        Self {
            source: self.destination,
            destination: self.source,
            source_port,
            destination_port,
        }
    }

    /// MurmurHash3 (32 bits) of source address, destination address and the two ports.
    #[inline]
    pub fn hash(&self, seed: u32) -> u32 {
        let ports = u32::from(self.source_port) | u32::from(self.destination_port) << 16;
        let words = [address(self.source), address(self.destination), ports];
        let mut hash = words.into_iter().fold(seed, |hash, word| {
            let word = word
                .wrapping_mul(0xcc9e_2d51)
                .rotate_left(15)
                .wrapping_mul(0x1b87_3593);
            (hash ^ word)
                .rotate_left(13)
                .wrapping_mul(5)
                .wrapping_add(0xe654_6b64)
        });
        hash ^= 12;
        hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
        hash ^ hash >> 16
    }
}

/// The IPv4 address of a host: 11.a.b.1 for node number a * 256 + b.
#[inline]
pub const fn address(node: NodeId) -> u32 {
    let number = node.get();
    0x0b00_0001_u32
        .wrapping_add((number / 256) << 16)
        .wrapping_add((number % 256) << 8)
}
