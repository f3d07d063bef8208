//! Who is active when, so that nobody starves.

use fairlane_drum::schedule::{self as planner, Length, Reserve, Unmet};
use fairlane_drum::{Row, Supply};
use serde::Serialize;

use crate::error::{Error, of_solver};
use crate::inputs::{Document, Mode};
use crate::problem::{HostProblem, Request};
use crate::solve::Problem;

/// Longest frame that is listed epoch by epoch.
const MOST_EPOCHS: u64 = 1 << 20;
/// Where a frame is asked for.
const FLAG: &str = "--frame";

/// How applications take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// A frame that repeats, with the epochs and rates that are worth most.
    Frame,
    /// Most slots by what applications gain, the rest by how long they have waited.
    Reserve {
        /// Slots that go to whoever has waited longest.
        reserved: usize,
    },
}

/// Who is active when.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The problem's name.
    pub name: Option<String>,
    /// `frame` or `reserve`.
    pub policy: &'static str,
    /// Queue pairs that may be active at a time.
    pub k: usize,
    /// Length of what is listed; a frame repeats.
    pub epochs: u64,
    /// Most applications that are active at a time.
    pub most_active: usize,
    /// Longest time from one active epoch of an application to its next, in epochs.
    pub longest_wait: u64,
    /// What that is proven not to exceed.
    pub longest_wait_bound: u64,
    /// Value of the rates over all epochs, if that is a number.
    pub objective: Option<f64>,
    /// What no schedule is worth more than, whatever its epochs; of policy `frame`.
    pub dual_bound: Option<f64>,
    /// The part by which all rates would have to grow to be worth the bound; of policy `frame`.
    pub rate_gap: Option<f64>,
    /// Each row of the host: how much of it is used, over all epochs and in the epoch that uses most.
    pub rows: Vec<RowUse>,
    /// Applications whose minimum isn't kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<Shortfall>,
    /// Each application.
    pub applications: Vec<Turn>,
    /// Applications that are active, by epoch.
    pub active: Vec<Vec<usize>>,
    /// Their rates in that epoch (WQE/s).
    pub rates: Vec<Vec<f64>>,
}

/// Use of a row by applications that take turns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowUse {
    /// The row's name.
    pub name: String,
    /// What there is of it; none where it has a price.
    pub capacity: Option<f64>,
    /// Use over all epochs.
    pub usage: f64,
    /// Most use in an epoch.
    pub most: f64,
}

/// An application that can't have its minimum.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shortfall {
    /// Its number.
    pub application: usize,
    /// What it is called, if the problem says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The minimum (WQE/s).
    pub minimum: f64,
    /// What it gets.
    pub rate: f64,
}

/// When one application is active.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turn {
    /// Its number.
    pub application: usize,
    /// What it is called, if the problem says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Rate of work requests over all epochs (WQE/s).
    pub rate: f64,
    /// Mean rate of work requests in the epochs in which it is active.
    pub active_rate: f64,
    /// How many epochs it is active in.
    pub active_epochs: u64,
    /// The first of them.
    pub first_epoch: Option<u64>,
    /// Longest time from one of them to the next, in epochs.
    pub longest_wait: Option<u64>,
}

/// Plans who is active when, for so many epochs; by default about the fewest with which rates are near the best.
///
/// # Errors
/// If the problem is wrong or has no solution, or there is no such frame. Minimums that can't be kept are no error but
/// [`unmet`](Plan::unmet).
pub fn schedule(
    document: Document,
    request: &Request,
    policy: Policy,
    epochs: Option<u64>,
) -> Result<Plan, Error> {
    match policy {
        Policy::Frame => frame(document, request, epochs),
        Policy::Reserve { reserved } => reserve(document, request, reserved, epochs),
    }
}

/// A frame that repeats.
fn frame(document: Document, request: &Request, epochs: Option<u64>) -> Result<Plan, Error> {
    let request = Request {
        mode: Some(Mode::Timeshare),
        ..*request
    };
    let name = document.name.clone();
    let problem = HostProblem::new(document.problem, &request)?;
    let problem = Problem::checked(problem)?;
    let k = problem.whole_k()?;
    let peak = problem.peak.as_deref().unwrap_or_default();
    let length = match epochs {
        Some(epochs) if epochs > MOST_EPOCHS => {
            let message = format!("a frame of {epochs} epochs is too long to be listed");
            return Err(Error::new(
                FLAG,
                message,
                format!("give at most {MOST_EPOCHS}"),
            ));
        }
        Some(epochs) => Length::Exactly(usize::try_from(epochs).unwrap_or(usize::MAX)),
        None => Length::Any,
    };
    let found = planner::schedule(&problem.host(), k, peak, length).map_err(of_planner)?;
    let bound = found.epochs.len() as u64;
    let (dual_bound, rate_gap) = (finite(found.bound), finite(found.rate_gap));
    let waits = found.waits();
    let plan = plan(&problem, name, "frame", k, found, &waits);
    Ok(Plan {
        longest_wait_bound: bound,
        dual_bound,
        rate_gap,
        ..plan
    })
}

