//! The rates that messages may be sent at, looked at now and then.

use fairlane_network::log::Log;
use fairlane_units::{Duration, Rate, Time};

use crate::RateRecord;

/// Records the rates of messages under way as they change.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    pub(crate) interval: Duration,
    /// The rate of each message when it was last looked at, zero before.
    known: Vec<Rate>,
    pub(crate) records: Log<RateRecord>,
}

impl Rates {
    pub(crate) fn new(interval: Duration, messages: usize) -> Self {
        Self {
            interval,
            known: vec![Rate::ZERO; messages],
            records: Log::default(),
        }
    }

    /// Takes in a look at a message; what hasn't changed isn't recorded.
    pub(crate) fn see(&mut self, event: fairlane_engine::Event, record: RateRecord) {
        let known = &mut self.known[record.message.index()];
        if std::mem::replace(known, record.rate) == record.rate {
            return;
        }
        // Parts look at the same time, each at messages of its own.
        self.records.order = record.message.get();
        self.records.push(event, record);
    }

    /// When it looks next.
    pub(crate) fn next(&self, now: Time) -> Time {
        now.saturating_add(self.interval)
    }
}
