//! Hosts for solver experiments, from random numbers that belong to a host and an application.

use fairlane_drum::{Application, Fairness, Table, Utility};
use fairlane_engine::Stream;

/// Queue pairs that may be active at a time (DRUM, section III.D).
pub(crate) const SLOTS: usize = 20;
/// Egress capacity for each application: 25 at 50 applications (DRUM, section III.D: q).
pub(crate) const EGRESS: f64 = 0.5;
/// Budget for polling for each application: 15 at 50 applications (DRUM, section III.D: c).
pub(crate) const POLL: f64 = 0.3;

/// A host's applications and what they share.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    /// The applications.
    pub(crate) table: Table,
    /// Egress capacity.
    pub(crate) egress: f64,
    /// Budget for polling.
    pub(crate) poll: f64,
}

impl Instance {
    /// The host of DRUM, section III.D, in the linear form of its capacities: completions for each work
    /// request normal around 5.5 with deviation 1.5, cut off at 1 and 10, everything else 1. The paper
    /// states neither mean nor deviation.
    pub(crate) fn of_paper(applications: usize, seed: u64) -> Self {
        let mut stream = Stream::new(seed, 0);
        let application = |_| Application {
            completions: cut_normal(&mut stream),
            ..Application::default()
        };
        Self::new((0..applications).map(application))
    }

    /// A host whose applications differ in weight, size and poll cost too, by a factor of two.
    pub(crate) fn mixed(applications: usize, seed: u64) -> Self {
        let mut stream = Stream::new(seed, 1);
        Self::new((0..applications).map(|_| mixed(&mut stream)))
    }

    fn new(applications: impl Iterator<Item = Application>) -> Self {
        let mut table = Table::default();
        applications.for_each(|application| table.push(application));
        let count = table.len() as f64;
        Self {
            table,
            egress: EGRESS * count,
            poll: POLL * count,
        }
    }

    /// The problem of the host.
    pub(crate) fn host(&self, alpha: f64, beta: f64) -> fairlane_drum::Host<'_> {
        let utility = Utility {
            fairness: Fairness::Alpha(alpha),
            latency: beta,
        };
        fairlane_drum::Host::new(self.table.view(), utility, self.egress, self.poll)
    }

    /// The rate of an application that shares the host equally with those in the other slots.
    pub(crate) fn peaks(&self) -> Vec<f64> {
        let slots = SLOTS as f64;
        let peak = |index| {
            let application: Application = self.table.application(index);
            let poll = application.poll_cost * application.completions;
            (self.egress / (slots * application.bytes)).min(self.poll / (slots * poll))
        };
        (0..self.table.len()).map(peak).collect()
    }
}

/// One application of [`Instance::mixed`].
pub(crate) fn mixed(stream: &mut Stream) -> Application {
    let completions = cut_normal(stream);
    let mut factor = || 0.7 + 0.7 * stream.next_f64();
    Application {
        weight: factor(),
        bytes: factor(),
        poll_cost: factor(),
        completions,
        ..Application::default()
    }
}

/// A normal number around 5.5 with deviation 1.5 (Box and Muller 1958), drawn again outside 1 to 10.
fn cut_normal(stream: &mut Stream) -> f64 {
    loop {
        let (radius, angle) = (1.0 - stream.next_f64(), stream.next_f64());
        let normal =
            libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(core::f64::consts::TAU * angle);
        let value = 5.5 + 1.5 * normal;
        if (1.0..=10.0).contains(&value) {
            return value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_have_the_stated_distribution() {
        let instance = Instance::of_paper(20_000, 1);
        let values = &instance.table.completions;
        assert!(values.iter().all(|value| (1.0..=10.0).contains(value)));
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let spread = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        let deviation = libm::sqrt(spread / values.len() as f64);
        assert!(
            (mean - 5.5).abs() < 0.05 && (deviation - 1.48).abs() < 0.05,
            "{mean} {deviation}"
        );
    }

    #[test]
    fn as_many_as_fit_may_send_at_their_peak() {
        let instance = Instance::mixed(60, 3);
        let peaks = instance.peaks();
        for start in 0..40 {
            let active = start..start + SLOTS;
            let egress: f64 = active
                .clone()
                .map(|j| peaks[j] * instance.table.bytes[j])
                .sum();
            let cost = |j| instance.table.poll_cost[j] * instance.table.completions[j];
            let poll: f64 = active.map(|j| peaks[j] * cost(j)).sum();
            assert!(egress <= instance.egress * 1.000_001 && poll <= instance.poll * 1.000_001);
        }
    }
}
