//! What the agent of a host plans: rates, and who is active in which epoch.
//!
//! `fairlane-drum` solves for the long-run rates of channels that take turns, and lays out the frame.

use fairlane_drum::schedule::Frame;
use fairlane_drum::{
    Application, Error, Fairness, Host, Load, Mode, Options, Row, RowName, Supply, Table, Utility,
    solve,
};

/// What the agent knows of a channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    pub(super) weight: f64,
    /// Mean bytes of a work request.
    pub(super) bytes: f64,
    /// Work requests under way at most.
    pub(super) batch: f64,
}

/// What the host has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Bytes in a second.
    pub(crate) egress: f64,
    /// Work requests that the NIC takes in a second.
    pub(crate) work_requests: f64,
    /// Processor time for a completion, in seconds.
    pub(crate) poll_cost: f64,
    /// Time from a work request to its completion if nothing else is under way, in seconds.
    pub(crate) round_trip: f64,
    /// Queue pairs active at a time.
    pub(crate) active: u32,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
}

/// Epochs `first .. first + length` of a frame, which wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: u32,
    pub(crate) length: u32,
}

impl Span {
    /// Whether the epoch `number` of a frame of `frame` epochs is one of them.
    pub(crate) const fn holds(self, number: u64, frame: u32) -> bool {
        let at = (number % frame as u64) as u32;
        (at + frame - self.first) % frame < self.length
    }

    /// The most epochs from one service to the next.
    pub(crate) const fn longest_wait(self, frame: u32) -> u32 {
        frame - self.length + 1
    }
}

/// Rates and a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// Epochs of a frame.
    pub(super) frame: u32,
    /// By channel, when it is active.
    pub(super) spans: Vec<Span>,
    /// By channel, work requests in a second while it is active.
    pub(super) rates: Vec<f64>,
    /// Whether all have the same because the solver refused the demands.
    pub(super) equal: bool,
}

/// Epochs of a frame at most, unless more channels than that take turns.
const FRAME: f64 = 64.0;
/// Part of the agent's time for completions; the rest is for work requests.
const POLLING: f64 = 0.5;

/// Plans for `demands`, of which there is one at least.
pub(super) fn plan(demands: &[Demand], budget: &Budget) -> Plan {
    // Demands are checked when the scenario is read, so that the solver accepts all but extremes of weight.
    let solved = shares(demands, budget);
    let refused = solved.is_err();
    let (rates, shares) = solved.unwrap_or_else(|_| equal(demands, budget));
    let mut plan = lay(
        &fill(shares, f64::from(budget.active)),
        rates,
        budget.active,
    );
    plan.equal = refused;
    // Who is on in few epochs has to do in these what others do in many.
    for (rate, span) in plan.rates.iter_mut().zip(&plan.spans) {
        *rate *= f64::from(plan.frame) / f64::from(span.length);
    }
    plan
}

