//! Alpha 1 and 2, in `y = 1 / x`: `phi' = w y^alpha + kappa y^3`.

use super::{Kernel, Worth, flexibility};
use crate::math::{cube_root_estimate, ln, min, square_root};

/// `y` of the least rate that is distinguished from 0, 1e-140.
const SLOWEST: f64 = 1e140;

/// `ALPHA` is 1 or 2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inverse<const ALPHA: u8>;

impl<const ALPHA: u8> Kernel for Inverse<ALPHA> {
    const FALLING: bool = true;

    #[inline(always)]
    fn variable(self, rate: f64) -> f64 {
        min(1.0 / rate, SLOWEST)
    }

    #[inline(always)]
    fn answer<const LATENCY: bool>(self, weight: f64, kappa: f64, price: f64) -> f64 {
        let mut y = price / weight;
        if ALPHA == 2 {
            y = square_root(y);
        }
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
                let (throughput, slope, bends) = if ALPHA == 2 {
                    (weight * y * y, 2.0 * weight * y, weight)
                } else {
                    (weight * y, weight, 0.0)
                };
                let excess = throughput + steep * y - price;
                let slope = slope + 3.0 * steep;
                let denominator = slope * slope - excess * (bends + 3.0 * bend);
                y -= excess * slope / (denominator + f64::MIN_POSITIVE);
            }
        }
        min(y, SLOWEST)
    }

    #[inline(always)]
    fn slope(self, weight: f64, kappa: f64, y: f64) -> f64 {
        let throughput = if ALPHA == 2 { weight * y } else { weight };
        throughput * y + kappa * y * y * y
    }

    #[inline(always)]
    fn worth<const LATENCY: bool>(self, weight: f64, kappa: f64, y: f64) -> Worth {
        let square = y * y;
        let latency = kappa * square;
        let (throughput, bend) = if ALPHA == 2 {
            (-weight * y, 2.0 * weight * y)
        } else {
            (-weight * ln(y), weight)
        };
        Worth {
            rate: 1.0 / y,
            throughput,
            latency: -0.5 * latency,
            flexibility: flexibility(square * (bend + 3.0 * latency)),
        }
    }
}
