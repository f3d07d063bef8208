//! A constant rate: the control that doesn't control.
//!
//! Useful as a baseline, for networks without congestion control, and for hand-computed cases.

use fairlane_units::Rate;

use crate::Environment;

/// Parameters of the constant rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Config {
    /// The rate; left out, the line rate of the port.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub rate: Option<Rate>,
}

/// A constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    rate: Rate,
}

impl Fixed {
    /// The configured rate, at most the line rate.
    pub fn new(config: &Config, environment: &Environment) -> Self {
        let rate = config.rate.map_or(environment.line_rate, |rate| {
            rate.min(environment.line_rate)
        });
        Self { rate }
    }

    /// The sending rate.
    pub const fn rate(&self) -> Rate {
        self.rate
    }
}