/// Solved rates in the long run, and shares of epochs.
fn shares(demands: &[Demand], budget: &Budget) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let mut table = Table::default();
    for demand in demands {
        table.push(Application {
            weight: demand.weight,
            bytes: demand.bytes,
            poll_cost: budget.poll_cost,
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
    let mode = Mode::TimeShare {
        k: f64::from(budget.active).min(demands.len() as f64),
        peak: &peaks,
    };
    let rates = solve(&host, &mode, &Options::default())?.x;
    let parts = rates.iter().zip(&peaks);
    let shares = parts.map(|(rate, peak)| rate / peak).collect();
    Ok((rates, shares))
}

/// The rate of a channel that is active: a batch in a round trip, unless link or NIC are slower.
fn peak(demand: &Demand, budget: &Budget) -> f64 {
    let loop_rate = demand.batch / budget.round_trip;
    loop_rate
        .min(budget.egress / demand.bytes)
        .min(budget.work_requests)
}

/// The same to everybody.
fn equal(demands: &[Demand], budget: &Budget) -> (Vec<f64>, Vec<f64>) {
    let part = 1.0 / demands.len() as f64;
    let rates = demands.iter().map(|demand| peak(demand, budget) * part);
    (rates.collect(), vec![part; demands.len()])
}

/// Stretches shares so that all places are taken: none above 1, none too small for a frame.
fn fill(mut shares: Vec<f64>, active: f64) -> Vec<f64> {
    let count = shares.len() as f64;
    let places = active.min(count);
    let least = 1.0 / FRAME.max(libm::ceil(2.0 * count / active));
    shares
        .iter_mut()
        .for_each(|share| *share = share.max(1e-12));
    // Each round fills up what is capped; there are no more rounds than shares.
    for _ in 0..shares.len() {
        let full = shares.iter().filter(|share| **share >= 1.0).count() as f64;
        let rest: f64 = shares.iter().filter(|share| **share < 1.0).sum();
        if rest == 0.0 {
            break;
        }
        let factor = (places - full) / rest;
        let open = shares.iter_mut().filter(|share| **share < 1.0);
        open.for_each(|share| *share = (*share * factor).min(1.0));
        if factor <= 1.0 + 1e-9 {
            break;
        }
    }
    // Those that are too small take of what the others have beyond the least.
    let raised: f64 = shares.iter().map(|share| share.max(least)).sum();
    let room = (places - count * least) / (raised - count * least);
    let shrink = room.clamp(0.0, 1.0);
    let fit = |share: f64| least + (share.max(least) - least) * shrink;
    shares.into_iter().map(fit).collect()
}

/// Lays the shares out in the shortest frame that has room for them.
fn lay(shares: &[f64], rates: Vec<f64>, active: u32) -> Plan {
    let epochs = Frame::shortest(shares);
    let places = (active as usize).min(shares.len());
    let whole = Plan {
        equal: false,
        frame: 1,
        spans: vec![
            Span {
                first: 0,
                length: 1
            };
            shares.len()
        ],
        rates: rates.clone(),
    };
    let Ok(frame) = Frame::new(shares, places, epochs) else {
        return one_by_one(whole, active);
    };
    let mut first = 0;
    let spans = (0..shares.len()).map(|channel| {
        let length = frame.active_epochs(channel);
        let begin = first;
        first = (begin + length) % epochs;
        Span {
            first: begin as u32,
            length: length as u32,
        }
    });
    Plan {
        equal: false,
        spans: spans.collect(),
        frame: epochs as u32,
        rates,
    }
}

/// A frame in which groups that fill all places take turns.
fn one_by_one(mut plan: Plan, active: u32) -> Plan {
    let count = plan.spans.len() as u32;
    plan.frame = count.div_ceil(active).max(1);
    for (number, span) in (0..).zip(&mut plan.spans) {
        span.first = number / active;
    }
    plan
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

    #[test]
    fn equal_channels_take_equal_turns() {
        let demand = Demand {
            weight: 1.0,
            bytes: 32.0,
            batch: 1.0,
        };
        let plan = plan(&[demand; 100], &budget(20, 0.5));
        assert_eq!(plan.frame, 5);
        assert!(plan.spans.iter().all(|span| span.length == 1));
        let fair = 5.0 * 3e6 / 100.0;
        assert!(
            plan.rates
                .iter()
                .all(|rate| (rate / fair - 1.0).abs() < 1e-6)
        );
    }

    #[test]
    fn who_is_on_in_few_epochs_is_faster_in_these() {
        let demand = |batch| Demand {
            weight: 1.0,
            bytes: 32.0,
            batch,
        };
        let mut demands = vec![demand(1.0); 100];
        demands[0] = demand(16.0);
        let plan = plan(&demands, &budget(20, 1.0));
        let served = |j: usize| plan.rates[j] * f64::from(plan.spans[j].length);
        assert!(plan.spans[0].length < plan.spans[1].length);
        assert!((served(0) / served(1) - 1.0).abs() < 0.01);
    }

    proptest! {
        #[test]
        fn a_frame_serves_everybody_and_is_never_too_full(
            demands in prop::collection::vec((0.1f64..10.0, 1.0f64..1e6, 1u32..64), 1..200),
            active in 1u32..40,
            alpha in prop::sample::select(vec![0.0, 0.5, 1.0, 2.0]),
        ) {
            let demands: Vec<Demand> = demands.iter().map(|&(weight, bytes, batch)| Demand {
                weight,
                bytes,
                batch: f64::from(batch),
            }).collect();
            let plan = plan(&demands, &budget(active, alpha));
            prop_assert_eq!(plan.spans.len(), demands.len());
            for epoch in 0..u64::from(plan.frame) {
                let on = plan.spans.iter().filter(|span| span.holds(epoch, plan.frame)).count();
                prop_assert!(on <= active as usize, "{on} in epoch {epoch}");
            }
            for span in &plan.spans {
                let on = (0..u64::from(plan.frame)).filter(|&epoch| span.holds(epoch, plan.frame));
                prop_assert_eq!(on.count() as u32, span.length);
                prop_assert!(span.length >= 1);
            }
        }
    }
}
