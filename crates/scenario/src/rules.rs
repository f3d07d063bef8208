//! Rules of single values: what they check, and what the schema says of them in the annotation `x-range`, for values that
//! aren't plain numbers. Their mistakes have the place of what is inside of the value, if any.

use std::fmt::Display;

use fairlane_congestion::{Parameters, Rule};
use fairlane_hpcc_files::{LONGEST_DELAY, Times};
use fairlane_units::{Bytes, Duration, Rate};
use schemars::Schema;
use serde_json::{Map, Value};

use crate::error::ensure;
use crate::profile::Profile;
use crate::section::{Check, Section};
pub(crate) use fairlane_hpcc_files::{FASTEST, SLOWEST};

/// The largest message: the length of a work request has 32 bits on the wire (RETH, IBTA volume 1, section 9.3.3; ports of
/// hardware state 2^31 as `max_msg_sz`). Whoever transfers more posts several.
pub const LARGEST_MESSAGE: Bytes = Bytes::new(u32::MAX as u64);

/// Longer spans could overflow sums of picoseconds in 64 bits.
pub(crate) const LONGEST: Duration = Duration::from_ms(1_000_000_000);
/// The largest buffer or threshold.
pub(crate) const LARGEST: Bytes = Bytes::new(1 << 40);
/// The longest IP packet.
pub(crate) const LONGEST_PACKET: Bytes = Bytes::new(65_535);
/// The least of sizes that can't be 0.
pub(crate) const BYTE: Bytes = Bytes::new(1);

/// Declares rules: of each the type of values, what the schema says, and what is checked of a value unless it is left out.
/// Functions of its name check it and, in `says`, say it.
macro_rules! rules {
    ($(
        $(#[$doc:meta])*
        $rule:ident($profile:pat_param, $value:ident: $type:ty), $says:expr => { $($check:tt)* }
    )*) => {
        $(
            $(#[$doc])*
            pub(crate) fn $rule<'v>(
                $profile: Profile,
                value: impl Into<Option<&'v $type>>,
            ) -> Check {
                if let Some(&$value) = value.into() {
                    $($check)*
                }
                Ok(())
            }
        )*

        pub(crate) mod says {
            use super::*;

            pub(crate) use super::{
                between as within, nothing as parameters, nothing as stated_parameters, nothing as table,
            };

            $(pub(crate) fn $rule() -> String {
                $says.into()
            })*
        }
    };
}

rules! {
    /// A time, zero included.
    span(profile, value: Duration), nothing() => {
        ensure!(value <= LONGEST, "", "is {value}, expected at most {LONGEST}"; "check the unit");
        ensure!(profile != Profile::HpccNs3 || value.as_ps().is_multiple_of(1000), "",
            "is {value}, expected whole nanoseconds under profile \"hpcc-ns3\"";
            "round it, or use profile \"exact\"");
    }
    /// A time above zero.
    period(profile, value: Duration), "above 0" => {
        ensure!(!value.is_zero(), "",
            "is 0, expected a time above 0"; "write a time such as \"1us\"");
        span(profile, &value)?;
    }
    /// What light takes along a link.
    delay(profile, value: Duration), format!("at most {LONGEST_DELAY}") => {
        span(profile, &value)?;
        range(value, Times::from(profile).shortest_delay(), LONGEST_DELAY)?;
    }
    /// A rate at which packets can be sent.
    rate(_, value: Rate), between(SLOWEST, FASTEST) => {
        range(value, SLOWEST, FASTEST)?;
    }
    /// The size of a message; the simulator that profile hpcc-ns3 follows counts its bytes in 32 bits, too.
    message(_, value: Bytes), between(BYTE, LARGEST_MESSAGE) => {
        ensure!(!value.is_zero(), "",
            "is 0, expected at least 1 byte"; "write a size such as \"1MB\"");
        ensure!(value <= LARGEST_MESSAGE, "",
            "is {value}, expected at most {LARGEST_MESSAGE}, what a work request can hold";
            "make several messages of it");
    }
    /// A count of at least one.
    positive(_, value: u32), "at least 1" => {
        ensure!(value > 0, "", "is {value}, expected at least 1"; "write 1 or more");
    }
    /// A traffic class.
    class(_, value: u8), between(1, 7) => {
        ensure!((1..=7).contains(&value), "",
            "is {value}, expected 1 to 7"; "3 is usual; class 0 is for control");
    }
    /// A share above 0 and at most 1.
    share(_, value: f64), "above 0, at most 1" => {
        ensure!(value > 0.0 && value <= 1.0, "", "is {value}, expected above 0 and at most 1";
            "1 is the whole capacity of the link; 0.5 is half");
    }
    /// What shares are in proportion to.
    weight(_, value: f64), "above 0" => {
        ensure!(value > 0.0 && value.is_finite(), "", "is {value}, expected above 0"; "1 is usual");
    }
    /// A probability that may be 0 but not 1.
    loss(_, value: f64), "0 to below 1" => {
        ensure!((0.0..1.0).contains(&value), "",
            "is {value}, expected a probability from 0 to below 1"; "write 0 for none");
    }
}

/// From `low` to `high`.
pub(crate) fn within<'v, T>(_: Profile, value: impl Into<Option<&'v T>>, low: T, high: T) -> Check
where
    T: Copy + PartialOrd + Display + 'v,
{
    value
        .into()
        .map_or(Ok(()), |value| range(*value, low, high))
}

