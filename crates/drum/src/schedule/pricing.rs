//! The best epoch where a little more of each rate is worth a price, and what none is worth more than.

use alloc::vec::Vec;

use super::case::{Case, PerRow};
use super::choice::{Choice, Item, classes};
use super::frame::Epoch;
use super::mixture::ALONE;
use crate::error::Error;
use crate::host::{Applications, Dependency, Fairness, Host, Load, Row, RowName, Supply, Utility};
use crate::mode::{Mode, Options};
use crate::solve::solve;

/// Nodes of the search for the best epoch, and times that it looks at an application.
const NODES: usize = 200;
const LOOKS: usize = 100_000;
/// Part of a peak that is nothing.
const UNUSED: f64 = 1e-9;

/// The problem of the best epoch, but for what rates are worth.
pub(super) struct Pricing {
    ones: Vec<f64>,
    zeros: Vec<f64>,
    most: Vec<f64>,
    /// By row.
    loads: Vec<Vec<f64>>,
}

impl Pricing {
    pub(super) fn new(case: &Case) -> Self {
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
    pub(super) fn best(&self, case: &Case, slopes: &[f64]) -> Result<(Epoch, f64), Error> {
        let (mut epoch, limit, mut prices) = self.solved(case, slopes, 0)?;
        prices.truncate(case.rows);
        let total: f64 = prices.iter().sum();
        if total <= 0.0 || !total.is_finite() {
            return Ok((epoch, limit));
        }
        prices.iter_mut().for_each(|price| *price /= total);
        let sizes: Vec<f64> = (0..case.members.len())
            .map(|index| self.size(index, &prices))
            .collect();
        let items = case.members.iter().zip(slopes).zip(&sizes).enumerate();
        let items = items.map(|(index, ((member, slope), size))| Item {
            index,
            gain: slope * member.peak,
            size: *size,
        });
        let classes = classes(items, case.slots);
        let choice = Choice {
            classes,
            slots: case.slots,
        };
        let mut worth = epoch.worth(slopes);
        let proven = choice.search(NODES.min(LOOKS / slopes.len()), |members| {
            let tried = self.filled(case, members, (slopes, &prices));
            let own = tried.worth(slopes);
            if own > worth {
                (epoch, worth) = (tried, own);
            }
            own
        });
        let limit = limit.min(proven);
        if slopes.len() <= ALONE && worth < limit {
            // Where several rows are full, the search by all of them finds more.
            let (found, proven, _) = self.solved(case, slopes, NODES)?;
            if found.worth(slopes) > worth {
                epoch = found;
            }
            return Ok((epoch, limit.min(proven)));
        }
        Ok((epoch, limit))
    }

    /// Part of rows that a peak uses, by the price of each.
    fn size(&self, index: usize, prices: &[f64]) -> f64 {
        prices
            .iter()
            .zip(&self.loads)
            .map(|(price, loads)| price * loads[index])
            .sum()
    }

    /// An epoch of these applications, the rows given first to those to whom they are worth most.
    fn filled(&self, case: &Case, members: &[usize], (slopes, prices): (&[f64], &[f64])) -> Epoch {
        let dense = |index: &usize| {
            slopes[*index] * case.members[*index].peak
                / self.size(*index, prices).max(f64::MIN_POSITIVE)
        };
        let mut order = members.to_vec();
        order.sort_by(|a, b| dense(b).total_cmp(&dense(a)).then(a.cmp(b)));
        let mut left: PerRow = [1.0; Host::MOST_ROWS];
        let mut epoch = Epoch::new(Vec::new(), Vec::new());
        for index in order {
            let rows = self
                .loads
                .iter()
                .zip(&left)
                .filter(|(loads, _)| loads[index] > 0.0);
            let part = rows
                .map(|(loads, left)| left / loads[index])
                .fold(1.0, f64::min);
            if part <= UNUSED {
                continue;
            }
            for (loads, left) in self.loads.iter().zip(&mut left) {
                *left = (*left - part * loads[index]).max(0.0);
            }
            epoch.members.push(index);
            epoch.rates.push(part * case.members[index].peak);
        }
        epoch
    }

    /// The best epoch by the search for selections, what none is worth more than, and prices of rows that prove it.
    fn solved(
        &self,
        case: &Case,
        slopes: &[f64],
        nodes: usize,
    ) -> Result<(Epoch, f64, Vec<f64>), Error> {
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
        Ok((
            Epoch::new(members, rates),
            found.proven_bound * scale,
            found.dual_prices,
        ))
    }
}
