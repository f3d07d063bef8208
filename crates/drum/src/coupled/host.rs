//! What a host does with prices: the rates of its flows, and what they add up to.

mod answer;
mod repair;

use alloc::vec::Vec;

use self::answer::kept;
use crate::coupled::block::{Counts, bounds, max, row_of, scatter};
use crate::coupled::order::{Order, Sums};
use crate::coupled::problem::{Flows, Rows};
use crate::coupled::selection::{Choice, Selection};
use crate::coupled::solve::FLAT;
use crate::kernel::Kernel;
use crate::math::{clamp, min};
use crate::problem::{AnyKernel, with_kernel};

/// What rates are limited to, over what their rows have: as much as a row has would take the row's place, and its price.
const BEYOND: f64 = 2.0;

/// Limits rates to what their rows have, which excludes none that keeps the rows. Without it, flows that
/// hardly bend or have some greatest rate answer to prices that are almost right with rates beyond all numbers.
pub(crate) fn limit(alpha: f64, flows: &mut Flows, capacities: &[f64]) {
    if alpha >= FLAT && flows.maximum.is_empty() && flows.minimum.is_empty() {
        return;
    }
    flows.maximum.resize(flows.len(), f64::INFINITY);
    for column in &flows.columns {
        for (f, most) in flows.maximum.iter_mut().enumerate() {
            let reach = BEYOND * capacities[row_of(&column.rows, f)] / column.coefficient[f];
            // Not a number where the row isn't used.
            *most = min(reach, *most);
        }
    }
    for (most, least) in flows.maximum.iter_mut().zip(&flows.minimum) {
        *most = max(*least, *most);
    }
}

/// What a host remembers of its flows: views of lists that cover many hosts.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    /// Rates (WQE/s).
    pub(crate) rates: &'a mut [f64],
    /// Which flows count; empty where all do.
    pub(crate) counts: &'a mut [bool],
}

/// Buffers of a worker, filled again for each host.
#[derive(Debug, Default)]
pub(crate) struct HostWorker {
    pub(crate) flows: Flows,
    price: Vec<f64>,
    lift: Vec<f64>,
    scale: Vec<f64>,
    gain: Vec<f64>,
}

/// Carries out an order for one host, whose flows are in `worker`, and adds to `sums`, which has
/// been cleared.
pub(crate) fn carry_out(
    kernel: AnyKernel,
    order: &Order,
    worker: &mut HostWorker,
    held: &mut Held<'_>,
    (selection, sums): (Selection, &mut Sums),
) {
    with_kernel!(kernel, kernel => Host {
        kernel,
        worker,
        held,
        selection,
        sums,
    }
    .run(order));
}

struct Host<'a, 'b, K> {
    kernel: K,
    worker: &'a mut HostWorker,
    held: &'a mut Held<'b>,
    selection: Selection,
    sums: &'a mut Sums,
}

impl<K: Kernel> Host<'_, '_, K> {
    fn run(mut self, order: &Order) {
        match order {
            Order::Weigh => {
                self.held.rates.fill(1.0);
                self.tell_loads();
                self.tell_floors();
            }
            Order::Begin { shares } => self.begin(shares),
            Order::Answer { prices, choose } => {
                self.charge(prices);
                self.choose(*choose);
                self.answer();
                self.tell_answers();
            }
            Order::Value { repair } => self.value(repair, false),
            Order::Keep { repair } => self.value(repair, true),
        }
    }

    /// Price of each flow.
    fn charge(&mut self, prices: &[f64]) {
        let worker = &mut *self.worker;
        let flows = worker.flows.len();
        worker.price.clear();
        worker.price.resize(flows, 0.0);
        for column in &worker.flows.columns {
            let cells = worker.price.iter_mut().zip(&column.coefficient[..flows]);
            match &column.rows {
                Rows::One(row) => {
                    let price = prices[*row as usize];
                    cells.for_each(|(sum, coefficient)| *sum += coefficient * price);
                }
                Rows::Each(rows) => {
                    cells
                        .zip(&rows[..flows])
                        .for_each(|((sum, coefficient), row)| {
                            *sum += coefficient * prices[*row as usize]
                        })
                }
            }
        }
    }

    /// Takes the smallest share of each flow's rows, and tells what flows would pay for that if it were the best: nearly
    /// all of it to the scarcest row.
    fn begin(&mut self, shares: &[f64]) {
        let (kernel, flows, rates) = (self.kernel, &self.worker.flows, &mut *self.held.rates);
        let counts = Counts {
            list: &*self.held.counts,
            selection: self.selection,
        };
        let used = |f: usize| {
            let columns = flows.columns.iter();
            let used = columns.filter(move |column| column.coefficient[f] > 0.0);
            used.map(move |column| row_of(&column.rows, f))
        };
        for (f, rate) in rates.iter_mut().enumerate() {
            let (least, most) = bounds(flows, f);
            if counts.silent(flows, f) {
                *rate = least;
                continue;
            }
            let share = used(f).map(|row| shares[row]).fold(f64::INFINITY, f64::min);
            *rate = clamp(share, least, most);
            if *rate <= 0.0 {
                continue;
            }
            let (weight, kappa) = counts.flow(kernel, flows, f);
            let paid = *rate * kernel.slope(weight, kappa, kernel.variable(*rate));
            // The sixth power takes fewer passes than the second, the fourth and the thirtieth.
            let scarcity = |row: usize| {
                let part = share / shares[row];
                let cube = part * part * part;
                cube * cube
            };
            let total: f64 = used(f).map(scarcity).sum();
            for row in used(f) {
                self.sums.loads[row] += paid * scarcity(row) / total;
            }
        }
    }

    /// Which flows count at the prices charged.
    fn choose(&mut self, choose: bool) {
        if !choose || self.selection.choice == Choice::All {
            return;
        }
        let (kernel, flows) = (self.kernel, &self.worker.flows);
        let (gain, price) = (&mut self.worker.gain, &self.worker.price);
        gain.clear();
        gain.extend((0..flows.len()).map(|f| {
            let (weight, kappa) = (kernel.weight(flows.weight[f]), kernel.kappa(flows.kappa[f]));
            let value = |weight| kept(kernel, flows, f, weight, kappa, price[f]);
            let without = || {
                if flows.kappa[f] > 0.0 {
                    value(kernel.weight(0.0))
                } else {
                    0.0
                }
            };
            let gain = value(weight) - self.selection.otherwise(without);
            // A flow without a price gains without end.
            if gain.is_nan() { f64::INFINITY } else { gain }
        }));
        self.selection.choose(gain, self.held.counts);
    }

    fn tell_loads(&mut self) {
        let rates = &*self.held.rates;
        scatter(&self.worker.flows, self.sums, |f| (rates[f], 0.0, 0.0));
    }

    fn tell_floors(&mut self) {
        let flows = &self.worker.flows;
        if flows.minimum.is_empty() {
            return;
        }
        self.sums.floors.resize(self.sums.loads.len(), 0.0);
        for column in &flows.columns {
            for f in 0..flows.len() {
                self.sums.floors[row_of(&column.rows, f)] +=
                    column.coefficient[f] * flows.minimum[f];
            }
        }
    }
}
