//! A pass near the one before: rates follow a small change of prices by series, in as few products whatever alpha is.
//!
//! A rate `x` answers to a price `p` where `A + B = p`, with the slopes `A = w x^-alpha` and `B = kappa x^-3`. Where `x`
//! changes by a part `h`, they become `A (1 + h)^-alpha` and `B (1 + h)^-3`. A step of second order and one of Newton's find
//! the `h` that meets another price, without weights or powers.

use alloc::vec::Vec;
use core::ops::Range;

use super::{Pass, Rates, Span, Sum, put};
use crate::problem::{AnyKernel, Block, LANES, Problem};
use crate::vector::widest;

/// Most that a term's slope may change by. Rates change by a sixtieth at most; series of eight terms then leave out 1e-14 of
/// that slope, and two steps 1e-9 of the rate.
const STEEPEST: f64 = 0.05;
/// How often rates may change by the most, or more often by less, until they are answered anew, lest errors add up.
const CHANGES: f64 = 10.0;
/// Terms of a series.
const TERMS: usize = 8;
/// Terms that leave out as little where rates change by no more than a part of the most.
const FEW: usize = 5;
const SLIGHT: f64 = 0.15;
/// Alpha this close to 1 leaves powers over `1 - alpha` too few digits.
const LOGARITHMIC: f64 = 0.01;

/// What rates rest on: the slopes of both terms of their utilities (of latency if it counts), and near alpha 1 what
/// throughput is worth.
#[derive(Clone, Debug)]
pub(super) struct Slopes {
    throughput: Vec<Block>,
    latency: Vec<Block>,
    worth: Vec<Block>,
    /// Changes that they have followed, over the most.
    changes: f64,
}

impl Slopes {
    pub(super) fn new(problem: &Problem) -> Self {
        let column = |wanted| match wanted {
            true => alloc::vec![[0.0; LANES]; problem.blocks()],
            false => Vec::new(),
        };
        Self {
            throughput: column(true),
            latency: column(problem.latency),
            worth: column(is_logarithmic(problem.kernel.alpha())),
            changes: f64::INFINITY,
        }
    }

    pub(super) fn columns(&mut self) -> impl Iterator<Item = &mut Vec<Block>> {
        let columns = [&mut self.throughput, &mut self.latency, &mut self.worth];
        columns.into_iter().filter(|column| !column.is_empty())
    }

    /// All rates are about to be answered anew.
    pub(super) fn renew(&mut self) {
        self.changes = 0.0;
    }

    /// Notes what the rates of a span rest on.
    #[inline(always)]
    pub(super) fn note(&mut self, blocks: Range<usize>, span: &Span) {
        let throughput = self.throughput[blocks.clone()].as_flattened_mut();
        let n = throughput.len();
        throughput.copy_from_slice(&span.price[..n]);
        if let Some(latency) = self.latency.get_mut(blocks.clone()) {
            let latency = &mut latency.as_flattened_mut()[..n];
            for i in 0..n {
                latency[i] = -2.0 * span.latency[i] / span.rate[i];
                throughput[i] -= latency[i];
            }
        }
        if let Some(worth) = self.worth.get_mut(blocks) {
            put(worth, &span.throughput);
        }
    }

    /// Rates of some blocks follow what they pay, unless one would change by more than the reach; says by how much the most.
    fn follow(
        &mut self,
        series: &Series,
        rates: &[Block],
        blocks: Range<usize>,
        span: &mut Span,
    ) -> f64 {
        match (self.latency.is_empty(), self.worth.is_empty()) {
            (false, false) => self.follow_by::<true, true>(series, rates, blocks, span),
            (false, true) => self.follow_by::<true, false>(series, rates, blocks, span),
            (true, false) => self.follow_by::<false, true>(series, rates, blocks, span),
            (true, true) => self.follow_by::<false, false>(series, rates, blocks, span),
        }
    }

