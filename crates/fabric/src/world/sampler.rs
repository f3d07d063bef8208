//! Rows of the time series.

use fairlane_units::Time;

use crate::PortSeries;
use crate::waking::control;
use crate::world::World;

impl World {
    pub(crate) fn start_sampler(&mut self) {
        self.net
            .schedule_control(self.sampler.next, control::SAMPLE);
    }

    pub(crate) fn on_sample(&mut self) {
        let now = self.net.now();
        self.add_row(self.sampler.next - self.sampler.series.interval);
        self.sampler.next = now + self.sampler.series.interval;
        self.start_sampler();
    }

    /// Adds a row for the interval that began at `begin` and ends now.
    fn add_row(&mut self, begin: Time) {
        let now = self.net.now();
        self.end_interval(begin);
        if self.sampler.add_row(&mut self.net.ports, now) {
            if let Some(ledger) = &mut self.net.counters.ledger {
                ledger.halve();
            }
        }
    }

    /// Ends an interval that began at `begin`.
    fn end_interval(&mut self, begin: Time) {
        let span = self.net.engine.now() - begin;
        let (gap, largest) = (self.net.rules.gap, self.net.rules.largest());
        if self.net.counters.ledger.is_none() {
            return;
        }
        let placed: Vec<u64> = (0..self.tenants.len())
            .map(|tenant| self.hosts.heard_by(tenant).placed)
            .collect();
        if let Some(ledger) = &mut self.net.counters.ledger {
            ledger.end_interval(&self.net.ports, span, gap.into(), largest.into());
            ledger.end_placing(placed.into_iter());
        }
    }

    /// The series up to now, the last row perhaps a short one.
    pub(crate) fn take_series(&mut self) -> PortSeries {
        let now = self.net.now();
        let sampled = self.sampler.next - self.sampler.series.interval;
        if now > sampled {
            self.add_row(sampled);
        }
        std::mem::take(&mut self.sampler.series)
    }
}
