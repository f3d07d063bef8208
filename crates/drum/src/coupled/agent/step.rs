//! Proximal steps of a host's flows.

use super::Host;
use crate::coupled::flock::{Counts, LANES, bounds, lanes, max, scatter, store};
use crate::coupled::problem::Flows;
use crate::kernel::{Prox, Worth};
use crate::math::{clamp, min};
use crate::vector::widest;

/// Curvature of the proximal term over that of the utility.
const GAMMA: f64 = 4.0;
/// Over-relaxation.
const OMEGA: f64 = 1.6;

impl<K: Prox> Host<'_, '_, K> {
    /// `x+ = argmax phi(x) - P x - c/2 (x - old)^2`, over-relaxed.
    pub(super) fn prox(&mut self, point: &[f64], frozen: bool) {
        self.charge(point);
        let (kernel, flows) = (self.kernel, &self.desk.flows);
        let bounded = !flows.minimum.is_empty() || !flows.maximum.is_empty();
        let (rates, price, base) = (&mut *self.held.rates, &self.desk.price, &self.desk.base);
        let counts = Counts {
            list: &*self.held.counts,
            selection: self.selection,
        };
        let curvature = &*self.held.curvature;
        widest(
            #[inline(always)]
            || {
                for from in (0..rates.len()).step_by(LANES) {
                    let block = counts.block(flows, from);
                    let old = lanes(rates, from, 1.0);
                    let least = lanes(&flows.minimum, from, 0.0);
                    let base = lanes(base, from, 0.0);
                    let price = lanes(price, from, 1.0);
                    let (mut weight, mut kappa) = (block.weight, block.kappa);
                    let (mut start, mut c) = ([0.0; LANES], [1.0; LANES]);
                    for lane in 0..LANES {
                        weight[lane] = kernel.weight(weight[lane]);
                        kappa[lane] = kernel.kappa(kappa[lane]);
                        start[lane] = kernel.variable(old[lane]);
                    }
                    if frozen {
                        c = held(curvature, from);
                    } else {
                        for lane in 0..LANES {
                            let bends =
                                bend(kernel.worth::<true>(weight[lane], kappa[lane], start[lane]));
                            c[lane] = steep(base[lane], block.kappa[lane], bends);
                        }
                    }
                    let mut near = [0.0; LANES];
                    for lane in 0..LANES {
                        let p = price[lane] - c[lane] * old[lane];
                        let flow = (weight[lane], kappa[lane]);
                        near[lane] = kernel.near(flow, c[lane], p, start[lane]);
                    }
                    let mut next = [0.0; LANES];
                    for lane in 0..LANES {
                        next[lane] = kernel
                            .worth::<true>(weight[lane], kappa[lane], near[lane])
                            .rate;
                    }
                    if bounded {
                        confine(flows, from, &mut next);
                    }
                    let mut new = [0.0; LANES];
                    for lane in 0..LANES {
                        let sends = block.sends[lane] > 0.0;
                        let relaxed = relaxed(old[lane], next[lane]);
                        new[lane] = if sends { relaxed } else { least[lane] };
                    }
                    if bounded {
                        confine(flows, from, &mut new);
                    }
                    store(rates, from, &new);
                }
            },
        );
        if frozen {
            self.tell_loads();
        } else {
            self.tell_curvatures();
        }
    }

    /// Loads, and weights of proximal steps from the rates.
    pub(super) fn tell_curvatures(&mut self) {
        let (kernel, flows, rates) = (self.kernel, &self.desk.flows, &*self.held.rates);
        let counts = Counts {
            list: &*self.held.counts,
            selection: self.selection,
        };
        let (lift, base) = (&mut self.desk.lift, &self.desk.base);
        lift.clear();
        lift.resize(rates.len(), 0.0);
        for column in &flows.columns {
            for (uses, coefficient) in lift.iter_mut().zip(&column.coefficient) {
                *uses += if *coefficient > 0.0 { 1.0 } else { 0.0 };
            }
        }
        widest(
            #[inline(always)]
            || {
                for from in (0..rates.len()).step_by(LANES) {
                    let block = counts.block(flows, from);
                    let rate = lanes(rates, from, 1.0);
                    let mut weights = lanes(lift, from, 0.0);
                    let base = lanes(base, from, 0.0);
                    for lane in 0..LANES {
                        let weight = kernel.weight(block.weight[lane]);
                        let kappa = kernel.kappa(block.kappa[lane]);
                        let worth =
                            kernel.worth::<true>(weight, kappa, kernel.variable(rate[lane]));
                        let answer =
                            weights[lane] / steep(base[lane], block.kappa[lane], bend(worth));
                        weights[lane] = if block.sends[lane] > 0.0 { answer } else { 0.0 };
                    }
                    store(lift, from, &weights);
                }
            },
        );
        scatter(flows, self.sums, |f| (rates[f], lift[f], 0.0));
        for (f, curvature) in self.held.curvature.iter_mut().enumerate() {
            let flow = counts.flow(kernel, flows, f);
            let bends = bend(kernel.worth::<true>(flow.0, flow.1, kernel.variable(rates[f])));
            let base = self.desk.base.get(f).copied().unwrap_or(0.0);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a step's curvature may be rounded"
            )]
            {
                *curvature = steep(base, flows.kappa[f], bends) as f32;
            }
        }
    }
}

/// Curvatures of a block of flows.
#[inline(always)]
fn held(curvature: &[f32], from: usize) -> [f64; LANES] {
    let mut block = [1.0; LANES];
    for (lane, value) in block.iter_mut().enumerate() {
        *value = curvature.get(from + lane).copied().map_or(1.0, f64::from);
    }
    block
}

/// Keeps the rates of a block within their bounds.
#[inline(always)]
fn confine(flows: &Flows, from: usize, rates: &mut [f64; LANES]) {
    for (lane, rate) in rates.iter_mut().enumerate() {
        let (least, most) = bounds(flows, from + lane);
        *rate = clamp(*rate, least, most);
    }
}

/// Beyond the answer, but not close to zero at once.
#[inline(always)]
fn relaxed(old: f64, next: f64) -> f64 {
    max(old + OMEGA * (next - old), 0.1 * min(old, next))
}

/// Curvature of a proximal step.
#[inline(always)]
fn bend(worth: Worth) -> f64 {
    GAMMA / worth.flexibility
}

/// Curvature of a proximal step of a flow that may hardly bend: then `base` is positive, and only latency keeps
/// rates from where the curvature is of no use.
#[inline(always)]
fn steep(base: f64, kappa: f64, bend: f64) -> f64 {
    if base > 0.0 && kappa == 0.0 {
        base
    } else {
        max(bend, base)
    }
}
