//! Better epochs for a frame: those that are worth least make room for those of the best mixture.

use alloc::vec::Vec;

use super::case::{Case, Member};
use super::frame::{Epoch, Frame};
use super::hull::Hull;
use crate::topk::best::best;

/// Epochs that are tried at a time: the best to come, and the worst to go.
const TRIED: usize = 4;
/// Rounds of exchanges, each of which ends with the best rates.
const ROUNDS: usize = 8;
/// Passes for rates after a round, and what one gains at least.
const PASSES: usize = 30;
const GAIN: f64 = 1e-7;

/// Epochs that a minimum has, over those that it takes.
const SPARE: f64 = 1.05;

/// The epochs of a mixture in a frame, each as often as comes closest to its part.
pub(super) fn rounded(case: &Case, hull: &Hull, epochs: usize) -> Frame {
    let exact: Vec<f64> = hull
        .epochs
        .iter()
        .map(|epoch| epoch.part * epochs as f64)
        .collect();
    let mut counts: Vec<usize> = exact
        .iter()
        .map(|exact| libm::floor(*exact) as usize)
        .collect();
    let mut order: Vec<usize> = (0..counts.len()).collect();
    let rest = |at: &usize| exact[*at] - libm::floor(exact[*at]);
    order.sort_by(|a, b| rest(b).total_cmp(&rest(a)).then(a.cmp(b)));
    let missing = epochs.saturating_sub(counts.iter().sum());
    order
        .iter()
        .cycle()
        .take(missing)
        .for_each(|at| counts[*at] += 1);
    let mut turns = Turns::new(case, hull, epochs);
    let copies = hull.epochs.iter().zip(counts);
    for (epoch, count) in copies {
        for _ in 0..count {
            turns.fill(case, hull, epoch);
        }
    }
    turns.serve(case, hull);
    Frame::new(case, turns.epochs)
}

/// Epochs while the slots of groups go to their members.
struct Turns {
    epochs: Vec<Epoch>,
    /// By group.
    members: Vec<Vec<usize>>,
    /// What each application is still to have, in epochs at its peak.
    due: Vec<f64>,
}

impl Turns {
    fn new(case: &Case, hull: &Hull, epochs: usize) -> Self {
        let mut members = alloc::vec![Vec::new(); hull.groups.count()];
        for (index, group) in hull.groups.of.iter().enumerate() {
            members[*group].push(index);
        }
        let due = |(member, rate): (&Member, &f64)| {
            let exact = rate.max(member.least) / member.peak * epochs as f64;
            // Minimums are kept at any cost to others, so that they have an epoch too many rather than too few.
            if at_minimum(member, *rate) {
                SPARE * exact + 1.0
            } else {
                exact
            }
        };
        Self {
            epochs: Vec::new(),
            members,
            due: case.members.iter().zip(&hull.rates).map(due).collect(),
        }
    }

    /// Adds an epoch in which each group's slots go to those who are due most.
    fn fill(&mut self, case: &Case, hull: &Hull, model: &Epoch) {
        let mut parts = alloc::vec![Vec::new(); self.members.len()];
        for (index, rate) in model.turns() {
            parts[hull.groups.of[index]].push(rate / case.members[index].peak);
        }
        let mut epoch = Epoch::new(Vec::new(), Vec::new());
        for (members, mut parts) in self.members.iter().zip(parts) {
            if parts.is_empty() {
                continue;
            }
            parts.sort_by(|a, b| b.total_cmp(a));
            let due: Vec<f64> = members.iter().map(|index| self.due[*index]).collect();
            for ((_, at), part) in best(&due, parts.len()).into_iter().zip(parts) {
                let index = members[at];
                self.due[index] -= part;
                epoch.members.push(index);
                epoch.rates.push(part * case.members[index].peak);
            }
        }
        self.epochs.push(epoch);
    }

