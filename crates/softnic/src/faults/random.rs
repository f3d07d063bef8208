//! Random numbers of a device.

use std::net::IpAddr;

/// The numbers that decide about one packet: they depend on seed, device and the packet's number alone, whatever was decided before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Where those of a device begin.
    pub(super) fn start(seed: u64, device: IpAddr) -> u64 {
        let address = match device {
            IpAddr::V4(own) => own.to_ipv6_mapped().to_bits(),
            IpAddr::V6(own) => own.to_bits(),
        };
        let [high, low] = [(address >> 64) as u64, address as u64];
        mix(mix(mix(seed) ^ high) ^ low)
    }

    /// The numbers for a packet of the device.
    pub(super) const fn of(start: u64, packet: u64) -> Self {
        Self(mix(start ^ packet))
    }

    /// The next number (splitmix64).
    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        finish(self.0)
    }

    /// Whether something happens that does so as often, as a part of 1.
    pub(super) fn happens(&mut self, often: f64) -> bool {
        const BITS: u32 = 53;
        let part = (self.next() >> (u64::BITS - BITS)) as f64 / (1_u64 << BITS) as f64;
        part < often
    }
}

/// 2^64 divided by the golden ratio, the step of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
/// OOPSLA 2014, figure 16).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

const fn mix(number: u64) -> u64 {
    finish(number.wrapping_add(STEP))
}

/// What splitmix64 makes of its state (as above).
const fn finish(state: u64) -> u64 {
    let mut mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_splitmix64() {
        // What the program of the article's authors (splitmix64.c) says first from 0.
        assert_eq!(Random(0).next(), 0xe220_a839_7b1d_cdaf);
    }
}
