//! The network's solver: blocks of hosts, worked on by any number of threads.

use alloc::vec::Vec;
use core::ops::Range;

use crate::coupled::descent::{CoupledOptions, Descent, Found};
use crate::coupled::exact;
use crate::coupled::held::{Held, Most};
use crate::coupled::host::{self, HostWorker, carry_out, limit};
use crate::coupled::order::{Order, Sums};
use crate::coupled::problem::{Flows, Source};
use crate::coupled::selection::{Choice, Selection};
use crate::error::{Error, Place};
use crate::fixed::GREATEST;
use crate::host::{Fairness, Utility};
use crate::problem::AnyKernel;
use crate::solve::LEAST;
use crate::workers::Workers;

/// Relative gap from which on a network that can be held is: few passes over hosts get within a rougher one, and a narrower
/// one takes hundreds where prices differ by orders of magnitude.
const NARROW: f64 = 1e-7;
/// Relative gap above which a small network is solved in another way, too.
const OPEN: f64 = 1e-9;

/// Alpha below which rates answer to a small change of prices with a change of more than four times that.
pub(crate) const FLAT: f64 = 0.25;

/// Blocks that hosts are put in: sums are made by block, so more threads than this don't help.
const BLOCKS: usize = 32;

/// Rates of a network's flows, what they are worth, and what could be reached at most.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoupledSolution {
    /// Value of the rates; they keep every row.
    pub objective: f64,
    /// What `prices` prove: nothing that keeps the rows is worth more.
    pub dual_bound: f64,
    /// The least bound that is proven: `dual_bound`, or less where a search among selections found that none is worth more.
    pub proven_bound: f64,
    /// Rate of each flow (WQE/s), host by host.
    pub x: Vec<f64>,
    /// Price of each row, in utility for a unit of its capacity.
    pub prices: Vec<f64>,
    /// How much of each row is used.
    pub usage: Vec<f64>,
    /// Lists summed up over all hosts (all-reduces).
    pub iterations: usize,
    /// Which flows count, under a choice among them; empty where all do.
    pub counts: Vec<bool>,
}

impl CoupledSolution {
    /// How far the value can be from the best at most, over the size of the value.
    pub fn relative_gap(&self) -> f64 {
        let gap = (self.proven_bound - self.objective).max(0.0);
        crate::solution::relative(gap, self.objective, self.proven_bound)
    }
}

/// Solves the problem of a network.
///
/// # Errors
/// What is wrong with the problem, as [`Error`] says.
///
/// # Determinism
/// The result doesn't depend on the number of threads, bit for bit.
pub fn solve<S: Source, W: Workers>(
    source: &S,
    options: &CoupledOptions,
    workers: &W,
) -> Result<CoupledSolution, Error> {
    let found = find(source, options, workers)?;
    if found.objective <= -GREATEST || vanishes(source, &found) {
        return Err(Error::Range);
    }
    Ok(found)
}

/// Whether throughput is worth so little that numbers don't tell rates apart.
pub(crate) fn vanishes<S: Source>(source: &S, found: &CoupledSolution) -> bool {
    let steep = matches!(source.utility().fairness, Fairness::Alpha(alpha) if alpha > 1.0);
    if !steep || found.objective.abs() >= LEAST {
        return false;
    }
    let mut worker = Flows::default();
    let mut before = 0;
    (0..source.hosts()).any(|host| {
        source.fill(host, &mut worker);
        let first = before;
        before += worker.len();
        let counts = |f: usize| found.counts.get(first + f).copied().unwrap_or(true);
        (0..worker.len()).any(|f| worker.weight[f] > 0.0 && counts(f))
    })
}

