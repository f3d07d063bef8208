//! All mixtures of epochs, in any parts: what no schedule exceeds, and which epochs the best ones have.
//!
//! Column generation: epochs are kept with the parts of time that they get, and parts move from the epoch that is worth
//! least at the present slopes to the one that is worth most (pairwise Frank-Wolfe steps, Lacoste-Julien and Jaggi, NIPS 2015).
//! Where that gains little, the best of all epochs at these slopes joins them: a choice of at most `k` applications of linear
//! value, which the crate's own search answers with a bound. Slopes and bound together bound every schedule.

use alloc::vec::Vec;

use super::case::{Case, Member};
use super::frame::{Epoch, Frame};
use crate::error::Error;
use crate::fixed::Answer;
use crate::host::{Applications, Dependency, Fairness, Host, Load, Row, RowName, Supply, Utility};
use crate::interior::{Column, Program};
use crate::mode::{Mode, Options};
use crate::solve::solve;
use crate::supply::Staircase;

/// Rounds, and multiplications that they take, at most.
const ADDED: usize = 400;
const WORK: f64 = 1e9;
/// Rounds below which they aren't begun.
const FEWEST: usize = 8;
/// Part of the gap that a mixture may be from the best one of the same epochs.
const MIXED: f64 = 0.05;
/// Rounds in which the gap has to become smaller by a part.
const PATIENCE: usize = 12;
const CLOSER: f64 = 0.9;
/// Epochs that are added in a round, and what a rate that one of them has is worth less for the next.
const AT_A_TIME: usize = 3;
const LESS: f64 = 0.7;
/// Part of time that is none, and part of the best epoch's worth from which on another is kept all the same.
const UNUSED: f64 = 1e-7;
const NEAR: f64 = 0.98;
/// Nodes of the search for the best epoch.
const NODES: usize = 200;

/// A mixture of epochs.
pub(super) struct Hull {
    /// Its epochs have parts of time of any size.
    pub(super) frame: Frame,
    /// What no mixture exceeds.
    pub(super) bound: f64,
}

impl Hull {
    pub(super) fn new(frame: Frame, bound: f64) -> Self {
        Self { frame, bound }
    }

    /// Adds epochs until value and bound are within `enough`, or as far as the work for it goes.
    pub(super) fn mix(&mut self, case: &Case, enough: f64) -> Result<(), Error> {
        let pricing = Pricing::new(case);
        let count = case.members.len() as f64;
        let rounds = (WORK / (count * count * (count + 100.0))) as usize;
        let mut gap = self.bound - case.value(&self.frame.mean);
        let (mut closed, mut since) = (gap, 0);
        for _ in 0..if rounds < FEWEST {
            0
        } else {
            rounds.min(ADDED)
        } {
            let tolerance = MIXED * gap.clamp(enough, 1.0);
            // Where no mixture is found, the present one has slopes too.
            let found = master(case, &mut self.frame, tolerance);
            let slopes = found.unwrap_or_else(|| case.slopes(&self.frame.mean));
            let limit = self.add(case, &pricing, slopes)?;
            self.bound = self.bound.min(limit);
            gap = self.bound - case.value(&self.frame.mean);
            since += 1;
            if gap < CLOSER * closed {
                (closed, since) = (gap, 0);
            }
            if gap <= enough || since > PATIENCE {
                break;
            }
        }
        self.frame.epochs.retain(|epoch| epoch.part > UNUSED);
        Ok(())
    }

    /// Adds the best epoch at slopes, and those that are the best with less for whom the ones before have; gives a bound.
    fn add(&mut self, case: &Case, pricing: &Pricing, mut slopes: Vec<f64>) -> Result<f64, Error> {
        let surplus = surplus(case, &slopes);
        let most = self
            .frame
            .epochs
            .iter()
            .map(|epoch| epoch.worth(&slopes))
            .fold(0.0, f64::max);
        self.frame
            .epochs
            .retain(|epoch| epoch.part > UNUSED || epoch.worth(&slopes) > NEAR * most);
        let (mut epoch, mut limit) = pricing.best(case, &slopes, 0)?;
        if epoch.worth(&slopes) < most + 0.5 * (limit - most) {
            // A search closes the gap of the choice.
            (epoch, limit) = pricing.best(case, &slopes, NODES)?;
        }
        let bound = limit + surplus;
        for _ in 0..AT_A_TIME {
            for index in &epoch.members {
                slopes[*index] *= LESS;
            }
            self.frame.epochs.push(epoch);
            epoch = pricing.best(case, &slopes, 0)?.0;
        }
        Ok(bound)
    }
}

/// Finds the best parts of time for epochs; gives what a little more of each rate is worth.
fn master(case: &Case, frame: &mut Frame, tolerance: f64) -> Option<Vec<f64>> {
    let count = case.members.len();
    let mixture = Mixture::new(case, &frame.epochs);
    let certify = |rates: &[f64], prices: &[f64], passes| mixture.certify(rates, prices, passes);
    let scale = case.value(&frame.mean).abs().max(1.0);
    let found = mixture.program.solve_with(tolerance / scale, certify)?;
    let parts = &found.rates[count..];
    let total: f64 = parts.iter().sum();
    let sound = found.prices.iter().all(|price| price.is_finite());
    if !(total > 0.0 && found.objective.is_finite() && sound) {
        return None;
    }
    let prices = case.members.iter().zip(&found.prices);
    let slopes = prices
        .map(|(member, price)| price.max(0.0) / unit(member))
        .collect();
    for (epoch, part) in frame.epochs.iter_mut().zip(parts) {
        epoch.part = part / total;
    }
    frame.average(case);
    Some(slopes)
}

