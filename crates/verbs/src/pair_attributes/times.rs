//! Times as fields of packets and attributes have them.

use fairlane_units::Duration;

/// The local acknowledgement timeout: 4.096 us times a power of two, none for 0 (IBTA 9.7.6.1.3).
pub(super) fn timeout(field: u8) -> Option<Duration> {
    (field > 0).then(|| Duration::from_ns(4096 << field.min(31)))
}

/// Hundredths of milliseconds of the RNR timer's values (IBTA 9.7.5.2.8, table 45).
const RNR: [u32; 32] = [
    65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
    2048, 3072, 4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768, 49_152,
];

/// How long the other end is asked to wait for a receive.
pub(super) fn rnr(field: u8) -> Duration {
    Duration::from_us(u64::from(RNR[usize::from(field & 31)]) * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_specification() {
        assert_eq!(
            (timeout(0), timeout(14)),
            (None, Some(Duration::from_ns(67_108_864)))
        );
        assert_eq!(
            (rnr(0), rnr(1)),
            (Duration::from_us(655_360), Duration::from_us(10))
        );
        assert_eq!(
            (rnr(12), rnr(31)),
            (Duration::from_us(640), Duration::from_us(491_520))
        );
    }
}
