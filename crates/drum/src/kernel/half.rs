//! Alpha 1/2, in `s = x^(-1/2)`: `phi' = w s + kappa s^6`.

use super::{Kernel, Worth, flexibility};
use crate::math::{inverse_square_root, min, sixth_root_estimate};

/// `s` of the least rate that is distinguished from 0, 1e-140.
const SLOWEST: f64 = 1e70;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Half;

impl Kernel for Half {
    const FALLING: bool = true;

    #[inline(always)]
    fn variable(self, rate: f64) -> f64 {
        if rate == f64::INFINITY {
            0.0
        } else {
            min(inverse_square_root(rate), SLOWEST)
        }
    }

    #[inline(always)]
    fn answer<const LATENCY: bool>(self, weight: f64, kappa: f64, price: f64) -> f64 {
        let mut s = price / weight;
        if LATENCY {
            // At no price, what has no weight or no latency is not a number, and doesn't count.
            let estimate = sixth_root_estimate(price / kappa);
            s = if s.is_nan() {
                estimate
            } else {
                min(estimate, s)
            };
            for _ in 0..3 {
                // Halley's step: the error after three from any start below is some 1e-14.
                let square = s * s;
                let bend = kappa * square * square;
                let steep = bend * s;
                let excess = weight * s + steep * s - price;
                let slope = weight + 6.0 * steep;
                let denominator = slope * slope - 15.0 * excess * bend;
                s -= excess * slope / (denominator + f64::MIN_POSITIVE);
            }
        }
        min(s, SLOWEST)
    }

    #[inline(always)]
    fn slope(self, weight: f64, kappa: f64, s: f64) -> f64 {
        let square = s * s;
        weight * s + kappa * square * square * square
    }

    #[inline(always)]
    fn worth<const LATENCY: bool>(self, weight: f64, kappa: f64, s: f64) -> Worth {
        let root = 1.0 / s;
        let square = s * s;
        let fourth = kappa * square * square;
        Worth {
            rate: root * root,
            throughput: 2.0 * weight * root,
            latency: -0.5 * fourth,
            flexibility: flexibility(square * (0.5 * weight * s + 3.0 * fourth * square)),
        }
    }
}
