//! Notices runs that can't end.

use fairlane_scenario::Scenario;
use fairlane_units::{Duration, Time};

use crate::waits::Circle;

/// Looks from time to time whether anything has progressed.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    /// How often it looks for circles of waits.
    pub(crate) interval: Duration,
    /// How often it looks whether anything has been placed.
    patience: Duration,
    /// When it does so next.
    judges: Time,
    /// Bytes placed at receivers when it last did.
    pub(crate) placed: u64,
    /// When it last saw that something had moved, or could move by itself.
    pub(crate) since: Time,
    /// The circle that it saw last, and when it saw that first.
    circle: Circle,
    seen: Time,
    /// How long it takes until ports ignore pauses, which ends a circle.
    watchdog: Duration,
}

impl Watch {
    /// Looks every 10 ms, or 20 base round trips on slow fabrics; for circles of waits as often as the scenario says.
    pub(crate) fn new(scenario: &Scenario, base_rtt: Duration) -> Self {
        let patience = Duration::from_ms(10).max(base_rtt.saturating_mul(20));
        let asked = scenario.output.deadlock_interval;
        Self {
            interval: asked.map_or(patience, |asked| asked.min(patience)),
            patience,
            judges: Time::ZERO,
            placed: 0,
            since: Time::ZERO,
            circle: Circle::new(),
            seen: Time::ZERO,
            watchdog: scenario.switch.pfc.watchdog.unwrap_or_default(),
        }
    }

    /// The run begins; returns when it looks first.
    pub(crate) fn begin(&mut self, first: Time) -> Time {
        self.since = first;
        self.judges = first.saturating_add(self.patience);
        first.saturating_add(self.interval)
    }

    /// Whether it is time to look whether anything has been placed.
    pub(crate) fn judges(&mut self, now: Time) -> bool {
        let due = now >= self.judges;
        if due {
            self.judges = now.saturating_add(self.patience);
        }
        due
    }

    /// Whether a circle is as it was when it was looked at last.
    pub(crate) fn stands(&mut self, now: Time, circle: &Circle) -> bool {
        if *circle != self.circle {
            (self.circle, self.seen) = (circle.clone(), now);
            return false;
        }
        !circle.is_empty() && now.saturating_since(self.seen) > self.watchdog
    }
}
