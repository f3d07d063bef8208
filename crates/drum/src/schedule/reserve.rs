//! A greedy choice that keeps some slots for those who have waited longest.

use alloc::vec::Vec;

/// Chooses `k` applications for each epoch: most by gain, the rest by waiting time.
///
/// Nobody waits longer than `ceil((m - k + r) / r)` epochs, where `r` slots go by waiting time. Proof: order
/// applications by wait, ties by index. Those behind an application never get ahead of it before it is
/// active again, and when it was last active, or at the start, the next epoch takes `k` of the at most
/// `m - 1` ahead of it, and every further one at least `r`, as long as that many are ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserve {
    /// Epochs since each application was last active, since the start if it never was.
    since: Vec<u64>,
    slots: usize,
    reserved: usize,
}

impl Reserve {
    /// A choice among `applications`, of which `slots` may be active at a time; `reserved` of the slots go to
    /// those who have waited longest.
    ///
    /// # Panics
    /// If no slot is reserved, or more than there are.
    pub fn new(applications: usize, slots: usize, reserved: usize) -> Self {
        assert!(
            (1..=slots).contains(&reserved),
            "a reserve takes at least one slot and at most all of them"
        );
        Self {
            since: alloc::vec![0; applications],
            slots,
            reserved,
        }
    }

    /// Who is active in the next epoch, ascending, where each application is worth its entry of `gains`.
    /// Ties go to the lower index. Gains that aren't positive count too: a slot is never left free.
    ///
    /// # Panics
    /// If there is not one gain for each application.
    pub fn choose(&mut self, gains: &[f64]) -> Vec<usize> {
        assert_eq!(
            gains.len(),
            self.since.len(),
            "one gain for each application"
        );
        for since in &mut self.since {
            *since += 1;
        }
        let mut order: Vec<usize> = (0..gains.len()).collect();
        order.sort_by(|a, b| gains[*b].total_cmp(&gains[*a]).then(a.cmp(b)));
        let by_gain = (self.slots - self.reserved).min(order.len());
        let (mut chosen, mut rest) = (order[..by_gain].to_vec(), order.split_off(by_gain));
        rest.sort_by_key(|index| (core::cmp::Reverse(self.since[*index]), *index));
        chosen.extend(rest.iter().take(self.reserved));
        chosen.sort_unstable();
        for &application in &chosen {
            self.since[application] = 0;
        }
        chosen
    }

    /// The longest time from one active epoch of an application to its next, and from the start to its
    /// first, in epochs.
    pub fn longest_wait(&self) -> u64 {
        let others = self.since.len().saturating_sub(self.slots);
        ((others + self.reserved).div_ceil(self.reserved)) as u64
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::Reserve;

    proptest! {
        #[test]
        fn nobody_waits_longer_than_proven(
            m in 1usize..40, k in 1usize..12, r in 1usize..12,
            seed in proptest::collection::vec(proptest::collection::vec(0u8..4, 40), 60),
        ) {
            let r = r.min(k);
            let mut reserve = Reserve::new(m, k, r);
            let mut last = alloc::vec![0u64; m];
            for epoch in 1..=(seed.len() as u64) {
                let gains: Vec<f64> = seed[epoch as usize - 1][..m].iter().map(|g| f64::from(*g)).collect();
                let chosen = reserve.choose(&gains);
                prop_assert_eq!(chosen.len(), k.min(m));
                prop_assert!(chosen.is_sorted());
                for application in chosen {
                    prop_assert!(epoch - last[application] <= reserve.longest_wait());
                    last[application] = epoch;
                }
                for since in &last {
                    prop_assert!(epoch - since < reserve.longest_wait());
                }
            }
        }
    }

    #[test]
    fn the_bound_is_reached_and_the_best_are_always_active() {
        // The measurement of the specification: m = 500, k = 20, r = 2.
        let gains: Vec<f64> = (0..500).map(|index| 500.0 - f64::from(index)).collect();
        let mut reserve = Reserve::new(500, 20, 2);
        let mut last = alloc::vec![0u64; 500];
        let mut longest = 0;
        for epoch in 1..1000 {
            let chosen = reserve.choose(&gains);
            assert_eq!(chosen[..18], (0..18).collect::<Vec<_>>());
            for application in chosen {
                longest = longest.max(epoch - last[application]);
                last[application] = epoch;
            }
        }
        assert_eq!((longest, reserve.longest_wait()), (241, 241));
    }
}
