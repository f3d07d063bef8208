//! Applications that arrive and leave: how fast the optimum is found again, what is lost meanwhile.

use std::time::Instant;

use fairlane_drum::{Application, Mode, Options, Solution, resolve, solve};
use fairlane_engine::Stream;

use crate::error::Error;
use crate::outcome::{Cell, Curve, Outcome, Plot, Rows};
use crate::solver::instance::{Instance, SLOTS, mixed};
use crate::{Settings, Watch};

const SEED: u64 = 1;
const ALPHA: f64 = 0.5;
/// How near the optimum counts as found (DRUM, figures 4 and 5).
const NEAR: f64 = 0.005;

/// What one arrival or departure costs.
struct Event {
    cold: usize,
    warm: usize,
    /// Warm passes until the value is near the optimum; none if it never was.
    near: Option<usize>,
    /// Part of the utility that is missing until rates are changed.
    lost: f64,
    /// Wall time of the warm solution.
    seconds: f64,
    gap: f64,
}

/// How applications share the host.
#[derive(Clone, Copy)]
enum Sharing {
    All,
    Time,
}

/// Runs both ways of sharing.
pub(crate) fn run(settings: Settings, watch: &dyn Watch) -> Result<Outcome, Error> {
    let (applications, events) = if settings.quick { (60, 20) } else { (500, 400) };
    let mut rows = Rows::new(&[
        "events",
        "cold_passes",
        "warm_passes",
        "warm_passes_max",
        "passes_to_995_max",
        "lost_share",
        "lost_share_max",
        "resolve_us",
        "lost_us",
        "worst_gap",
    ]);
    let mut curves = Vec::new();
    let ways = [("fixed", Sharing::All), ("timeshare", Sharing::Time)];
    for (part, (name, sharing)) in ways.into_iter().enumerate() {
        watch.begin(name, part + 1, ways.len());
        let events = history(sharing, applications, events, watch)?;
        rows.push(name, cells(&events));
        let curve = |kind: &str, passes: fn(&Event) -> usize| Curve {
            name: format!("{name}, {kind}"),
            points: events
                .iter()
                .enumerate()
                .map(|(i, e)| (i as f64, passes(e) as f64))
                .collect(),
            published: false,
        };
        curves.push(curve("cold", |event| event.cold));
        curves.push(curve("warm", |event| event.warm));
    }
    let plots = vec![Plot {
        file: "plot".into(),
        title: "Passes to the optimum after an arrival or departure".into(),
        x: "event".into(),
        y: "passes over the applications".into(),
        log: false,
        curves,
    }];
    let notes = vec![
        format!("{applications} applications at first, alpha 1/2, {SLOTS} slots; arrivals and departures are equally likely"),
        "lost_share: part of the utility missing until rates are changed; a newcomer doesn't send, and what a leaver had is idle".into(),
        "lost_us: that part times the time of the solution, in microseconds of full utility; times are this machine's".into(),
    ];
    Ok(Outcome {
        rows,
        plots,
        notes,
        ..Outcome::default()
    })
}

fn history(
    sharing: Sharing,
    applications: usize,
    events: usize,
    watch: &dyn Watch,
) -> Result<Vec<Event>, Error> {
    let mut instance = Instance::mixed(applications, SEED);
    let mut stream = Stream::new(SEED, 2);
    let mut last = best(&instance, sharing, &[], &Options::default())?;
    let mut history = Vec::new();
    for _ in 0..events {
        if watch.stopped() {
            return Err(Error::stopped());
        }
        let mut rates = last.x.clone();
        if stream.next_u64() & 1 == 0 || instance.table.len() <= SLOTS {
            let newcomer: Application = mixed(&mut stream);
            instance.table.push(newcomer);
            rates.push(0.0);
        } else {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "below a number of applications"
            )]
            let leaver = stream.below(instance.table.len() as u64) as usize;
            instance.table.swap_remove(leaver);
            rates.swap_remove(leaver);
        }
        let event;
        (event, last) = change(&instance, sharing, &rates, &last.prices)?;
        history.push(event);
    }
    Ok(history)
}

/// Finds the optimum after a change, from the prices before it and from nothing.
fn change(
    instance: &Instance,
    sharing: Sharing,
    rates: &[f64],
    prices: &[f64],
) -> Result<(Event, Solution), Error> {
    let options = Options::default();
    let cold = best(instance, sharing, &[], &options)?;
    let begun = Instant::now();
    let warm = best(instance, sharing, prices, &options)?;
    let seconds = begun.elapsed().as_secs_f64();
    let weights = instance.table.weight.iter();
    let stale: f64 = weights
        .zip(rates)
        .map(|(w, x)| 2.0 * w * libm::sqrt(*x))
        .sum();
    let near = |passes: &usize| {
        let options = Options {
            iterations: *passes,
            ..options
        };
        let solution = best(instance, sharing, prices, &options);
        solution.is_ok_and(|found| found.objective >= warm.dual_bound * (1.0 - NEAR))
    };
    let event = Event {
        cold: cold.iterations,
        warm: warm.iterations,
        near: (1..=warm.iterations).find(near),
        lost: 1.0 - stale / warm.objective,
        seconds,
        gap: warm.relative_gap(),
    };
    Ok((event, warm))
}

fn best(
    instance: &Instance,
    sharing: Sharing,
    prices: &[f64],
    options: &Options,
) -> Result<Solution, Error> {
    let peaks = instance.peaks();
    let mode = match sharing {
        Sharing::All => Mode::All,
        Sharing::Time => Mode::TimeShare {
            k: SLOTS as f64,
            peak: &peaks,
        },
    };
    let host = instance.host(ALPHA, 0.0);
    Ok(if prices.is_empty() {
        solve(&host, &mode, options)?
    } else {
        resolve(&host, &mode, options, prices)?
    })
}

fn cells(events: &[Event]) -> Vec<Cell> {
    let mean = |pick: &dyn Fn(&Event) -> f64| {
        Cell::from(events.iter().map(pick).sum::<f64>() / events.len() as f64)
    };
    let most = |pick: &dyn Fn(&Event) -> f64| Cell::from(events.iter().map(pick).reduce(f64::max));
    vec![
        Cell::from(events.len()),
        mean(&|event| event.cold as f64),
        mean(&|event| event.warm as f64),
        most(&|event| event.warm as f64),
        // Never near would be infinitely many.
        most(&|event| event.near.map_or(f64::INFINITY, |passes| passes as f64)),
        mean(&|event| event.lost),
        most(&|event| event.lost),
        mean(&|event| event.seconds * 1e6),
        mean(&|event| event.lost * event.seconds * 1e6),
        most(&|event| event.gap),
    ]
}
