//! A host's problem as the interior-point method takes it.

use alloc::vec::Vec;

use super::{Column, Program, ROUNDING};
use crate::fixed::{Answer, Found, staircases};
use crate::host::Host;
use crate::newton::EXACT;
use crate::problem::{AnyKernel, Member, alpha, kappa, unit};

/// Maxima below are none: the application gains nothing by sending.
const NOTHING: f64 = 1e-130;

/// The problem of `members` of a host, whose maxima are finite where nothing bends unless it is max-min.
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
            cost: 0.0,
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

/// The better of an answer and a point, and the smaller of their bounds. Where rows of the answer aren't used up, its value
/// says too little of rates, and the point is as good if its value is the same but for rounding.
pub(crate) fn better((answer, off): Found, point: Answer) -> Answer {
    let least = if off > EXACT {
        answer.objective - ROUNDING * answer.objective.abs()
    } else {
        answer.objective
    };
    let passes = answer.passes + point.passes;
    let (bound, prices) = if point.bound < answer.bound {
        (point.bound, point.prices)
    } else {
        (answer.bound, answer.prices)
    };
    let (objective, rates) = if point.objective > least {
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
