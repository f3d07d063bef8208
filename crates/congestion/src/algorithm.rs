//! The algorithms by name, and their parameters.

use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

use crate::{dcqcn, fixed, hpcc};

/// A congestion control algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Algorithm {
    /// A constant rate, deaf to the network.
    Fixed,
    /// DCQCN: marks from switches, timers at the sender.
    Dcqcn,
    /// HPCC: in-band telemetry from every hop.
    Hpcc,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 3] = [Self::Fixed, Self::Dcqcn, Self::Hpcc];

    /// The name used in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Dcqcn => "dcqcn",
            Self::Hpcc => "hpcc",
        }
    }

    /// Whether packets must collect telemetry for it.
    pub const fn needs_telemetry(self) -> bool {
        matches!(self, Self::Hpcc)
    }

    /// Whether it reacts to marks from switches.
    pub const fn needs_marks(self) -> bool {
        matches!(self, Self::Dcqcn)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;
    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or(UnknownAlgorithm)
    }
}

/// No algorithm has this name; [`Algorithm::ALL`] lists those that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm;

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown congestion control; known:")?;
        Algorithm::ALL
            .iter()
            .try_for_each(|known| write!(f, " {known}"))
    }
}

impl core::error::Error for UnknownAlgorithm {}

/// One algorithm with its parameters, shared by all its controllers.
#[derive(Clone, Debug)]
pub enum Params {
    /// See [`fixed`].
    Fixed(fixed::Config),
    /// See [`dcqcn`].
    Dcqcn(Arc<dcqcn::Config>),
    /// See [`hpcc`].
    Hpcc(Arc<hpcc::Config>),
}

impl Params {
    /// The algorithm with its default parameters.
    pub fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Fixed => Self::Fixed(fixed::Config::default()),
            Algorithm::Dcqcn => Self::Dcqcn(Arc::default()),
            Algorithm::Hpcc => Self::Hpcc(Arc::default()),
        }
    }
}
