//! What a host's flows answer to prices.

use super::Host;
use crate::coupled::block::{Counts, LANES, floor, lanes, max, scatter, store, total, within};
use crate::coupled::problem::Flows;
use crate::kernel::Kernel;
use crate::vector::widest;

impl<K: Kernel> Host<'_, '_, K> {
    /// Best rates at the prices charged, and what flows keep.
    pub(super) fn answer(&mut self) {
        let (kernel, flows) = (self.kernel, &self.worker.flows);
        let bounded = !flows.minimum.is_empty() || !flows.maximum.is_empty();
        let (rates, price) = (&mut *self.held.rates, &self.worker.price[..]);
        if !self.held.counts.is_empty() {
            let counts = Counts {
                list: self.held.counts,
                selection: self.selection,
            };
            let (kept, response) = answer_chosen(kernel, flows, counts, rates, price);
            self.sums.worth += kept;
            self.sums.response += response;
            return;
        }
        let price_count = price.len();
        let wants = |f: usize| flows.weight[f] > 0.0 || flows.kappa[f] > 0.0;
        if flows.maximum.is_empty() && (0..price.len()).any(|f| price[f] <= 0.0 && wants(f)) {
            // A flow without a price has no best rate.
            self.sums.worth = f64::INFINITY;
        }
        let (kept, response) = widest(
            #[inline(always)]
            || {
                let mut kept = [0.0; LANES];
                let mut response = [0.0; LANES];
                for from in (0..price.len()).step_by(LANES) {
                    let mut weight = lanes(&flows.weight, from, 0.0);
                    let mut kappa = lanes(&flows.kappa, from, 0.0);
                    // A price without a flow: nothing is kept.
                    let price = lanes(price, from, 0.0);
                    let mut variable = [0.0; LANES];
                    for lane in 0..LANES {
                        weight[lane] = kernel.weight(weight[lane]);
                        kappa[lane] = kernel.kappa(kappa[lane]);
                        variable[lane] =
                            kernel.answer::<true>(weight[lane], kappa[lane], price[lane]);
                    }
                    if bounded {
                        for (lane, variable) in variable.iter_mut().enumerate() {
                            *variable = within(kernel, flows, from + lane, *variable);
                        }
                    }
                    let mut rate = [0.0; LANES];
                    let mut keeps = [0.0; LANES];
                    let mut answers = [0.0; LANES];
                    for lane in 0..LANES {
                        let worth = kernel.worth::<true>(weight[lane], kappa[lane], variable[lane]);
                        keeps[lane] = worth.throughput + worth.latency - price[lane] * worth.rate;
                        rate[lane] = worth.rate;
                        answers[lane] = price[lane] * price[lane] * worth.flexibility;
                    }
                    let end = price_count - from;
                    for lane in 0..LANES {
                        kept[lane] += if lane < end { keeps[lane] } else { 0.0 };
                        response[lane] += if lane < end { answers[lane] } else { 0.0 };
                    }
                    store(rates, from, &rate);
                }
                (total(kept), total(response))
            },
        );
        self.sums.worth += kept;
        self.sums.response += response;
    }

    /// Loads, and weights of what flows answer to repairs.
    pub(super) fn tell_answers(&mut self) {
        let (kernel, flows, rates) = (self.kernel, &self.worker.flows, &*self.held.rates);
        if !self.held.counts.is_empty() || !flows.minimum.is_empty() || !flows.maximum.is_empty() {
            let counts = Counts {
                list: &*self.held.counts,
                selection: self.selection,
            };
            let inverse = |f: usize| {
                let flow = counts.flow(kernel, flows, f);
                1.0 / kernel.slope(flow.0, flow.1, kernel.variable(rates[f]))
            };
            scatter(flows, self.sums, |f| {
                if rates[f] > 0.0 && !counts.silent(flows, f) {
                    let inverse = inverse(f);
                    // Rounding may put a rate below its floor.
                    let above = max(rates[f] - floor(flows, f), 0.0);
                    (rates[f], above * inverse, inverse)
                } else {
                    (rates[f], 0.0, 0.0)
                }
            });
        } else {
            let price = &mut self.worker.price;
            for (price, f) in price.iter_mut().zip(0..) {
                // What is worth nothing to anybody may have no price.
                *price = if flows.weight[f] > 0.0 || flows.kappa[f] > 0.0 {
                    1.0 / *price
                } else {
                    0.0
                };
            }
            scatter(flows, self.sums, |f| {
                (rates[f], rates[f] * price[f], price[f])
            });
        }
    }
}

/// What a flow keeps at a price.
pub(super) fn kept<K: Kernel>(
    kernel: K,
    flows: &Flows,
    f: usize,
    weight: f64,
    kappa: f64,
    price: f64,
) -> f64 {
    let variable = within(
        kernel,
        flows,
        f,
        kernel.answer::<true>(weight, kappa, price),
    );
    let worth = kernel.worth::<true>(weight, kappa, variable);
    worth.throughput + worth.latency - price * worth.rate
}

/// As [`Host::answer`] where only some flows count.
fn answer_chosen<K: Kernel>(
    kernel: K,
    flows: &Flows,
    counts: Counts<'_>,
    rates: &mut [f64],
    price: &[f64],
) -> (f64, f64) {
    let (mut kept, mut response) = (0.0, 0.0);
    for f in 0..price.len() {
        let flow = counts.flow(kernel, flows, f);
        let variable = within(
            kernel,
            flows,
            f,
            kernel.answer::<true>(flow.0, flow.1, price[f]),
        );
        let worth = kernel.worth::<true>(flow.0, flow.1, variable);
        let out = counts.silent(flows, f);
        if !out {
            response += price[f] * price[f] * worth.flexibility;
        }
        kept += if out {
            counts.idle(f)
        } else if price[f] <= 0.0 && flows.maximum.is_empty() {
            f64::INFINITY
        } else {
            worth.throughput + worth.latency - price[f] * worth.rate
        };
        rates[f] = if out { 0.0 } else { worth.rate };
    }
    (kept, response)
}
