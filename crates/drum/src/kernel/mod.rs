//! What an application answers to a price.
//!
//! At price `p` an application takes the rate at which `phi'(x) = p`, with
//! `phi(x) = w U(x) - kappa/2 x^-2`. A kernel finds it in a variable of its own in which that is
//! quick. Kernels are branch-free so that a loop over applications becomes vector instructions.

mod general;
mod half;
mod inverse;
mod linear;

pub(crate) use general::General;
pub(crate) use half::Half;
pub(crate) use inverse::Inverse;
pub(crate) use linear::Linear;

/// Applications that are answered for at a time.
pub(crate) const LANES: usize = 8;

/// One number for each application of a block.
pub(crate) type Block = [f64; LANES];

/// What a rate is worth and how strongly it answers to prices.
#[derive(Clone, Copy)]
pub(crate) struct Worth {
    /// The rate `x`.
    pub(crate) rate: f64,
    /// `w U(x)`.
    pub(crate) throughput: f64,
    /// `-kappa/2 x^-2`.
    pub(crate) latency: f64,
    /// `-1 / phi''(x)`, 0 where nothing bends.
    pub(crate) flexibility: f64,
}

/// The answers under one alpha. `weight` and `kappa` are numbers made by [`weight`](Self::weight) and
/// [`kappa`](Self::kappa).
pub(crate) trait Kernel: Copy {
    /// Turns a weight into what the kernel calculates with.
    #[inline(always)]
    fn weight(self, weight: f64) -> f64 {
        weight
    }

    /// Turns a latency coefficient into what the kernel calculates with.
    #[inline(always)]
    fn kappa(self, kappa: f64) -> f64 {
        kappa
    }

    /// The kernel's variable of a rate.
    fn variable(self, rate: f64) -> f64;

    /// Whether the variable falls when the rate rises.
    const FALLING: bool;

    /// The variable at which an application without bounds rests at price `p`; `LATENCY` says that
    /// some `kappa` isn't 0.
    fn answer<const LATENCY: bool>(self, weight: f64, kappa: f64, price: f64) -> f64;

    /// [`answer`](Self::answer) of many. All slices have the length of `variable`.
    #[inline(always)]
    fn answers<const LATENCY: bool>(
        self,
        weight: &[f64],
        kappa: &[f64],
        price: &[f64],
        variable: &mut [f64],
    ) {
        let n = variable.len();
        let (weight, kappa, price) = (&weight[..n], &kappa[..n], &price[..n]);
        for i in 0..n {
            variable[i] = self.answer::<LATENCY>(weight[i], kappa[i], price[i]);
        }
    }

    /// The price at which an application without bounds rests at a variable: `phi'`.
    fn slope(self, weight: f64, kappa: f64, variable: f64) -> f64;

    /// What the rate of a variable is worth. Without `LATENCY` nobody has a coefficient of latency.
    fn worth<const LATENCY: bool>(self, weight: f64, kappa: f64, variable: f64) -> Worth;
}