/// Rates are counted in what the relaxation gives, so that they are near 1.
fn unit(member: &Member) -> f64 {
    if member.wanted > 0.0 {
        member.wanted
    } else {
        member.peak
    }
}

/// The problem of parts of time: rates, each of which uses a row of its own, which epochs fill; and parts, which add up to 1.
struct Mixture<'a> {
    case: &'a Case,
    epochs: &'a [Epoch],
    program: Program,
}

impl<'a> Mixture<'a> {
    fn new(case: &'a Case, epochs: &'a [Epoch]) -> Self {
        let count = case.members.len();
        let mut program = Program {
            kernel: case.kernel,
            alpha: case.kernel.alpha(),
            columns: Vec::new(),
            uses: Vec::new(),
            supplies: alloc::vec![Staircase::tie(); count],
        };
        program
            .supplies
            .push(Staircase::new(&Supply::Capacity(1.0)));
        for (index, member) in case.members.iter().enumerate() {
            program.use_row(index, 1.0);
            let unit = unit(member);
            program.columns.push(Column {
                weight: member.weight * libm::pow(unit, 1.0 - program.alpha),
                kappa: member.kappa / (unit * unit),
                low: member.least / unit,
                high: member.most.min(member.peak) / unit,
                end: program.uses.len(),
                ..Column::default()
            });
        }
        for epoch in epochs {
            for (index, rate) in epoch.turns() {
                program.use_row(index, -rate / unit(&case.members[index]));
            }
            program.use_row(count, 1.0);
            // Above 1, so that the row limits parts and not this.
            let column = Column {
                high: 2.0,
                end: program.uses.len(),
                ..Column::default()
            };
            program.columns.push(column);
        }
        Self {
            case,
            epochs,
            program,
        }
    }

    /// Rates that parts give, and what no parts of these epochs are worth more than.
    fn certify(&self, rates: &[f64], prices: &[f64], passes: usize) -> Answer {
        let members = &self.case.members;
        let parts = &rates[members.len()..];
        let total: f64 = parts.iter().sum();
        let mut given = alloc::vec![0.0; members.len()];
        let mut best: f64 = 0.0;
        for (epoch, part) in self.epochs.iter().zip(parts) {
            let mut worth = 0.0;
            for (index, rate) in epoch.turns() {
                let rate = rate / unit(&members[index]);
                given[index] += part / total * rate;
                worth += prices[index] * rate;
            }
            best = best.max(worth);
        }
        let (mut objective, mut bound) = (0.0, best);
        let columns = self.program.columns.iter().zip(&given).zip(prices);
        for ((column, given), price) in columns {
            let answer = self.program.answer(column, *price);
            objective += self.program.worth(column, given.min(column.high));
            bound += self.program.worth(column, answer) - price * answer;
        }
        Answer {
            objective,
            bound,
            rates: rates.to_vec(),
            prices: prices.to_vec(),
            passes,
        }
    }
}

/// The most that all rates within their limits are worth at slopes as prices.
fn surplus(case: &Case, slopes: &[f64]) -> f64 {
    let of = |(member, slope): (&Member, &f64)| {
        member.curve.surplus(*slope, (member.least, member.most))
    };
    case.members.iter().zip(slopes).map(of).sum()
}

/// The problem of the best epoch, but for what rates are worth.
struct Pricing {
    ones: Vec<f64>,
    zeros: Vec<f64>,
    most: Vec<f64>,
    /// By row.
    loads: Vec<Vec<f64>>,
}

impl Pricing {
    fn new(case: &Case) -> Self {
        let count = case.members.len();
        let load = |row: usize| {
            case.members
                .iter()
                .map(|member| member.load[row] * member.peak)
                .collect()
        };
        Self {
            ones: alloc::vec![1.0; count],
            zeros: alloc::vec![0.0; count],
            most: alloc::vec![1.0; count],
            loads: (0..case.rows).map(load).collect(),
        }
    }

    /// An epoch that is worth about the most at slopes, and what none is worth more than.
    fn best(&self, case: &Case, slopes: &[f64], nodes: usize) -> Result<(Epoch, f64), Error> {
        let weight: Vec<f64> = case
            .members
            .iter()
            .zip(slopes)
            .map(|(member, slope)| slope * member.peak)
            .collect();
        let scale = weight
            .iter()
            .copied()
            .fold(0.0, f64::max)
            .max(f64::MIN_POSITIVE);
        let weight: Vec<f64> = weight.iter().map(|weight| weight / scale).collect();
        let rows = self.loads.iter().map(|loads| Row {
            name: RowName::Other("row"),
            load: Load::Requests(loads),
            supply: Supply::Capacity(1.0),
        });
        let host = Host {
            applications: Applications {
                weight: &weight,
                latency_weight: &self.zeros,
                completions: &self.ones,
                bytes: &self.zeros,
                poll_cost: &self.zeros,
                minimum: &self.zeros,
                maximum: &self.most,
            },
            utility: Utility {
                fairness: Fairness::Alpha(0.0),
                latency: 0.0,
            },
            dependency: Dependency::Equality,
            rows: rows.collect(),
        };
        let k = case.slots.min(weight.len());
        let mode = Mode::ActiveSet { k, outage: None };
        let options = Options {
            tolerance: 1e-6,
            nodes,
            ..Options::default()
        };
        let found = solve(&host, &mode, &options)?;
        let mut members = Vec::new();
        let mut rates = Vec::new();
        for (index, part) in found.x.iter().enumerate() {
            if *part > 1e-12 {
                members.push(index);
                rates.push(part * case.members[index].peak);
            }
        }
        Ok((Epoch::new(members, rates), found.proven_bound * scale))
    }
}
