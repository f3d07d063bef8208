//! Alpha 0 with a latency term that not all applications have: those without take what the others leave.
//!
//! At the best prices the rates of applications with latency are known, but those of the others are anything
//! where they are worth what they cost. They are the optimum of a linear program over what is left.

use alloc::vec::Vec;

use crate::fixed::Answer;
use crate::host::{Host, Row, Supply};
use crate::problem::{Member, kappa, unit};
use crate::supply::Staircase;
use crate::{interior, simplex};

/// Least part of a capacity that the linear program is given.
const LEAST: f64 = 1e-15;

/// Most times that the linear program's prices are taken in place of those before.
const ROUNDS: usize = 8;

/// The answer, or a better one whose applications without latency solve the linear program.
pub(crate) fn fill(
    host: &Host<'_>,
    members: impl ExactSizeIterator<Item = Member> + Clone,
    answer: Answer,
) -> Answer {
    if members.clone().all(|member| bends(host, member)) {
        return answer;
    }
    let program = interior::host::program(host, members.clone());
    let mut best = answer;
    let mut prices = best.prices.clone();
    for _ in 0..ROUNDS {
        let Some((rates, next)) = filled(host, members.clone(), &prices) else {
            break;
        };
        best.passes += 1;
        let (gap, objective) = (
            best.bound - best.objective,
            value(host, members.clone(), &rates),
        );
        if objective > best.objective {
            (best.objective, best.rates) = (objective, rates);
        }
        let bound = program.bound(&next);
        if bound < best.bound {
            (best.bound, best.prices) = (bound, next.clone());
        }
        best.bound = best.bound.max(best.objective);
        if best.bound - best.objective >= gap {
            break;
        }
        prices = next;
    }
    best
}

/// Whether an application has latency.
fn bends(host: &Host<'_>, member: Member) -> bool {
    kappa(host, member.index) > 0.0
}

/// Rates where those with latency answer to prices, and the others take what is left; and prices of what is left.
fn filled(
    host: &Host<'_>,
    members: impl ExactSizeIterator<Item = Member> + Clone,
    prices: &[f64],
) -> Option<(Vec<f64>, Vec<f64>)> {
    let answer = |member: Member| match bends(host, member) {
        true => rate(host, member, prices),
        false => 0.0,
    };
    let mut rates: Vec<f64> = members.clone().map(answer).collect();
    let used = used(host, members.clone(), &rates);
    let rows = host.rows.iter().zip(&used);
    let costs: Vec<_> = rows.map(|(row, used)| after(&row.supply, *used)).collect();
    let mut rest = host.clone();
    for ((row, used), cost) in rest.rows.iter_mut().zip(&used).zip(&costs) {
        row.supply = match row.supply {
            Supply::Capacity(capacity) => Supply::Capacity((capacity - used).max(capacity * LEAST)),
            Supply::Price(_) => Supply::Price(cost),
        };
    }
    let free = members.clone().filter(|member| !bends(host, *member));
    let free: Vec<Member> = free.collect();
    let found = simplex::solve(&rest, free.into_iter()).ok()?;
    let mut others = found.rates.iter();
    for (member, rate) in members.clone().zip(&mut rates) {
        if !bends(host, member) {
            *rate = others.next().copied().unwrap_or(0.0);
        }
    }
    fit(host, members, &mut rates);
    let units = host.rows.iter().zip(&rest.rows);
    let ratio = units.map(|(row, rest)| unit(&row.supply) / unit(&rest.supply));
    let prices = found
        .prices
        .iter()
        .zip(ratio)
        .map(|(price, ratio)| price * ratio);
    Some((rates, prices.collect()))
}

/// How much of each row rates use.
fn used(host: &Host<'_>, members: impl Iterator<Item = Member> + Clone, rates: &[f64]) -> Vec<f64> {
    let of = |row: &Row<'_>| {
        let uses = members.clone().zip(rates);
        uses.map(|(member, rate)| row.coefficient(&host.applications, member.index) * rate)
            .sum()
    };
    host.rows.iter().map(of).collect()
}

/// The segments of a price from a use on.
fn after(supply: &Supply<'_>, used: f64) -> Vec<(f64, f64)> {
    let Supply::Price(segments) = *supply else {
        return Vec::new();
    };
    let begun = segments.iter().take_while(|(start, _)| *start <= used);
    let first = begun.count().max(1) - 1;
    let moved = segments[first..].iter();
    moved
        .map(|(start, slope)| ((start - used).max(0.0), *slope))
        .collect()
}

/// What an application with latency answers to prices of the rows' units.
fn rate(host: &Host<'_>, member: Member, prices: &[f64]) -> f64 {
    let apps = &host.applications;
    let rows = host.rows.iter().zip(prices);
    let cost: f64 = rows
        .map(|(row, price)| row.coefficient(apps, member.index) * price / unit(&row.supply))
        .sum();
    let excess = cost - weight(host, member);
    let (least, most) = (apps.minimum[member.index], apps.maximum[member.index]);
    if excess > 0.0 {
        libm::cbrt(kappa(host, member.index) / excess).clamp(least, most)
    } else {
        most
    }
}

fn weight(host: &Host<'_>, member: Member) -> f64 {
    if member.counts {
        host.applications.weight[member.index]
    } else {
        0.0
    }
}

/// Reduces rates by one factor, as far as they are above their floors, so that they keep all rows.
fn fit(host: &Host<'_>, members: impl Iterator<Item = Member> + Clone, rates: &mut [f64]) {
    let apps = &host.applications;
    let mut factor = 1.0_f64;
    for row in &host.rows {
        let Supply::Capacity(capacity) = row.supply else {
            continue;
        };
        let uses = members.clone().map(|member| {
            (
                row.coefficient(apps, member.index),
                apps.minimum[member.index],
            )
        });
        let floor: f64 = uses.clone().map(|(use_of, least)| use_of * least).sum();
        let used: f64 = uses
            .zip(&*rates)
            .map(|((use_of, _), rate)| use_of * rate)
            .sum();
        if used > capacity {
            factor = factor.min(((capacity * (1.0 - 1e-15) - floor) / (used - floor)).max(0.0));
        }
    }
    if factor < 1.0 {
        for (member, rate) in members.zip(rates) {
            let least = apps.minimum[member.index];
            *rate = least + (*rate - least) * factor;
        }
    }
}

fn value(host: &Host<'_>, members: impl Iterator<Item = Member> + Clone, rates: &[f64]) -> f64 {
    let worth = |(member, rate): (Member, &f64)| {
        let latency = kappa(host, member.index);
        let loss = if latency > 0.0 {
            0.5 * latency / (rate * rate)
        } else {
            0.0
        };
        weight(host, member) * rate - loss
    };
    let rows = host.rows.iter().zip(used(host, members.clone(), rates));
    let cost = rows.map(|(row, used)| Staircase::new(&row.supply).cost(used / unit(&row.supply)));
    members.zip(rates).map(worth).sum::<f64>() - cost.sum::<f64>()
}
