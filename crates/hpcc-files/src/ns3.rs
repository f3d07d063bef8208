//! How ns-3 turns decimal text into integers.
//!
//! Times pass through a double and a 64.64 fixed-point number and are truncated to nanoseconds, so
//! that 2.002 s becomes 2001999999 ns. Rates pass through a double and are truncated to bits/s.

use fairlane_units::{Decimal, Duration, Rate};

use crate::numbers::{bits_of, picoseconds_of};

/// Longest time that is read, in seconds: picoseconds must still fit 64 bits.
const LONGEST_S: f64 = 1e6;

/// Nanoseconds of `value` units of `unit_ns` nanoseconds each, truncated after 64.64 fixed point.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast truncates to the fixed-point grid, which is the stated rule"
)]
fn fixed_point_ns(value: f64, unit_ns: u64) -> u64 {
    const ONE: f64 = 18_446_744_073_709_551_616.0;
    let fixed = (value * ONE) as u128;
    let (whole, fraction) = ((fixed >> 64) as u64, fixed & u128::from(u64::MAX));
    let part = ((fraction * u128::from(unit_ns)) >> 64) as u64;
    whole.saturating_mul(unit_ns).saturating_add(part)
}

/// A non-negative time in seconds, truncated to nanoseconds; `None` if it isn't a time.
pub fn seconds(text: &str) -> Option<Duration> {
    seconds_of(Decimal::read(text)?.as_f64())
}

/// `value` seconds, truncated to nanoseconds; `None` if they are negative or too many.
pub(crate) fn seconds_of(value: f64) -> Option<Duration> {
    (0.0..=LONGEST_S)
        .contains(&value)
        .then(|| Duration::from_ns(fixed_point_ns(value, 1_000_000_000)))
}

/// A time with its unit, truncated to nanoseconds; `None` if it isn't one.
pub fn time(text: &str) -> Option<Duration> {
    let (number, unit) = Decimal::split(text)?;
    let unit_ns = picoseconds_of(unit)? / 1000;
    if unit_ns == 0 {
        return None;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "units are powers of ten below 2^53"
    )]
    let longest = LONGEST_S * 1e9 / unit_ns as f64;
    let value = number.as_f64();
    (0.0..=longest)
        .contains(&value)
        .then(|| Duration::from_ns(fixed_point_ns(value, unit_ns)))
}

/// A rate in the spellings of ns-3 (`100Gbps`, `40.0Mb/s`, `1MBps`) and in Tb/s, or a number of bits/s.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the cast truncates, as ns-3 does; units are below 2^53"
)]
pub fn rate(text: &str) -> Option<Rate> {
    let (number, unit) = Decimal::split(text)?;
    let bps = number.as_f64() * bits_of(unit)? as f64;
    (0.0..1e18)
        .contains(&bps)
        .then(|| Rate::from_bps(bps as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_lose_a_nanosecond_where_the_double_is_below() {
        assert_eq!(seconds("2.002"), Some(Duration::from_ns(2_001_999_999)));
        assert_eq!(
            seconds("2.000000000"),
            Some(Duration::from_ns(2_000_000_000))
        );
        assert_eq!(seconds("5e-05"), seconds("0.00005"));
        assert_eq!(seconds("+.5"), Some(Duration::from_ms(500)));
        assert_eq!(seconds("-1"), None);
        assert_eq!(seconds("nan"), None);
    }

    #[test]
    fn times_need_a_unit() {
        assert_eq!(time("1000ns"), Some(Duration::from_us(1)));
        assert_eq!(time("0.001ms"), Some(Duration::from_us(1)));
        assert_eq!(time("1"), None);
        assert_eq!(time("1parsec"), None);
    }

    #[test]
    fn rates_in_every_spelling() {
        let gigabit = Some(Rate::from_gbps(1));
        for text in [
            "1Gbps",
            "1Gb/s",
            "1000Mbps",
            "1000000Kb/s",
            "0.125GBps",
            "0.001Tbps",
            "1e9bps",
            "1 Gbps",
            "1000000000",
        ] {
            assert_eq!(rate(text), gigabit, "{text}");
        }
        assert_eq!(rate("1Gibps"), Some(Rate::from_bps(1 << 30)));
        assert_eq!(rate("1Gbit"), None);
        assert_eq!(rate("-1Gbps"), None);
    }
}
