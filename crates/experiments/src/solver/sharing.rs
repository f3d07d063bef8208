//! What applications get in the long run, by the way in which they share queue pairs.

use fairlane_drum::schedule::{Length, Reserve, schedule};
use fairlane_drum::{Fairness, Mode, Options, Table, Utility, solve};

use crate::error::Error;
use crate::outcome::{Cell, Curve, Outcome, Plot, Rows};
use crate::solver::instance::{Instance, SLOTS};
use crate::{Settings, Watch};

/// Slots of the reserve.
const RESERVED: usize = 2;
const SEED: u64 = 1;

/// Long-run rates by one way of sharing.
struct Shared {
    name: &'static str,
    /// WQE/s, averaged over the schedule.
    rates: Vec<f64>,
    /// Longest time between active epochs and its proven bound, in epochs.
    wait: Option<(u64, u64)>,
}

/// Runs the ways of sharing for each fairness exponent.
pub(crate) fn run(settings: Settings, watch: &dyn Watch) -> Result<Outcome, Error> {
    let applications = if settings.quick { 60 } else { 500 };
    let instance = Instance::mixed(applications, SEED);
    let mut rows = Rows::new(&[
        "utility",
        "bound",
        "of_bound",
        "starved",
        "longest_wait_epochs",
        "wait_bound_epochs",
        "wait_share",
    ]);
    let mut curves = Vec::new();
    for (part, (name, alpha)) in [("0.5", 0.5), ("1", 1.0), ("2", 2.0)]
        .into_iter()
        .enumerate()
    {
        watch.begin(&format!("alpha {name}"), part + 1, 3);
        if watch.stopped() {
            return Err(Error::stopped());
        }
        let peaks = instance.peaks();
        let mode = Mode::TimeShare {
            k: SLOTS as f64,
            peak: &peaks,
        };
        let best = solve(&instance.host(alpha, 0.0), &mode, &Options::default())?;
        for way in ways(&instance, alpha, (&best.x, &peaks))? {
            let value = utility(&instance.table.weight, &way.rates, alpha);
            rows.push(
                format!("{}-{name}", way.name),
                cells(&way, value, best.dual_bound),
            );
            if alpha < 1.0 {
                curves.push(sorted(way));
            }
        }
    }
    let plots = vec![Plot {
        file: "plot".into(),
        title: format!("Long-run rates of {applications} applications, alpha 1/2"),
        x: "application, by rate".into(),
        y: "work requests per second".into(),
        log: false,
        curves,
    }];
    let notes = vec![
        format!("{applications} applications, {SLOTS} slots; capacities are {} and {} for each application", super::instance::EGRESS, super::instance::POLL),
        "an application that is active sends at the rate at which as many as there are slots share the host equally".into(),
        "fixed top-k has no value for alpha 1 and above: whoever isn't selected is worth minus infinity".into(),
    ];
    Ok(Outcome {
        rows,
        plots,
        notes,
        ..Outcome::default()
    })
}

/// The ways of sharing; `best` are the rates that are optimal in the long run.
fn ways(
    instance: &Instance,
    alpha: f64,
    (best, peaks): (&[f64], &[f64]),
) -> Result<Vec<Shared>, Error> {
    let mut ways = vec![
        Shared {
            name: "timeshare",
            rates: best.to_vec(),
            wait: None,
        },
        framed(instance, alpha, peaks)?,
        equal(peaks),
    ];
    if alpha < 1.0 {
        ways.push(fixed(instance, alpha)?);
        ways.push(reserve(instance, alpha)?);
    }
    Ok(ways)
}

fn cells(way: &Shared, value: f64, bound: f64) -> Vec<Cell> {
    let starved = way.rates.iter().filter(|rate| **rate <= 0.0).count();
    let share = way.wait.map(|(wait, most)| wait as f64 / most as f64);
    vec![
        Cell::from(value),
        Cell::from(bound),
        Cell::from((bound > 0.0).then(|| value / bound)),
        Cell::from(starved),
        way.wait.map_or(Cell::None, |wait| Cell::Count(wait.0)),
        way.wait.map_or(Cell::None, |wait| Cell::Count(wait.1)),
        Cell::from(share),
    ]
}

