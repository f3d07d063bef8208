//! From a host and a mode to a solution.

use alloc::vec::Vec;

use crate::at_least::{self, AtLeast};
use crate::error::Error;
use crate::fixed::{self, Answer};
use crate::host::{Dependency, Fairness, Host, Load, Row, RowName, Supply};
use crate::mode::{Mode, Options};
use crate::problem::{Member, Problem, everyone, unit};
use crate::solution::{Solution, Status};
use crate::supply::Staircase;
use crate::topk::rules::{caps, with_caps};
use crate::{interior, max_min, timeshare, topk};

/// Finds the rates of greatest value.
///
/// # Errors
/// What is wrong with the problem, and where.
///
/// # Determinism
/// Equal problems have equal solutions, bit for bit, on every machine.
pub fn solve(host: &Host<'_>, mode: &Mode<'_>, options: &Options) -> Result<Solution, Error> {
    resolve(host, mode, options, &[])
}

/// As [`solve`], from the prices of a similar problem (a row each; others don't count). The interior-point method, for
/// alpha 0, rows with a price and polls as attempts, begins on its own.
///
/// # Errors
/// As [`solve`].
pub fn resolve(
    host: &Host<'_>,
    mode: &Mode<'_>,
    options: &Options,
    start: &[f64],
) -> Result<Solution, Error> {
    host.check()?;
    options.check()?;
    if host.rows.is_empty() {
        return without_rows(host, mode, options);
    }
    if let Some(factor) = scaling(host) {
        return scaled(host, mode, options, start, factor);
    }
    let solution = match *mode {
        Mode::All => selected(host, everyone(host.applications.len()), options, start),
        Mode::Selected(chosen) => {
            check_selection(chosen, host.applications.len())?;
            selected(host, members(host, chosen).into_iter(), options, start)
        }
        Mode::TopUtilities { .. } | Mode::ActiveSet { .. } => {
            topk::solve(host, mode, options, start)
        }
        Mode::TimeShare { k, peak } => timeshare::solve(host, k, peak, options, start),
    }?;
    let selects = matches!(mode, Mode::TopUtilities { .. } | Mode::ActiveSet { .. });
    judged(host, solution, options.tolerance, selects)
}

/// A solution and what it amounts to.
pub(crate) fn judged(
    host: &Host<'_>,
    mut solution: Solution,
    tolerance: f64,
    selects: bool,
) -> Result<Solution, Error> {
    // To the end, which vector instructions reach faster than a search its first.
    let endless = solution
        .x
        .iter()
        .fold(false, |found, rate| found | (*rate >= MOST));
    if endless || vanishes(host, &solution) {
        return Err(Error::Range);
    }
    solution.status = Status::new(solution.relative_gap(), tolerance, selects);
    Ok(solution)
}

/// A power of 2 by which weights that are near the end of the range of numbers come to its middle, if need be and nothing
/// but weights says what rates are worth.
pub(crate) fn scaling(host: &Host<'_>) -> Option<f64> {
    let apps = &host.applications;
    let latency = apps.latency_weight.iter().map(|v| v * host.utility.latency);
    let most = apps
        .weight
        .iter()
        .copied()
        .chain(latency)
        .fold(0.0, f64::max);
    let priced = |row: &Row<'_>| matches!(row.supply, Supply::Price(_));
    let fair = host.utility.fairness == Fairness::MaxMin;
    let inside = most == 0.0 || (1e-100..1e100).contains(&most) || !most.is_finite();
    if fair || inside || host.rows.iter().any(priced) {
        return None;
    }
    // The power itself is to be a number, whose inverse is one.
    Some(libm::exp2(
        -libm::floor(libm::log2(most)).clamp(-1000.0, 1000.0),
    ))
}

/// Solves with all utilities times a factor, which changes no rates.
fn scaled(
    host: &Host<'_>,
    mode: &Mode<'_>,
    options: &Options,
    start: &[f64],
    factor: f64,
) -> Result<Solution, Error> {
    let times = |values: &[f64]| {
        values
            .iter()
            .map(|value| value * factor)
            .collect::<Vec<f64>>()
    };
    let weight = times(host.applications.weight);
    let mut host = host.clone();
    host.applications.weight = &weight;
    host.utility.latency *= factor;
    let outage = match mode {
        Mode::ActiveSet { outage, .. } => outage.map(times),
        _ => None,
    };
    let mode = match *mode {
        Mode::ActiveSet { k, .. } => Mode::ActiveSet {
            k,
            outage: outage.as_deref(),
        },
        mode => mode,
    };
    let mut solution = resolve(&host, &mode, options, &times(start))?;
    for value in [
        &mut solution.objective,
        &mut solution.dual_bound,
        &mut solution.proven_bound,
        &mut solution.scale,
    ] {
        *value /= factor;
    }
    let prices = solution.prices.iter_mut().chain(&mut solution.dual_prices);
    prices.for_each(|price| *price /= factor);
    match solution.objective.is_finite() && solution.dual_bound.is_finite() {
        true => Ok(solution),
        false => Err(Error::Range),
    }
}

