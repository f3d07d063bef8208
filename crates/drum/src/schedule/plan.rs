//! A schedule: epochs that repeat, in each of which at most `k` applications are active.

use alloc::vec::Vec;

use super::case::Case;
use super::frame::{Epoch, Frame};
use super::hull::Hull;
use super::slots::Slots;
use super::value::{missing, value};
use crate::error::{Error, Place};
use crate::host::{Applications, Host};
use crate::mode::{Mode, Options};
use crate::solution::Solution;
use crate::solve::solve;
use crate::topk::rules::implied_cap;

/// Part of the best rates below which a longer frame isn't worth its waits, and below which better epochs aren't looked for.
const ENOUGH: f64 = 1e-4;
const CLOSE: f64 = 1e-3;
/// Passes over the epochs of a frame, and what one gains at least, in parts of all rates.
const PASSES: usize = 60;
const GAIN: f64 = 2e-6;
/// Slots of the longest frame that is chosen, and of the longest one that is made of a mixture.
const LONGEST: usize = 1 << 15;
const LISTED: usize = 1 << 17;
/// Mean turns in the shortest frame of a mixture of groups.
const TURNS: usize = 4;
/// Part of that which rounding numbers of epochs may cost, and frames that are filled with rates.
const ROUNDED: f64 = 0.3;
const FRAMES: usize = 4;
/// How often minimums are lowered that rows have too little for, and the part of what would just fit.
const LOWERED: usize = 16;
const SPARE: f64 = 0.99;
/// How far rates may be below a minimum that counts as kept.
const KEPT: f64 = 1e-7;

/// Who is active in an epoch, ascending, and at which rates (WQE/s).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Active {
    /// Applications.
    pub applications: Vec<usize>,
    /// Their rates in this epoch.
    pub rates: Vec<f64>,
}

/// A minimum that a schedule doesn't keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unmet {
    /// The application that has this minimum.
    pub application: usize,
    /// The least rate that it should have over all epochs (WQE/s).
    pub minimum: f64,
    /// The rate that it has.
    pub rate: f64,
}

/// Epochs that repeat, and what they are worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The epochs.
    pub epochs: Vec<Active>,
    /// Rates over all epochs (WQE/s).
    pub rates: Vec<f64>,
    /// Value of these rates.
    pub objective: f64,
    /// What no schedule with this limit on active applications is worth more than, whatever its epochs.
    pub bound: f64,
    /// The part by which all rates would have to grow to be worth the bound.
    pub rate_gap: f64,
    /// Minimums that aren't kept.
    pub unmet: Vec<Unmet>,
}

impl Schedule {
    fn new(host: &Host<'_>, frame: Frame, bound: f64) -> Self {
        let epochs = frame.epochs.iter().map(|epoch| {
            let mut turns: Vec<(usize, f64)> = epoch.turns().collect();
            turns.sort_unstable_by_key(|(index, _)| *index);
            let (applications, rates) = turns.into_iter().unzip();
            Active {
                applications,
                rates,
            }
        });
        let minimums = host
            .applications
            .minimum
            .iter()
            .zip(&frame.mean)
            .enumerate();
        let unmet = minimums.filter(|(_, (minimum, rate))| !is_kept(**minimum, **rate));
        let unmet = unmet.map(|(application, (minimum, rate))| Unmet {
            application,
            minimum: *minimum,
            rate: *rate,
        });
        let objective = value(host, &frame.mean);
        let bound = bound.max(objective);
        Self {
            epochs: epochs.collect(),
            unmet: unmet.collect(),
            objective,
            bound,
            rate_gap: missing(host, &frame.mean, bound),
            rates: frame.mean,
        }
    }

    /// The longest time from one active epoch of each application to its next, in epochs; none if it is never active.
    pub fn waits(&self) -> Vec<Option<u64>> {
        let mut epochs = alloc::vec![Vec::new(); self.rates.len()];
        for (epoch, active) in (0u64..).zip(&self.epochs) {
            for application in &active.applications {
                epochs[*application].push(epoch);
            }
        }
        let length = self.epochs.len() as u64;
        let longest = |epochs: &Vec<u64>| {
            let around = epochs.first()? + length - epochs.last()?;
            epochs
                .windows(2)
                .map(|pair| pair[1] - pair[0])
                .chain([around])
                .max()
        };
        epochs.iter().map(longest).collect()
    }
}

/// How many epochs a schedule has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Length {
    /// About the fewest with which rates are near the best.
    #[default]
    Any,
    /// Exactly this number of epochs.
    Exactly(usize),
    /// At most this number of epochs, unless it takes more for everyone to be active in one. Only balanced epochs are tried,
    /// which takes milliseconds.
    AtMost(usize),
}

