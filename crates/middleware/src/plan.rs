//! What an arbiter plans: rates, and who is active in which epoch.
//!
//! `fairlane-drum` plans the frame, as it does for `fairlane drum schedule`.

use alloc::vec;
use alloc::vec::Vec;

use fairlane_drum::schedule::{Length, Schedule, schedule};
use fairlane_drum::{
    Application, Error, Fairness, Host, Load, Row, RowName, Supply, Table, Utility,
};

/// What is known of a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub(crate) weight: f64,
    /// Mean bytes of a work request.
    pub(crate) bytes: f64,
    /// Work requests under way at most.
    pub(crate) batch: f64,
}

/// What the host has, by which rates are planned.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Bytes in a second.
    pub egress: f64,
    /// Work requests that the NIC takes in a second.
    pub work_requests: f64,
    /// Processor time for a completion, in seconds.
    pub poll_cost: f64,
    /// Time from a work request to its completion if nothing else is under way, in seconds.
    pub round_trip: f64,
    /// Queue pairs active at a time, 1 or more.
    pub active: u32,
    /// Fairness between members (alpha-fair utility).
    pub alpha: f64,
    /// Weight of latency in the utility.
    pub beta: f64,
}

/// Epochs that repeat.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    /// Who is active in each epoch, with work requests in a second meanwhile.
    pub(crate) epochs: Vec<Vec<(usize, f64)>>,
    /// By member, work requests in a second while it is active, on average.
    pub(crate) rates: Vec<f64>,
    /// By member, the most epochs from one service to the next.
    pub(crate) waits: Vec<u32>,
    /// Whether all have the same because the planner refused the demands.
    pub(crate) equal: bool,
}

/// Epochs of a frame at most, unless more members than that take turns.
const FRAME: usize = 64;
/// Part of the arbiter's time for completions; the rest is for work requests.
const POLLING: f64 = 0.5;
/// Part of its peak that every member has at least, so that it is served.
const LEAST: f64 = 1e-6;

/// Plans for `demands`, of which there is one at least.
pub(crate) fn plan(demands: &[Demand], budget: &Budget) -> Plan {
    // Demands are checked when the scenario is read, so that the planner accepts all but extremes of weight.
    match planned(demands, budget) {
        Ok(found) => listed(&found),
        Err(_) => one_by_one(demands, budget),
    }
}

/// The best epochs and rates.
fn planned(demands: &[Demand], budget: &Budget) -> Result<Schedule, Error> {
    let mut table = Table::default();
    for demand in demands {
        table.push(Application {
            weight: demand.weight,
            bytes: demand.bytes,
            poll_cost: budget.poll_cost,
            minimum: LEAST * peak(demand, budget),
            ..Application::default()
        });
    }
    let utility = Utility {
        fairness: Fairness::Alpha(budget.alpha),
        latency: budget.beta,
    };
    let each = vec![1.0; demands.len()];
    let mut host = Host::new(table.view(), utility, budget.egress, POLLING);
    host.rows.push(Row {
        name: RowName::Other("pipeline"),
        load: Load::Requests(&each),
        supply: Supply::Capacity(budget.work_requests),
    });
    let peaks: Vec<f64> = demands.iter().map(|demand| peak(demand, budget)).collect();
    let active = (budget.active as usize).min(demands.len());
    schedule(&host, active, &peaks, Length::AtMost(FRAME))
}

/// A schedule as the arbiter follows it.
fn listed(found: &Schedule) -> Plan {
    let mut counts = vec![0_u32; found.rates.len()];
    let epochs: Vec<Vec<(usize, f64)>> = found
        .epochs
        .iter()
        .map(|epoch| {
            let turns = epoch.applications.iter().zip(&epoch.rates);
            turns.map(|(member, rate)| (*member, *rate)).collect()
        })
        .collect();
    for (member, _) in epochs.iter().flatten() {
        counts[*member] += 1;
    }
    let frame = epochs.len() as f64;
    let rates = found.rates.iter().zip(&counts);
    let waits = found.waits().into_iter();
    let length = epochs.len() as u64;
    Plan {
        rates: rates
            .map(|(rate, count)| rate * frame / f64::from((*count).max(1)))
            .collect(),
        waits: waits.map(|wait| wait.unwrap_or(length) as u32).collect(),
        epochs,
        equal: false,
    }
}

