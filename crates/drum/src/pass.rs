//! One pass over the applications: what they all answer to prices.

mod near;

use alloc::vec::Vec;
use core::ops::Range;

use self::near::Slopes;
use crate::kernel::{Kernel, Worth};
use crate::math::{clamp, min};
use crate::problem::{Block, LANES, Problem, with_kernel};
use crate::vector::widest;

/// Sums over the applications' answers to prices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pass<const R: usize> {
    /// Sum of `w U(x)`.
    pub(crate) throughput: f64,
    /// Sum of `-kappa/2 x^-2`.
    pub(crate) latency: f64,
    /// Use of each row, in the row's unit.
    pub(crate) usage: [f64; R],
    /// `-d usage / d prices`.
    pub(crate) response: [[f64; R]; R],
}

impl<const R: usize> Pass<R> {
    /// As many times as `sign` says, with what others answer.
    pub(crate) fn add(&mut self, sign: f64, others: &Self) {
        self.throughput += sign * others.throughput;
        self.latency += sign * others.latency;
        for r in 0..R {
            self.usage[r] += sign * others.usage[r];
            for q in 0..R {
                self.response[r][q] += sign * others.response[r][q];
            }
        }
    }

    /// Value of the answers.
    pub(crate) fn value(&self) -> f64 {
        self.throughput + self.latency
    }
}

/// Rates below are none (WQE/s).
const LEAST: f64 = 1e-130;

/// Lane by lane sums, added up in an order that doesn't depend on the width of vectors.
#[derive(Clone, Copy, Debug)]
struct Sum(Block);

impl Sum {
    const ZERO: Self = Self([0.0; LANES]);

    #[inline(always)]
    fn add(&mut self, values: &[f64]) {
        for block in values.as_chunks::<LANES>().0 {
            for lane in 0..LANES {
                self.0[lane] += block[lane];
            }
        }
    }

    /// Adds a term of each pair.
    #[inline(always)]
    fn add_pairs(&mut self, a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64) {
        let pairs = a
            .as_chunks::<LANES>()
            .0
            .iter()
            .zip(b.as_chunks::<LANES>().0);
        for (a, b) in pairs {
            for lane in 0..LANES {
                self.0[lane] += term(a[lane], b[lane]);
            }
        }
    }

    #[inline(always)]
    fn add_products(&mut self, a: &[f64], b: &[f64]) {
        self.add_pairs(a, b, |a, b| a * b);
    }

    #[inline(always)]
    fn add_sizes(&mut self, a: &[f64], b: &[f64]) {
        self.add_pairs(a, b, |a, b| a.abs() + b.abs());
    }

    #[inline(always)]
    fn add_triples(&mut self, a: &[f64], b: &[f64], c: &[f64]) {
        let pairs = a
            .as_chunks::<LANES>()
            .0
            .iter()
            .zip(b.as_chunks::<LANES>().0);
        for ((a, b), c) in pairs.zip(c.as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                self.0[lane] += a[lane] * (b[lane] * c[lane]);
            }
        }
    }

    #[inline(always)]
    fn total(&self) -> f64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        ((a + b) + (c + d)) + ((e + f) + (g + h))
    }
}

/// Numbers of some blocks of applications, which stay in the first cache. What is calculated from them is
/// calculated by one plain loop after the other, each over as many as there are: such loops become
/// vector instructions.
struct Span {
    price: [f64; Self::WIDTH],
    /// The kernel's variable without bounds.
    free: [f64; Self::WIDTH],
    variable: [f64; Self::WIDTH],
    rate: [f64; Self::WIDTH],
    throughput: [f64; Self::WIDTH],
    latency: [f64; Self::WIDTH],
    flexible: [f64; Self::WIDTH],
    kept: [f64; Self::WIDTH],
}

impl Span {
    const BLOCKS: usize = 16;
    const WIDTH: usize = Self::BLOCKS * LANES;
    const NEW: Self = Self {
        price: [0.0; Self::WIDTH],
        free: [0.0; Self::WIDTH],
        variable: [0.0; Self::WIDTH],
        rate: [0.0; Self::WIDTH],
        throughput: [0.0; Self::WIDTH],
        latency: [0.0; Self::WIDTH],
        flexible: [0.0; Self::WIDTH],
        kept: [0.0; Self::WIDTH],
    };

    /// What `n` applications pay for a work request.
    #[inline(always)]
    fn price<const R: usize>(&mut self, prices: [f64; R], loads: [&[f64]; R], n: usize) {
        let (price, loads) = (&mut self.price[..n], loads.map(|loads| &loads[..n]));
        for i in 0..n {
            let mut sum = 0.0;
            for r in 0..R {
                sum += prices[r] * loads[r][i];
            }
            price[i] = sum;
        }
    }

