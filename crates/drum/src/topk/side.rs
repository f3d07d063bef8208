//! What applications answer to prices and keep after paying, whichever way polls depend on requests.

use alloc::vec::Vec;

use crate::at_least::AtLeast;
use crate::host::{Dependency, Host};
use crate::pass::{Output, Pass};
use crate::problem::{Block, Member, Problem};

pub(super) const ROWS: usize = Host::MOST_ROWS;

/// Applications as a selection sees them: all selected, or none.
pub(super) enum Side {
    Tied(Problem),
    /// Polls as attempts, and as if they were tied.
    Attempts(AtLeast, Problem),
}

/// What one or all keep after paying, and use of each row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) value: f64,
    pub(super) usage: [f64; ROWS],
}

impl Kept {
    pub(super) fn add(&mut self, other: &Self, sign: f64) {
        self.value += sign * other.value;
        for (usage, more) in self.usage.iter_mut().zip(other.usage) {
            *usage += sign * more;
        }
    }
}

impl Side {
    /// `chosen` applications of a host, whose throughput counts or doesn't.
    pub(super) fn new(host: &Host<'_>, chosen: &[usize], counts: bool) -> Self {
        let member = |index: &usize| Member {
            index: *index,
            counts,
        };
        let members = chosen.iter().map(member);
        if host.dependency == Dependency::AtLeast && host.utility.latency > 0.0 {
            Self::Attempts(
                AtLeast::new(host, members.clone()),
                Problem::new(host, members),
            )
        } else {
            Self::Tied(Problem::new(host, members))
        }
    }

    /// What all keep together; `kept` hears of each.
    pub(super) fn pass(&self, prices: &[f64], kept: Option<&mut [Block]>) -> Kept {
        match self {
            Self::Tied(problem) => match prices.len() {
                1 => pass::<1>(problem, prices, kept),
                2 => pass::<2>(problem, prices, kept),
                3 => pass::<3>(problem, prices, kept),
                _ => pass::<ROWS>(problem, prices, kept),
            },
            Self::Attempts(problem, _) => {
                let mut sum = Kept {
                    value: 0.0,
                    usage: [0.0; ROWS],
                };
                let mut slots = kept.map(|blocks| blocks.as_flattened_mut().iter_mut());
                for index in 0..problem.len() {
                    let one = self.one(prices, index);
                    sum.add(&one, 1.0);
                    if let Some(slot) = slots.as_mut().and_then(Iterator::next) {
                        *slot = one.value;
                    }
                }
                sum
            }
        }
    }

    /// What one application keeps.
    pub(super) fn one(&self, prices: &[f64], index: usize) -> Kept {
        match self {
            Self::Tied(problem) => tied(problem, prices, index),
            Self::Attempts(problem, _) => {
                let (value, usage) = problem.keeps(prices, index);
                Kept { value, usage }
            }
        }
    }

    /// Prices to begin with, for the rows' units.
    pub(super) fn first_prices(&self, rows: usize) -> Vec<f64> {
        let (Self::Tied(problem) | Self::Attempts(_, problem)) = self;
        let mut prices: Vec<f64> = match rows {
            1 => problem.typical_prices::<1>().into(),
            2 => problem.typical_prices::<2>().into(),
            3 => problem.typical_prices::<3>().into(),
            _ => problem.typical_prices::<ROWS>().into(),
        };
        prices.truncate(rows);
        prices
    }
}

fn pass<const R: usize>(problem: &Problem, prices: &[f64], kept: Option<&mut [Block]>) -> Kept {
    let prices = core::array::from_fn(|r| prices.get(r).copied().unwrap_or(0.0));
    let output = kept.map_or(Output::Nothing, Output::Surplus);
    let pass: Pass<R> = problem.answers(prices, output);
    let paid: f64 = prices.iter().zip(&pass.usage).map(|(p, u)| p * u).sum();
    Kept {
        value: pass.value() - paid,
        usage: core::array::from_fn(|r| pass.usage.get(r).copied().unwrap_or(0.0)),
    }
}

/// What an application keeps, as a pass has it.
fn tied(problem: &Problem, prices: &[f64], index: usize) -> Kept {
    let (worth, price) = problem.answer_of(index, prices);
    let load = |r: usize| {
        problem
            .rows
            .get(r)
            .map_or(0.0, |row| row.as_flattened()[index])
    };
    Kept {
        value: worth.throughput + worth.latency - price * worth.rate,
        usage: core::array::from_fn(|r| load(r) * worth.rate),
    }
}