    #[inline(never)]
    fn follow_by<const LATENCY: bool, const LOG: bool>(
        &mut self,
        series: &Series,
        rates: &[Block],
        blocks: Range<usize>,
        span: &mut Span,
    ) -> f64 {
        let rates = rates.as_flattened();
        let a = self.throughput[blocks.clone()].as_flattened_mut();
        let b = match LATENCY {
            true => self.latency[blocks.clone()].as_flattened_mut(),
            false => &mut [],
        };
        let worth = match LOG {
            true => self.worth[blocks].as_flattened_mut(),
            false => &mut [],
        };
        widest(
            #[inline(always)]
            || {
                let most = span.changes::<LATENCY>(series, a, b);
                if most <= SLIGHT * series.reach {
                    span.follow::<LATENCY, LOG, FEW>(series, rates, a, b, worth);
                } else if most <= series.reach {
                    span.follow::<LATENCY, LOG, TERMS>(series, rates, a, b, worth);
                }
                most
            },
        )
    }
}

impl Span {
    /// How much rates change, in the columns that are left free; says by how much the most, to first order. Entries that fill
    /// the last block up count: they follow and are summed, too.
    #[inline(always)]
    fn changes<const LATENCY: bool>(&mut self, series: &Series, a: &[f64], b: &[f64]) -> f64 {
        let n = a.len();
        let b = if LATENCY { &b[..n] } else { b };
        let price = &self.price[..n];
        let (straight, change) = (&mut self.variable[..n], &mut self.free[..n]);
        for i in 0..n {
            let b = if LATENCY { b[i] } else { 0.0 };
            [straight[i], change[i]] = series.change(a[i], b, price[i]);
        }
        largest(straight)
    }

    /// Rates and slopes after these changes.
    #[inline(always)]
    fn follow<const LATENCY: bool, const LOG: bool, const N: usize>(
        &mut self,
        series: &Series,
        rates: &[f64],
        a: &mut [f64],
        b: &mut [f64],
        worth: &mut [f64],
    ) {
        let n = rates.len();
        let part = 1.0 / (1.0 - series.alpha);
        let (a, change, price) = (&mut a[..n], &self.free[..n], &self.price[..n]);
        let b = if LATENCY { &mut b[..n] } else { b };
        let worth = if LOG { &mut worth[..n] } else { worth };
        let (rate, flexible) = (&mut self.rate[..n], &mut self.flexible[..n]);
        let (throughput, latency) = (&mut self.throughput[..n], &mut self.latency[..n]);
        for i in 0..n {
            let before = [a[i], if LATENCY { b[i] } else { 0.0 }];
            let then = series.follow::<LATENCY, N>(change[i], rates[i], before, price[i]);
            throughput[i] = match LOG {
                true => worth[i] + a[i] * rates[i] * then.growth,
                false => then.throughput * then.rate * part,
            };
            if LOG {
                worth[i] = throughput[i];
            }
            latency[i] = -0.5 * then.latency * then.rate;
            (rate[i], flexible[i]) = (then.rate, then.flexible);
            a[i] = then.throughput;
            if LATENCY {
                b[i] = then.latency;
            }
        }
    }
}

/// How slopes follow rates.
struct Series {
    alpha: f64,
    /// Most that a rate may change by, relatively and to first order, which grows with the change of its price.
    reach: f64,
    /// Half the second derivative of `A (1 + h)^-alpha` at `h = 0`, over `A`.
    bend: f64,
    throughput: [f64; TERMS],
    latency: [f64; TERMS],
    /// Factors of the series of `U(x (1 + h)) - U(x)` over `x^(1 - alpha)`, where `U` is the logarithm at alpha 1.
    utility: [f64; TERMS],
}

/// A rate at another price, and what it rests on.
struct Followed {
    rate: f64,
    throughput: f64,
    latency: f64,
    flexible: f64,
    /// Change of what throughput is worth, over its slope times the rate before.
    growth: f64,
}