/// Solves for a host whose applications share nothing, as one that shares a row which nobody uses.
fn without_rows(host: &Host<'_>, mode: &Mode<'_>, options: &Options) -> Result<Solution, Error> {
    let loads = alloc::vec![0.0; host.applications.len()];
    let mut host = host.clone();
    host.rows.push(Row {
        name: RowName::Other("none"),
        load: Load::Requests(&loads),
        supply: Supply::Capacity(1.0),
    });
    let mut solution = resolve(&host, mode, options, &[])?;
    let rows = [
        &mut solution.prices,
        &mut solution.dual_prices,
        &mut solution.usage,
    ];
    // Time sharing adds its row at the end.
    for list in rows {
        list.remove(0);
    }
    Ok(solution)
}

/// Rates from here on are only as large as numbers can be.
pub(crate) const MOST: f64 = 1e280;
/// Terms of a value below are none.
pub(crate) const LEAST: f64 = 1e-280;

/// Whether throughput is worth so little that numbers don't tell rates apart.
fn vanishes(host: &Host<'_>, solution: &Solution) -> bool {
    let steep = matches!(host.utility.fairness, Fairness::Alpha(alpha) if alpha > 1.0);
    let weight = host.applications.weight;
    let counted = solution.selected.iter().any(|index| weight[*index] > 0.0);
    steep && counted && solution.scale < LEAST && solution.objective.abs() < LEAST
}

/// All applications, of which `chosen` count.
pub(crate) fn members(host: &Host<'_>, chosen: &[usize]) -> Vec<Member> {
    let mut members: Vec<Member> = everyone(host.applications.len())
        .map(|member| Member {
            counts: false,
            ..member
        })
        .collect();
    for &index in chosen {
        members[index].counts = true;
    }
    members
}

fn check_selection(chosen: &[usize], applications: usize) -> Result<(), Error> {
    let ascending = chosen.windows(2).all(|pair| pair[0] < pair[1]);
    let known = chosen.last().is_none_or(|&last| last < applications);
    if ascending && known && !chosen.is_empty() {
        return Ok(());
    }
    Err(Error::Selection {
        expected: alloc::format!(
            "a selection names applications below {applications} in ascending order, at least one"
        ),
    })
}

/// Whether the floors of those that take part fit into every row.
pub(crate) fn check_floors(
    host: &Host<'_>,
    members: impl Iterator<Item = Member> + Clone,
) -> Result<(), Error> {
    for row in &host.rows {
        let Supply::Capacity(capacity) = row.supply else {
            continue;
        };
        let floor = |m: Member| {
            row.coefficient(&host.applications, m.index) * host.applications.minimum[m.index]
        };
        let needed: f64 = members.clone().map(floor).sum();
        if needed > capacity * (1.0 + 1e-12) {
            return Err(Error::Infeasible {
                place: row.name.place(),
                needed,
                capacity,
            });
        }
    }
    Ok(())
}

/// The convex problem in which `members` take part.
pub(crate) fn selected(
    host: &Host<'_>,
    members: impl ExactSizeIterator<Item = Member> + Clone,
    options: &Options,
    start: &[f64],
) -> Result<Solution, Error> {
    check_floors(host, members.clone())?;
    let (answer, polls) = convex_or_attempts(host, members.clone(), options, start)?;
    Ok(solution(host, members, answer, polls.as_deref()))
}

/// An answer, and rates of polling where they aren't tied to those of work requests.
pub(crate) type Solved = (Answer, Option<Vec<f64>>);

/// Solves the convex problem of `members` under the host's dependency.
pub(crate) fn convex_or_attempts(
    host: &Host<'_>,
    members: impl ExactSizeIterator<Item = Member> + Clone,
    options: &Options,
    start: &[f64],
) -> Result<Solved, Error> {
    // Without latency nothing is gained by polling more often than completions come.
    if host.dependency == Dependency::AtLeast && host.utility.latency > 0.0 {
        let (answer, polls) = at_least::solve(&AtLeast::new(host, members), options)?;
        return Ok((answer, Some(polls)));
    }
    Ok((convex(host, members, options, start)?, None))
}

/// Solves the convex problem of `members` by the method that its utility wants.
pub(crate) fn convex(
    host: &Host<'_>,
    members: impl ExactSizeIterator<Item = Member> + Clone,
    options: &Options,
    start: &[f64],
) -> Result<Answer, Error> {
    let fairness = host.utility.fairness;
    if fairness == Fairness::MaxMin {
        return max_min::solve(host, members);
    }
    let caps = caps(host);
    // A maximum that a row implies would take the row's place, and its price.
    let beyond = caps.iter().zip(host.applications.maximum);
    let beyond: Vec<f64> = beyond.map(|(cap, most)| most.min(2.0 * cap)).collect();
    let program = || interior::host::program(&with_caps(host, &beyond), members.clone());
    let bought = |row: &Row<'_>| matches!(row.supply, Supply::Price(_));
    if fairness == Fairness::Alpha(0.0) || host.rows.iter().any(bought) {
        return program().solve(options.tolerance).ok_or(Error::Range);
    }
    let problem = Problem::new(&with_caps(host, &caps), members.clone());
    let start = in_units(host, start);
    let found = fixed::solve(&problem, start.as_deref(), options);
    match found {
        Ok((answer, off)) if fixed::is_enough(&answer, off, options) => Ok(answer),
        Ok(found) => Ok(match program().solve(options.tolerance) {
            Some(point) => interior::host::better(found, point),
            None => found.0,
        }),
        Err(error) => program().solve(options.tolerance).ok_or(error),
    }
}

