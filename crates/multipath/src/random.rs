//! Random numbers of one connection.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a counter and a hash of it.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The numbers that follow from a seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A number below `bound`, which is above zero. The bias is below `bound` in 2^64.
    pub fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * bound as u128) >> 64) as usize
    }
}