    /// What the variables are worth.
    #[inline(always)]
    fn worths<K: Kernel, const LATENCY: bool>(&mut self, kernel: K, weight: &[f64], kappa: &[f64]) {
        let n = weight.len();
        let (kappa, variable, price) = (&kappa[..n], &self.variable[..n], &self.price[..n]);
        let (rate, kept) = (&mut self.rate[..n], &mut self.kept[..n]);
        let (throughput, latency) = (&mut self.throughput[..n], &mut self.latency[..n]);
        let flexible = &mut self.flexible[..n];
        for i in 0..n {
            let worth = kernel.worth::<LATENCY>(weight[i], kappa[i], variable[i]);
            rate[i] = worth.rate;
            throughput[i] = worth.throughput;
            latency[i] = worth.latency;
            flexible[i] = worth.flexibility;
            kept[i] = worth.throughput + worth.latency - price[i] * worth.rate;
        }
    }
}

/// Fills blocks with the first entries of a span.
#[inline(always)]
fn put(blocks: &mut [Block], entries: &[f64; Span::WIDTH]) {
    let blocks = blocks.as_flattened_mut();
    blocks.copy_from_slice(&entries[..blocks.len()]);
}

struct Sums<const R: usize> {
    throughput: Sum,
    latency: Sum,
    usage: [Sum; R],
    response: [[Sum; R]; R],
}

impl<const R: usize> Sums<R> {
    const ZERO: Self = Self {
        throughput: Sum::ZERO,
        latency: Sum::ZERO,
        usage: [Sum::ZERO; R],
        response: [[Sum::ZERO; R]; R],
    };

    /// Adds use of rows by rates, and how that answers.
    #[inline(always)]
    fn uses(&mut self, loads: &[&[f64]; R], rates: &[f64], flexible: &[f64]) {
        for r in 0..R {
            self.usage[r].add_products(loads[r], rates);
            for q in 0..=r {
                self.response[r][q].add_triples(loads[r], loads[q], flexible);
            }
        }
    }

    fn pass(&self) -> Pass<R> {
        let mut response = [[0.0; R]; R];
        for r in 0..R {
            for q in 0..=r {
                response[r][q] = self.response[r][q].total();
                response[q][r] = response[r][q];
            }
        }
        Pass {
            throughput: self.throughput.total(),
            latency: self.latency.total(),
            usage: self.usage.map(|sum| sum.total()),
            response,
        }
    }
}

/// The rates themselves, or what each application keeps of its value after paying for its rate.
pub(crate) enum Output<'a> {
    /// Nothing but the sums.
    Nothing,
    /// Rates.
    Rates(&'a mut Rates),
    /// `phi(x) - p x`.
    Surplus(&'a mut [Block]),
}

/// Rates, a block for each of the problem's, and what is needed to change them a little.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    pub(crate) rates: Vec<Block>,
    /// How strongly they answer to what they pay: `-1 / phi''`, 0 where a bound holds them.
    pub(crate) flexible: Vec<Block>,
    /// Sums of the sizes of what they are worth.
    sizes: Sum,
    /// What they rest on, if they are to be followed.
    slopes: Option<Slopes>,
}

impl Rates {
    /// None yet; with `follow`, those of a problem whose passes are dear will follow small changes of prices.
    pub(crate) fn new(problem: &Problem, follow: bool) -> Self {
        let blocks = problem.blocks();
        let column = || alloc::vec![[0.0; LANES]; blocks];
        Self {
            rates: column(),
            flexible: column(),
            sizes: Sum::ZERO,
            slopes: (follow && problem.is_dear()).then(|| Slopes::new(problem)),
        }
    }

    /// Notes what applications of some blocks do.
    #[inline(always)]
    fn note(&mut self, blocks: Range<usize>, span: &Span) {
        let rates = &mut self.rates[blocks.clone()];
        let n = rates.len() * LANES;
        self.sizes
            .add_sizes(&span.throughput[..n], &span.latency[..n]);
        put(rates, &span.rate);
        put(&mut self.flexible[blocks], &span.flexible);
    }

    /// Sum of the sizes of what they are worth.
    pub(crate) fn size(&self) -> f64 {
        self.sizes.total()
    }

    /// All columns.
    pub(crate) fn columns(&mut self) -> impl Iterator<Item = &mut Vec<Block>> {
        let slopes = self.slopes.iter_mut().flat_map(Slopes::columns);
        [&mut self.rates, &mut self.flexible]
            .into_iter()
            .chain(slopes)
    }
}

