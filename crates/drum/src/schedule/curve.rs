//! What the rate of an application over all epochs is worth, with soft limits.
//!
//! Below its minimum a rate is worth a steep straight slope more, and where its maximum is near, the slope falls to 0. So
//! limits over all epochs are prices like any other, and epochs can be solved one after the other.

use crate::kernel::Kernel;
use crate::problem::{AnyKernel, with_kernel};

/// Part of a limit over which its slope changes: what minimums are exceeded by at most.
const SOFT: f64 = 2e-5;
/// Slope that a minimum has there, over what the rate is worth without it.
const STEEP: f64 = 1e3;

/// The worth of one application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    kernel: AnyKernel,
    /// As the kernel wants them.
    weight: f64,
    kappa: f64,
    latency: bool,
    /// Rate below which the slope is that of a minimum, and its slope there.
    floor: (f64, f64),
    /// Rate above which the slope falls to 0, and its slope there; the maximum itself.
    cap: (f64, f64),
    pub(super) most: f64,
}

/// Numbers of an application that its worth depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// As the kernel wants it.
    pub(super) weight: f64,
    pub(super) kappa: f64,
    /// Rates over all epochs.
    pub(super) least: f64,
    pub(super) most: f64,
    /// Slope that counts at a minimum where nothing else is worth anything.
    pub(super) price: f64,
}

impl Curve {
    pub(super) fn new(kernel: AnyKernel, terms: Terms) -> Self {
        let mut curve = Self {
            kernel,
            weight: terms.weight,
            kappa: with_kernel!(kernel, kernel => kernel.kappa(terms.kappa)),
            latency: terms.kappa > 0.0,
            floor: (0.0, 0.0),
            cap: (f64::INFINITY, 0.0),
            most: terms.most,
        };
        let floor = (terms.least * (1.0 + SOFT)).min(terms.most);
        if floor > 0.0 {
            curve.floor = (floor, curve.own_slope(floor).max(terms.price));
        }
        if terms.most.is_finite() {
            let cap = (terms.most * (1.0 - SOFT)).max(floor);
            curve.cap = (cap, curve.own_slope(cap));
        }
        curve
    }

    /// Slope without limits.
    fn own_slope(&self, rate: f64) -> f64 {
        with_kernel!(self.kernel, kernel => kernel.slope(self.weight, self.kappa, kernel.variable(rate)))
    }

    /// Rate of a slope without limits.
    fn own_rate(&self, slope: f64) -> f64 {
        macro_rules! answer {
            ($kernel:expr) => {
                match self.latency {
                    true => $kernel.answer::<true>(self.weight, self.kappa, slope),
                    false => $kernel.answer::<false>(self.weight, self.kappa, slope),
                }
            };
        }
        match self.kernel {
            AnyKernel::Linear(kernel) => answer!(kernel),
            AnyKernel::Half(kernel) => {
                let root = answer!(kernel);
                1.0 / (root * root)
            }
            AnyKernel::Log(kernel) => 1.0 / answer!(kernel),
            AnyKernel::Delay(kernel) => 1.0 / answer!(kernel),
            AnyKernel::General(kernel) => crate::math::exp(-answer!(kernel)),
        }
    }

    /// Worth without limits.
    pub(super) fn own_value(&self, rate: f64) -> f64 {
        let worth = with_kernel!(self.kernel, kernel => {
            kernel.worth::<true>(self.weight, self.kappa, kernel.variable(rate))
        });
        worth.throughput + worth.latency
    }

    /// What a little more is worth at a rate.
    pub(super) fn slope(&self, rate: f64) -> f64 {
        let ((floor, least), (cap, most)) = (self.floor, self.cap);
        if rate < floor {
            least * (1.0 + STEEP * (floor - rate) / (floor * SOFT))
        } else if rate > cap {
            most * ((self.most - rate) / (self.most - cap)).max(0.0)
        } else {
            self.own_slope(rate)
        }
    }

    /// The rate from which on nothing more is worth a price.
    pub(super) fn rate(&self, price: f64) -> f64 {
        let ((floor, least), (cap, most)) = (self.floor, self.cap);
        if floor > 0.0 && price >= least {
            return (floor * (1.0 - SOFT * (price / least - 1.0) / STEEP)).max(0.0);
        }
        if price < most || (most == 0.0 && price == 0.0 && cap.is_finite()) {
            let part = if most > 0.0 { price / most } else { 0.0 };
            return self.most - (self.most - cap) * part;
        }
        self.own_rate(price).clamp(floor, cap)
    }

    /// Worth of a rate, less that of its limits.
    pub(super) fn value(&self, rate: f64) -> f64 {
        let ((floor, least), (cap, most)) = (self.floor, self.cap);
        if rate < floor {
            let under = floor - rate;
            let steep = STEEP * under / (floor * SOFT);
            self.own_value(floor) - least * under * (1.0 + 0.5 * steep)
        } else if rate > cap {
            let over = rate.min(self.most) - cap;
            self.own_value(cap) + most * over * (1.0 - 0.5 * over / (self.most - cap))
        } else {
            self.own_value(rate)
        }
    }

    /// The most that rates from `least` to `most` are worth at a price.
    pub(super) fn surplus(&self, price: f64, (least, most): (f64, f64)) -> f64 {
        let rate = if price > 0.0 {
            self.own_rate(price)
        } else {
            most
        };
        let rate = rate.clamp(least, most);
        self.own_value(rate) - price * rate
    }
}
