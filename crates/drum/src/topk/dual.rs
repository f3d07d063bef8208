//! The dual function of a problem in which applications are selected.
//!
//! At prices, an application is worth `V1` if it is selected and `V0` if not, and the dual function is what
//! the rows supply, all `V0`, and the largest gains `V1 - V0` for as many as may be selected. It is a
//! maximum of convex functions, and so convex, and at any prices no selection is worth more.

use alloc::vec::Vec;

use super::best::best;
use super::side::{Kept, ROWS, Side};
use crate::host::Host;
use crate::problem::{Block, LANES};
use crate::search::State;
use crate::supply::Staircase;

/// What an application is worth that isn't selected.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unselected<'a> {
    /// The application still sends, for its latency.
    Sends,
    /// The application doesn't send, and is worth its outage value (by application of the host).
    Outage(&'a [f64]),
}

/// The dual function for some of a host's applications.
pub(crate) struct Dual<'a> {
    /// Which applications of the host these are, ascending.
    pub(crate) members: Vec<usize>,
    /// How many may be selected.
    pub(crate) k: usize,
    selected: Side,
    unselected: Option<Side>,
    /// Applications that can't be selected but send.
    others: Option<Side>,
    /// By member, if those that aren't selected don't send.
    outages: Vec<f64>,
    /// Sum of the outage values of all applications that aren't members.
    outage: f64,
    supplies: &'a [Staircase],
    values: Vec<Block>,
    gains: Vec<Block>,
}

/// The dual function at some prices.
#[derive(Clone, Debug)]
pub(crate) struct Evaluation {
    pub(crate) value: f64,
    /// A subgradient: what is left of each row.
    pub(crate) slope: Vec<f64>,
    /// Members that are selected, ascending.
    pub(crate) chosen: Vec<usize>,
}

impl<'a> Dual<'a> {
    /// The dual function for `members` of a host; the host's other applications can't be selected.
    pub(crate) fn new(
        host: &Host<'_>,
        members: Vec<usize>,
        unselected: Unselected<'_>,
        k: usize,
        supplies: &'a [Staircase],
    ) -> Self {
        let selected = Side::new(host, &members, true);
        let blocks = members.len().div_ceil(LANES);
        let mut dual = Self {
            k,
            unselected: None,
            others: None,
            outages: Vec::new(),
            outage: 0.0,
            supplies,
            values: alloc::vec![[0.0; LANES]; blocks],
            gains: alloc::vec![[0.0; LANES]; blocks],
            selected,
            members,
        };
        match unselected {
            Unselected::Sends => {
                let mut is_member = alloc::vec![false; host.applications.len()];
                for &member in &dual.members {
                    is_member[member] = true;
                }
                let others: Vec<usize> = (0..is_member.len()).filter(|j| !is_member[*j]).collect();
                dual.unselected = Some(Side::new(host, &dual.members, false));
                dual.others = (!others.is_empty()).then(|| Side::new(host, &others, false));
            }
            Unselected::Outage(outages) => {
                dual.outages = dual.members.iter().map(|j| outages[*j]).collect();
                let others = outages.iter().enumerate();
                let others = others.filter(|(j, _)| dual.members.binary_search(j).is_err());
                dual.outage = others.map(|(_, outage)| outage).sum();
            }
        }
        dual
    }

    /// Prices to begin with, for the rows' units.
    pub(crate) fn first_prices(&self) -> Vec<f64> {
        self.selected.first_prices(self.supplies.len())
    }

    /// Gains of the members at prices, in blocks; those that are decided count as infinite.
    pub(crate) fn gains(&mut self, prices: &[f64], states: &[State]) -> &[f64] {
        self.fill(prices, states);
        &self.gains.as_flattened()[..self.members.len()]
    }

    /// Writes gains; gives what members keep and use as long as none is selected, if they send.
    fn fill(&mut self, prices: &[f64], states: &[State]) -> Kept {
        self.selected.pass(prices, Some(&mut self.gains));
        let base = match &self.unselected {
            Some(side) => side.pass(prices, Some(&mut self.values)),
            None => {
                let values = self.values.as_flattened_mut();
                values[..self.outages.len()].copy_from_slice(&self.outages);
                Kept {
                    value: 0.0,
                    usage: [0.0; ROWS],
                }
            }
        };
        let (gains, values) = (self.gains.as_flattened_mut(), self.values.as_flattened());
        for ((gain, value), state) in gains.iter_mut().zip(values).zip(states) {
            *gain = match state {
                // No number where a rate is infinite and free of charge.
                State::Free if gain.is_nan() => f64::MAX,
                State::Free => match *gain - value {
                    difference if difference.is_nan() => f64::MIN,
                    difference => difference.clamp(f64::MIN, f64::MAX),
                },
                State::In => f64::INFINITY,
                State::Out => f64::NEG_INFINITY,
            };
        }
        base
    }

    /// The dual function at prices for the rows' units.
    pub(crate) fn evaluate(&mut self, prices: &[f64], states: &[State]) -> Evaluation {
        let mut total = self.fill(prices, states);
        let exactly = self.unselected.is_some();
        if let Some(others) = &self.others {
            total.add(&others.pass(prices, None), 1.0);
        }
        let gains = &self.gains.as_flattened()[..self.members.len()];
        let ranked = best(gains, self.k);
        let wanted = |gain: f64| gain > 0.0 || (exactly && gain > f64::NEG_INFINITY);
        let count = ranked.iter().filter(|r| wanted(r.0)).count();
        let mut chosen: Vec<usize> = ranked[..count].iter().map(|r| r.1).collect();
        chosen.sort_unstable();
        for &member in &chosen {
            total.add(&self.selected.one(prices, member), 1.0);
            if let Some(side) = &self.unselected {
                total.add(&side.one(prices, member), -1.0);
            }
        }
        total.value += self.left_out(&chosen);
        let rows = self.supplies.iter().zip(prices);
        let worth: f64 = rows.clone().map(|(s, p)| s.worth(*p)).sum();
        let value = total.value + worth;
        Evaluation {
            value: if value.is_nan() { f64::INFINITY } else { value },
            slope: rows
                .zip(total.usage)
                .map(|((s, p), usage)| s.supplied(*p) - usage)
                .collect(),
            chosen,
        }
    }

    /// What those are worth that don't send. Added up without those that do: an outage may be so large that nothing
    /// else is left of a sum with it.
    fn left_out(&self, chosen: &[usize]) -> f64 {
        let members = self.outages.iter().enumerate();
        let left = members.filter(|(member, _)| chosen.binary_search(member).is_err());
        self.outage + left.map(|(_, outage)| outage).sum::<f64>()
    }

    /// Whether exactly `k` are selected rather than `k` at most.
    pub(crate) fn is_exact(&self) -> bool {
        self.unselected.is_some()
    }

    /// Price above which a row is never used, by row.
    pub(crate) fn limits(&self) -> Vec<f64> {
        self.supplies.iter().map(Staircase::highest).collect()
    }
}