fn find<S: Source, W: Workers>(
    source: &S,
    options: &CoupledOptions,
    workers: &W,
) -> Result<CoupledSolution, Error> {
    let alpha = held_alpha(source.utility())?;
    let narrow = options.tolerance <= NARROW;
    let is_enough = |found: &CoupledSolution| found.relative_gap() <= options.tolerance.max(OPEN);
    let mut tried = None;
    if (needs_holding(alpha) || narrow)
        && let Some(held) = Held::new(source, alpha, Most::ALL)
    {
        check_floors(source, &held)?;
        if alpha == f64::INFINITY {
            return Ok(exact::shares(&held));
        }
        match exact::solve(&held, options) {
            Some(found) if needs_holding(alpha) || is_enough(&found) => return Ok(found),
            found => tried = Some(found),
        }
        if check_alpha(source.utility()).is_err() {
            return Err(Error::Range);
        }
    }
    let mut hosts = Hosts::new(source, Selection::default())?;
    let found = Descent::new(&mut hosts, options, workers).run(&[]);
    let found = found.map(|found| hosts.solution(found));
    if matches!(&found, Ok(found) if is_enough(found)) {
        return found;
    }
    let held = || Held::new(source, alpha, Most::ALL).and_then(|held| exact::solve(&held, options));
    match found {
        Ok(found) => Ok(match tried.unwrap_or_else(held) {
            Some(other) => better(found, other),
            None => found,
        }),
        Err(Error::Range) => tried.unwrap_or_else(held).ok_or(Error::Range),
        Err(error) => Err(error),
    }
}

/// The better of an answer and what the network is found to have where it is held, and the smaller of their bounds.
fn better(found: CoupledSolution, other: CoupledSolution) -> CoupledSolution {
    let (bound, prices) = if other.dual_bound < found.dual_bound {
        (other.dual_bound, other.prices.clone())
    } else {
        (found.dual_bound, found.prices.clone())
    };
    let iterations = found.iterations + other.iterations;
    let best = if other.objective > found.objective {
        other
    } else {
        found
    };
    CoupledSolution {
        dual_bound: bound.max(best.objective),
        proven_bound: bound.max(best.objective),
        prices,
        iterations,
        ..best
    }
}

/// Whether prices say little about rates, or leave the range of numbers, so that a network has to be held.
pub(crate) fn needs_holding(alpha: f64) -> bool {
    !(FLAT..=32.0).contains(&alpha)
}

/// Alpha of the utility of a network that is held; infinite for max-min.
pub(crate) fn held_alpha(utility: Utility) -> Result<f64, Error> {
    match utility.fairness {
        Fairness::Alpha(alpha) if alpha >= 0.0 && alpha.is_finite() => Ok(alpha),
        Fairness::Alpha(alpha) => Err(Error::Number {
            place: Place::Field("alpha"),
            value: alpha,
            expected: "a number that is not negative",
        }),
        Fairness::MaxMin if utility.latency > 0.0 => Err(Error::Unsupported {
            place: Place::Field("beta"),
            reason: "max-min has no latency term",
            hint: "set beta to 0, or use a finite alpha",
        }),
        Fairness::MaxMin => Ok(f64::INFINITY),
    }
}

fn check_floors<S: Source>(source: &S, held: &Held) -> Result<(), Error> {
    let floors: Vec<f64> = held
        .program
        .columns
        .iter()
        .map(|column| column.low)
        .collect();
    for (r, needed) in held.program.usage(&floors).into_iter().enumerate() {
        if needed > 1.0 + 1e-12 {
            let capacity = source.capacities()[r];
            return Err(Error::Infeasible {
                place: Place::Row(alloc::format!("rows[{r}]")),
                needed: needed * capacity,
                capacity,
            });
        }
    }
    Ok(())
}

/// Alpha of a network's utility, if passes over hosts can find prices under it.
pub(crate) fn check_alpha(utility: Utility) -> Result<f64, Error> {
    let refuse = |reason, hint| {
        Err(Error::Unsupported {
            place: Place::Field("alpha"),
            reason,
            hint,
        })
    };
    match held_alpha(utility)? {
        0.0 => refuse(
            "alpha 0 is solved for networks of up to 6000 rows and 400000 flows",
            "take a small alpha, such as 0.05",
        ),
        alpha if alpha <= 32.0 => Ok(alpha),
        _ => refuse(
            "an alpha above 32 and max-min are solved for networks of up to 6000 rows and 400000 flows",
            "take an alpha of at most 32, which is within 2 percent of max-min",
        ),
    }
}

