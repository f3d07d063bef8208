//! Random numbers that belong to a component.

/// The random numbers of one component of one run.
///
/// A stream is a function of (seed, component) and a counter, so that no other component's draws
/// change it. The numbers are SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) over a Weyl sequence
/// whose start is hashed from seed and component.
///
/// ```
/// use fairlane_engine::Stream;
///
/// let mut stream = Stream::new(1, 42);
/// let again = Stream::new(1, 42).next_u64();
/// assert_eq!(stream.next_u64(), again);
/// assert!(stream.below(6) < 6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    state: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl Stream {
    /// The stream of `component` in the run with `seed`.
    pub const fn new(seed: u64, component: u64) -> Self {
        let seed = mix(seed.wrapping_add(GOLDEN));
        Self {
            state: mix(seed ^ mix(component.wrapping_mul(GOLDEN).wrapping_add(1))),
        }
    }

    /// 64 random bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// A number in `0.0 .. 1.0`, a multiple of 2^-53.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub const fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A number in `0 .. limit`, each equally likely (Lemire, 2019).
    ///
    /// # Panics
    /// If `limit` is zero.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the halves of a product are wanted"
    )]
    pub const fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "a number below zero");
        let threshold = limit.wrapping_neg() % limit;
        loop {
            let product = self.next_u64() as u128 * limit as u128;
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }
}
