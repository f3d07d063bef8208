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

/// A decimal number as people and programs write it: digits, perhaps with a sign, a point, an exponent, and `_` between
/// digits (`+5`, `.5`, `5e-05`, `1_000`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: i32,
}

impl<'a> Decimal<'a> {
    /// Splits a text into a number and what stands behind it, without blanks around either; `None` if the text
    /// doesn't begin with a number.
    pub fn split(text: &'a str) -> Option<(Self, &'a str)> {
        let text = text.trim();
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, rest) = digits(rest);
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(behind) => digits(behind),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (exponent, rest) = exponent(rest);
        let number = Self {
            negative,
            whole,
            fraction,
            exponent,
        };
        Some((number, rest.trim_start()))
    }

    /// Reads a text that is a number and nothing else.
    pub fn read(text: &'a str) -> Option<Self> {
        Self::split(text)
            .filter(|(_, behind)| behind.is_empty())
            .map(|(number, _)| number)
    }

    /// The number, if it is whole, not negative and has at most 64 bits.
    pub fn whole(self) -> Option<u64> {
        self.times(1).ok()
    }

    /// The nearest double.
    pub fn as_f64(self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        let Self {
            whole,
            fraction,
            exponent,
            ..
        } = self;
        let text = alloc::format!("{sign}{whole}.{fraction}e{exponent}");
        let plain: String = text.chars().filter(|c| *c != '_').collect();
        // A point needs a digit on one side, and has one.
        plain.parse().unwrap_or(f64::NAN)
    }

    /// The number times `factor`, if that is whole, not negative and has at most 64 bits.
    pub(crate) fn times(self, factor: u64) -> Result<u64, &'static str> {
        match self.scaled(factor)? {
            (value, 0) => Ok(value),
            _ => Err(TOO_FINE),
        }
    }

    /// The number times `factor`, rounded to the nearest whole number, halves up; `None` if that is negative or has more than
    /// 64 bits.
    pub fn rounded(self, factor: u64) -> Option<u64> {
        let (value, half) = self.scaled(factor).ok()?;
        if half < 2 {
            Some(value)
        } else {
            value.checked_add(1)
        }
    }

    /// The number times `factor`, rounded down, and what is left: 0 nothing, 1 less than half, 2 half or more.
    fn scaled(self, factor: u64) -> Result<(u64, u8), &'static str> {
        let digits = self.whole.bytes().chain(self.fraction.bytes());
        let digits: alloc::vec::Vec<u8> = digits
            .filter(u8::is_ascii_digit)
            .map(|it| it - b'0')
            .collect();
        let fraction = self.fraction.bytes().filter(u8::is_ascii_digit).count();
        if digits.iter().all(|digit| *digit == 0) {
            return Ok((0, 0));
        }
        if self.negative {
            return Err("is negative");
        }
        // The value is 0.d1d2d3... x 10^point x factor; digits behind the point are divided out one by one.
        let point = i64::try_from(digits.len() - fraction).unwrap_or(i64::MAX);
        let point = point.saturating_add(i64::from(self.exponent));
        let before = usize::try_from(point).unwrap_or(0);
        let mut value: u128 = 0;
        let significant = digits.iter().copied().chain(core::iter::repeat(0));
        for digit in significant.take(before) {
            value = value * 10 + u128::from(digit);
            if value > u128::from(u64::MAX) {
                return Err(TOO_LARGE);
            }
        }
        let value = value * u128::from(factor);
        let zeros = usize::try_from(point.saturating_neg()).unwrap_or(0);
        let behind =
            core::iter::repeat_n(0, zeros.min(FINEST)).chain(digits.into_iter().skip(before));
        let (more, left) = fraction_times(behind, factor);
        let total = u64::try_from(value + u128::from(more)).map_err(|_| TOO_LARGE)?;
        Ok((total, left))
    }
}

/// With more zeros behind the point a number is nothing, whatever its unit: 2^64 has 20 digits.
const FINEST: usize = 64;
const TOO_LARGE: &str = "is too large";
const TOO_FINE: &str = "is finer than the smallest unit";

/// 0.d1d2d3... times `factor`, rounded down, and what is left: 0 nothing, 1 less than half, 2 half or more.
fn fraction_times(digits: impl Iterator<Item = u8>, factor: u64) -> (u64, u8) {
    let digits: alloc::vec::Vec<u8> = digits.collect();
    // From the last digit on: (digit x factor + carried) / 10, as by hand. Of what is divided out only the first
    // digit and whether anything follows matter.
    let (mut carried, mut first, mut follows) = (0u128, 0u8, false);
    for digit in digits.into_iter().rev() {
        let sum = u128::from(digit) * u128::from(factor) + carried;
        follows |= first != 0;
        first = (sum % 10) as u8;
        carried = sum / 10;
    }
    let left = match first {
        0 if !follows => 0,
        0..5 => 1,
        _ => 2,
    };
    (u64::try_from(carried).unwrap_or(u64::MAX), left)
}

/// Digits, and `_` between two of them; what stands behind.
fn digits(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    while is_digit(end)
        || (end > 0 && bytes.get(end) == Some(&b'_') && is_digit(end - 1) && is_digit(end + 1))
    {
        end += 1;
    }
    text.split_at(end)
}

/// An exponent such as `e-05`, 0 without one; what stands behind.
fn exponent(text: &str) -> (i32, &str) {
    let Some(behind) = text.strip_prefix(['e', 'E']) else {
        return (0, text);
    };
    let (negative, number) = match behind.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, behind.strip_prefix('+').unwrap_or(behind)),
    };
    let (digits, rest) = digits(number);
    if digits.is_empty() {
        return (0, text);
    }
    // Beyond this every number is too large, or nothing.
    const MOST: i32 = 1_000_000;
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    let value = digits.parse().unwrap_or(MOST).min(MOST);
    (if negative { -value } else { value }, rest)
}

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
    let (number, unit) = Decimal::split(text).ok_or_else(|| fail("has no number"))?;
    if number.negative {
        return Err(fail("is negative"));
    }
    if unit.is_empty() {
        return Err(fail("has no unit"));
    }
    if unit.starts_with('.') {
        return Err(fail("has two decimal points"));
    }
    let unit = match unit.strip_suffix('s') {
        Some("\u{b5}" | "\u{3bc}") => "us",
        _ => unit,
    };
    let scale = units.iter().find(|scale| scale.name == unit);
    let scale = scale.ok_or_else(|| fail("has an unknown unit"))?;
    number.times(scale.factor).map_err(fail)
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
