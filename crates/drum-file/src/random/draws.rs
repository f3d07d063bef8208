//! Random numbers from counters: any draw of any flow, without those before it.

/// Draws of one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Draws {
    seed: u64,
}

/// Step of the counter: the golden ratio, as in SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Draws {
    pub(super) const fn new(seed: u64) -> Self {
        Self { seed: mix(seed) }
    }

    /// The draws of one field of one host.
    pub(super) const fn stream(self, host: usize, field: u64) -> Self {
        let place = (host as u64) << 8 | field;
        Self {
            seed: mix(self.seed ^ place.wrapping_mul(GOLDEN)),
        }
    }

    /// 64 random bits.
    #[inline(always)]
    pub(super) const fn bits(self, index: usize) -> u64 {
        mix(self.seed.wrapping_add((index as u64).wrapping_mul(GOLDEN)))
    }

    /// A number in 0..1 from the 26 bits that begin at `from` of random bits: enough for an instance,
    /// and two numbers cost one draw.
    #[inline(always)]
    pub(super) fn unit(bits: u64, from: u32) -> f64 {
        const ONES: u64 = 0x3ff0_0000_0000_0000;
        let part = (bits >> from) & 0x03ff_ffff;
        f64::from_bits(ONES | part << 26) - 1.0
    }

    /// A whole number below `end` from 32 of random bits.
    #[inline(always)]
    pub(super) const fn below(bits: u64, end: u32) -> u32 {
        (((bits >> 32) * end as u64) >> 32) as u32
    }
}

/// Output function of SplitMix64.
#[inline(always)]
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
