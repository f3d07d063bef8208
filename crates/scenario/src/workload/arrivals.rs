//! Messages at random times: what they offer to links, and when they come.

use fairlane_engine::Stream;
use fairlane_units::{Duration, NodeId, Time};

use crate::section::words;

words! {
    /// Which links have the load of messages at random times.
    LoadOf = Hosts {
        /// The links of sources.
        Hosts "hosts",
        /// The link between switches that is expected to carry most for its rate.
        Fabric "fabric",
    }
}

/// What a workload whose messages come at random times offers to links.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// When it begins.
    pub start: Duration,
    /// How long messages come.
    pub duration: Duration,
    /// The load that is stated.
    pub load: f64,
    /// The links that it is stated of.
    pub load_of: LoadOf,
    /// The hosts that send data, with what each would send in bits per second at a load of 1 of the links of hosts.
    pub senders: Vec<(NodeId, f64)>,
    /// The hosts that it goes to, in equal parts.
    pub receivers: Vec<NodeId>,
    /// Whether senders and receivers are those of requests, whose data goes the other way.
    pub reads: bool,
}

/// The time an exponentially distributed gap of `mean` picoseconds later, to the nearest picosecond.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the gap is rounded and never negative; the cast saturates"
)]
pub(super) fn after_gap(time: Time, mean: f64, stream: &mut Stream) -> Time {
    // 1 - u is never 0, of which there is no logarithm.
    let gap = -libm::log(1.0 - stream.next_f64()) * mean;
    time.saturating_add(Duration::from_ps(libm::round(gap) as u64))
}

/// An index below `count`.
#[expect(clippy::cast_possible_truncation, reason = "below a number that fits")]
pub(super) fn below(stream: &mut Stream, count: usize) -> usize {
    stream.below(count as u64) as usize
}