impl Series {
    fn new(alpha: f64) -> Self {
        Self {
            alpha,
            reach: STEEPEST / alpha.max(3.0),
            bend: 0.5 * alpha * (alpha + 1.0),
            throughput: binomial(alpha),
            latency: binomial(3.0),
            utility: integral(alpha),
        }
    }

    /// The part by which a rate with slopes `a` and `b` changes to meet a price: to first and to second order.
    #[inline(always)]
    fn change(&self, a: f64, b: f64, price: f64) -> [f64; 2] {
        let inverse = 1.0 / (self.alpha * a + 3.0 * b);
        let straight = (a + b - price) * inverse;
        let bent = straight * straight * ((self.bend * a + 6.0 * b) * inverse);
        [straight, straight + bent]
    }

    /// Changes a rate by about the part `h`, and further to where it meets a price.
    #[inline(always)]
    fn follow<const LATENCY: bool, const N: usize>(
        &self,
        h: f64,
        rate: f64,
        [a, b]: [f64; 2],
        price: f64,
    ) -> Followed {
        let a = a + a * sum::<N>(h, &self.throughput);
        let b = match LATENCY {
            true => b + b * sum::<N>(h, &self.latency),
            false => b,
        };
        let inverse = 1.0 / (self.alpha * a + 3.0 * b);
        let rest = (a + b - price) * inverse;
        let near = rate + rate * h;
        let rate = near + near * rest;
        let growth = sum::<N>(h, &self.utility);
        let power = 1.0 + (1.0 - self.alpha) * growth;
        Followed {
            rate,
            throughput: a - a * rest * (self.alpha - self.bend * rest),
            latency: b - b * rest * (3.0 - 6.0 * rest),
            flexible: rate * inverse,
            growth: growth + power * rest * (1.0 - 0.5 * self.alpha * rest),
        }
    }
}

/// The first terms of a series without a constant one.
#[inline(always)]
fn sum<const N: usize>(h: f64, factors: &[f64; TERMS]) -> f64 {
    let [a, b, c, d, e, f, g, i] = *factors;
    let square = h * h;
    let high = match N {
        FEW => e,
        _ => (e + h * f) + square * (g + h * i),
    };
    h * ((a + h * b) + square * (c + h * d) + square * square * high)
}

/// The largest size of some numbers.
#[inline(always)]
fn largest(values: &[f64]) -> f64 {
    let mut largest = [0.0_f64; LANES];
    for block in values.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            largest[lane] = largest[lane].max(block[lane].abs());
        }
    }
    largest.into_iter().fold(0.0, f64::max)
}

fn is_logarithmic(alpha: f64) -> bool {
    (1.0 - alpha).abs() < LOGARITHMIC
}

/// Factors of the series of `(1 + h)^-power - 1`.
fn binomial(power: f64) -> [f64; TERMS] {
    let mut factor = 1.0;
    core::array::from_fn(|n| {
        factor *= -(power + n as f64) / (n as f64 + 1.0);
        factor
    })
}

/// Factors of the series of `((1 + h)^(1 - power) - 1) / (1 - power)`.
fn integral(power: f64) -> [f64; TERMS] {
    let mut factor = 1.0;
    core::array::from_fn(|n| {
        let own = factor / (n as f64 + 1.0);
        factor *= -(power + n as f64) / (n as f64 + 1.0);
        own
    })
}

impl Problem {
    /// Whether rates can follow, in less time than they are answered anew.
    pub(super) fn is_dear(&self) -> bool {
        !self.bounded && (self.latency || matches!(self.kernel, AnyKernel::General(_)))
    }

