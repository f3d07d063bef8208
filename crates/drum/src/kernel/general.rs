//! Any alpha above 0 but 1, in `t = -ln x`: `phi' = w e^(alpha t) + kappa e^(3t)`. Weights are logarithms, so
//! that great alpha don't overflow.

use super::{Kernel, Worth, flexibility};
use crate::math::{clamp, exp, ln, min};

#[derive(Clone, Copy, Debug)]
pub(crate) struct General {
    pub(crate) alpha: f64,
    pub(super) inverse: f64,
    /// Halley's steps that bring an answer to rounding: the more, the more its slopes differ.
    steps: u32,
    /// `1 / (1 - alpha)`.
    scale: f64,
}

/// Stands for the logarithm of 0: so small that no rate makes up for it.
const NOTHING: f64 = -1e8;

/// About the greatest number that `exp` gives.
const MOST: f64 = 8e307;

/// Largest size of `t`: rates between 1e-290 and 1e290.
pub(super) const WIDEST: f64 = 668.0;

/// How many are answered for at a time.
const WIDTH: usize = 32;

impl General {
    pub(crate) fn new(alpha: f64) -> Self {
        let steps = match alpha {
            0.4..=30.0 => 3,
            0.05..=300.0 => 4,
            _ => 10,
        };
        Self {
            alpha,
            inverse: 1.0 / alpha,
            steps,
            scale: 1.0 / (1.0 - alpha),
        }
    }

    /// Halley's step for phi' over the price, which is to be 1 and begins at 2 at most.
    #[inline(always)]
    fn step(self, t: f64, weight: f64, kappa: f64) -> f64 {
        let throughput = exp(self.alpha * t + weight);
        let latency = exp(3.0 * t + kappa);
        let excess = throughput + latency - 1.0;
        let slope = self.alpha * throughput + 3.0 * latency;
        let bend = self.alpha * self.alpha * throughput + 9.0 * latency;
        2.0 * excess * slope / (2.0 * slope * slope - excess * bend)
    }

    #[inline(always)]
    fn logarithm(value: f64) -> f64 {
        if value > 0.0 { ln(value) } else { NOTHING }
    }
}

impl Kernel for General {
    const FALLING: bool = true;

    #[inline(always)]
    fn weight(self, weight: f64) -> f64 {
        Self::logarithm(weight)
    }

    #[inline(always)]
    fn kappa(self, kappa: f64) -> f64 {
        Self::logarithm(kappa)
    }

    #[inline(always)]
    fn variable(self, rate: f64) -> f64 {
        if rate == f64::INFINITY {
            -WIDEST
        } else {
            min(-ln(rate), WIDEST)
        }
    }

    #[inline(always)]
    fn answer<const LATENCY: bool>(self, weight: f64, kappa: f64, price: f64) -> f64 {
        let mut variable = [0.0];
        self.answers::<LATENCY>(&[weight], &[kappa], &[price], &mut variable);
        variable[0]
    }

    /// Step by step for some at a time, whose logarithms of prices are kept: a loop over applications with the steps inside
    /// doesn't become vector instructions.
    #[inline(always)]
    fn answers<const LATENCY: bool>(
        self,
        weight: &[f64],
        kappa: &[f64],
        price: &[f64],
        t: &mut [f64],
    ) {
        let n = t.len();
        let (weight, kappa, price) = (&weight[..n], &kappa[..n], &price[..n]);
        for start in (0..n).step_by(WIDTH) {
            let part = start..n.min(start + WIDTH);
            let t = &mut t[part.clone()];
            let n = t.len();
            let (weight, kappa) = (&weight[part.clone()][..n], &kappa[part.clone()][..n]);
            let price = &price[part][..n];
            let mut target = [0.0; WIDTH];
            let target = &mut target[..n];
            for i in 0..n {
                target[i] = ln(price[i]);
                t[i] = (target[i] - weight[i]) * self.inverse;
                if LATENCY {
                    t[i] = min(t[i], (target[i] - kappa[i]) * (1.0 / 3.0));
                }
            }
            for _ in 0..if LATENCY { self.steps } else { 0 } {
                for i in 0..n {
                    t[i] -= self.step(t[i], weight[i] - target[i], kappa[i] - target[i]);
                }
            }
            for i in 0..n {
                t[i] = clamp(t[i], -WIDEST, WIDEST);
            }
        }
    }

    #[inline(always)]
    fn slope(self, weight: f64, kappa: f64, t: f64) -> f64 {
        exp(self.alpha * t + weight) + exp(3.0 * t + kappa)
    }

    #[inline(always)]
    fn worth<const LATENCY: bool>(self, weight: f64, kappa: f64, t: f64) -> Worth {
        let rate = exp(-t);
        let throughput = exp(self.alpha * t + weight);
        let latency = if LATENCY { exp(3.0 * t + kappa) } else { 0.0 };
        // Where `exp` has come to its end, the rate would bring the value back to about 0.
        let lost = if latency > MOST {
            latency
        } else {
            latency * rate
        };
        let utility = if self.scale < 0.0 && throughput > MOST {
            // `exp` has come to its end, so the value would be too near 0; without the rate it is about the least number.
            throughput * self.scale
        } else {
            throughput * rate * self.scale
        };
        Worth {
            rate,
            throughput: utility,
            latency: -0.5 * lost,
            flexibility: flexibility((self.alpha * throughput + 3.0 * latency) / rate),
        }
    }
}
