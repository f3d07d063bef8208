//! All mixtures of epochs, in any parts: what no schedule exceeds, and which epochs the best ones have.
//!
//! Column generation: the best parts of time for the epochs so far give what a little more of each rate is worth. The best
//! of all epochs at these slopes, a choice of at most `k` applications of linear value, joins them. Slopes, and what no epoch is
//! worth more than at them, bound every schedule.

use alloc::vec::Vec;

use super::case::{Case, Member};
use super::frame::{Epoch, Frame};
use super::mixture::{Found, Groups, Mixture};
use super::pricing::Pricing;
use crate::error::Error;

/// Rounds at most, applications by groups that they may go through, and rounds below which they aren't begun.
const ADDED: usize = 200;
const MOST: usize = 1_000_000;
const FEWEST: usize = 20;
/// Epochs of a frame that they begin with, at most.
const FEW: usize = 64;
/// Part of the gap that is small enough that a mixture may be from the best one of the same epochs.
const MIXED: f64 = 0.05;
/// Rounds in which the gap has to become smaller by a part.
const PATIENCE: usize = 8;
const CLOSER: f64 = 0.9;
/// Part of time that is none.
const UNUSED: f64 = 1e-7;

/// A mixture of epochs.
pub(super) struct Hull {
    /// Parts of time of any size.
    pub(super) epochs: Vec<Epoch>,
    pub(super) groups: Groups,
    /// Rates over all epochs.
    pub(super) rates: Vec<f64>,
    /// What no mixture exceeds.
    pub(super) bound: f64,
}

impl Hull {
    /// Begins with a frame.
    pub(super) fn new(case: &Case, frame: &Frame, bound: f64) -> Self {
        let groups = Groups::new(case);
        let epochs = if groups.are_single() && frame.epochs.len() <= FEW {
            frame.epochs.clone()
        } else {
            // Its mean counts as an epoch, which better ones replace.
            let all = (0..case.members.len()).collect();
            Vec::from([Epoch::new(all, frame.mean.clone())])
        };
        Self {
            epochs,
            groups,
            rates: frame.mean.clone(),
            bound,
        }
    }

    /// Adds epochs until value and bound are within `enough`, or as far as that gains something.
    pub(super) fn mix(&mut self, case: &Case, enough: f64) -> Result<(), Error> {
        let pricing = Pricing::new(case);
        let mut worth = case.value(&self.rates);
        let mut slopes = case.slopes(&self.rates);
        let mut gap = self.bound - worth;
        let (mut closed, mut since) = (gap, 0);
        let rounds = ADDED.min(MOST / (case.members.len() * self.groups.count()));
        for _ in 0..if rounds < FEWEST { 0 } else { rounds } {
            let (epoch, limit) = pricing.best(case, &slopes)?;
            self.epochs.push(epoch);
            self.bound = self.bound.min(limit + surplus(case, &slopes));
            let mixture = Mixture::new(case, &self.groups, &self.epochs);
            let found = mixture.solve(MIXED * enough / worth.abs().max(1.0));
            let Some(Found {
                parts,
                rates,
                slopes: next,
                worth: reached,
            }) = found
            else {
                break;
            };
            if reached < worth - enough {
                break;
            }
            for (epoch, part) in self.epochs.iter_mut().zip(parts) {
                epoch.part = part;
            }
            (self.rates, slopes, worth) = (rates, next, reached);
            gap = self.bound - worth;
            since += 1;
            if gap < CLOSER * closed {
                (closed, since) = (gap, 0);
            }
            if gap <= enough || since > PATIENCE {
                break;
            }
        }
        self.epochs
            .retain(|epoch| epoch.part > UNUSED && epoch.members.len() <= case.slots);
        Ok(())
    }
}

/// The most that all rates within their limits are worth at slopes as prices.
fn surplus(case: &Case, slopes: &[f64]) -> f64 {
    let of = |(member, slope): (&Member, &f64)| {
        member.curve.surplus(*slope, (member.least, member.most))
    };
    case.members.iter().zip(slopes).map(of).sum()
}
