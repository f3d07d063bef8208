//! The best parts of time for given epochs.
//!
//! Applications that use the same parts of rows at their peaks have the same place in an epoch, so a mixture is found for
//! groups of them: rates are shared freely within a group.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::case::{Case, Member};
use super::frame::Epoch;
use crate::fixed::Answer;
use crate::host::Supply;
use crate::interior::{Column, Program};
use crate::supply::Staircase;

/// Applications up to which each is a group of its own, and groups of more at most.
pub(super) const ALONE: usize = 32;
/// The smallest part of a row that counts as a difference.
const FINEST: f64 = 1.0 / 1024.0;
/// Part of minimums that a mixture keeps at least, so that there is room.
const LOWER: f64 = 0.999;

/// Groups of applications.
pub(super) struct Groups {
    pub(super) of: Vec<usize>,
    /// By group: peaks that its members' best rates come to.
    units: Vec<f64>,
}

impl Groups {
    pub(super) fn new(case: &Case) -> Self {
        let count = case.members.len();
        let of: Vec<usize> = match count <= ALONE {
            true => (0..count).collect(),
            false => cells(case),
        };
        let mut units = alloc::vec![0.0; of.iter().max().map_or(0, |most| most + 1)];
        for (member, group) in case.members.iter().zip(&of) {
            units[*group] += unit(member) / member.peak;
        }
        Self { of, units }
    }

    /// Whether each application is a group.
    pub(super) fn are_single(&self) -> bool {
        self.units.len() == self.of.len()
    }

    pub(super) const fn count(&self) -> usize {
        self.units.len()
    }

    /// Part of a group's unit that a rate of a member is.
    fn load(&self, case: &Case, index: usize) -> f64 {
        1.0 / (case.members[index].peak * self.units[self.of[index]])
    }
}

/// Numbers of cells of the parts of rows that members use at their peaks, as small as there may be cells.
fn cells(case: &Case) -> Vec<usize> {
    let mut step = FINEST;
    loop {
        let mut known = BTreeMap::new();
        let cell = |member: &Member| {
            let parts = member.load[..case.rows].iter();
            let key: Vec<u64> = parts
                .map(|load| libm::round(load * member.peak / step) as u64)
                .collect();
            let next = known.len();
            *known.entry(key).or_insert(next)
        };
        let of: Vec<usize> = case.members.iter().map(cell).collect();
        if known.len() <= ALONE || step >= 1.0 {
            return of;
        }
        step *= 2.0;
    }
}

/// Rates are counted in what the relaxation gives, so that they are near 1.
fn unit(member: &Member) -> f64 {
    if member.wanted > 0.0 {
        member.wanted
    } else {
        member.peak
    }
}

/// Parts of time, and rates that they give.
pub(super) struct Found {
    pub(super) parts: Vec<f64>,
    pub(super) rates: Vec<f64>,
    /// What a little more of each rate is worth.
    pub(super) slopes: Vec<f64>,
    pub(super) worth: f64,
}

/// The problem of parts of time: rates, which use rows of groups, which epochs fill; and parts, which add up to 1.
pub(super) struct Mixture<'a> {
    case: &'a Case,
    groups: &'a Groups,
    /// What each epoch gives to groups.
    gives: Vec<Vec<(usize, f64)>>,
    program: Program,
    /// What rates are worth more than in their units: a logarithm of each unit at alpha 1.
    scaled: f64,
}

impl<'a> Mixture<'a> {
    pub(super) fn new(case: &'a Case, groups: &'a Groups, epochs: &'a [Epoch]) -> Self {
        let count = groups.count();
        let mut program = Program {
            kernel: case.kernel,
            alpha: case.kernel.alpha(),
            columns: Vec::new(),
            uses: Vec::new(),
            supplies: alloc::vec![Staircase::tie(); count + case.rows],
        };
        program
            .supplies
            .push(Staircase::new(&Supply::Capacity(1.0)));
        for (index, member) in case.members.iter().enumerate() {
            let unit = unit(member);
            program.use_row(groups.of[index], unit * groups.load(case, index));
            for row in 0..case.rows {
                program.use_row(count + row, unit * member.load[row]);
            }
            program.columns.push(Column {
                weight: member.weight * libm::pow(unit, 1.0 - program.alpha),
                kappa: member.kappa / (unit * unit),
                low: LOWER * member.least / unit,
                high: member.most.min(member.peak) / unit,
                end: program.uses.len(),
                ..Column::default()
            });
        }
        let scaled = match program.alpha {
            1.0 => case
                .members
                .iter()
                .map(|member| member.weight * libm::log(unit(member)))
                .sum(),
            _ => 0.0,
        };
        let mut gives = Vec::new();
        let mut given = alloc::vec![0.0; count + case.rows];
        for epoch in epochs {
            for (index, rate) in epoch.turns() {
                given[groups.of[index]] += rate * groups.load(case, index);
                for row in 0..case.rows {
                    given[count + row] += rate * case.members[index].load[row];
                }
            }
            let mut own = Vec::new();
            for (row, given) in given.iter_mut().enumerate() {
                let given = core::mem::take(given);
                if given > 0.0 {
                    program.use_row(row, -given);
                    own.push((row, given));
                }
            }
            gives.push(own);
            program.use_row(count + case.rows, 1.0);
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
            groups,
            gives,
            program,
            scaled,
        }
    }

    /// Finds the best parts.
    pub(super) fn solve(&self, tolerance: f64) -> Option<Found> {
        let members = &self.case.members;
        let certify = |rates: &[f64], prices: &[f64], passes| self.certify(rates, prices, passes);
        let found = self.program.solve_with(tolerance, certify)?;
        let parts = &found.rates[members.len()..];
        let total: f64 = parts.iter().sum();
        let sound = found.prices.iter().all(|price| price.is_finite());
        if !(total > 0.0 && found.objective.is_finite() && sound) {
            return None;
        }
        let slope = |index: usize| {
            self.program.price(index, &found.prices).max(0.0) / unit(&members[index])
        };
        Some(Found {
            parts: parts.iter().map(|part| part / total).collect(),
            rates: members
                .iter()
                .zip(&found.rates)
                .map(|(member, rate)| rate * unit(member))
                .collect(),
            slopes: (0..members.len()).map(slope).collect(),
            worth: found.objective + self.scaled,
        })
    }

    /// Rates that parts give, and what no parts of these epochs are worth more than.
    fn certify(&self, rates: &[f64], prices: &[f64], passes: usize) -> Answer {
        let (own, parts) = rates.split_at(self.case.members.len());
        let total: f64 = parts.iter().sum();
        let mut given = alloc::vec![0.0; self.groups.count() + self.case.rows];
        let mut best: f64 = 0.0;
        for (gives, part) in self.gives.iter().zip(parts) {
            let mut worth = 0.0;
            for (group, amount) in gives {
                given[*group] += part / total * amount;
                worth += prices[*group] * amount;
            }
            best = best.max(worth);
        }
        let mut used = alloc::vec![0.0; given.len()];
        for (index, rate) in own.iter().enumerate() {
            for (group, load) in self.program.uses(index) {
                used[*group as usize] += load * rate;
            }
        }
        let (mut objective, mut bound) = (0.0, best);
        for (index, (column, rate)) in self.program.columns.iter().zip(own).enumerate() {
            let price = self.program.price(index, prices);
            let answer = self.program.answer(column, price);
            let rows = self.program.uses(index).iter();
            let part = rows
                .map(|(row, _)| given[*row as usize] / used[*row as usize])
                .fold(f64::INFINITY, f64::min);
            let rate = (rate * part).min(column.high);
            objective += self.program.worth(column, rate);
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
