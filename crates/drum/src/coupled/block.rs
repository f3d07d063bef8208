//! Flows of a host a block at a time, and sums over them.

use crate::coupled::order::Sums;
use crate::coupled::problem::{Flows, Rows};
use crate::coupled::selection::Selection;
use crate::kernel::Kernel;
use crate::math::clamp;

/// Flows that are calculated with at a time, and lanes of a sum.
pub(super) const LANES: usize = 8;

/// Which flows count; empty where all do.
#[derive(Clone, Copy)]
pub(super) struct Counts<'a> {
    pub(super) list: &'a [bool],
    pub(super) selection: Selection,
}

impl Counts<'_> {
    #[inline(always)]
    pub(super) fn counts(self, f: usize) -> bool {
        self.list.is_empty() || self.list[f]
    }

    #[inline(always)]
    pub(super) fn weight(self, flows: &Flows, f: usize) -> f64 {
        if self.counts(f) { flows.weight[f] } else { 0.0 }
    }

    /// Weight and latency coefficient of a flow as the kernel wants them.
    #[inline(always)]
    pub(super) fn flow<K: Kernel>(self, kernel: K, flows: &Flows, f: usize) -> (f64, f64) {
        (
            kernel.weight(self.weight(flows, f)),
            kernel.kappa(flows.kappa[f]),
        )
    }

    /// Whether a flow doesn't send: it may not, or nothing is worth anything to it.
    #[inline(always)]
    pub(super) fn silent(self, flows: &Flows, f: usize) -> bool {
        (self.selection.silences() && !self.counts(f))
            || (self.weight(flows, f) == 0.0 && flows.kappa[f] == 0.0)
    }

    /// Value of a flow that doesn't send.
    #[inline(always)]
    pub(super) fn idle(self, f: usize) -> f64 {
        if self.selection.silences() && !self.counts(f) {
            self.selection.outage
        } else {
            0.0
        }
    }
}

/// A block of a list, filled up beyond its end.
#[inline(always)]
pub(super) fn lanes(list: &[f64], from: usize, rest: f64) -> [f64; LANES] {
    match list.get(from..from + LANES).map(<[f64; LANES]>::try_from) {
        Some(Ok(block)) => block,
        _ => core::array::from_fn(|lane| list.get(from + lane).copied().unwrap_or(rest)),
    }
}

/// Puts a block into a list, up to its end.
#[inline(always)]
pub(super) fn store(list: &mut [f64], from: usize, block: &[f64; LANES]) {
    match list.get_mut(from..from + LANES) {
        Some(part) => part.copy_from_slice(block),
        None => {
            for (to, value) in list[from..].iter_mut().zip(block) {
                *to = *value;
            }
        }
    }
}

#[inline(always)]
pub(super) fn row_of(rows: &Rows, f: usize) -> usize {
    match rows {
        Rows::One(row) => *row as usize,
        Rows::Each(rows) => rows[f] as usize,
    }
}

#[inline(always)]
pub(super) fn floor(flows: &Flows, f: usize) -> f64 {
    flows.minimum.get(f).copied().unwrap_or(0.0)
}

#[inline(always)]
pub(super) fn bounds(flows: &Flows, f: usize) -> (f64, f64) {
    (
        floor(flows, f),
        flows.maximum.get(f).copied().unwrap_or(f64::INFINITY),
    )
}

/// A kernel's variable within the bounds of a flow; all kernels here have one that falls with the rate.
#[inline(always)]
pub(super) fn within<K: Kernel>(kernel: K, flows: &Flows, f: usize, variable: f64) -> f64 {
    let (least, most) = bounds(flows, f);
    let top = if least > 0.0 {
        kernel.variable(least)
    } else {
        f64::INFINITY
    };
    clamp(variable, kernel.variable(most), top)
}

/// Adds up use, weight and top of each row; `of` says rate, weight and top of a flow.
#[inline(always)]
pub(super) fn scatter(flows: &Flows, sums: &mut Sums, of: impl Fn(usize) -> (f64, f64, f64)) {
    let rows = sums.loads.len();
    let (loads, weights, tops) = (
        &mut sums.loads[..],
        &mut sums.weights[..rows],
        &mut sums.tops[..rows],
    );
    for column in &flows.columns {
        match &column.rows {
            Rows::One(row) => {
                let (mut load, mut weight, mut top) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
                for (f, &coefficient) in column.coefficient.iter().enumerate() {
                    let flow = of(f);
                    load[f % LANES] += coefficient * flow.0;
                    weight[f % LANES] += coefficient * coefficient * flow.1;
                    top[f % LANES] = max(coefficient * flow.2, top[f % LANES]);
                }
                let row = *row as usize;
                loads[row] += total(load);
                weights[row] += total(weight);
                tops[row] = top.into_iter().fold(tops[row], max);
            }
            Rows::Each(list) => {
                for ((f, &coefficient), &row) in column.coefficient.iter().enumerate().zip(list) {
                    let flow = of(f);
                    let row = row as usize;
                    loads[row] += coefficient * flow.0;
                    weights[row] += coefficient * coefficient * flow.1;
                    tops[row] = max(coefficient * flow.2, tops[row]);
                }
            }
        }
    }
}

#[inline(always)]
pub(super) fn max(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Sum of lanes in an order that doesn't depend on the width of vectors.
#[inline(always)]
pub(super) fn total([a, b, c, d, e, f, g, h]: [f64; LANES]) -> f64 {
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}
