//! How ns-3 turns decimal text into integers.
//!
//! Times pass through a double and a 64.64 fixed-point number and are truncated to nanoseconds, so
//! that 2.002 s becomes 2001999999 ns. Rates pass through a double and are truncated to bits/s.

use fairlane_units::{Duration, Rate};

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
    let value: f64 = text.parse().ok()?;
    (0.0..=LONGEST_S)
        .contains(&value)
        .then(|| Duration::from_ns(fixed_point_ns(value, 1_000_000_000)))
}

/// A time with its unit, truncated to nanoseconds; `None` if it isn't one.
pub fn time(text: &str) -> Option<Duration> {
    const UNITS: [(&str, u64); 4] = [
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ];
    let (value, unit) = number_and_unit(text)?;
    let (_, unit_ns) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    #[expect(
        clippy::cast_precision_loss,
        reason = "units are powers of ten below 2^53"
    )]
    let longest = LONGEST_S * 1e9 / unit_ns as f64;
    (0.0..=longest)
        .contains(&value)
        .then(|| Duration::from_ns(fixed_point_ns(value, unit_ns)))
}

/// A rate in the spellings of ns-3 (`100Gbps`, `40.0Mb/s`, `1MBps`), or a number of bits/s.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast truncates, as ns-3 does"
)]
pub fn rate(text: &str) -> Option<Rate> {
    let (value, unit) = number_and_unit(text)?;
    let factor = if unit.is_empty() {
        1.0
    } else {
        rate_factor(unit)?
    };
    let bps = value * factor;
    (0.0..1e18)
        .contains(&bps)
        .then(|| Rate::from_bps(bps as u64))
}

fn rate_factor(unit: &str) -> Option<f64> {
    let prefix = unit
        .strip_suffix("ps")
        .or_else(|| unit.strip_suffix("/s"))?;
    let (scale, bits) = match prefix.strip_suffix('b') {
        Some(scale) => (scale, 1.0),
        None => (prefix.strip_suffix('B')?, 8.0),
    };
    let scale = match scale {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(scale * bits)
}

fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let split = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    number.parse().ok().map(|value| (value, unit))
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
            "1000000000",
        ] {
            assert_eq!(rate(text), gigabit, "{text}");
        }
        assert_eq!(rate("1Gibps"), Some(Rate::from_bps(1 << 30)));
        assert_eq!(rate("1Gbit"), None);
        assert_eq!(rate("-1Gbps"), None);
    }
}
