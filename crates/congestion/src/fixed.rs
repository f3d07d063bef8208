//! A constant rate: the control that doesn't control.
//!
//! Useful as a baseline, for networks without congestion control, and for hand-computed cases.

use alloc::sync::Arc;
use alloc::vec::Vec;

use fairlane_units::{Rate, Time};

use crate::{Ack, CongestionControl, Environment, Limit, Needs, Parameters, Params};

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

impl Parameters for Config {
    fn limits(&self) -> Vec<Limit> {
        let rule = |rate| Limit::rate("rate", rate);
        self.rate.into_iter().map(rule).collect()
    }
}

impl Params {
    /// The line rate: what is left of any algorithm where nobody is controlled.
    pub fn uncontrolled() -> Self {
        Self::from(Config::default())
    }
}

/// A constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    rate: Rate,
}

impl CongestionControl for Fixed {
    type Config = Config;

    const TITLE: &'static str = "fixed rate";
    const NEEDS: Needs = Needs::NOTHING;

    fn new(config: Arc<Config>, environment: &Environment) -> Self {
        let rate = config.rate.map_or(environment.line_rate, |rate| {
            rate.min(environment.line_rate)
        });
        Self { rate }
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn on_ack(&mut self, _now: Time, _ack: &Ack<'_>) -> bool {
        false
    }
}
