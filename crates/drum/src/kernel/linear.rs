//! Alpha 0, in the rate itself: `phi' = w + kappa x^-3`.

use super::{Kernel, Worth, flexibility};
use crate::math::cube_root;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Linear;

impl Kernel for Linear {
    const FALLING: bool = false;

    #[inline(always)]
    fn variable(self, rate: f64) -> f64 {
        rate
    }

    #[inline(always)]
    fn answer<const LATENCY: bool>(self, weight: f64, kappa: f64, price: f64) -> f64 {
        let excess = price - weight;
        let root = if kappa > 0.0 && excess > 0.0 {
            cube_root(kappa / excess)
        } else {
            0.0
        };
        if excess > 0.0 { root } else { f64::INFINITY }
    }

    #[inline(always)]
    fn slope(self, weight: f64, kappa: f64, x: f64) -> f64 {
        weight
            + if kappa > 0.0 {
                kappa / (x * x * x)
            } else {
                0.0
            }
    }

    #[inline(always)]
    fn worth<const LATENCY: bool>(self, weight: f64, kappa: f64, x: f64) -> Worth {
        let square = 1.0 / (x * x);
        let latency = if kappa > 0.0 { kappa * square } else { 0.0 };
        Worth {
            rate: x,
            throughput: weight * x,
            latency: -0.5 * latency,
            flexibility: flexibility(3.0 * latency * square),
        }
    }
}
