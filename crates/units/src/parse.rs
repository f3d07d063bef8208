//! Exact decimal text with a unit, shared by every quantity.

use alloc::string::String;
use core::fmt;

/// One unit: its name and how many base units it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) name: &'static str,
    pub(crate) factor: u64,
}

impl Scale {
    pub(crate) const fn new(name: &'static str, factor: u64) -> Self {
        Self { name, factor }
    }
}

/// Why a text isn't the quantity that was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    expected: &'static str,
    reason: &'static str,
}

impl ParseError {
    /// What would have been accepted, with an example.
    pub fn expected(&self) -> &'static str {
        self.expected
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" {}; expected {}",
            self.text, self.reason, self.expected
        )
    }
}

impl core::error::Error for ParseError {}

/// Reads `<decimal><unit>` exactly: a value that isn't a whole number of base units is an error.
pub(crate) fn read_scaled(
    text: &str,
    units: &[Scale],
    expected: &'static str,
) -> Result<u64, ParseError> {
    let fail = |reason| ParseError {
        text: text.into(),
        expected,
        reason,
    };
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err(fail("is negative"));
    }
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .ok_or_else(|| fail("has no unit"))?;
    let (number, unit) = trimmed.split_at(split);
    let unit = unit.trim_start();
    let unit = if unit == "\u{b5}s" { "us" } else { unit };
    let factor = units
        .iter()
        .find(|scale| scale.name == unit)
        .map(|scale| scale.factor)
        .ok_or_else(|| fail("has an unknown unit"))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return Err(fail("has no number"));
    }
    if fraction.contains('.') {
        return Err(fail("has two decimal points"));
    }
    scale_decimal(whole, fraction, factor).map_err(fail)
}

fn scale_decimal(whole: &str, fraction: &str, factor: u64) -> Result<u64, &'static str> {
    const TOO_LARGE: &str = "is too large";
    const TOO_FINE: &str = "is finer than the smallest unit";
    let digits = |text: &str| -> Result<u128, &'static str> {
        text.bytes().try_fold(0u128, |value, digit| {
            let next = value
                .checked_mul(10)
                .and_then(|v| v.checked_add(u128::from(digit - b'0')));
            next.ok_or(TOO_LARGE)
        })
    };
    let fraction = fraction.trim_end_matches('0');
    let power = u32::try_from(fraction.len())
        .ok()
        .and_then(|len| 10u128.checked_pow(len));
    let power = power.ok_or(TOO_FINE)?;
    let scaled = digits(fraction)?
        .checked_mul(u128::from(factor))
        .ok_or(TOO_FINE)?;
    if scaled % power != 0 {
        return Err(TOO_FINE);
    }
    let total = digits(whole)?
        .checked_mul(u128::from(factor))
        .and_then(|value| value.checked_add(scaled / power))
        .ok_or(TOO_LARGE)?;
    u64::try_from(total).map_err(|_| TOO_LARGE)
}

/// Writes `value` base units exactly, in the largest unit that keeps it at or above one.
pub(crate) fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[Scale]) -> fmt::Result {
    let smallest = units.len() - 1;
    let unit = units
        .iter()
        .find(|unit| value >= unit.factor)
        .unwrap_or(&units[smallest]);
    let (whole, rest) = (value / unit.factor, value % unit.factor);
    if rest == 0 {
        return write!(f, "{whole}{}", unit.name);
    }
    let width = unit.factor.ilog10() as usize;
    let digits = alloc::format!("{rest:0width$}");
    write!(f, "{whole}.{}{}", digits.trim_end_matches('0'), unit.name)
}
