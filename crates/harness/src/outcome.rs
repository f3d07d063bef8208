//! How a run ended.

use std::fmt;

use fairlane_transport::Status;
use fairlane_units::Time;

/// What a run consisted of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Turns of the loop.
    pub events: u64,
    /// Packets sent.
    pub packets: u64,
    /// Packets that had been sent before.
    pub retransmitted: u64,
    /// Frames that were lost or altered on the way.
    pub lost: u64,
    /// Deadlines that fired.
    pub timeouts: u64,
    /// Work requests by how they ended, in the order of [`Status::ALL`].
    pub requests: [u64; Status::ALL.len()],
    /// Receives that ended.
    pub received: u64,
    /// When the last event was.
    pub end: Time,
}

impl std::ops::AddAssign for Statistics {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.packets += other.packets;
        self.retransmitted += other.retransmitted;
        self.lost += other.lost;
        self.timeouts += other.timeouts;
        for (sum, count) in self.requests.iter_mut().zip(other.requests) {
            *sum += count;
        }
        self.received += other.received;
        self.end = self.end.max(other.end);
    }
}

/// Why a program didn't do what it must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// When it was noticed.
    pub at: Time,
    /// What is wrong.
    pub violation: String,
    /// What happened before, if it was recorded.
    pub trace: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.trace {
            writeln!(f, "{line}")?;
        }
        write!(f, "{}: {}", self.at, self.violation)
    }
}

impl std::error::Error for Failure {}