    /// What the applications answer to prices near those that `at` answers to, which follows them; nothing, and `at` is to be
    /// answered anew, where they aren't near, or numbers end.
    pub(crate) fn follow<const R: usize>(
        &self,
        from: [f64; R],
        prices: [f64; R],
        at: &mut Rates,
    ) -> Option<Pass<R>> {
        // Where all rates change by much, answering all is quicker.
        let change: f64 = (0..R).map(|r| (prices[r] - from[r]).abs()).sum();
        let may = |slopes: &mut Slopes| {
            change <= STEEPEST * from.iter().sum::<f64>() && slopes.changes <= CHANGES
        };
        let mut slopes = at.slopes.take_if(may)?;
        let series = Series::new(self.kernel.alpha());
        let mut most = 0.0_f64;
        at.sizes = Sum::ZERO;
        let pass = self.spans(
            prices,
            #[inline(always)]
            |blocks, span| {
                let change =
                    slopes.follow(&series, &at.rates[blocks.clone()], blocks.clone(), span);
                if change <= series.reach {
                    most = most.max(change);
                } else {
                    self.answer(blocks.clone(), span);
                    slopes.note(blocks.clone(), span);
                }
                at.note(blocks, span);
            },
        );
        slopes.changes += most / series.reach;
        at.slopes = Some(slopes);
        pass.value().is_finite().then_some(pass)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::host::{Fairness, Host, Utility};
    use crate::pass::Output;
    use crate::problem::everyone;
    use crate::table::{Application, Table};

    fn problem(numbers: &[[f64; 4]], alpha: f64, latency: f64) -> Problem {
        let mut table = Table::default();
        for [weight, latency_weight, bytes, poll_cost] in numbers {
            table.push(Application {
                weight: libm::pow(10.0, *weight),
                latency_weight: libm::pow(10.0, *latency_weight),
                bytes: *bytes,
                poll_cost: *poll_cost,
                ..Application::default()
            });
        }
        let fairness = Fairness::Alpha(alpha);
        let host = Host::new(table.view(), Utility { fairness, latency }, 1.0, 1.0);
        Problem::new(&host, everyone(table.len()))
    }

    /// Rates that follow prices around, as far as they may go whatever they rest on, or if `far` where they rest on the steeper
    /// of both terms, and a small price may change by more than itself.
    fn holds(problem: &Problem, ways: &[[f64; 2]], far: bool) -> Result<(), TestCaseError> {
        let (mut at, mut right) = (Rates::new(problem, true), Rates::new(problem, true));
        let mut prices = [3.0, 0.2];
        problem.answers(prices, Output::Rates(&mut at));
        for way in ways {
            let from = prices;
            let alpha = problem.kernel.alpha();
            let part = 0.95 * Series::new(alpha).reach;
            prices = core::array::from_fn(|r| match far {
                false => from[r] * (1.0 + part * alpha.min(3.0) * way[r]),
                true => (from[r] + from[0] * part * alpha.max(3.0) * way[r]).abs(),
            });
            let is_near = agrees(problem, (from, prices), &mut at, &mut right)?;
            prop_assert!(far || is_near, "prices are near");
        }
        Ok(())
    }

    /// Whether some rates follow from prices to others; all are then those that are answered.
    fn agrees(
        problem: &Problem,
        (from, prices): ([f64; 2], [f64; 2]),
        at: &mut Rates,
        right: &mut Rates,
    ) -> Result<bool, TestCaseError> {
        let other = problem.answers(prices, Output::Rates(right));
        let changes = |at: &Rates| at.slopes.as_ref().map_or(0.0, |slopes| slopes.changes);
        let before = changes(at);
        let Some(own) = problem.follow(from, prices, at) else {
            problem.answers(prices, Output::Rates(at));
            return Ok(false);
        };
        let is_near = changes(at) > before || from == prices;
        let keeps = |pass: &Pass<2>| {
            let paid = prices[0] * pass.usage[0] + prices[1] * pass.usage[1];
            (pass.value() - paid, paid + right.size())
        };
        let ((own_keeps, size), (other_keeps, _)) = (keeps(&own), keeps(&other));
        prop_assert!((own_keeps - other_keeps).abs() <= 1e-12 * size);
        prop_assert!((at.size() - right.size()).abs() <= 1e-7 * size);
        let rates = at.rates.as_flattened()[..problem.applications].iter();
        for (own, other) in rates.zip(right.rates.as_flattened()) {
            prop_assert!(
                (own - other).abs() <= 1e-8 * other,
                "{own} instead of {other}"
            );
        }
        for r in 0..2 {
            prop_assert!((own.usage[r] / other.usage[r] - 1.0).abs() < 1e-8);
            for q in 0..2 {
                let ratio = own.response[r][q] / other.response[r][q];
                // Only steps follow from it.
                prop_assert!((ratio - 1.0).abs() < 1e-4, "{ratio}");
            }
        }
        let (own, other) = (at.slopes.as_ref(), right.slopes.as_ref());
        let (own, other) = (own.expect("slopes"), other.expect("slopes"));
        let lists = [
            (&own.throughput, &other.throughput),
            (&own.latency, &other.latency),
        ];
        let price = own
            .throughput
            .as_flattened()
            .iter()
            .zip(own.latency.as_flattened());
        let price: Vec<f64> = price.map(|(a, b)| a + b).collect();
        for (own, other) in lists {
            let pairs = own.as_flattened().iter().zip(other.as_flattened());
            for ((own, other), price) in pairs.zip(&price) {
                prop_assert!((own - other).abs() <= 1e-8 * price);
            }
        }
        Ok(is_near)
    }

    /// A rate that answers to a row of little worth alone may change by much while others hardly do. At some prices the
    /// change of second order is none.
    #[test]
    fn no_price_passes_for_another() {
        let near = |part: f64, other: f64| (part / other - 1.0).abs() < 0.3;
        for (alpha, latency, least) in [
            (0.3, 0.0, -4.0),
            (0.7, 0.0, -4.0),
            (1.5, 0.0, -4.0),
            (32.0, 0.0, -4.0),
            (0.5, 1e-3, -4.0),
            (1.0, 1e-3, -4.0),
            (2.0, 1e-3, -4.0),
            (2.0, 1.0, 4.0),
        ] {
            let [plain, own] = [[0.0, least, 1.0, 1.0], [-6.0, least, 0.0, 1.0]];
            let problem = problem(&[plain, plain, plain, own], alpha, latency);
            let (mut at, mut right) = (Rates::new(&problem, true), Rates::new(&problem, true));
            let mut followed = 0;
            for percent in 20..=400 {
                let (from, prices) = ([1.0, 0.01], [1.0, 1e-4 * f64::from(percent)]);
                problem.answers(from, Output::Rates(&mut at));
                let is_near = agrees(&problem, (from, prices), &mut at, &mut right);
                let is_near = is_near.expect("rates that are answered");
                followed += u32::from(is_near);
                assert!(!is_near || near(f64::from(percent), 100.0), "{percent} %");
            }
            assert!(followed > 0, "alpha {alpha}");
        }
    }

    proptest! {
        #[test]
        fn rates_that_follow_are_those_that_are_answered(
            numbers in prop::collection::vec(
                (-4.0..4.0_f64, -9.0..4.0_f64, 0.3..3.0_f64, 0.3..3.0_f64)
                    .prop_map(|(w, v, b, c)| [w, v, b, c]),
                1..30,
            ),
            alpha in prop::sample::select(alloc::vec![0.05, 0.3, 0.5, 0.7, 1.0, 1.0001, 2.0, 2.9, 3.0, 7.0, 32.0]),
            latency in prop::sample::select(alloc::vec![0.0, 1e-3, 1.0]),
            far: bool,
            ways in prop_oneof![
                prop::collection::vec(prop::array::uniform2(-1.0..1.0_f64), 10),
                prop::array::uniform2(prop::sample::select(alloc::vec![-1.0, 1.0]))
                    .prop_map(|way| alloc::vec![way; 10]),
            ],
        ) {
            let problem = problem(&numbers, alpha, latency);
            if problem.is_dear() {
                holds(&problem, &ways, far)?;
            }
        }
    }
}
