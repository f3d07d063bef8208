//! Quantities in text files: one grammar, and the rounding of a profile.
//!
//! Programs print what their doubles hold (`5e-05`, `33.333333333333336Gbps`), so exact times and rates are rounded to
//! the nearest picosecond and bit per second. A rate without a unit is in bits per second, as in ns-3.

use fairlane_units::{Decimal, Duration, Rate};

use crate::{Times, ns3};

const SECOND: u64 = 1_000_000_000_000;

/// A rate; `None` if it isn't one.
pub(crate) fn rate(text: &str, times: Times) -> Option<Rate> {
    match times {
        Times::Ns3 => ns3::rate(text),
        Times::Exact => {
            let (number, unit) = Decimal::split(text)?;
            number.rounded(bits_of(unit)?).map(Rate::from_bps)
        }
    }
}

/// A time with its unit; `None` if it isn't one.
pub(crate) fn time(text: &str, times: Times) -> Option<Duration> {
    match times {
        Times::Ns3 => ns3::time(text),
        Times::Exact => {
            let (number, unit) = Decimal::split(text)?;
            number.rounded(picoseconds_of(unit)?).map(Duration::from_ps)
        }
    }
}

/// A time in seconds, or with another unit; `None` if it isn't one.
pub(crate) fn start(text: &str, times: Times) -> Option<Duration> {
    let (number, unit) = Decimal::split(text)?;
    match (unit, times) {
        ("" | "s", Times::Ns3) => ns3::seconds_of(number.as_f64()),
        ("" | "s", Times::Exact) => number.rounded(SECOND).map(Duration::from_ps),
        _ => time(text, times),
    }
}

/// The bits per second of a unit of rates.
pub(crate) fn bits_of(unit: &str) -> Option<u64> {
    if unit.is_empty() {
        return Some(1);
    }
    let one: Rate = format!("1{unit}").parse().ok()?;
    Some(one.as_bps())
}

/// The picoseconds of a unit of time.
pub(crate) fn picoseconds_of(unit: &str) -> Option<u64> {
    let one: Duration = format!("1{unit}").parse().ok()?;
    Some(one.as_ps())
}
