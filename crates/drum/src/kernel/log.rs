//! Alpha 1, in `y = 1 / x`: `phi' = w y + kappa y^3`.

use super::{Kernel, Worth, flexibility};
use crate::math::{cube_root_estimate, ln, min};

/// Of the least rate that is told from 0, 1e-140.
const SLOWEST: f64 = 1e140;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Log;

impl Kernel for Log {
    const FALLING: bool = true;

    #[inline(always)]
    fn variable(self, rate: f64) -> f64 {
        min(1.0 / rate, SLOWEST)
    }

    #[inline(always)]
    fn answer<const LATENCY: bool>(self, weight: f64, kappa: f64, price: f64) -> f64 {
        let mut y = price / weight;
        if LATENCY {
            // At no price, what has no weight or no latency is not a number, and doesn't count.
            let estimate = cube_root_estimate(price / kappa);
            y = if y.is_nan() {
                estimate
            } else {
                min(estimate, y)
            };
            for _ in 0..3 {
                // Halley's step, as for alpha 1/2.
                let bend = kappa * y;
                let steep = bend * y;
                let excess = weight * y + steep * y - price;
                let slope = weight + 3.0 * steep;
                let denominator = slope * slope - 3.0 * excess * bend;
                y -= excess * slope / (denominator + f64::MIN_POSITIVE);
            }
        }
        min(y, SLOWEST)
    }

    #[inline(always)]
    fn slope(self, weight: f64, kappa: f64, y: f64) -> f64 {
        weight * y + kappa * y * y * y
    }

    #[inline(always)]
    fn worth<const LATENCY: bool>(self, weight: f64, kappa: f64, y: f64) -> Worth {
        let square = y * y;
        let latency = kappa * square;
        Worth {
            rate: 1.0 / y,
            throughput: -weight * ln(y),
            latency: -0.5 * latency,
            flexibility: flexibility(square * (weight + 3.0 * latency)),
        }
    }
}
