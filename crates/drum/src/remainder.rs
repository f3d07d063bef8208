//! Alpha 0 with a latency term that not all applications have: those without take what the others leave.
//!
//! At the best prices the rates of applications with latency are known, but those of the others are anything
//! where they are worth what they cost. They are the optimum of a linear program over what is left.

use alloc::vec::Vec;

use crate::fixed::Answer;
use crate::host::{Host, Supply};
use crate::problem::{Member, kappa, unit};
use crate::simplex;

/// Least part of a capacity that the linear program is given.
const LEAST: f64 = 1e-15;

/// The answer, or a better one with the same prices whose applications without latency solve the linear program.
pub(crate) fn fill(
    host: &Host<'_>,
    members: impl ExactSizeIterator<Item = Member> + Clone,
    answer: Answer,
) -> Answer {
    let bends = |member: &Member| kappa(host, member.index) > 0.0;
    let free: Vec<Member> = members.clone().filter(|member| !bends(member)).collect();
    let hard = |row: &crate::host::Row<'_>| matches!(row.supply, Supply::Capacity(_));
    if free.is_empty() || !host.rows.iter().all(hard) {
        return answer;
    }
    let mut rates: Vec<f64> = members
        .clone()
        .map(|member| {
            if bends(&member) {
                rate(host, member, &answer.prices)
            } else {
                0.0
            }
        })
        .collect();
    let mut rest = host.clone();
    for row in &mut rest.rows {
        let uses = members.clone().zip(&rates);
        let used: f64 = uses
            .map(|(member, rate)| row.coefficient(&host.applications, member.index) * rate)
            .sum();
        if let Supply::Capacity(capacity) = &mut row.supply {
            *capacity = (*capacity - used).max(*capacity * LEAST);
        }
    }
    let Ok(filled) = simplex::solve(&rest, free.into_iter()) else {
        return answer;
    };
    let mut filled = filled.rates.iter();
    for (member, rate) in members.clone().zip(&mut rates) {
        if !bends(&member) {
            *rate = filled.next().copied().unwrap_or(0.0);
        }
    }
    fit(host, members.clone(), &mut rates);
    let objective = value(host, members, &rates);
    if objective <= answer.objective {
        return answer;
    }
    Answer {
        objective,
        bound: answer.bound.max(objective),
        rates,
        ..answer
    }
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
        let capacity = unit(&row.supply);
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

fn value(host: &Host<'_>, members: impl Iterator<Item = Member>, rates: &[f64]) -> f64 {
    let worth = |(member, rate): (Member, &f64)| {
        let latency = kappa(host, member.index);
        let loss = if latency > 0.0 {
            0.5 * latency / (rate * rate)
        } else {
            0.0
        };
        weight(host, member) * rate - loss
    };
    members.zip(rates).map(worth).sum()
}