/// Plans a schedule in which at most `k` applications of a host are active at a time, none above its rate of `peak` while
/// it is.
///
/// # Errors
/// If the problem isn't one, or applications with something to send have no epoch. Minimums that can't be kept are
/// [`unmet`](Schedule::unmet).
pub fn schedule(
    host: &Host<'_>,
    k: usize,
    peak: &[f64],
    length: Length,
) -> Result<Schedule, Error> {
    // Nobody sends faster in an epoch than rows allow.
    let fits = |(index, peak): (usize, &f64)| {
        peak.min(implied_cap(host, index).max(host.applications.minimum[index]))
    };
    let reach: Vec<f64> = peak.iter().enumerate().map(fits).collect();
    let (relaxed, minimum) = relaxed(
        host,
        &Mode::TimeShare {
            k: k as f64,
            peak: &reach,
        },
    )?;
    let own = with_minimums(host, &minimum);
    let case = Case::new(&own, &reach, k, &relaxed);
    let mut search = Search::new(host, &case, &relaxed);
    match length {
        Length::Any => search.lengths(usize::MAX)?,
        Length::Exactly(epochs) => search.frame(epochs)?,
        Length::AtMost(epochs) => search.lengths(epochs)?,
    }
    match length {
        Length::Any => search.close(None)?,
        Length::Exactly(epochs) => search.close(Some(epochs))?,
        Length::AtMost(_) => {}
    }
    search.schedule()
}

/// The best rates of applications that are active in these epochs, none above its rate of `peak`.
///
/// # Errors
/// As [`schedule`].
pub fn rates(
    host: &Host<'_>,
    active: &[Vec<usize>],
    peak: Option<&[f64]>,
) -> Result<Schedule, Error> {
    let (relaxed, minimum) = relaxed(host, &Mode::All)?;
    let reach = |index: usize| {
        let peak = peak.map_or(f64::INFINITY, |peak| peak[index]);
        peak.min(implied_cap(host, index))
    };
    let reach: Vec<f64> = (0..host.applications.len()).map(reach).collect();
    let own = with_minimums(host, &minimum);
    let slots = active.iter().map(Vec::len).max().unwrap_or(0);
    let case = Case::new(&own, &reach, slots, &relaxed);
    let epoch = |active: &Vec<usize>| Epoch::new(active.clone(), alloc::vec![0.0; active.len()]);
    let mut frame = Frame::new(&case, active.iter().map(epoch).collect());
    frame.settle(&case, PASSES, GAIN);
    Ok(Schedule::new(host, frame, relaxed.proven_bound))
}

/// Long-run rates without epochs, with minimums as they are, or lower by a common factor if rows have too little for them.
fn relaxed(host: &Host<'_>, mode: &Mode<'_>) -> Result<(Solution, Vec<f64>), Error> {
    let mut minimum = host.applications.minimum.to_vec();
    for _ in 0..LOWERED {
        match solve(&with_minimums(host, &minimum), mode, &Options::default()) {
            Err(Error::Infeasible {
                needed, capacity, ..
            }) => {
                let part = SPARE * capacity / needed;
                minimum.iter_mut().for_each(|minimum| *minimum *= part);
            }
            found => return Ok((found?, minimum)),
        }
    }
    Err(Error::Range)
}

fn with_minimums<'a>(host: &Host<'a>, minimum: &'a [f64]) -> Host<'a> {
    Host {
        applications: Applications {
            minimum,
            ..host.applications
        },
        ..host.clone()
    }
}

/// A search for a schedule.
struct Search<'a> {
    host: &'a Host<'a>,
    case: &'a Case,
    /// The best so far, whether it keeps minimums, and its worth.
    best: Option<(bool, f64, Frame)>,
    /// What no schedule is worth more than, in the case's terms and in the host's.
    bound: f64,
    proven: f64,
}

impl<'a> Search<'a> {
    fn new(host: &'a Host<'a>, case: &'a Case, relaxed: &Solution) -> Self {
        let bound = match case.exact {
            true => relaxed.proven_bound / case.unit,
            false => case.value(&relaxed.x),
        };
        Self {
            host,
            case,
            best: None,
            bound,
            proven: relaxed.proven_bound,
        }
    }

    /// How far the best is from the bound.
    fn gap(&self) -> f64 {
        self.best
            .as_ref()
            .map_or(f64::INFINITY, |(_, worth, _)| self.bound - worth)
    }

    fn keep(&mut self, mut worth: f64, mut frame: Frame) {
        let keeps = |frame: &Frame| {
            let mut rates = self.case.members.iter().zip(&frame.mean);
            rates.all(|(member, rate)| is_kept(member.least, *rate))
        };
        if !keeps(&frame) {
            // Slopes of minimums are steep, so the last bit takes long.
            worth = frame.settle(self.case, PASSES, 0.0);
        }
        let keeps = keeps(&frame);
        let better = |(kept, best, _): &(bool, f64, Frame)| (keeps, worth) > (*kept, *best);
        if self.best.as_ref().is_none_or(better) {
            self.best = Some((keeps, worth, frame));
        }
    }

