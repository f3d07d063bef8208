//! Which flows of a host count, where only some do.

/// How many flows of a host count, and what happens to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Choice {
    /// All count.
    #[default]
    All,
    /// The throughput of the `k` that gain most counts; all send, latency counts for all.
    TopUtilities(usize),
    /// At most `k` send.
    ActiveSet(usize),
}

/// A [`Choice`] and the value of a flow that doesn't send.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Selection {
    /// Who counts.
    pub choice: Choice,
    /// Value of each flow that doesn't send, under [`Choice::ActiveSet`]; negative above alpha 1, where those of all that
    /// send are. 0 is natural below alpha 1 without latency, where it is that of the rate 0; elsewhere that has no value.
    pub outage: f64,
}

impl Selection {
    /// Whether flows that don't count don't send either.
    #[inline(always)]
    pub(crate) const fn silences(self) -> bool {
        matches!(self.choice, Choice::ActiveSet(_))
    }

    /// Value of a flow that doesn't count; `unselected` is that of one that sends nevertheless.
    pub(crate) fn otherwise(self, unselected: impl FnOnce() -> f64) -> f64 {
        if self.silences() {
            self.outage
        } else {
            unselected()
        }
    }

    /// Marks the flows of the largest gains; of equal ones the first.
    pub(crate) fn choose(self, gain: &[f64], counts: &mut [bool]) {
        let (k, positive) = match self.choice {
            Choice::All => (gain.len(), false),
            Choice::TopUtilities(k) => (k, false),
            Choice::ActiveSet(k) => (k, true),
        };
        let k = k.min(gain.len());
        let mut order: alloc::vec::Vec<usize> = (0..gain.len()).collect();
        order.sort_unstable_by(|&a, &b| gain[b].total_cmp(&gain[a]).then(a.cmp(&b)));
        counts.fill(false);
        for &f in &order[..k] {
            counts[f] = !positive || gain[f] > 0.0;
        }
    }
}