/// The rates of an application by rank.
fn sorted(way: Shared) -> Curve {
    let mut rates = way.rates;
    rates.sort_by(|a, b| b.total_cmp(a));
    let points = rates
        .iter()
        .enumerate()
        .map(|(index, rate)| (index as f64, *rate))
        .collect();
    Curve {
        name: way.name.into(),
        points,
        published: false,
    }
}

/// Throughput utility of long-run rates.
fn utility(weights: &[f64], rates: &[f64], alpha: f64) -> f64 {
    let value = |rate: f64| match alpha {
        1.0 => libm::log(rate),
        _ => libm::pow(rate, 1.0 - alpha) / (1.0 - alpha),
    };
    weights
        .iter()
        .zip(rates)
        .map(|(weight, rate)| weight * value(*rate))
        .sum()
}

/// What the schedule of `fairlane drum schedule` gives, whose rates keep every row in every epoch.
fn framed(instance: &Instance, alpha: f64, peaks: &[f64]) -> Result<Shared, Error> {
    let found = schedule(&instance.host(alpha, 0.0), SLOTS, peaks, Length::Any)?;
    let longest = found.waits().into_iter().flatten().max();
    Ok(Shared {
        name: "frame",
        wait: longest.map(|longest| (longest, found.epochs.len() as u64)),
        rates: found.rates,
    })
}

/// Everyone active for the same share of time.
fn equal(peaks: &[f64]) -> Shared {
    let share = (SLOTS as f64 / peaks.len() as f64).min(1.0);
    Shared {
        name: "equal",
        rates: peaks.iter().map(|peak| share * peak).collect(),
        wait: None,
    }
}

/// The best set of applications, for ever.
fn fixed(instance: &Instance, alpha: f64) -> Result<Shared, Error> {
    let mode = Mode::ActiveSet {
        k: SLOTS,
        outage: None,
    };
    let solution = solve(&instance.host(alpha, 0.0), &mode, &Options::default())?;
    Ok(Shared {
        name: "topk",
        rates: solution.x,
        wait: None,
    })
}

/// How many times the bound of a wait a reserve is watched.
const ROUNDS: u64 = 3;

/// The best set in most slots, the others by waiting time; each epoch's rates are optimal for its set.
fn reserve(instance: &Instance, alpha: f64) -> Result<Shared, Error> {
    let count = instance.table.len();
    let mode = Mode::ActiveSet {
        k: SLOTS - RESERVED,
        outage: None,
    };
    let best = solve(&instance.host(alpha, 0.0), &mode, &Options::default())?;
    let mut gains = vec![0.0; count];
    for index in best.selected {
        gains[index] = 1.0;
    }
    let mut reserve = Reserve::new(count, SLOTS, RESERVED);
    let bound = reserve.longest_wait();
    let (mut rates, mut last, mut longest) = (vec![0.0; count], vec![0; count], 0);
    let utility = Utility {
        fairness: Fairness::Alpha(alpha),
        latency: 0.0,
    };
    let mut active = Table::default();
    // Several times the bound, so that a wait could exceed it.
    let epochs = ROUNDS * bound;
    for epoch in 1..=epochs {
        let chosen = reserve.choose(&gains);
        active.clear();
        chosen
            .iter()
            .for_each(|index| active.push(instance.table.application(*index)));
        let host = fairlane_drum::Host::new(active.view(), utility, instance.egress, instance.poll);
        let solution = solve(&host, &Mode::All, &Options::default())?;
        for (index, rate) in chosen.into_iter().zip(solution.x) {
            rates[index] += rate / epochs as f64;
            longest = longest.max(epoch - last[index]);
            last[index] = epoch;
        }
    }
    // Who waits at the end has waited, too.
    let waiting = last.iter().map(|last| epochs + 1 - last).max();
    longest = longest.max(waiting.unwrap_or(0).saturating_sub(1));
    Ok(Shared {
        name: "reserve",
        rates,
        wait: Some((longest, bound)),
    })
}
