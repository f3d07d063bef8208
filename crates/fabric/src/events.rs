//! Which events about the run as a whole there are.

use fairlane_network::waking::INDEX_BITS;

/// Of [`Waking::Client`](fairlane_network::waking::Waking::Client), added to the number of a host: the thread that drives its connections with several paths.
pub(crate) const LIBRARY: u32 = 1 << (INDEX_BITS - 1);

/// Indices of [`Waking::Control`](fairlane_network::waking::Waking::Control) beside those of [the network](fairlane_network::waking::timer), 8 and 11.
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
    /// Has anything progressed?
    pub(crate) const WATCH: u32 = 5;
    /// The scenario's end.
    pub(crate) const STOP: u32 = 6;
    /// A host that misuses pauses sends a frame.
    pub(crate) const STORM: u32 = 7;
    /// A host hears of another out of band.
    pub(crate) const NOTICE: u32 = 9;
    /// Rates of messages are looked at.
    pub(crate) const RATES: u32 = 10;
    /// The time series of chosen ports gets a row.
    pub(crate) const CHOSEN: u32 = 12;
}
