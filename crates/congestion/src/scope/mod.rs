//! Which traffic shares one controller, and who holds it to that.
//!
//! Algorithm and scope are separate choices: every algorithm runs in every scope. Under [`Scope::Qp`] a
//! driver gives each queue pair a [`Controller`](crate::Controller) of its own. Under the scopes that
//! share, the NIC has an [`Enforcer`]; under [`Scope::Tenant`] receivers divide their links beside
//! ([`dasr`](crate::dasr)).

mod config;
mod debt;
mod enforcer;
mod history;
mod lane;
mod pair;
mod share;
mod tenant;

use core::fmt;

pub use config::Config;
pub use enforcer::{Enforcer, Offer, SenderId, Sent, Setting, Weight};
pub use history::History;
pub use pair::STATE_BYTES;
pub use share::{Grant, Share};
pub use tenant::shares;

/// The traffic that shares one controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Scope {
    /// No control: every queue pair sends at line rate.
    None,
    /// A queue pair, as the RoCE specifications have it.
    #[default]
    Qp,
    /// Source and destination, each queue pair at the full rate, as ConnectX-5 NICs do.
    DestinationUnsplit,
    /// Source and destination; their queue pairs divide the rate.
    Pair,
    /// Tenant, source and destination; NICs divide uplinks and receivers their downlinks among tenants.
    Tenant,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 5] = [
        Self::None,
        Self::Qp,
        Self::DestinationUnsplit,
        Self::Pair,
        Self::Tenant,
    ];

    /// The name used in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Qp => "qp",
            Self::DestinationUnsplit => "destination-unsplit",
            Self::Pair => "pair",
            Self::Tenant => "tenant",
        }
    }

    /// Whether queue pairs share controllers, so that an [`Enforcer`] has them.
    pub const fn is_shared(self) -> bool {
        matches!(self, Self::DestinationUnsplit | Self::Pair | Self::Tenant)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