/// A value within `low..=high`; a float that isn't a number is never within.
pub(crate) fn range<T: PartialOrd + Display>(value: T, low: T, high: T) -> Check {
    ensure!(low <= value && value <= high, "",
        "is {value}, expected {low} to {high}"; "write a value from {low} to {high}");
    Ok(())
}

/// A table, whose keys have their own rules, or a list of them.
pub(crate) fn table(profile: Profile, value: &impl Section) -> Check {
    value.check(profile)
}

/// Parameters, which know their own rules.
pub(crate) fn parameters(profile: Profile, value: &impl Parameters) -> Check {
    let mut limits = value.limits().into_iter();
    limits.try_for_each(|limit| obeys(profile, &limit.rule).map_err(|error| error.at(limit.key)))
}

/// Parameters, if they are stated.
pub(crate) fn stated_parameters(profile: Profile, value: &Option<impl Parameters>) -> Check {
    value
        .iter()
        .try_for_each(|value| parameters(profile, value))
}

/// One parameter of congestion control.
fn obeys(profile: Profile, rule: &Rule) -> Check {
    match *rule {
        Rule::Within { value, low, high } => range(value, low, high),
        Rule::Count { value, low, high } => range(value, low, high),
        Rule::Share(value) => share(profile, &value),
        Rule::Rate(value) | Rule::Floor(value) => rate(profile, &value),
        Rule::Step(value) => range(value, Rate::ZERO, FASTEST),
        Rule::Period(value) => period(profile, &value),
        Rule::Span(value) => span(profile, &value),
        Rule::Holds { holds, expected } => {
            ensure!(holds, "", "doesn't fit, expected {expected}";
                "see docs/scenario.md for the range of every key");
            Ok(())
        }
    }
}

/// What the schema says of one.
pub(crate) fn text(rule: &Rule) -> String {
    let any = u64::from(u32::MAX);
    match *rule {
        Rule::Count { low: 0, high, .. } if high == any => nothing(),
        Rule::Count { low, high, .. } if high == any => format!("at least {low}"),
        Rule::Count { low, high, .. } => between(low, high),
        Rule::Within { low, high, .. } => between(low, high),
        Rule::Share(_) => says::share(),
        Rule::Rate(_) => says::rate(),
        Rule::Floor(_) => {
            format!("{SLOWEST} to the slowest host link; left out, at most a tenth of that")
        }
        Rule::Step(_) => between(Rate::ZERO, FASTEST),
        Rule::Period(_) => says::period(),
        Rule::Span(_) => says::span(),
        Rule::Holds { expected, .. } => expected.into(),
    }
}

/// Sizes, rates and times have no sign: of a range from zero only the end is said.
pub(crate) fn between(low: impl Display, high: impl Display) -> String {
    match low.to_string().strip_prefix('0') {
        Some(unit) if unit.starts_with(char::is_alphabetic) => format!("at most {high}"),
        _ => format!("{low} to {high}"),
    }
}

pub(crate) const fn nothing() -> String {
    String::new()
}

/// Annotates a key with what its rule says.
pub(crate) fn annotate(says: String) -> impl FnMut(&mut Schema) {
    move |key| add(key.ensure_object(), &says)
}

/// Adds to what is said of a key already.
pub(crate) fn add(key: &mut Map<String, Value>, says: &str) {
    if says.is_empty() {
        return;
    }
    let before = key.get("x-range").and_then(Value::as_str);
    let all = before.map_or_else(|| says.to_owned(), |before| format!("{before}; {says}"));
    key.insert("x-range".into(), all.into());
}
