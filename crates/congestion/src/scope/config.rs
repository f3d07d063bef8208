//! Parameters of scope `tenant`.

use fairlane_units::Bytes;

use super::Scope;
use crate::dasr::{self, Mode, sizes};
use crate::parameters;

parameters! {
    /// Parameters of scope `tenant`; `docs/isolation.md` has the rules.
    Config {
        /// Whether tenants take turns at a NIC's uplink, by weight.
        turns: bool = true,
        /// Whether receivers divide their downlinks among tenants by weight, then among a tenant's senders by demand. Sets
        /// `congestion.dasr.mode` to `"demand-aware"` unless another is stated; controllers then get no feedback of that
        /// link. Needs `transport.service = "rc"`.
        shares: bool = true,
        /// Bytes that a tenant may send to a receiver unasked, in bandwidth-delay products: those in flight before the
        /// receiver has sent a share, and what a pair saves for messages that are no larger. Replaces
        /// `congestion.dasr.first_burst`; `return_burst` is then at least 1, `draining` at most 1 less a tenth of this, but no
        /// less than 0.5.
        unsolicited: f64 = 0.5 => within(0.0, 16.0),
        /// Pairs that a host remembers, divided evenly among its tenants; new ones replace those idle longest.
        pairs: u32 = 4096 => count(1, 1 << 20),
    }
}

impl Config {
    /// What a pair may send ahead of its pace.
    pub(crate) fn ahead(&self, bdp: Bytes) -> Bytes {
        sizes(bdp, self.unsolicited)
    }

    /// The part of its link that a receiver divides while bursts may stand in front of it.
    fn draining(&self) -> f64 {
        (1.0 - self.unsolicited / DRAINS_IN).max(LEAST_DIVIDED)
    }

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
            return_burst: stated.return_burst.max(RETURN_BURST),
            draining: stated.draining.min(self.draining()),
            ..stated.clone()
        }
    }
}

/// What a tenant may have in flight as it comes back to a receiver whose share it remembers: a receiver that was heard a few round
/// trips ago is no stranger, and the next steps of a collective start there.
const RETURN_BURST: f64 = 1.0;

/// Round trips in which a burst that was unasked for drains, behind which others' short messages wait.
const DRAINS_IN: f64 = 10.0;

/// What a receiver divides in any case, however much may stand in front of it.
const LEAST_DIVIDED: f64 = 0.5;
