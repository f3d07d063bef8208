//! Where random decisions come from.

/// A source of decisions: a seed, or bytes that a fuzzer changes.
#[derive(Clone, Debug)]
pub struct Choices {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// State of SplitMix64.
    Seed(u64),
    /// Bytes that are left, last one first; behind them come zeros.
    Bytes(Vec<u8>),
}

impl Choices {
    /// Decisions of a generator that starts with `seed`.
    pub const fn from_seed(seed: u64) -> Self {
        Self {
            source: Source::Seed(seed),
        }
    }

    /// Decisions that `bytes` spell out; when they have run out, every decision is the first choice.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self {
            source: Source::Bytes(bytes.iter().rev().copied().collect()),
        }
    }

    /// Whether bytes are left; a seed never ends.
    pub const fn has_more(&self) -> bool {
        match &self.source {
            Source::Seed(_) => true,
            Source::Bytes(bytes) => !bytes.is_empty(),
        }
    }

    /// A number below `limit`, which isn't 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        match &mut self.source {
            Source::Seed(state) => splitmix(state) % limit,
            Source::Bytes(bytes) => {
                let wanted = (limit - 1).checked_ilog2().map_or(0, |bits| bits / 8 + 1);
                let mut take = || u64::from(bytes.pop().unwrap_or(0));
                (0..wanted).fold(0, |number, _| number << 8 | take()) % limit
            }
        }
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// `true` in so many of a hundred cases.
    pub fn percent(&mut self, percent: u8) -> bool {
        percent > 0 && self.below(100) >= u64::from(100 - percent.min(100))
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