/// What the planner refuses; a frame that is too short is the flag's.
fn of_planner(error: fairlane_drum::Error) -> Error {
    use fairlane_drum::{Error as Wrong, Place};
    match error {
        Wrong::Infeasible {
            place: Place::Field("frame"),
            needed,
            capacity,
        } => {
            let message =
                format!("in a frame of {capacity} epochs not everyone can be active in one");
            let hint = format!("give a longer frame: {needed} epochs serve everyone");
            Error::new(FLAG, message, hint)
        }
        error => of_solver(error),
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A schedule as it is listed.
fn plan(
    problem: &HostProblem,
    name: Option<String>,
    policy: &'static str,
    k: usize,
    found: planner::Schedule,
    waits: &[Option<u64>],
) -> Plan {
    let rows = problem
        .host()
        .rows
        .iter()
        .map(|row| usage(problem, row, &found))
        .collect();
    let applications = turns(problem, &found, waits);
    let shortfall = |unmet: &Unmet| Shortfall {
        application: unmet.application,
        name: problem.name(unmet.application),
        minimum: unmet.minimum,
        rate: unmet.rate,
    };
    Plan {
        name,
        policy,
        k,
        epochs: found.epochs.len() as u64,
        most_active: found
            .epochs
            .iter()
            .map(|epoch| epoch.applications.len())
            .max()
            .unwrap_or(0),
        longest_wait: waits.iter().flatten().copied().max().unwrap_or(0),
        longest_wait_bound: 0,
        objective: finite(found.objective),
        dual_bound: None,
        rate_gap: None,
        rows,
        unmet: found.unmet.iter().map(shortfall).collect(),
        applications,
        active: found
            .epochs
            .iter()
            .map(|epoch| epoch.applications.clone())
            .collect(),
        rates: found.epochs.into_iter().map(|epoch| epoch.rates).collect(),
    }
}

/// Use of a row over all epochs, and in the one that uses most.
fn usage(problem: &HostProblem, row: &Row<'_>, found: &planner::Schedule) -> RowUse {
    let view = problem.table.view();
    let of = |index: usize, rate: f64| row.coefficient(&view, index) * rate;
    let in_epoch = |epoch: &planner::Active| -> f64 {
        let turns = epoch.applications.iter().zip(&epoch.rates);
        turns.map(|(index, rate)| of(*index, *rate)).sum()
    };
    RowUse {
        name: row.name.as_str().to_owned(),
        capacity: match row.supply {
            Supply::Capacity(capacity) => Some(capacity),
            Supply::Price(_) => None,
        },
        usage: found
            .rates
            .iter()
            .enumerate()
            .map(|(index, rate)| of(index, *rate))
            .sum(),
        most: found.epochs.iter().map(in_epoch).fold(0.0, f64::max),
    }
}

fn turns(problem: &HostProblem, found: &planner::Schedule, waits: &[Option<u64>]) -> Vec<Turn> {
    let turn = |(application, rate): (usize, &f64)| Turn {
        application,
        name: problem.name(application),
        rate: *rate,
        active_rate: 0.0,
        active_epochs: 0,
        first_epoch: None,
        longest_wait: waits[application],
    };
    let mut turns: Vec<Turn> = found.rates.iter().enumerate().map(turn).collect();
    for (number, epoch) in (0u64..).zip(&found.epochs) {
        for application in &epoch.applications {
            let turn = &mut turns[*application];
            turn.active_epochs += 1;
            turn.first_epoch.get_or_insert(number);
        }
    }
    for turn in turns.iter_mut().filter(|turn| turn.active_epochs > 0) {
        turn.active_rate = turn.rate * found.epochs.len() as f64 / turn.active_epochs as f64;
    }
    turns
}

/// Slots by the optimal selection, and some by waiting time.
fn reserve(
    document: Document,
    request: &Request,
    reserved: usize,
    epochs: Option<u64>,
) -> Result<Plan, Error> {
    let name = document.name.clone();
    let mut host = HostProblem::new(
        document.problem,
        &Request {
            mode: selecting(request.mode),
            ..*request
        },
    )?;
    let (k, count) = (host.whole_k()?, host.table.len());
    let own = host.clone();
    if !(1..=k).contains(&reserved) {
        let message = format!("{reserved} slots are reserved of {k}");
        return Err(Error::new("reserved", message, "reserve 1 to k slots"));
    }
    let mut gains = vec![0.0; count];
    if reserved < k {
        host.k = Some((k - reserved) as f64);
        let problem = Problem::of_host(None, host, request)?;
        for index in problem.solve(&fairlane_drum::Sequential)?.selected {
            gains[index] = 1.0;
        }
    }
    let mut reserve = Reserve::new(count, k, reserved);
    let bound = reserve.longest_wait();
    let epochs = epochs.unwrap_or(bound).min(MOST_EPOCHS);
    let active: Vec<Vec<usize>> = (0..epochs).map(|_| reserve.choose(&gains)).collect();
    let host = own.host();
    let found = planner::rates(&host, &active, own.peak.as_deref()).map_err(of_solver)?;
    let waits = waits(&active, count);
    let plan = plan(&own, name, "reserve", k, found, &waits);
    Ok(Plan {
        longest_wait_bound: bound,
        ..plan
    })
}

/// The mode by which slots are filled.
fn selecting(mode: Option<Mode>) -> Option<Mode> {
    Some(match mode {
        Some(Mode::ActiveSet) => Mode::ActiveSet,
        _ => Mode::TopkUtility,
    })
}

/// Longest waits in epochs that don't repeat, from their start on.
fn waits(active: &[Vec<usize>], count: usize) -> Vec<Option<u64>> {
    let mut waits = vec![(0, None); count];
    for (number, chosen) in (1u64..).zip(active) {
        for application in chosen {
            let (last, longest) = &mut waits[*application];
            *longest = (*longest).max(Some(number - *last));
            *last = number;
        }
    }
    let end = active.len() as u64;
    let whole = |(last, longest): (u64, Option<u64>)| longest.max(longest.map(|_| end - last));
    waits.into_iter().map(whole).collect()
}
