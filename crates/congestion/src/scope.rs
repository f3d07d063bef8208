//! Which traffic shares one controller.
//!
//! Algorithm and scope are separate choices: every algorithm runs in every scope. A driver keeps
//! controllers in a table and asks the scope for the key of each sender.

use fairlane_units::{HostId, QpNumber, TenantId};

/// The traffic that shares one controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Scope {
    /// One queue pair, as the RoCE specifications have it.
    #[default]
    Qp,
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// On whose behalf.
    pub tenant: TenantId,
    /// From where.
    pub source: HostId,
    /// To where.
    pub destination: HostId,
    /// On which queue pair of the source.
    pub qp: QpNumber,
}

/// Senders with equal keys share a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ControllerKey {
    /// The queue pair's own.
    Qp(HostId, QpNumber),
}

impl Scope {
    /// The controller of `sender`.
    pub const fn key(self, sender: &Sender) -> ControllerKey {
        match self {
            Self::Qp => ControllerKey::Qp(sender.source, sender.qp),
        }
    }

    /// The name used in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Qp => "qp",
        }
    }
}