/// A run of hosts that one worker carries orders out for.
struct Block {
    hosts: Range<usize>,
    rates: Vec<f64>,
    counts: Vec<bool>,
    worker: HostWorker,
    host: Sums,
    sums: Sums,
}

/// All hosts of a network.
pub(crate) struct Hosts<'a, S> {
    pub(crate) source: &'a S,
    kernel: AnyKernel,
    selection: Selection,
    blocks: Vec<Block>,
    sums: Sums,
}

impl<'a, S: Source> Hosts<'a, S> {
    pub(crate) fn new(source: &'a S, selection: Selection) -> Result<Self, Error> {
        let kernel = AnyKernel::new(check_alpha(source.utility())?);
        let rows = source.capacities().len();
        let blocks = BLOCKS.min(source.hosts());
        let block = |index| {
            let hosts = source.hosts() * index / blocks..source.hosts() * (index + 1) / blocks;
            let flows = hosts.clone().map(|host| source.flows(host)).sum();
            Block {
                hosts,
                rates: alloc::vec![0.0; flows],
                counts: if selection.choice == Choice::All {
                    Vec::new()
                } else {
                    alloc::vec![true; flows]
                },
                worker: HostWorker::default(),
                host: Sums::zero(rows),
                sums: Sums::zero(rows),
            }
        };
        if source.hosts() == 0 {
            return Err(Error::Empty);
        }
        Ok(Self {
            source,
            kernel,
            selection,
            blocks: (0..blocks).map(block).collect(),
            sums: Sums::zero(rows),
        })
    }

    /// Carries out an order on all hosts and adds up what they tell.
    pub(crate) fn carry_out<W: Workers>(&mut self, order: &Order, workers: &W) -> &Sums {
        let (source, kernel, selection) = (self.source, self.kernel, self.selection);
        workers.for_each(&mut self.blocks, |_, block| {
            block.carry_out(source, kernel, selection, order)
        });
        self.sums.clear();
        for block in &self.blocks {
            self.sums.add(&block.sums);
        }
        &self.sums
    }

    /// The rates, and what was found of them.
    pub(crate) fn solution(&self, found: Found) -> CoupledSolution {
        let flows = self.blocks.iter().map(|block| block.rates.len()).sum();
        let mut x = Vec::with_capacity(flows);
        let mut counts = Vec::new();
        for block in &self.blocks {
            x.extend_from_slice(&block.rates);
            counts.extend_from_slice(&block.counts);
        }
        CoupledSolution {
            objective: found.value,
            dual_bound: found.bound,
            proven_bound: found.bound,
            x,
            prices: found.prices,
            usage: found.loads,
            iterations: found.iterations,
            counts,
        }
    }
}

impl Block {
    fn carry_out<S: Source>(
        &mut self,
        source: &S,
        kernel: AnyKernel,
        selection: Selection,
        order: &Order,
    ) {
        self.sums.clear();
        let mut first = 0;
        for host in self.hosts.clone() {
            source.fill(host, &mut self.worker.flows);
            limit(kernel.alpha(), &mut self.worker.flows, source.capacities());
            let flows = first..first + self.worker.flows.len();
            first = flows.end;
            let mut held = host::Held {
                rates: &mut self.rates[flows.clone()],
                counts: self.counts.get_mut(flows).unwrap_or_default(),
            };
            self.host.clear();
            carry_out(
                kernel,
                order,
                &mut self.worker,
                &mut held,
                (selection, &mut self.host),
            );
            self.sums.add(&self.host);
        }
    }
}