/// Prices for rows' units of prices for what rows count in, if each row has one that answers follow from.
pub(crate) fn in_units(host: &Host<'_>, prices: &[f64]) -> Option<Vec<f64>> {
    let price = |(row, price): (&Row<'_>, &f64)| price * unit(&row.supply);
    let all: Vec<f64> = host.rows.iter().zip(prices).map(price).collect();
    (prices.len() == host.rows.len() && all.iter().all(|price| is_price(*price))).then_some(all)
}

/// Whether a price is so far inside the range of numbers that rates and what they are worth are numbers, too.
pub(crate) fn is_price(price: f64) -> bool {
    price == 0.0 || (1e-100..1e100).contains(&price)
}

/// Puts an answer into the host's terms; `polls` are rates of polling where they aren't tied.
pub(crate) fn solution(
    host: &Host<'_>,
    members: impl ExactSizeIterator<Item = Member> + Clone,
    answer: Answer,
    polls: Option<&[f64]>,
) -> Solution {
    let mut solution = in_terms(host, members, answer, polls);
    let apps = &host.applications;
    let usage = host.rows.iter().map(|row| {
        let rates = match row.is_per_completion() {
            true => &solution.z,
            false => &solution.x,
        };
        let uses = row.loads(apps).iter().zip(rates);
        uses.map(|(load, rate)| load * rate).sum()
    });
    solution.usage = usage.collect();
    solution.scale = scale(host, &solution);
    solution
}

/// An answer in the host's terms without what it adds up to.
pub(crate) fn in_terms(
    host: &Host<'_>,
    members: impl ExactSizeIterator<Item = Member> + Clone,
    answer: Answer,
    polls: Option<&[f64]>,
) -> Solution {
    let apps = &host.applications;
    let everywhere = |values: &[f64]| {
        let mut all = alloc::vec![0.0; apps.len()];
        for (value, member) in values.iter().zip(members.clone()) {
            all[member.index] = *value;
        }
        all
    };
    // Members are in the order of applications.
    let x = if members.len() == apps.len() {
        answer.rates
    } else {
        everywhere(&answer.rates)
    };
    let tied = || x.iter().zip(apps.completions).map(|(x, a)| a * x).collect();
    let z = polls.map_or_else(tied, everywhere);
    // Numbers in a row are written by vector instructions.
    let chosen = match members.clone().all(|member| member.counts) {
        true => members.map(|member| member.index).collect(),
        false => {
            let counted = members.filter(|member| member.counts);
            counted.map(|member| member.index).collect()
        }
    };
    let units = host.rows.iter().map(|row| unit(&row.supply));
    let prices: Vec<f64> = answer
        .prices
        .iter()
        .zip(units)
        .map(|(price, unit)| price / unit)
        .collect();
    Solution {
        objective: answer.objective,
        dual_bound: answer.bound,
        proven_bound: answer.bound,
        scale: 0.0,
        usage: Vec::new(),
        dual_prices: prices.clone(),
        prices,
        selected: chosen,
        iterations: answer.passes,
        status: Status::default(),
        x,
        z,
    }
}

/// Sum of the sizes of the terms of a solution's value, of those that are finite.
fn scale(host: &Host<'_>, solution: &Solution) -> f64 {
    let apps = &host.applications;
    let Fairness::Alpha(alpha) = host.utility.fairness else {
        return solution.objective.abs();
    };
    let throughput = |index: &usize| {
        let rate = solution.x[*index];
        let utility = if alpha == 1.0 {
            libm::log(rate)
        } else {
            libm::pow(rate, 1.0 - alpha) / (1.0 - alpha)
        };
        (apps.weight[*index] * utility).abs()
    };
    let latency = |(index, polls): (usize, &f64)| {
        host.utility.latency * apps.latency_weight[index] / (polls * polls)
    };
    let rows = host.rows.iter().zip(&solution.usage);
    let costs = rows.map(|(row, usage)| {
        let unit = unit(&row.supply);
        Staircase::new(&row.supply).cost(usage / unit)
    });
    let sent = solution.z.iter().enumerate();
    let terms = solution.selected.iter().map(throughput);
    let terms = terms.chain(sent.map(latency)).chain(costs);
    terms.filter(|term| term.is_finite()).sum()
}
