//! Rows of the time series.

use fairlane_units::Time;

use crate::PortSeries;
use crate::events::control;
use crate::world::World;

impl World {
    pub(crate) fn on_sample(&mut self) {
        let now = self.net.now();
        self.add_row(self.sampler.next - self.sampler.series.interval);
        self.sampler.next = now + self.sampler.series.interval;
        self.net
            .schedule_control(self.sampler.next, control::SAMPLE);
    }

    /// Adds a row for the interval that began at `begin` and ends now.
    fn add_row(&mut self, begin: Time) {
        let now = self.net.now();
        if let Some(chosen) = &mut self.chosen {
            chosen.before_all(self.net.sampled_ports());
        }
        self.net.end_interval(now - begin);
        let several = self.net.counters().ledger.is_some();
        let tenants = 0..self.tenants.len();
        let hosts = &self.hosts;
        self.placed
            .add_row(tenants.map(|tenant| hosts.placed_by(tenant, several)));
        if self.sampler.add_row(self.net.sampled_ports(), now) {
            self.placed.halve();
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
