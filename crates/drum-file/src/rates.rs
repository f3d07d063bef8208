//! How fast applications send that take turns.
//!
//! An application has one rate while it is active. The best rates are found for who is active when: each set of
//! applications that are active together shares all rows of the host, so no row is used beyond its capacity in any epoch,
//! nor over all of them. What counts is the rate over all epochs.

use std::collections::BTreeSet;

use fairlane_drum::coupled::{CoupledOptions, Network, RowKind, SharedRow, solve};
use fairlane_drum::{
    Application, Error as Wrong, Fairness, Mode, Options, Row, Sequential, Supply,
};
use serde::Serialize;

use crate::error::{Error, of_solver};
use crate::problem::HostProblem;

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

/// Rates of applications that take turns.
pub(crate) struct Rates {
    /// Over all epochs (WQE/s).
    pub(crate) mean: Vec<f64>,
    /// While active.
    pub(crate) active: Vec<f64>,
    pub(crate) rows: Vec<RowUse>,
    /// Value of the rates over all epochs, if that is a number.
    pub(crate) objective: Option<f64>,
    /// Least rates had to be left out, since not all sets of active applications can keep theirs.
    pub(crate) without_least: bool,
}

/// Who is active, and for which part of the epochs.
struct Turns {
    /// Each set of applications that are active together.
    sets: BTreeSet<Vec<usize>>,
    share: Vec<f64>,
}

/// The best rates of applications that are `active` by epoch. With a price on a row none is above `most` over all epochs, by
/// default what is worth its price where applications share what rows have over all epochs.
///
/// # Errors
/// If the solver doesn't take the problem.
pub(crate) fn rates(
    problem: &HostProblem,
    active: &[Vec<usize>],
    most: Option<&[f64]>,
) -> Result<Rates, Error> {
    let mut share = vec![0.0; problem.table.len()];
    for application in active.iter().flatten() {
        share[*application] += 1.0 / active.len() as f64;
    }
    let turns = Turns {
        sets: active.iter().cloned().collect(),
        share,
    };
    let (found, without_least) = match found(problem, &turns, most, true) {
        Err(Wrong::Infeasible { .. }) => (
            found(problem, &turns, most, false).map_err(of_solver)?,
            true,
        ),
        found => (found.map_err(of_solver)?, false),
    };
    let while_active = |(mean, share): (&f64, &f64)| if *share > 0.0 { mean / share } else { 0.0 };
    let while_active: Vec<f64> = found.iter().zip(&turns.share).map(while_active).collect();
    let (rows, cost) = usage(problem, &turns.sets, &found, &while_active);
    let objective = value(problem, &found) - cost;
    Ok(Rates {
        active: while_active,
        rows,
        objective: objective.is_finite().then_some(objective),
        mean: found,
        without_least,
    })
}

/// The rates over all epochs, by the network that has a row for each set and row of the host.
fn found(
    problem: &HostProblem,
    turns: &Turns,
    most: Option<&[f64]>,
    keep_least: bool,
) -> Result<Vec<f64>, Wrong> {
    let (table, host) = (&problem.table, problem.host());
    let present: Vec<usize> = (0..table.len())
        .filter(|index| turns.share[*index] > 0.0)
        .collect();
    let priced = host
        .rows
        .iter()
        .any(|row| matches!(row.supply, Supply::Price(_)));
    let reach = |index: usize| {
        let peak = problem.peak.as_ref();
        let peak = peak.map_or(f64::INFINITY, |peak| peak[index]);
        table.maximum[index].min(peak * turns.share[index])
    };
    let least = |index: usize, cap: f64| match keep_least {
        true => table.minimum[index].min(cap),
        false => 0.0,
    };
    let most = match most.filter(|_| priced) {
        None if priced => {
            let bounds = |index| {
                let most = reach(index);
                (turns.share[index] > 0.0).then(|| (least(index, most), most))
            };
            Some(worthwhile(problem, bounds)?)
        }
        most => most.map(<[f64]>::to_vec),
    };
    let cap = |index: &usize| {
        let most = most.as_ref().map_or(f64::INFINITY, |most| most[*index]);
        reach(*index).min(most)
    };
    let maximum: Vec<f64> = present.iter().map(cap).collect();
    let least = |(index, cap): (&usize, &f64)| least(*index, *cap);
    let minimum = present.iter().zip(&maximum).map(least).collect();
    let column = |column: &[f64]| present.iter().map(|index| column[*index]).collect();
    let network = Network {
        hosts: 1,
        applications: present.len(),
        utility: problem.utility,
        weight: column(&table.weight),
        latency_weight: column(&table.latency_weight),
        completions: column(&table.completions),
        minimum,
        maximum,
        rows: shared_rows(problem, turns, &present),
    };
    let rates = match network.rows.is_empty() {
        true => network.maximum,
        false => solve(&network.indexed()?, &CoupledOptions::default(), &Sequential)?.x,
    };
    let mut all = vec![0.0; table.len()];
    for (index, rate) in present.into_iter().zip(rates) {
        all[index] = rate;
    }
    Ok(all)
}

