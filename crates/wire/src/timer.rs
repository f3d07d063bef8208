//! Times that are coded in five bits: the RNR NAK timer and the acknowledgement timeout.

use core::fmt;

use fairlane_units::Duration;

const CODES: u8 = 32;

/// Waiting times in units of 10 us (IBTA 9.7.5.2.8, table 45). Code 0 is the longest.
const RNR_UNITS: [u64; CODES as usize] = [
    65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024,
    1_536, 2_048, 3_072, 4_096, 6_144, 8_192, 12_288, 16_384, 24_576, 32_768, 49_152,
];
const RNR_UNIT: Duration = Duration::from_us(10);

/// How long a requester waits after an RNR NAK, as its 5-bit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RnrTimer(u8);

impl RnrTimer {
    /// The longest one: 655.36 ms.
    pub const LONGEST: Self = Self(0);

    /// The timer with this code, `None` above 31.
    pub const fn new(code: u8) -> Option<Self> {
        if code < CODES { Some(Self(code)) } else { None }
    }

    /// The shortest timer that waits for `wait` or longer, [`RnrTimer::LONGEST`] if none does.
    pub fn at_least(wait: Duration) -> Self {
        let timers = (1..CODES).map(Self);
        timers
            .into_iter()
            .find(|timer| timer.duration() >= wait)
            .unwrap_or(Self::LONGEST)
    }

    /// The code on the wire, below 32.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// How long the requester waits.
    pub fn duration(self) -> Duration {
        RNR_UNIT * RNR_UNITS[usize::from(self.0 % CODES)]
    }
}

impl fmt::Display for RnrTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.duration().fmt(f)
    }
}

/// How long a requester waits for an acknowledgement, as the exponent in 4.096 us * 2^n
/// (IBTA 9.7.6.1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AckTimeout(u8);

impl AckTimeout {
    /// Waits for ever.
    pub const NEVER: Self = Self(0);
    /// The longest that ends: 4.096 us * 2^31, about 8796 s.
    pub const LONGEST: Self = Self(CODES - 1);

    const UNIT: Duration = Duration::from_ns(4_096);

    /// The timeout with this exponent, `None` above 31.
    pub const fn new(exponent: u8) -> Option<Self> {
        if exponent < CODES {
            Some(Self(exponent))
        } else {
            None
        }
    }

    /// The shortest timeout of `wait` or longer, [`AckTimeout::LONGEST`] if there is none.
    pub fn at_least(wait: Duration) -> Self {
        let timeouts = (1..CODES).map(Self);
        timeouts
            .into_iter()
            .find(|timeout| timeout.duration().is_some_and(|span| span >= wait))
            .unwrap_or(Self::LONGEST)
    }

    /// The exponent, below 32.
    pub const fn exponent(self) -> u8 {
        self.0
    }

    /// How long the requester waits, `None` if for ever.
    pub fn duration(self) -> Option<Duration> {
        (self != Self::NEVER).then(|| Self::UNIT * (1 << self.0))
    }
}

impl fmt::Display for AckTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.duration() {
            Some(span) => span.fmt(f),
            None => f.write_str("never"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rnr(code: u8) -> RnrTimer {
        RnrTimer::new(code).expect("5 bits")
    }

    #[test]
    fn timers_are_those_of_the_specification() {
        for (code, us) in [
            (0, 655_360),
            (1, 10),
            (2, 20),
            (12, 640),
            (14, 1_280),
            (20, 10_240),
            (30, 327_680),
            (31, 491_520),
        ] {
            assert_eq!(rnr(code).duration(), Duration::from_us(us));
        }
        assert_eq!(RnrTimer::new(32), None);
    }

    #[test]
    fn a_wait_becomes_the_next_longer_timer() {
        for code in 0..CODES {
            assert_eq!(RnrTimer::at_least(rnr(code).duration()).code(), code);
        }
        let above = |us| RnrTimer::at_least(Duration::from_us(us) + Duration::from_ps(1)).code();
        assert_eq!(
            (above(0), above(10), above(491_520), above(655_360)),
            (1, 2, 0, 0)
        );
    }

    #[test]
    fn timeouts_double() {
        let timeout = |exponent| AckTimeout::new(exponent).and_then(AckTimeout::duration);
        assert_eq!(timeout(0), None);
        assert_eq!(timeout(1), Some(Duration::from_ns(8_192)));
        assert_eq!(timeout(14), Some(Duration::from_ns(67_108_864)));
        assert_eq!(timeout(31), Some(Duration::from_ns(4_096 << 31)));
        assert_eq!(AckTimeout::new(32), None);
    }

    #[test]
    fn a_wait_becomes_the_next_longer_timeout() {
        let exponent = |ns| AckTimeout::at_least(Duration::from_ns(ns)).exponent();
        assert_eq!((exponent(0), exponent(8_192), exponent(8_193)), (1, 1, 2));
        assert_eq!(AckTimeout::at_least(Duration::MAX), AckTimeout::LONGEST);
    }
}
