//! A limit on bytes in flight beside the rate.

use fairlane_units::{Bytes, Rate};

/// Whether and how bytes in flight are limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum WindowMode {
    /// No limit.
    #[default]
    None,
    /// One bandwidth-delay product.
    Fixed,
    /// One bandwidth-delay product, scaled by current rate over line rate.
    Scaled,
}

/// The window of one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    mode: WindowMode,
    base: Bytes,
    line_rate: Rate,
}

impl Window {
    /// A window of `base` bytes at `line_rate`.
    pub const fn new(mode: WindowMode, base: Bytes, line_rate: Rate) -> Self {
        Self {
            mode,
            base,
            line_rate,
        }
    }

    /// The bytes that may be in flight at `rate`, rounded down and at least one.
    #[inline]
    pub fn limit(&self, rate: Rate) -> Bytes {
        match self.mode {
            WindowMode::None => Bytes::new(u64::MAX),
            WindowMode::Fixed => self.base.max(Bytes::new(1)),
            WindowMode::Scaled => self.scaled(rate),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "at most the base, as rate <= line rate"
    )]
    fn scaled(&self, rate: Rate) -> Bytes {
        let (base, line) = (self.base.get(), self.line_rate.as_bps());
        let bytes = match base.checked_mul(rate.as_bps()) {
            Some(product) => product / line,
            None => (u128::from(base) * u128::from(rate.as_bps()) / u128::from(line)) as u64,
        };
        Bytes::new(bytes.max(1))
    }
}
