//! A greedy choice that values applications more the longer they wait.

use alloc::vec::Vec;

use super::Waits;

/// Chooses `k` applications for each epoch by gain times `1 + growth * wait`.
///
/// Unlike the bounds of the other schedules, that of the longest wait depends on how far apart gains
/// are: see [`longest_wait`](Self::longest_wait).
#[derive(Clone, Debug, PartialEq)]
pub struct Ageing {
    waits: Waits,
    slots: usize,
    growth: f64,
}

impl Ageing {
    /// So many applications, of which `slots` may be active at a time; what one is worth grows by `growth`
    /// with every epoch that it waits.
    ///
    /// # Panics
    /// If there is no slot, or `growth` isn't a positive number.
    pub fn new(applications: usize, slots: usize, growth: f64) -> Self {
        assert!(slots > 0, "at least one may be active");
        assert!(
            growth > 0.0 && growth.is_finite(),
            "waiting is worth something"
        );
        Self {
            waits: Waits::new(applications),
            slots,
            growth,
        }
    }

    /// By which factor waiting raises what an application is worth now; weights can be multiplied by it.
    ///
    /// # Panics
    /// If there is no such application.
    pub fn factor(&self, application: usize) -> f64 {
        1.0 + self.growth * self.waits.since[application] as f64
    }

    /// Who is active in the next epoch, ascending, where each application is worth its entry of `gains`,
    /// a positive number. Ties go to the lower index.
    ///
    /// # Panics
    /// If there is not one gain for each application.
    pub fn choose(&mut self, gains: &[f64]) -> Vec<usize> {
        assert_eq!(
            gains.len(),
            self.waits.since.len(),
            "one gain for each application"
        );
        self.waits.tick();
        let mut order: Vec<(f64, usize)> = gains
            .iter()
            .enumerate()
            .map(|(index, gain)| (gain * self.factor(index), index))
            .collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut chosen: Vec<usize> = order.iter().take(self.slots).map(|entry| entry.1).collect();
        chosen.sort_unstable();
        self.waits.serve(&chosen);
        chosen
    }

    /// The longest wait in epochs while every gain is within a factor `ratio` of every other.
    ///
    /// With `W = ceil(m / k)` it is `ceil((ratio (1 + growth W) - 1) / growth) + W`. Proof: an application that
    /// has waited the first term only loses to those that have waited `W` at least. In `W` epochs on end
    /// each of those is active at most once, so there are at most `m - 1` such losses for `k W >= m` slots.
    pub fn longest_wait(&self, ratio: f64) -> u64 {
        let round = self.waits.since.len().div_ceil(self.slots) as u64;
        let alone = (ratio * (1.0 + self.growth * round as f64) - 1.0) / self.growth;
        libm::ceil(alone) as u64 + round
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::Ageing;

    proptest! {
        #[test]
        fn nobody_waits_longer_than_proven(
            m in 1usize..20, k in 1usize..6, growth in 0.1..2.0,
            gains in proptest::collection::vec(proptest::collection::vec(1.0..3.0, 20), 200),
        ) {
            let mut ageing = Ageing::new(m, k, growth);
            let bound = ageing.longest_wait(3.0);
            let mut last = alloc::vec![0u64; m];
            for (epoch, gains) in (1u64..).zip(&gains) {
                let chosen = ageing.choose(&gains[..m]);
                prop_assert_eq!(chosen.len(), k.min(m));
                for application in chosen {
                    last[application] = epoch;
                }
                prop_assert!(last.iter().all(|since| epoch - since <= bound));
            }
        }
    }

    #[test]
    fn the_least_valued_is_served_before_the_bound_and_not_at_once() {
        let gains: Vec<f64> = [8.0, 1.0].into();
        let mut ageing = Ageing::new(2, 1, 0.5);
        let first = (1u64..).find(|_| ageing.choose(&gains) == [1]);
        let first = first.expect("everyone is served");
        assert!(first > 2 && first <= ageing.longest_wait(8.0), "{first}");
    }
}