/// The best rates over all epochs where only those have to fit into rows, for applications with bounds; others don't send.
fn worthwhile(
    problem: &HostProblem,
    bounds: impl Fn(usize) -> Option<(f64, f64)>,
) -> Result<Vec<f64>, Wrong> {
    let mut own = problem.clone();
    for index in 0..own.table.len() {
        let application = own.table.application(index);
        let application = match bounds(index) {
            Some((minimum, maximum)) => Application {
                minimum,
                maximum,
                ..application
            },
            None => Application {
                weight: 0.0,
                latency_weight: 0.0,
                minimum: 0.0,
                maximum: 1.0,
                ..application
            },
        };
        own.table.set(index, application);
    }
    Ok(fairlane_drum::solve(&own.host(), &Mode::All, &Options::default())?.x)
}

/// A row for each set of applications that are active together, and row of the host; uses are of rates over all epochs.
fn shared_rows(problem: &HostProblem, turns: &Turns, present: &[usize]) -> Vec<SharedRow> {
    let host = problem.host();
    let mut rows = Vec::new();
    for set in &turns.sets {
        for row in &host.rows {
            let Supply::Capacity(capacity) = row.supply else {
                continue;
            };
            let entry = |index: &usize| {
                let place = present.binary_search(index).ok()?;
                Some((place, load(problem, row, *index) / turns.share[*index]))
            };
            rows.push(SharedRow {
                kind: RowKind::Core,
                host: None,
                capacity,
                entries: set.iter().filter_map(entry).collect(),
            });
        }
    }
    rows
}

/// Use of a row by a work request and its completions.
fn load(problem: &HostProblem, row: &Row<'_>, index: usize) -> f64 {
    row.coefficient(&problem.table.view(), index)
}

/// Use of each row, and what those with a price cost.
fn usage(
    problem: &HostProblem,
    sets: &BTreeSet<Vec<usize>>,
    mean: &[f64],
    active: &[f64],
) -> (Vec<RowUse>, f64) {
    let host = problem.host();
    let mut cost = 0.0;
    let row = |row: &Row<'_>| {
        let of = |index: usize, rates: &[f64]| load(problem, row, index) * rates[index];
        let usage = (0..mean.len()).map(|index| of(index, mean)).sum();
        let in_set = |set: &Vec<usize>| set.iter().map(|index| of(*index, active)).sum::<f64>();
        if let Supply::Price(segments) = row.supply {
            cost += price(segments, usage);
        }
        RowUse {
            name: row.name.as_str().to_owned(),
            capacity: match row.supply {
                Supply::Capacity(capacity) => Some(capacity),
                Supply::Price(_) => None,
            },
            usage,
            most: sets.iter().map(in_set).fold(0.0, f64::max),
        }
    };
    (host.rows.iter().map(row).collect(), cost)
}

/// What use of a row costs by its segments.
fn price(segments: &[(f64, f64)], usage: f64) -> f64 {
    let ends = segments.iter().skip(1).map(|(start, _)| *start);
    let ends = ends.chain([f64::INFINITY]);
    let part =
        |((start, slope), end): (&(f64, f64), f64)| slope * (usage.min(end) - start).max(0.0);
    segments.iter().zip(ends).map(part).sum()
}

/// Value of rates, of max-min the level that everyone has.
fn value(problem: &HostProblem, rates: &[f64]) -> f64 {
    let table = &problem.table;
    let Fairness::Alpha(alpha) = problem.utility.fairness else {
        let level = |index: usize| rates[index] / table.weight[index];
        let counted = (0..rates.len()).filter(|index| table.weight[*index] > 0.0);
        return counted.map(level).fold(f64::INFINITY, f64::min);
    };
    let one = |index: usize| {
        let (rate, weight) = (rates[index], table.weight[index]);
        let throughput = match alpha {
            _ if weight == 0.0 => 0.0,
            1.0 => weight * libm::log(rate),
            alpha => weight * libm::pow(rate, 1.0 - alpha) / (1.0 - alpha),
        };
        let latency = problem.utility.latency * table.latency_weight[index];
        let polls = table.completions[index] * rate;
        throughput
            - if latency > 0.0 {
                latency / (polls * polls)
            } else {
                0.0
            }
    };
    (0..rates.len()).map(one).sum()
}
