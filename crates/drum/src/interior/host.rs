//! A host's problem as the interior-point method takes it.

use alloc::vec::Vec;

use super::{Column, Program};
use crate::fixed::{Answer, staircases};
use crate::host::Host;
use crate::problem::{AnyKernel, Member, alpha, kappa, unit};

/// Maxima below are none: the application gains nothing by sending.
const NOTHING: f64 = 1e-130;

/// The problem of `members` of a host whose maxima are finite where nothing bends; not for max-min.
pub(crate) fn program(host: &Host<'_>, members: impl Iterator<Item = Member>) -> Program {
    let apps = &host.applications;
    let mut uses = Vec::new();
    let columns = members.map(|member| {
        for (index, row) in (0_u32..).zip(&host.rows) {
            let load = row.coefficient(apps, member.index) / unit(&row.supply);
            if load > 0.0 {
                uses.push((index, load));
            }
        }
        let (low, high) = (apps.minimum[member.index], apps.maximum[member.index]);
        Column {
            weight: if member.counts {
                apps.weight[member.index]
            } else {
                0.0
            },
            kappa: kappa(host, member.index),
            low,
            high: if high < NOTHING { low } else { high },
            end: uses.len(),
        }
    });
    Program {
        columns: columns.collect(),
        uses,
        kernel: AnyKernel::new(alpha(host)),
        alpha: alpha(host),
        supplies: staircases(host),
    }
}

/// The better of an answer and what the interior-point method finds, and the smaller of their bounds.
pub(crate) fn improve(
    host: &Host<'_>,
    members: impl Iterator<Item = Member>,
    answer: Answer,
    tolerance: f64,
) -> Answer {
    let Some(point) = program(host, members).solve(tolerance) else {
        return answer;
    };
    let passes = answer.passes + point.passes;
    let (bound, prices) = if point.bound < answer.bound {
        (point.bound, point.prices)
    } else {
        (answer.bound, answer.prices)
    };
    let (objective, rates) = if point.objective > answer.objective {
        (point.objective, point.rates)
    } else {
        (answer.objective, answer.rates)
    };
    Answer {
        objective,
        bound: bound.max(objective),
        rates,
        prices,
        passes,
    }
}
