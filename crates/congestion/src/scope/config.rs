//! Parameters of scope `tenant`.

use alloc::vec;
use alloc::vec::Vec;

use super::Scope;
use crate::dasr::{self, Mode};
use crate::{Limit, Parameters};

/// Parameters of scope `tenant`; `docs/isolation.md` has the rules.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Config {
    /// Whether tenants take turns at a NIC's uplink, by weight.
    pub turns: bool,
    /// Whether receivers divide their downlinks among tenants by weight, then among a tenant's senders by demand. Sets
    /// `congestion.dasr.mode` to `"demand-aware"` unless another is stated; controllers then get no feedback of that
    /// link. Needs `transport.service = "rc"`.
    pub shares: bool,
    /// Bytes in flight that a tenant may have to a receiver before the receiver has sent a share, in bandwidth-delay
    /// products. Replaces `congestion.dasr.first_burst`; `draining` is then at most 0.9.
    pub unsolicited: f64,
    /// Pairs that a host remembers, divided evenly among its tenants; new ones replace those idle longest.
    pub pairs: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            turns: true,
            shares: true,
            unsolicited: 1.0,
            pairs: 4096,
        }
    }
}

impl Config {
    /// How receivers apportion their links under a scope, where `stated` is what was asked for apart from it.
    pub fn apportioning(&self, scope: Scope, stated: &dasr::Params) -> dasr::Params {
        if scope != Scope::Tenant || !self.shares {
            return stated.clone();
        }
        let mode = match stated.mode {
            Mode::Off => Mode::DemandAware,
            stated => stated,
        };
        dasr::Params {
            mode,
            first_burst: self.unsolicited,
            draining: stated.draining.min(DRAINING),
            ..stated.clone()
        }
    }
}

/// The part of its link that a receiver divides while first bursts may stand in front of it: one bandwidth-delay product drains
/// in ten round trips, where others' short messages wait behind it.
const DRAINING: f64 = 0.9;

impl Parameters for Config {
    fn limits(&self) -> Vec<Limit> {
        vec![
            Limit::within("unsolicited", self.unsolicited, 0.0, 16.0),
            Limit::count("pairs", self.pairs.into(), 1, 1 << 20),
        ]
    }
}