    /// Gives slots to those who have no epoch, since they are due only a part of one, and to those whose minimum takes more,
    /// beside whoever of their group has most beyond what it was due.
    fn serve(&mut self, case: &Case, hull: &Hull) {
        let mut places = alloc::vec![Vec::new(); case.members.len()];
        for (epoch, active) in self.epochs.iter().enumerate() {
            for index in &active.members {
                places[*index].push(epoch);
            }
        }
        let kept: Vec<bool> = case
            .members
            .iter()
            .zip(&hull.rates)
            .map(|(member, rate)| at_minimum(member, *rate))
            .collect();
        let missing = |index: &usize| match (kept[*index], places[*index].len()) {
            (true, _) => libm::ceil(self.due[*index].max(0.0)) as usize,
            (false, 0) => usize::from(case.members[*index].wanted > 0.0),
            (false, _) => 0,
        };
        let turns = (0..places.len()).map(|index| (index, missing(&index)));
        let asked: Vec<usize> = turns
            .flat_map(|(index, missing)| core::iter::repeat_n(index, missing))
            .collect();
        for index in asked {
            let others = self.members[hull.groups.of[index]].iter();
            let others = others.filter(|other| **other != index && !places[**other].is_empty());
            let beside = others
                .min_by(|a, b| self.due[**a].total_cmp(&self.due[**b]))
                .copied();
            let is_free = |at: &usize| !self.epochs[*at].members.contains(&index);
            let among = beside.and_then(|beside| places[beside].iter().copied().find(is_free));
            let Some(at) = among.or_else(|| (0..self.epochs.len()).find(is_free)) else {
                continue;
            };
            if let Some(beside) = beside {
                self.due[beside] += self.due[index].clamp(0.0, 1.0);
            }
            self.due[index] -= 1.0;
            places[index].push(at);
            let epoch = &mut self.epochs[at];
            if epoch.members.len() < case.slots {
                epoch.members.push(index);
                epoch.rates.push(0.0);
                continue;
            }
            let turns = |place: &usize| {
                let other = epoch.members[*place];
                if Some(other) == beside || kept[other] {
                    0
                } else {
                    places[other].len()
                }
            };
            let Some(place) = (0..epoch.members.len()).max_by_key(turns) else {
                continue;
            };
            let from = core::mem::replace(&mut epoch.members[place], index);
            epoch.rates[place] = 0.0;
            places[from].retain(|place| *place != at);
        }
    }
}

/// Whether a rate is what the minimum takes.
fn at_minimum(member: &Member, rate: f64) -> bool {
    rate < 1.001 * member.least
}

/// Exchanges epochs for those of a mixture as long as that gains something; gives the worth of the frame.
pub(super) fn improve(case: &Case, frame: &mut Frame, hull: &Hull) -> f64 {
    let mut worth = frame.settle(case, PASSES, GAIN);
    for _ in 0..ROUNDS {
        let mut gained = false;
        for _ in 0..frame.epochs.len() {
            if !once(case, frame, hull) {
                break;
            }
            gained = true;
        }
        if !gained {
            break;
        }
        let before = core::mem::replace(&mut worth, frame.settle(case, PASSES, GAIN));
        if worth - before < GAIN {
            break;
        }
    }
    worth
}

/// Exchanges one epoch, if that gains something.
fn once(case: &Case, frame: &mut Frame, hull: &Hull) -> bool {
    let slopes = case.slopes(&frame.mean);
    let ranked = |epochs: &[Epoch], sign: f64| {
        let mut ranked: Vec<(f64, usize)> = epochs
            .iter()
            .map(|epoch| sign * epoch.worth(&slopes))
            .zip(0..)
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        ranked.truncate(TRIED);
        ranked
    };
    let (come, go) = (ranked(&hull.epochs, 1.0), ranked(&frame.epochs, -1.0));
    for (_, by) in &come {
        for (_, at) in &go {
            if frame.exchange(case, (*at, &hull.epochs[*by])).is_some() {
                return true;
            }
        }
    }
    false
}
