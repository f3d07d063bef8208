//! What a flow answers to a price near its rate of before: the rate that maximises
//! `phi(x) - P x - c/2 (x - old)^2`, so `phi'(x) = c x + p` with `p = P - c old`.
//!
//! Each kernel multiplies the condition by a power of its variable, so that it has no root or power
//! of a rate left, and takes Newton's steps from the right, where what is left is convex and rises.

use super::general::WIDEST;
use super::{General, Half, Kernel, Log};
use crate::math::{cube_root_estimate, exp, ln, min, sixth_root_estimate};

/// Newton's steps. Rates of neighbouring steps are close: `c` is four times the curvature.
const STEPS: usize = 9;
/// Bisections of the range of `t`, which leave an interval of 1e-13: that part of a rate.
const HALVES: usize = 54;
/// Alpha below which rates answer to a small change of prices with a change of more than four times that.
const FLAT: f64 = 0.25;
/// The same for any alpha, where steps from far right are short in the logarithm.
const GENERAL_STEPS: usize = 17;

/// A kernel that also answers near a rate.
pub(crate) trait Prox: Kernel {
    /// The variable of the answer; `start` is the variable of the rate of before.
    fn near(self, flow: (f64, f64), c: f64, p: f64, start: f64) -> f64;

    /// Whether utilities hardly bend: rates then answer to prices almost by steps.
    fn is_flat(self) -> bool {
        false
    }
}

/// The larger one.
#[inline(always)]
fn max(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

impl Prox for Half {
    #[inline(always)]
    fn near(self, (weight, kappa): (f64, f64), c: f64, p: f64, start: f64) -> f64 {
        // At or above the answer to the price p alone, so that the factor of c is positive.
        let alone = min(p / weight, sixth_root_estimate(p / kappa) * 1.05);
        let mut s = if p > 0.0 { max(start, alone) } else { start };
        for _ in 0..STEPS {
            let square = s * s;
            let throughput = weight * s;
            let latency = kappa * square * square * square;
            let excess = (throughput + latency - p) * square - c;
            s -= excess / (s * (3.0 * throughput + 8.0 * latency - 2.0 * p));
        }
        s
    }
}

impl Prox for Log {
    #[inline(always)]
    fn near(self, (weight, kappa): (f64, f64), c: f64, p: f64, start: f64) -> f64 {
        let alone = min(p / weight, cube_root_estimate(p / kappa) * 1.05);
        let mut y = if p > 0.0 { max(start, alone) } else { start };
        for _ in 0..STEPS {
            let throughput = weight * y;
            let latency = kappa * y * y * y;
            let excess = (throughput + latency - p) * y - c;
            y -= excess / (2.0 * throughput + 4.0 * latency - p);
        }
        y
    }
}

impl General {
    /// [`near`](Prox::near) by halving: where utilities hardly bend, answers are far from the rate of before.
    fn near_by_halves(self, (weight, kappa): (f64, f64), c: f64, p: f64) -> f64 {
        let (mut low, mut high) = (-WIDEST, WIDEST);
        for _ in 0..HALVES {
            let t = 0.5 * (low + high);
            let excess = self.slope(weight, kappa, t) - p - c * exp(-t);
            if excess < 0.0 {
                low = t;
            } else {
                high = t;
            }
        }
        0.5 * (low + high)
    }
}

impl Prox for General {
    #[inline(always)]
    fn is_flat(self) -> bool {
        self.alpha < FLAT
    }

    #[inline(always)]
    fn near(self, (weight, kappa): (f64, f64), c: f64, p: f64, start: f64) -> f64 {
        if self.is_flat() {
            return self.near_by_halves((weight, kappa), c, p);
        }
        let target = ln(p);
        let alone = min(
            (target - weight) * self.inverse,
            (target - kappa) * (1.0 / 3.0),
        );
        let mut t = if p > 0.0 { max(start, alone) } else { start };
        for _ in 0..GENERAL_STEPS {
            // Over c, in the logarithm's variable: (phi' - p) e^t / c = 1.
            let throughput = exp(self.alpha * t + weight);
            let latency = exp(3.0 * t + kappa);
            let excess = throughput + latency - p - c * exp(-t);
            let slope = (self.alpha + 1.0) * throughput + 4.0 * latency - p;
            t -= excess / slope;
        }
        t
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether the answer meets `phi'(x) = c (x - old) + price` as flows near `old` are asked.
    fn check<K: Prox>(
        kernel: K,
        flow: (f64, f64),
        old: f64,
        factor: f64,
    ) -> Result<(), TestCaseError> {
        let (weight, kappa) = (kernel.weight(flow.0), kernel.kappa(flow.1));
        let start = kernel.variable(old);
        let c = 4.0 / kernel.worth::<true>(weight, kappa, start).flexibility;
        let price = factor * kernel.slope(weight, kappa, start);
        let near = kernel.near((weight, kappa), c, price - c * old, start);
        let x = kernel.worth::<true>(weight, kappa, near).rate;
        let left = kernel.slope(weight, kappa, near);
        let right = c * (x - old) + price;
        prop_assert!(
            (left - right).abs() < 1e-5 * (left.abs() + c * old),
            "{left} against {right} at {x}, before {old}"
        );
        Ok(())
    }

    proptest! {
        #[test]
        fn answers_near_a_rate_meet_their_condition(
            weight in 0.01..100.0_f64,
            kappa in prop_oneof![Just(0.0), 1e-6..10.0_f64],
            old in -3.0..3.0_f64,
            factor in -2.0..2.0_f64,
        ) {
            let (old, factor) = (libm::exp(old), libm::exp(factor));
            check(Half, (weight, kappa), old, factor)?;
            check(Log, (weight, kappa), old, factor)?;
            for alpha in [0.1, 0.25, 0.5, 2.0, 4.0] {
                check(General::new(alpha), (weight, kappa), old, factor)?;
            }
        }
    }
}
