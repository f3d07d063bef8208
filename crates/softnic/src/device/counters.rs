//! What a device has counted.

use fairlane_units::QpNumber;

use super::Device;
use crate::counters::Counters;
use crate::engine::figures;
use crate::error::Error;

impl Device {
    /// What it has counted.
    pub fn counters(&self) -> Counters {
        let counters = self.with(|inner| Ok(figures::of_device(&inner.engine)));
        counters.unwrap_or_default()
    }

    /// What a queue pair has counted since it was created. What is [kept of the device only](crate::Scope::Device) is 0.
    ///
    /// # Errors
    /// If it isn't known.
    pub fn pair_counters(&self, pair: QpNumber) -> Result<Counters, Error> {
        self.with(|inner| Ok(figures::of_pair(&inner.engine, inner.engine.pair(pair)?)))
    }
}
