//! Hosts that misuse pauses: they pause what their switch sends to them.

use fairlane_scenario::PauseFault;
use fairlane_units::{Bytes, Duration, NodeId, Rate, Time};

/// The longest pause that one frame asks for: 65535 times the time of 512 bits (IEEE 802.3, annex
/// 31B.2). A host repeats its frame when half of it has passed.
const LONGEST_PAUSE: Bytes = Bytes::new(65_535 * 512 / 8);

/// One host's pauses.
#[derive(Clone, Copy, Debug)]
struct Storm {
    host: NodeId,
    class: u8,
    duration: Duration,
    period: Option<Duration>,
    /// When the pause that comes next, or that is on, begins.
    begin: Time,
    /// When the next frame is sent; nothing once all have been.
    next: Option<Time>,
}

/// The pauses of all hosts that misuse them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Storms {
    storms: Vec<Storm>,
    /// The latest end of a pause that has begun.
    latest_end: Option<Time>,
}

impl Storms {
    pub(crate) fn new(faults: &[PauseFault]) -> Self {
        let storm = |fault: &PauseFault| {
            let begin = Time::ZERO + fault.start;
            Storm {
                host: NodeId::new(fault.host),
                class: fault.class,
                duration: fault.duration,
                period: fault.period,
                begin,
                next: Some(begin),
            }
        };
        Self {
            storms: faults.iter().map(storm).collect(),
            latest_end: None,
        }
    }

    /// Leaves only hosts that are `here`.
    pub(crate) fn keep(&mut self, here: impl Fn(NodeId) -> bool) {
        self.storms.retain(|storm| here(storm.host));
    }

    /// Whether a host was pausing at `now` or up to `before` earlier.
    pub(crate) fn were_on(&self, now: Time, before: Duration) -> bool {
        self.latest_end
            .is_some_and(|end| end.saturating_add(before) > now)
    }

    /// The frames that are due: of which host on a link of which `rate`, in which class, and whether it pauses.
    pub(crate) fn due(
        &mut self,
        now: Time,
        rate: impl Fn(NodeId) -> Rate,
    ) -> Vec<(NodeId, u8, bool)> {
        let mut frames = Vec::new();
        for storm in self
            .storms
            .iter_mut()
            .filter(|storm| storm.next == Some(now))
        {
            let repeat = LONGEST_PAUSE.serialization(rate(storm.host)) / 2;
            self.latest_end = self.latest_end.max(Some(storm.begin + storm.duration));
            frames.push((storm.host, storm.class, storm.advance(now, repeat)));
        }
        frames
    }

    /// When the next frame is due.
    pub(crate) fn next(&self) -> Option<Time> {
        self.storms.iter().filter_map(|storm| storm.next).min()
    }
}

impl Storm {
    /// The frame that is due, and what comes after it when frames are repeated every `repeat`:
    /// whether it pauses, or ends the pause.
    fn advance(&mut self, now: Time, repeat: Duration) -> bool {
        let end = self.begin + self.duration;
        let pauses = now < end;
        self.next = if pauses {
            Some(now.saturating_add(repeat).min(end))
        } else {
            self.period.map(|period| {
                self.begin = self.begin.saturating_add(period);
                self.begin
            })
        };
        pauses
    }
}
