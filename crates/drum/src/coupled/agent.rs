//! What a host does with prices: the rates of its flows, and what they add up to.
//!
//! The arithmetic is the same whether hosts are blocks of one process or agents that exchange
//! messages, bit for bit: a host's sums begin at 0, and sums of hosts are added up in a fixed tree.

use alloc::vec::Vec;

use crate::coupled::flock::{
    Counts, LANES, bounds, floor, lanes, max, row_of, scatter, store, total, within,
};
use crate::coupled::order::{Curvature, Order, Sums};
use crate::coupled::problem::{Flows, Rows};
use crate::coupled::selection::{Choice, Selection};
use crate::kernel::{General, Half, Kernel, Log, Prox, Worth};
use crate::math::{clamp, min};
use crate::vector::widest;

/// Curvature of the proximal term over that of the utility.
const GAMMA: f64 = 4.0;
/// Over-relaxation.
const OMEGA: f64 = 1.6;

/// Which kernel answers.
#[derive(Clone, Copy)]
pub(crate) enum Curve {
    Half(Half),
    Log(Log),
    General(General),
}

impl Curve {
    pub(crate) fn new(alpha: f64) -> Self {
        if alpha == 0.5 {
            Self::Half(Half)
        } else if alpha == 1.0 {
            Self::Log(Log)
        } else {
            Self::General(General::new(alpha))
        }
    }
}

/// What a host remembers of its flows: views of lists that cover many hosts.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    /// Rates (WQE/s).
    pub(crate) rates: &'a mut [f64],
    /// Frozen curvature of proximal steps; empty until it is frozen.
    pub(crate) curvature: &'a mut [f32],
    /// Which flows count; empty where all do.
    pub(crate) counts: &'a mut [bool],
}

/// Buffers of a worker, filled again for each host.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    pub(crate) flows: Flows,
    price: Vec<f64>,
    lift: Vec<f64>,
    scale: Vec<f64>,
    gain: Vec<f64>,
}

impl Desk {
    /// A desk with flows that stay on it.
    pub(crate) fn new(flows: Flows) -> Self {
        Self {
            flows,
            ..Self::default()
        }
    }
}

/// Carries out an order for one host, whose flows are on the desk, and adds to `sums`, which has
/// been cleared.
pub(crate) fn carry_out(
    curve: Curve,
    order: &Order,
    desk: &mut Desk,
    held: &mut Held<'_>,
    (selection, sums): (Selection, &mut Sums),
) {
    match curve {
        Curve::Half(kernel) => Host {
            kernel,
            desk,
            held,
            selection,
            sums,
        }
        .run(order),
        Curve::Log(kernel) => Host {
            kernel,
            desk,
            held,
            selection,
            sums,
        }
        .run(order),
        Curve::General(kernel) => Host {
            kernel,
            desk,
            held,
            selection,
            sums,
        }
        .run(order),
    }
}

struct Host<'a, 'b, K> {
    kernel: K,
    desk: &'a mut Desk,
    held: &'a mut Held<'b>,
    selection: Selection,
    sums: &'a mut Sums,
}

impl<K: Prox> Host<'_, '_, K> {
    fn run(mut self, order: &Order) {
        match order {
            Order::Weigh => {
                self.held.rates.fill(1.0);
                self.tell_loads();
                self.tell_floors();
            }
            Order::Begin { shares } => self.begin(shares),
            Order::Prox { point, curvature } => self.prox(point, *curvature == Curvature::Frozen),
            Order::Answer { prices, choose } => {
                self.charge(prices);
                self.choose(*choose);
                self.answer(true);
                self.tell_answers();
            }
            Order::Resume { prices } => {
                self.charge(prices);
                self.answer(true);
                self.tell_curvatures();
            }
            Order::Bound { prices } => {
                self.charge(prices);
                self.answer(false);
            }
            Order::Value { repair } => self.value(repair, false),
            Order::Keep { repair } => self.value(repair, true),
        }
    }