/// `1 / bend`, 0 if that is 0.
#[inline(always)]
fn flexibility(bend: f64) -> f64 {
    if bend > 1e-290 { 1.0 / bend } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Answers bring `phi'` to the price, and `worth` agrees with the definition of utility.
    fn holds<K: Kernel>(
        kernel: K,
        alpha: f64,
        [weight, kappa, price]: [f64; 3],
    ) -> Result<(), TestCaseError> {
        let (w, k) = (kernel.weight(weight), kernel.kappa(kappa));
        let variable = kernel.answer::<true>(w, k, price);
        let worth = kernel.worth::<true>(w, k, variable);
        let x = worth.rate;
        // What nobody weighs counts for nothing, even where its power is infinite.
        let term = |factor: f64, power: f64| match factor {
            0.0 => 0.0,
            _ => factor * libm::pow(x, power),
        };
        let slope = term(weight, -alpha) + term(kappa, -3.0);
        prop_assert!(
            (slope / price - 1.0).abs() < 1e-11,
            "alpha {alpha}: slope {slope} at price {price}"
        );
        let utility = if alpha == 1.0 {
            libm::log(x)
        } else {
            libm::pow(x, 1.0 - alpha) / (1.0 - alpha)
        };
        let close = |own: f64, right: f64| (own - right).abs() <= 1e-12 * right.abs().max(1e-300);
        // The logarithm of a rate near 1 is near 0, but as far off as one of another rate.
        let least = if alpha == 1.0 { weight } else { 0.0 };
        let (own, right) = (worth.throughput, weight * utility);
        let off = (own - right).abs();
        prop_assert!(off <= 1e-12 * right.abs().max(least).max(1e-300) || weight == 0.0);
        prop_assert!(close(worth.latency, -0.5 * kappa / (x * x)) || kappa == 0.0);
        let bend = term(alpha * weight, -alpha - 1.0) + term(3.0 * kappa, -4.0);
        prop_assert!(close(1.0 / worth.flexibility, bend));
        prop_assert!((kernel.slope(w, k, kernel.variable(x)) / price - 1.0).abs() < 1e-11);
        Ok(())
    }

    /// A rate of 1e-94.
    #[test]
    fn answers_meet_prices_far_from_one() {
        holds(General::new(0.1), 0.1, [1.926e-4, 0.0, 4.4157e5]).unwrap();
    }

    /// Where one term takes over from the other its slope is up to thousands of times that of the other.
    #[test]
    fn answers_meet_prices_whatever_alpha_is() {
        for alpha in [1e-3, 0.01, 0.05, 0.3, 0.4, 3.0, 30.0, 60.0, 300.0, 5000.0] {
            let kernel = General::new(alpha);
            for step in 0..400 {
                let kappa = kernel.kappa(libm::exp(0.1 * f64::from(step - 200)));
                let weight = kernel.weight(1.0);
                let t = kernel.answer::<true>(weight, kappa, 1.0);
                let off = (kernel.slope(weight, kappa, t) - 1.0).abs();
                assert!(
                    off < 1e-13 * f64::max(alpha, 10.0),
                    "alpha {alpha}: {off:e}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn answers_meet_prices(exponents in prop::array::uniform3(-6.0..6.0_f64), alpha in 0.1..32.0_f64) {
            let numbers = exponents.map(|exponent| libm::pow(10.0, exponent));
            holds(Half, 0.5, numbers)?;
            holds(Inverse::<1>, 1.0, numbers)?;
            holds(Inverse::<2>, 2.0, numbers)?;
            holds(General::new(alpha), alpha, numbers)?;
            if numbers[2] > numbers[0] * 1.01 {
                holds(Linear, 0.0, numbers)?;
            }
            for numbers in [[0.0, numbers[1], numbers[2]], [numbers[0], 0.0, numbers[2]]] {
                holds(Half, 0.5, numbers)?;
                holds(Inverse::<1>, 1.0, numbers)?;
                holds(Inverse::<2>, 2.0, numbers)?;
                holds(General::new(alpha), alpha, numbers)?;
            }
        }
    }

    #[test]
    fn what_is_free_is_taken_without_end() {
        assert_eq!(Half.answer::<true>(1.0, 0.0, 0.0), 0.0);
        assert_eq!(Inverse::<1>.answer::<true>(1.0, 0.0, 0.0), 0.0);
        assert_eq!(Linear.answer::<true>(1.0, 0.0, 0.0), f64::INFINITY);
        assert_eq!(Inverse::<2>.answer::<true>(1.0, 0.0, 0.0), 0.0);
        let general = General::new(1.5);
        let weights = [general.weight(1.0), general.kappa(0.0)];
        assert!(general.answer::<true>(weights[0], weights[1], 0.0) < -300.0);
    }
}