/// The rate of a member that is active: a batch in a round trip, unless link or NIC are slower.
fn peak(demand: &Demand, budget: &Budget) -> f64 {
    let loop_rate = demand.batch / budget.round_trip;
    loop_rate
        .min(budget.egress / demand.bytes)
        .min(budget.work_requests)
}

/// A frame in which groups that fill all places take turns, each at the same part of its peak.
fn one_by_one(demands: &[Demand], budget: &Budget) -> Plan {
    let part = 1.0 / demands.len().min(budget.active as usize) as f64;
    let rates: Vec<f64> = demands
        .iter()
        .map(|demand| part * peak(demand, budget))
        .collect();
    let members: Vec<(usize, f64)> = rates.iter().copied().enumerate().collect();
    let epochs: Vec<Vec<(usize, f64)>> = members
        .chunks(budget.active as usize)
        .map(<[_]>::to_vec)
        .collect();
    Plan {
        waits: vec![epochs.len() as u32; demands.len()],
        epochs,
        rates,
        equal: true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn budget(active: u32, alpha: f64) -> Budget {
        Budget {
            egress: 5e9,
            work_requests: 3e6,
            poll_cost: 1e-7,
            round_trip: 4e-6,
            active,
            alpha,
            beta: 0.0,
        }
    }

    fn demand(weight: f64, bytes: f64, batch: f64) -> Demand {
        Demand {
            weight,
            bytes,
            batch,
        }
    }

    /// Work requests of a member in a frame, over its epochs.
    fn mean(plan: &Plan, member: usize) -> f64 {
        let turns = plan.epochs.iter().flatten().filter(|turn| turn.0 == member);
        turns.map(|turn| turn.1).sum::<f64>() / plan.epochs.len() as f64
    }

    #[test]
    fn equal_members_take_equal_turns() {
        let plan = plan(&[demand(1.0, 32.0, 1.0); 100], &budget(20, 0.5));
        assert_eq!(plan.epochs.len(), 5);
        assert!(plan.waits.iter().all(|wait| *wait == 5));
        // 20 are active, each of which completes a work request in 4 us: 5e6 a second, above the 3e6 of the pipeline.
        for member in 0..100 {
            assert!((mean(&plan, member) / (3e6 / 100.0) - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn who_can_be_faster_is_on_in_fewer_epochs() {
        let mut demands = vec![demand(1.0, 32.0, 1.0); 100];
        demands[0] = demand(1.0, 32.0, 16.0);
        let plan = plan(&demands, &budget(20, 1.0));
        // Equal weights of log x share the pipeline equally.
        assert!((mean(&plan, 0) / mean(&plan, 1) - 1.0).abs() < 0.02);
    }

    /// Rows of the host as the planner has them, in one epoch.
    fn fits(plan: &Plan, demands: &[Demand], budget: &Budget) -> bool {
        plan.epochs.iter().all(|epoch| {
            let sum = |load: &dyn Fn(usize) -> f64| {
                epoch
                    .iter()
                    .map(|(member, rate)| load(*member) * rate)
                    .sum::<f64>()
            };
            sum(&|member| demands[member].bytes) <= budget.egress * (1.0 + 1e-9)
                && sum(&|_| 1.0) <= budget.work_requests * (1.0 + 1e-9)
        })
    }

    proptest! {
        #[test]
        fn a_frame_serves_everybody_and_is_never_too_full(
            demands in prop::collection::vec((0.1f64..10.0, 1.0f64..1e6, 1u32..64), 1..200),
            active in 1u32..40,
            alpha in prop::sample::select(vec![0.0, 0.5, 1.0, 2.0]),
        ) {
            let demands: Vec<Demand> =
                demands.iter().map(|&(weight, bytes, batch)| demand(weight, bytes, f64::from(batch))).collect();
            let budget = budget(active, alpha);
            let plan = plan(&demands, &budget);
            prop_assert!(!plan.equal);
            prop_assert!(fits(&plan, &demands, &budget));
            let mut last = vec![None; demands.len()];
            for (number, epoch) in (0u32..).zip(plan.epochs.iter().chain(&plan.epochs)) {
                prop_assert!(epoch.len() <= active as usize, "{} in epoch {number}", epoch.len());
                for (member, _) in epoch {
                    if let Some(before) = last[*member].replace(number) {
                        prop_assert!(number - before <= plan.waits[*member]);
                    }
                }
            }
            prop_assert!(last.iter().all(Option::is_some), "somebody isn't served");
        }
    }
}
