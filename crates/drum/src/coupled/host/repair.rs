//! A host's rates, changed to fit the rows.

use super::Host;
use crate::coupled::block::{Counts, LANES, bounds, max, row_of, total};
use crate::coupled::order::Repair;
use crate::kernel::Kernel;
use crate::math::min;
use crate::vector::widest;

/// Factor that a repair raises a rate by at most.
const MOST_RAISED: f64 = 2.0;

impl<K: Kernel> Host<'_, '_, K> {
    /// What the rates are worth once they are changed to fit.
    pub(super) fn value(&mut self, repair: &[Repair], keep: bool) {
        self.gather_repair(repair);
        let (kernel, flows) = (self.kernel, &self.worker.flows);
        let counts = Counts {
            list: &*self.held.counts,
            selection: self.selection,
        };
        let (lift, scale) = (&self.worker.lift[..], &self.worker.scale[..]);
        let rates = &mut *self.held.rates;
        self.sums.worth += widest(
            #[inline(always)]
            || {
                let mut sum = [0.0; LANES];
                for f in 0..rates.len() {
                    let flow = counts.flow(kernel, flows, f);
                    let steep = kernel.slope(flow.0, flow.1, kernel.variable(rates[f]));
                    let (least, most) = bounds(flows, f);
                    let factor = min(scale[f], 1.0 - lift[f] / steep);
                    let factor = if factor > 0.0 { factor } else { 0.0 };
                    let silent = counts.silent(flows, f);
                    let changed = if silent {
                        least
                    } else {
                        min(least + (rates[f] - least) * factor, most)
                    };
                    let worth = kernel.worth::<true>(flow.0, flow.1, kernel.variable(changed));
                    let worth = worth.throughput + worth.latency;
                    sum[f % LANES] += if silent { counts.idle(f) } else { worth };
                    if keep {
                        rates[f] = changed;
                    }
                }
                total(sum)
            },
        );
        if keep {
            self.tell_loads();
        }
    }

    /// The change of price that each flow follows, and the factor that its rate changes by at most.
    pub(super) fn gather_repair(&mut self, repair: &[Repair]) {
        let worker = &mut *self.worker;
        let flows = worker.flows.len();
        for (list, value) in [
            (&mut worker.lift, f64::NEG_INFINITY),
            (&mut worker.scale, MOST_RAISED),
        ] {
            list.clear();
            list.resize(flows, value);
        }
        for column in &worker.flows.columns {
            for f in 0..flows {
                let coefficient = column.coefficient[f];
                if coefficient <= 0.0 {
                    continue;
                }
                match repair[row_of(&column.rows, f)] {
                    Repair::Price(change) => {
                        worker.lift[f] = max(coefficient * change, worker.lift[f]);
                    }
                    Repair::Part(part) => worker.scale[f] = min(part, worker.scale[f]),
                }
            }
        }
    }
}
