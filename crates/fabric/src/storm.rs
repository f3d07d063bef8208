//! Hosts that misuse pauses: they pause what their switch sends to them.

use fairlane_scenario::PauseFault;
use fairlane_units::{Bytes, Duration, NodeId, Rate, Time};

/// The longest pause that one frame asks for: 65535 times the time of 512 bits (IEEE 802.3, annex
/// 31B.2). A host repeats its frame when half of it has passed.
const LONGEST_PAUSE: Bytes = Bytes::new(65_535 * 512 / 8);

/// The end of a pause lets packets through; what hasn't moved after so many waits for something else.
const MOST_PAUSES: u64 = 100;

/// One host's pauses.
#[derive(Clone, Copy, Debug)]
struct Storm {
    /// Its place among all of the fabric.
    number: u32,
    host: NodeId,
    class: u8,
    /// When the first one begins.
    first: Time,
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
}

impl Storms {
    pub(crate) fn new(faults: &[PauseFault]) -> Self {
        let storm = |(number, fault): (u32, &PauseFault)| {
            let begin = Time::ZERO + fault.start;
            Storm {
                number,
                host: NodeId::new(fault.host),
                class: fault.class,
                first: begin,
                duration: fault.duration,
                period: fault.period,
                begin,
                next: Some(begin),
            }
        };
        Self {
            storms: (0..).zip(faults).map(storm).collect(),
        }
    }

    /// Leaves only hosts that are `here`.
    pub(crate) fn keep(&mut self, here: impl Fn(NodeId) -> bool) {
        self.storms.retain(|storm| here(storm.host));
    }

    /// Whether the end of a pause may have freed, or may yet free, what has been stuck since then: a host is
    /// pausing, or was up to `before` ago, and few pauses have ended in the meantime.
    pub(crate) fn may_free(&self, since: Time, now: Time, before: Duration) -> bool {
        self.storms.iter().any(|storm| {
            let fresh = |end: Time| end.saturating_add(before) > now;
            storm.latest_end(now).is_some_and(fresh)
                && storm.ended(now) - storm.ended(since) < MOST_PAUSES
        })
    }

    /// The frames that are due, each with the number of its storm: of which host on a link of which `rate`, in which class, and whether it pauses.
    pub(crate) fn due(
        &mut self,
        now: Time,
        rate: impl Fn(NodeId) -> Rate,
    ) -> Vec<(u32, NodeId, u8, bool)> {
        let mut frames = Vec::new();
        for storm in self
            .storms
            .iter_mut()
            .filter(|storm| storm.next == Some(now))
        {
            let repeat = LONGEST_PAUSE.serialization(rate(storm.host)) / 2;
            let pauses = storm.advance(now, repeat);
            frames.push((storm.number, storm.host, storm.class, pauses));
        }
        frames
    }

    /// When the next frame is due.
    pub(crate) fn next(&self) -> Option<Time> {
        self.storms.iter().filter_map(|storm| storm.next).min()
    }
}

impl Storm {
    /// How many of its pauses begin within `span` of the first one, that one included.
    fn within(&self, span: Duration) -> u64 {
        let further = self.period.map(|period| span.as_ps() / period.as_ps());
        1 + further.unwrap_or(0)
    }

    /// When the latest pause that has begun ends.
    fn latest_end(&self, now: Time) -> Option<Time> {
        let passed = (now >= self.first).then(|| now - self.first)?;
        let periods = self.within(passed) - 1;
        let later = self.period.unwrap_or_default().saturating_mul(periods);
        Some((self.first.saturating_add(later)).saturating_add(self.duration))
    }

    /// How many pauses have ended.
    fn ended(&self, by: Time) -> u64 {
        let first = self.first.saturating_add(self.duration);
        if by < first {
            return 0;
        }
        self.within(by - first)
    }

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
