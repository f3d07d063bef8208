//! Ranges of single values. Whoever asks knows their place.

use std::fmt::Display;

use fairlane_congestion::Rule;
use fairlane_units::{Bytes, Duration, Rate};

use super::Check;
pub(super) use crate::error::fail;
use crate::types::Profile;
pub(crate) use fairlane_hpcc_files::{FASTEST, SLOWEST};

/// Longer spans could overflow sums of picoseconds in 64 bits.
pub(super) const LONGEST: Duration = Duration::from_ms(1_000_000_000);
/// The largest buffer or threshold.
pub(crate) const LARGEST: Bytes = Bytes::new(1 << 40);
/// The longest IP packet.
pub(crate) const LONGEST_PACKET: Bytes = Bytes::new(65_535);
/// The least of sizes that can't be 0.
pub(crate) const BYTE: Bytes = Bytes::new(1);

/// A value within `low..=high`; a float that isn't a number is never within.
pub(crate) fn within<T: PartialOrd + Display>(value: T, low: T, high: T) -> Check {
    if low <= value && value <= high {
        return Ok(());
    }
    let message = format!("is {value}, expected {low} to {high}");
    fail("", message, format!("write a value from {low} to {high}"))
}

/// A probability that may be 0 but not 1.
pub(crate) fn loss(value: f64) -> Check {
    if (0.0..1.0).contains(&value) {
        return Ok(());
    }
    fail(
        "",
        format!("is {value}, expected a probability from 0 to below 1"),
        "write 0 for none",
    )
}

/// A share above 0 and at most 1.
pub(crate) fn share(value: f64) -> Check {
    if value > 0.0 && value <= 1.0 {
        return Ok(());
    }
    let hint = "1 is the whole capacity of the link; 0.5 is half";
    fail(
        "",
        format!("is {value}, expected above 0 and at most 1"),
        hint,
    )
}

/// A number above 0.
pub(crate) fn weight(value: f64) -> Check {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    let message = format!("is {value}, expected above 0");
    fail("", message, "1 is usual")
}

/// A rate at which packets can be sent.
pub(crate) fn rate(value: Rate) -> Check {
    within(value, SLOWEST, FASTEST)
}

/// A count of at least one.
pub(crate) fn positive(value: u32) -> Check {
    if value > 0 {
        return Ok(());
    }
    fail("", "is 0, expected at least 1", "write 1 or more")
}

/// A traffic class.
pub(crate) fn class(value: u8) -> Check {
    if (1..=7).contains(&value) {
        return Ok(());
    }
    let message = format!("is {value}, expected 1 to 7");
    fail("", message, "3 is usual; class 0 is for control")
}

/// A span of time, zero included.
pub(crate) fn span(profile: Profile, value: Duration) -> Check {
    if value > LONGEST {
        return fail(
            "",
            format!("is {value}, expected at most {LONGEST}"),
            "check the unit",
        );
    }
    if profile == Profile::HpccNs3 && !value.as_ps().is_multiple_of(1000) {
        let message = format!("is {value}, expected whole nanoseconds under profile \"hpcc-ns3\"");
        return fail("", message, "round it, or use profile \"exact\"");
    }
    Ok(())
}

/// A span of time above zero.
pub(crate) fn positive_span(profile: Profile, value: Duration) -> Check {
    if value.is_zero() {
        return fail(
            "",
            "is 0, expected a time above 0",
            "write a time such as \"1us\"",
        );
    }
    span(profile, value)
}

/// The size of a message; the simulator that profile hpcc-ns3 follows counts its bytes in 32 bits, too.
pub(crate) fn message_size(value: Bytes) -> Check {
    let most = crate::sizes::LARGEST_MESSAGE;
    if value.is_zero() {
        return fail(
            "",
            "is 0, expected at least 1 byte",
            "write a size such as \"1MB\"",
        );
    }
    if value > most {
        return fail(
            "",
            format!("is {value}, expected at most {most}, what a work request can hold"),
            "make several messages of it",
        );
    }
    Ok(())
}

/// One parameter of congestion control.
pub(crate) fn obeys(profile: Profile, rule: &Rule) -> Check {
    match *rule {
        Rule::Within { value, low, high } => within(value, low, high),
        Rule::Share(value) => share(value),
        Rule::Count { value, low, high } => within(value, low, high),
        Rule::Rate(value) | Rule::Floor(value) => rate(value),
        Rule::Step(value) => within(value, Rate::ZERO, FASTEST),
        Rule::Period(value) => positive_span(profile, value),
        Rule::Span(value) => span(profile, value),
        Rule::Holds { holds: true, .. } => Ok(()),
        Rule::Holds { expected, .. } => {
            let message = format!("doesn't fit, expected {expected}");
            fail(
                "",
                message,
                "see docs/scenario.md for the range of every key",
            )
        }
    }
}