impl Problem {
    /// What the applications answer to the prices of the first `R` rows; other rows are free.
    pub(crate) fn answers<const R: usize>(&self, prices: [f64; R], output: Output<'_>) -> Pass<R> {
        match output {
            Output::Nothing => self.spans(
                prices,
                #[inline(always)]
                |blocks, span| self.answer(blocks, span),
            ),
            Output::Rates(at) => {
                at.sizes = Sum::ZERO;
                at.slopes.iter_mut().for_each(Slopes::renew);
                self.spans(
                    prices,
                    #[inline(always)]
                    |blocks, span| {
                        self.answer(blocks.clone(), span);
                        if let Some(slopes) = &mut at.slopes {
                            slopes.note(blocks.clone(), span);
                        }
                        at.note(blocks, span);
                    },
                )
            }
            Output::Surplus(surplus) => self.spans(
                prices,
                #[inline(always)]
                |blocks, span| {
                    self.answer(blocks.clone(), span);
                    put(&mut surplus[blocks], &span.kept);
                },
            ),
        }
    }

    /// What one application answers to prices, and what it pays for a work request.
    pub(crate) fn answer_of(&self, index: usize, prices: &[f64]) -> (Worth, f64) {
        let entry = |column: &[Block]| column.as_flattened()[index];
        let rows = self.rows.iter().zip(prices);
        let price: f64 = rows.map(|(row, price)| price * entry(row)).sum();
        let (weight, kappa) = (entry(&self.weight), entry(&self.kappa));
        let worth = with_kernel!(self.kernel, kernel => {
            let free = if self.latency {
                kernel.answer::<true>(weight, kappa, price)
            } else {
                kernel.answer::<false>(weight, kappa, price)
            };
            let variable = if self.bounded {
                clamp(free, entry(&self.least), entry(&self.most))
            } else {
                free
            };
            let worth = kernel.worth::<true>(weight, kappa, variable);
            let flexibility = if variable == free { worth.flexibility } else { 0.0 };
            Worth { flexibility, ..worth }
        });
        (worth, price)
    }

    /// Sums over what applications do, a span at a time: `work` finds that from what they pay.
    #[inline(always)]
    fn spans<const R: usize>(
        &self,
        prices: [f64; R],
        mut work: impl FnMut(Range<usize>, &mut Span),
    ) -> Pass<R> {
        widest(
            #[inline(always)]
            || {
                let (mut sums, mut span) = (Sums::ZERO, Span::NEW);
                for start in (0..self.blocks()).step_by(Span::BLOCKS) {
                    let blocks = start..self.blocks().min(start + Span::BLOCKS);
                    let loads: [&[f64]; R] =
                        core::array::from_fn(|r| self.rows[r][blocks.clone()].as_flattened());
                    let n = blocks.len() * LANES;
                    span.price(prices, loads, n);
                    work(blocks, &mut span);
                    sums.throughput.add(&span.throughput[..n]);
                    sums.latency.add(&span.latency[..n]);
                    sums.uses(&loads, &span.rate[..n], &span.flexible[..n]);
                }
                sums.pass()
            },
        )
    }

    /// What the applications of some blocks answer to what they pay. It doesn't depend on the number of rows, and is
    /// compiled once for all.
    fn answer(&self, blocks: Range<usize>, span: &mut Span) {
        with_kernel!(self.kernel, kernel => {
            match (self.latency, self.bounded) {
                (true, true) => self.answer_by::<_, true, true>(kernel, blocks, span),
                (true, false) => self.answer_by::<_, true, false>(kernel, blocks, span),
                (false, true) => self.answer_by::<_, false, true>(kernel, blocks, span),
                (false, false) => self.answer_by::<_, false, false>(kernel, blocks, span),
            }
        });
    }

    #[inline(never)]
    fn answer_by<K: Kernel, const LATENCY: bool, const BOUNDED: bool>(
        &self,
        kernel: K,
        blocks: Range<usize>,
        span: &mut Span,
    ) {
        widest(
            #[inline(always)]
            || {
                let weight = self.weight[blocks.clone()].as_flattened();
                let kappa = self.kappa[blocks.clone()].as_flattened();
                let n = weight.len();
                let free = match BOUNDED {
                    true => &mut span.free[..n],
                    false => &mut span.variable[..n],
                };
                kernel.answers::<LATENCY>(weight, kappa, &span.price[..n], free);
                if BOUNDED {
                    let least = &self.least[blocks.clone()].as_flattened()[..n];
                    let most = &self.most[blocks].as_flattened()[..n];
                    for i in 0..n {
                        span.variable[i] = clamp(span.free[i], least[i], most[i]);
                    }
                }
                span.worths::<K, LATENCY>(kernel, weight, kappa);
                if BOUNDED {
                    for i in 0..n {
                        let moves = span.variable[i] == span.free[i];
                        span.flexible[i] = if moves { span.flexible[i] } else { 0.0 };
                    }
                }
            },
        );
    }