    /// Fills a frame of so many epochs.
    fn frame(&mut self, epochs: usize) -> Result<(), Error> {
        let slots = Slots::new(self.case, epochs).ok_or_else(|| too_few(self.case, epochs))?;
        self.fill(&slots);
        Ok(())
    }

    fn fill(&mut self, slots: &Slots) {
        let mut frame = slots.assign(self.case);
        let worth = frame.settle(self.case, PASSES, GAIN);
        self.keep(worth, frame);
    }

    /// Fills the shortest frame in which numbers of epochs come close enough to the best parts of time, and longer ones
    /// until one is as good as it need be, of so many epochs at most.
    fn lengths(&mut self, most: usize) -> Result<(), Error> {
        let (members, slots) = (self.case.members.len(), self.case.slots);
        let first = members.div_ceil(slots).max(1);
        let most = most.min(LONGEST / slots).max(2 * first);
        let lengths =
            core::iter::successors(Some(first), |epochs| Some(epochs + epochs.div_ceil(4)));
        let mut least: Option<(f64, Slots)> = None;
        for epochs in lengths.take_while(|epochs| *epochs <= most) {
            let Some(slots) = Slots::new(self.case, epochs) else {
                continue;
            };
            let loss = slots.loss(self.case);
            if least.as_ref().is_none_or(|(least, _)| loss < *least) {
                least = Some((loss, slots));
            }
            if loss <= ROUNDED * CLOSE {
                break;
            }
        }
        let (_, slots) = least.ok_or_else(|| too_few(self.case, most))?;
        self.fill(&slots);
        let mut filled = slots.epochs();
        for step in 1..FRAMES {
            let epochs = (slots.epochs() + step * slots.epochs().div_ceil(2)).min(most);
            filled += epochs;
            if self.gap() <= ENOUGH || filled * self.case.slots > 2 * LONGEST {
                break;
            }
            if let Some(slots) = Slots::new(self.case, epochs) {
                self.fill(&slots);
            }
        }
        Ok(())
    }

    /// Looks for a better bound and for better epochs where the gap isn't small enough.
    fn close(&mut self, epochs: Option<usize>) -> Result<(), Error> {
        let Some((_, _, frame)) = &self.best else {
            return Ok(());
        };
        if self.gap() <= CLOSE || !self.case.exact {
            return Ok(());
        }
        let mut hull = Hull::new(self.case, frame, self.bound);
        hull.mix(self.case, 0.2 * CLOSE)?;

        self.bound = hull.bound;
        if hull.epochs.is_empty() {
            return Ok(());
        }
        let slots = self.case.slots;
        let lengths: Vec<usize> = match epochs {
            Some(epochs) => Vec::from([epochs]),
            None => {
                let members = self.case.members.len();
                // Members of a group take turns, so few turns leave much to rounding.
                let turns = if hull.groups.are_single() { 1 } else { TURNS };
                let first = (turns * members.div_ceil(slots)).max(8);
                let lengths = core::iter::successors(Some(first), |epochs| Some(2 * epochs));
                lengths
                    .take_while(|epochs| epochs * slots <= LISTED)
                    .take(8)
                    .collect()
            }
        };
        for epochs in lengths {
            if self.gap() <= 0.5 * CLOSE {
                break;
            }
            let mut frame = super::exchange::rounded(self.case, &hull, epochs);
            let worth = match hull.groups.are_single() {
                true => super::exchange::improve(self.case, &mut frame, &hull),
                false => frame.settle(self.case, PASSES, GAIN),
            };
            self.keep(worth, frame);
        }
        Ok(())
    }

    fn schedule(self) -> Result<Schedule, Error> {
        let bound = match self.case.exact {
            true => self.bound * self.case.unit,
            false => self.proven,
        };
        let (.., frame) = self.best.ok_or(Error::Range)?;
        Ok(Schedule::new(self.host, frame, bound.min(self.proven)))
    }
}

fn is_kept(minimum: f64, rate: f64) -> bool {
    rate >= minimum * (1.0 - KEPT)
}

/// Too few epochs for everyone who has something to send.
fn too_few(case: &Case, epochs: usize) -> Error {
    let needed = case
        .members
        .iter()
        .filter(|member| member.wanted > 0.0)
        .count();
    Error::Infeasible {
        place: Place::Field("frame"),
        needed: needed.div_ceil(case.slots) as f64,
        capacity: epochs as f64,
    }
}