    /// Price of each flow.
    fn charge(&mut self, prices: &[f64]) {
        let desk = &mut *self.desk;
        let flows = desk.flows.len();
        desk.price.clear();
        desk.price.resize(flows, 0.0);
        for column in &desk.flows.columns {
            let cells = desk.price.iter_mut().zip(&column.coefficient[..flows]);
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

    /// The smallest share of each flow's rows, within its bounds.
    fn begin(&mut self, shares: &[f64]) {
        let flows = &self.desk.flows;
        self.held.rates.fill(f64::INFINITY);
        for column in &flows.columns {
            for (f, rate) in self.held.rates.iter_mut().enumerate() {
                if column.coefficient[f] > 0.0 {
                    *rate = min(shares[row_of(&column.rows, f)], *rate);
                }
            }
        }
        for (f, rate) in self.held.rates.iter_mut().enumerate() {
            let (least, most) = bounds(flows, f);
            *rate = clamp(*rate, least, most);
        }
        self.tell_curvatures();
    }

    /// `x+ = argmax phi(x) - P x - c/2 (x - old)^2`, over-relaxed.
    fn prox(&mut self, point: &[f64], frozen: bool) {
        self.charge(point);
        let (kernel, flows) = (self.kernel, &self.desk.flows);
        let bounded = !flows.minimum.is_empty() || !flows.maximum.is_empty();
        let (rates, price) = (&mut *self.held.rates, &self.desk.price);
        let counts = Counts {
            list: &*self.held.counts,
            selection: self.selection,
        };
        let curvature = &*self.held.curvature;
        self.sums.residual += widest(
            #[inline(always)]
            || {
                let mut residual = [0.0; LANES];
                for from in (0..rates.len()).step_by(LANES) {
                    let block = counts.block(flows, from);
                    let old = lanes(rates, from, 1.0);
                    let price = lanes(price, from, 1.0);
                    let (mut weight, mut kappa) = (block.weight, block.kappa);
                    let (mut start, mut c) = ([0.0; LANES], [1.0; LANES]);
                    for lane in 0..LANES {
                        weight[lane] = kernel.weight(weight[lane]);
                        kappa[lane] = kernel.kappa(kappa[lane]);
                        start[lane] = kernel.variable(old[lane]);
                    }
                    if frozen {
                        for (lane, c) in c.iter_mut().enumerate() {
                            *c = curvature.get(from + lane).copied().map_or(1.0, f64::from);
                        }
                    } else {
                        for lane in 0..LANES {
                            c[lane] = bend(kernel.worth(weight[lane], kappa[lane], start[lane]));
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
                        next[lane] = kernel.worth(weight[lane], kappa[lane], near[lane]).rate;
                    }
                    if bounded {
                        for (lane, next) in next.iter_mut().enumerate() {
                            let (least, most) = bounds(flows, from + lane);
                            *next = clamp(*next, least, most);
                        }
                    }
                    let mut new = [0.0; LANES];
                    for lane in 0..LANES {
                        let moved = next[lane] - old[lane];
                        let force = c[lane] * moved * block.sends[lane];
                        residual[lane] += force * force;
                        let relaxed =
                            max(old[lane] + OMEGA * moved, 0.1 * min(old[lane], next[lane]));
                        new[lane] = if block.sends[lane] > 0.0 {
                            relaxed
                        } else {
                            0.0
                        };
                    }
                    store(rates, from, &new);
                }
                total(residual)
            },
        );
        if frozen {
            self.tell_loads();
        } else {
            self.tell_curvatures();
        }
    }

    /// Which flows count at the prices charged.
    fn choose(&mut self, choose: bool) {
        if !choose || self.selection.choice == Choice::All {
            return;
        }
        let (kernel, flows) = (self.kernel, &self.desk.flows);
        let (gain, price) = (&mut self.desk.gain, &self.desk.price);
        gain.clear();
        gain.extend((0..flows.len()).map(|f| {
            let (weight, kappa) = (kernel.weight(flows.weight[f]), kernel.kappa(flows.kappa[f]));
            let value = |weight| kept(kernel, (flows, f), (weight, kappa), price[f]);
            let without = || {
                if flows.kappa[f] > 0.0 {
                    value(kernel.weight(0.0))
                } else {
                    0.0
                }
            };
            value(weight) - self.selection.otherwise(without)
        }));
        self.selection.choose(gain, self.held.counts);
    }

    /// Best rates at the prices charged, and what flows keep; rates are taken over if `take`.
    fn answer(&mut self, take: bool) {
        let (kernel, flows) = (self.kernel, &self.desk.flows);
        let bounded = !flows.minimum.is_empty() || !flows.maximum.is_empty();
        let (rates, price) = (&mut *self.held.rates, &self.desk.price[..]);
        if !self.held.counts.is_empty() {
            let counts = Counts {
                list: self.held.counts,
                selection: self.selection,
            };
            self.sums.worth += answer_chosen(kernel, flows, counts, (rates, price), take);
            return;
        }
        let price_count = price.len();
        if flows.maximum.is_empty() && price.iter().any(|&price| price <= 0.0) {
            // A flow without a price has no best rate.
            self.sums.worth = f64::INFINITY;
        }
        self.sums.worth += widest(
            #[inline(always)]
            || {
                let mut kept = [0.0; LANES];
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
                    for lane in 0..LANES {
                        let worth = kernel.worth(weight[lane], kappa[lane], variable[lane]);
                        keeps[lane] = worth.throughput + worth.latency - price[lane] * worth.rate;
                        rate[lane] = worth.rate;
                    }
                    let end = price_count - from;
                    for lane in 0..LANES {
                        kept[lane] += if lane < end { keeps[lane] } else { 0.0 };
                    }
                    if take {
                        store(rates, from, &rate);
                    }
                }
                total(kept)
            },
        );
    }

    /// What the rates are worth once they are reduced to fit.
    fn value(&mut self, repair: &[f64], keep: bool) {
        self.gather_repair(repair);
        let (kernel, flows) = (self.kernel, &self.desk.flows);
        let counts = Counts {
            list: &*self.held.counts,
            selection: self.selection,
        };
        let (lift, scale) = (&self.desk.lift[..], &self.desk.scale[..]);
        let rates = &mut *self.held.rates;
        self.sums.worth += widest(
            #[inline(always)]
            || {
                let mut sum = [0.0; LANES];
                for f in 0..rates.len() {
                    let flow = counts.flow(kernel, flows, f);
                    let steep = kernel.slope(flow.0, flow.1, kernel.variable(rates[f]));
                    let least = floor(flows, f);
                    let factor = min(scale[f], 1.0 - lift[f] / steep);
                    let reduced =
                        least + (rates[f] - least) * if factor > 0.0 { factor } else { 0.0 };
                    let worth = kernel.worth(flow.0, flow.1, kernel.variable(reduced));
                    let worth = worth.throughput + worth.latency;
                    sum[f % LANES] += if counts.silent(flows, f) {
                        counts.idle(f)
                    } else {
                        worth
                    };
                    if keep {
                        rates[f] = reduced;
                    }
                }
                total(sum)
            },
        );
        if keep {
            self.tell_loads();
        }
    }

    /// By which price each flow's rate is reduced, and by which factor at least.
    fn gather_repair(&mut self, repair: &[f64]) {
        let desk = &mut *self.desk;
        let flows = desk.flows.len();
        for (list, value) in [(&mut desk.lift, 0.0), (&mut desk.scale, 1.0)] {
            list.clear();
            list.resize(flows, value);
        }
        for column in &desk.flows.columns {
            for f in 0..flows {
                let (coefficient, code) = (column.coefficient[f], repair[row_of(&column.rows, f)]);
                let lift = coefficient * code;
                desk.lift[f] = if lift > desk.lift[f] {
                    lift
                } else {
                    desk.lift[f]
                };
                let scale = if coefficient > 0.0 { 1.0 + code } else { 1.0 };
                desk.scale[f] = min(scale, desk.scale[f]);
            }
        }
    }

    fn tell_loads(&mut self) {
        let rates = &*self.held.rates;
        scatter(&self.desk.flows, self.sums, |f| (rates[f], 0.0, 0.0));
    }

    /// Loads, and weights of what flows answer to repairs.
    fn tell_answers(&mut self) {
        let (kernel, flows, rates) = (self.kernel, &self.desk.flows, &*self.held.rates);
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
                if rates[f] > 0.0 {
                    let inverse = inverse(f);
                    (rates[f], (rates[f] - floor(flows, f)) * inverse, inverse)
                } else {
                    (0.0, 0.0, 0.0)
                }
            });
        } else {
            let price = &mut self.desk.price;
            price.iter_mut().for_each(|price| *price = 1.0 / *price);
            scatter(flows, self.sums, |f| {
                (rates[f], rates[f] * price[f], price[f])
            });
        }
    }

    /// Loads, and weights of proximal steps from the rates.
    fn tell_curvatures(&mut self) {
        let (kernel, flows, rates) = (self.kernel, &self.desk.flows, &*self.held.rates);
        let counts = Counts {
            list: &*self.held.counts,
            selection: self.selection,
        };
        let lift = &mut self.desk.lift;
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
                    for lane in 0..LANES {
                        let weight = kernel.weight(block.weight[lane]);
                        let kappa = kernel.kappa(block.kappa[lane]);
                        let worth = kernel.worth(weight, kappa, kernel.variable(rate[lane]));
                        let answer = weights[lane] / bend(worth);
                        weights[lane] = if block.sends[lane] > 0.0 { answer } else { 0.0 };
                    }
                    store(lift, from, &weights);
                }
            },
        );
        scatter(flows, self.sums, |f| (rates[f], lift[f], 0.0));
        for (f, curvature) in self.held.curvature.iter_mut().enumerate() {
            let flow = counts.flow(kernel, flows, f);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a step's curvature may be rounded"
            )]
            {
                *curvature = bend(kernel.worth(flow.0, flow.1, kernel.variable(rates[f]))) as f32;
            }
        }
    }

    fn tell_floors(&mut self) {
        let flows = &self.desk.flows;
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

/// Curvature of a proximal step.
#[inline(always)]
fn bend(worth: Worth) -> f64 {
    GAMMA / worth.flexibility
}

/// What a flow keeps at a price.
fn kept<K: Kernel>(
    kernel: K,
    (flows, f): (&Flows, usize),
    (weight, kappa): (f64, f64),
    price: f64,
) -> f64 {
    let variable = within(
        kernel,
        flows,
        f,
        kernel.answer::<true>(weight, kappa, price),
    );
    let worth = kernel.worth(weight, kappa, variable);
    worth.throughput + worth.latency - price * worth.rate
}

/// As [`Host::answer`] where only some flows count.
fn answer_chosen<K: Kernel>(
    kernel: K,
    flows: &Flows,
    counts: Counts<'_>,
    (rates, price): (&mut [f64], &[f64]),
    take: bool,
) -> f64 {
    let mut kept = 0.0;
    for f in 0..price.len() {
        let flow = counts.flow(kernel, flows, f);
        let variable = within(
            kernel,
            flows,
            f,
            kernel.answer::<true>(flow.0, flow.1, price[f]),
        );
        let worth = kernel.worth(flow.0, flow.1, variable);
        let out = counts.silent(flows, f);
        kept += if out {
            counts.idle(f)
        } else if price[f] <= 0.0 && flows.maximum.is_empty() {
            f64::INFINITY
        } else {
            worth.throughput + worth.latency - price[f] * worth.rate
        };
        if take {
            rates[f] = if out { 0.0 } else { worth.rate };
        }
    }
    kept
}