    /// Value of rates, which keep the bounds, and the sum of the sizes of its terms.
    pub(crate) fn value(&self, rates: &[Block]) -> (f64, f64) {
        with_kernel!(self.kernel, kernel => widest(
            #[inline(always)]
            || {
                let (mut sum, mut size) = (Sum::ZERO, Sum::ZERO);
                let mut span = Span::NEW;
                for start in (0..self.blocks()).step_by(Span::BLOCKS) {
                    let blocks = start..self.blocks().min(start + Span::BLOCKS);
                    let rates = rates[blocks.clone()].as_flattened();
                    let weight = self.weight[blocks.clone()].as_flattened();
                    let kappa = self.kappa[blocks].as_flattened();
                    let n = weight.len();
                    for i in 0..n {
                        span.variable[i] = kernel.variable(rates[i]);
                    }
                    span.worths::<_, true>(kernel, weight, kappa);
                    sum.add(&span.throughput[..n]);
                    sum.add(&span.latency[..n]);
                    size.add_sizes(&span.throughput[..n], &span.latency[..n]);
                }
                (sum.total(), size.total())
            },
        ))
    }

    /// Use of each row by rates, in the row's unit.
    pub(crate) fn usage(&self, rates: &[Block]) -> Vec<f64> {
        let row = |row: &Vec<Block>| {
            widest(
                #[inline(always)]
                || {
                    let mut sum = Sum::ZERO;
                    sum.add_products(row.as_flattened(), rates.as_flattened());
                    sum.total()
                },
            )
        };
        self.rows.iter().map(row).collect()
    }

    /// Rates after a change of prices that is next to nothing.
    pub(crate) fn shifted<const R: usize>(&self, at: &Rates, changes: [f64; R]) -> Vec<Block> {
        let mut shifted = Vec::with_capacity(self.blocks());
        widest(
            #[inline(always)]
            || {
                for (block, (rates, flexible)) in at.rates.iter().zip(&at.flexible).enumerate() {
                    let mut next = *rates;
                    for r in 0..R {
                        for lane in 0..LANES {
                            let charge = changes[r] * self.rows[r][block][lane];
                            next[lane] -= flexible[lane] * charge;
                        }
                    }
                    shifted.push(next);
                }
            },
        );
        shifted
    }

    /// Scales what rates have above their floors until they fit rows, whose capacity is 1, and keeps bounds that
    /// rounding may have passed; gives the use of rows.
    pub(crate) fn fit(&self, rates: &mut [Block]) -> Vec<f64> {
        let apps = self.applications;
        let entries = &mut rates.as_flattened_mut()[..apps];
        for rate in entries.iter_mut() {
            // Who gains nothing by sending rests at a rate that is only just not 0.
            *rate = if *rate >= LEAST { *rate } else { 0.0 };
        }
        if self.bounded {
            for (rate, (floor, cap)) in entries.iter_mut().zip(self.floors.iter().zip(&self.caps)) {
                *rate = clamp(*rate, *floor, *cap);
            }
        }
        // More than once, since rounding may leave a row an ulp over its capacity.
        let mut usage = self.usage(rates);
        for _ in 0..3 {
            let factor = self.factor(&usage);
            if factor >= 1.0 {
                break;
            }
            let entries = &mut rates.as_flattened_mut()[..apps];
            for (rate, floor) in entries.iter_mut().zip(&self.floors) {
                *rate = floor + (*rate - floor) * factor;
            }
            usage = self.usage(rates);
        }
        usage
    }

    /// By how much rates must shrink towards their floors.
    fn factor(&self, usage: &[f64]) -> f64 {
        let apps = self.applications;
        let room = |r: usize| {
            let loads = self.rows[r].as_flattened()[..apps].iter();
            if usage[r] > 1.0 {
                let base: f64 = match self.bounded {
                    true => loads.zip(&self.floors).map(|(g, f)| g * f).sum(),
                    false => 0.0,
                };
                // Floors may fill a row but for rounding.
                let part = (1.0 - base) / (usage[r] - base);
                if part > 0.0 { part } else { 0.0 }
            } else {
                1.0
            }
        };
        (0..self.rows.len()).map(room).fold(1.0, min)
    }
}
