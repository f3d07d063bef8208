//! Events of the run as a whole.

use fairlane_network::waking::INDEX_BITS;

/// Added to the number of a host in events that wake a [client](fairlane_network::waking::Waking::Client): they wake the thread
/// that drives its connections with several paths.
pub(crate) const THREAD: u32 = 1 << (INDEX_BITS - 1);

/// Indices of [control events](fairlane_network::waking::Waking::Control) beside [the network's own](fairlane_network::waking::timer).
pub(crate) mod control {
    /// The next messages are due.
    pub(crate) const DUE: u32 = 0;
    /// Messages that are due are posted.
    pub(crate) const POST: u32 = 1;
    /// A message whose predecessor has arrived reaches its start time.
    pub(crate) const DELAYED: u32 = 2;
    /// A link goes down or comes back.
    pub(crate) const FAULT: u32 = 3;
    /// The time series gets a row.
    pub(crate) const SAMPLE: u32 = 4;
    /// The periodic check for lack of progress.
    pub(crate) const WATCH: u32 = 5;
    /// The scenario's end.
    pub(crate) const STOP: u32 = 6;
    /// A host that misuses pauses sends a frame.
    pub(crate) const STORM: u32 = 7;
    /// A notice has arrived out of band.
    pub(crate) const NOTICE: u32 = 9;
    /// Rates of messages are recorded.
    pub(crate) const RATES: u32 = 10;
    /// The time series of chosen ports gets a row.
    pub(crate) const CHOSEN: u32 = 12;
}
