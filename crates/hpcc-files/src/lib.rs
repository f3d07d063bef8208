//! Topologies and messages as text, in the formats of HPCC's ns-3 simulator and of those that descend from it.
//!
//! What this crate refuses: to open a file, to guess, to panic on any input. Every mistake is a [`Mistake`] that says in
//! which line it is, what was expected and what to do.
//!
//! [`Mistake`]: fairlane_units::Mistake
#![forbid(unsafe_code)]

pub mod flows;
pub mod lines;
pub mod ns3;
mod numbers;
mod topology;

pub use topology::{
    FASTEST, LONGEST_DELAY, LinkText, MOST_LINKS, MOST_NODES, SLOWEST, TopologyText,
};

/// How times are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// To the picosecond.
    Exact,
    /// Truncated to nanoseconds, as ns-3 does.
    Ns3,
}

impl Times {
    /// The shortest delay of a link: ns-3 knows links without; in exact time nothing travels that fast.
    pub const fn shortest_delay(self) -> fairlane_units::Duration {
        match self {
            Self::Exact => fairlane_units::Duration::from_ps(1),
            Self::Ns3 => fairlane_units::Duration::ZERO,
        }
    }
}
