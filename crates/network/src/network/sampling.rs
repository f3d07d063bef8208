//! What a driver that samples rates and queues looks at, and starts anew.

use fairlane_units::Duration;

use super::Network;
use crate::port::Port;

impl Network {
    /// The ports, for a sampler that starts their largest queues anew.
    pub fn sampled_ports(&mut self) -> &mut [Port] {
        &mut self.ports
    }

    /// The counters of tenants, if there are several: an interval ends that took this long.
    pub fn end_interval(&mut self, span: Duration) {
        if let Some(ledger) = self.counters.ledger.as_deref_mut() {
            let (gap, largest) = (self.settings.gap.into(), self.settings.largest.into());
            ledger.end_interval(&self.ports, span, gap, largest);
        }
    }
}
