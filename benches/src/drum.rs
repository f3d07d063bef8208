//! The solver: what a pass costs, one host beside a generic solver, and networks of 5e7 applications.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fairlane_drum::coupled::{self, CoupledOptions};
use fairlane_drum::{
    Allocator, Claim, DualFunction, Fairness, Host, Key, Mode, Options, Sharing, Table, Utility,
    solve,
};
use fairlane_drum_file::{RANDOM_HOST, RandomNetwork, random_host};
use fairlane_threads::Threads;

use crate::conic::Program;
use crate::networks::clarabel;
use crate::table::{self, row};
use crate::{Outcome, process};

/// Applications of the host that a generic solver solves too.
const APPLICATIONS: usize = 5000;
/// Size of the networks.
const HOSTS: usize = 10_000;
const REPETITIONS: usize = 5;
const SEED: u64 = 1;
const BETA: f64 = 0.01;

/// What is solved at scale, with the relative gap that is asked for.
const SCALE: [(&str, f64); 3] = [("fixed", 1e-6), ("topk", 1e-6), ("coupled", 1e-3)];

/// Prints all tables.
pub(crate) fn table() -> Outcome<()> {
    passes()?;
    changes()?;
    one_host()?;
    let mut rows = vec![row([
        "solved",
        "asked",
        "worst gap",
        "s",
        "user s",
        "ns/app",
        "RSS MiB",
    ])];
    for (name, tolerance) in SCALE {
        let hosts = HOSTS.to_string();
        let numbers = process::measure(&["drum", name, &hosts, &APPLICATIONS.to_string()])?;
        let [wall_us, user_us, rss_kib, gap] = numbers[..] else {
            return Err("expected four numbers".into());
        };
        let applications = (HOSTS * APPLICATIONS) as f64;
        rows.push(vec![
            name.into(),
            format!("{tolerance:.0e}"),
            format!("{:.1e}", gap as f64 * 1e-12),
            format!("{:.1}", wall_us as f64 / 1e6),
            format!("{:.1}", user_us as f64 / 1e6),
            format!("{:.0}", user_us as f64 * 1e3 / applications),
            format!("{:.0}", rss_kib as f64 / 1024.0),
        ]);
    }
    let title =
        format!("drum: {HOSTS} hosts of {APPLICATIONS} applications, alpha 1/2, all threads");
    table::print(&title, &rows)
}

/// Shortest time of a few runs.
fn best(mut run: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..REPETITIONS).map(time).min().unwrap_or_default()
}

fn applications() -> Table {
    let mut table = Table::default();
    random_host(&mut table, (0, APPLICATIONS), SEED);
    table
}

fn host(table: &Table, alpha: f64, beta: f64) -> Host<'_> {
    let utility = Utility {
        fairness: Fairness::Alpha(alpha),
        latency: beta,
    };
    Host::new(table.view(), utility, RANDOM_HOST.0, RANDOM_HOST.1)
}

/// What one pass costs for each application, in one thread.
fn passes() -> Outcome<()> {
    const PASSES: usize = 200;
    let table = applications();
    let mut rows = vec![row(["alpha", "beta", "ns/app"])];
    for (alpha, beta) in [(0.5, 0.0), (0.5, BETA), (1.0, BETA), (2.0, BETA)] {
        let host = host(&table, alpha, beta);
        let (dual, prices) = (DualFunction::new(&host)?, first_prices(&host)?);
        let time = best(|| {
            for pass in 0..PASSES {
                let prices = [prices[0] * (1.0 + 1e-3 * pass as f64), prices[1]];
                black_box(dual.at(&prices));
            }
        });
        let ns = time.as_secs_f64() * 1e9 / (PASSES * APPLICATIONS) as f64;
        rows.push(vec![
            alpha.to_string(),
            beta.to_string(),
            format!("{ns:.1}"),
        ]);
    }
    table::print(
        "drum: one pass over the applications of a host, two rows",
        &rows,
    )
}

fn first_prices(host: &Host<'_>) -> Outcome<Vec<f64>> {
    Ok(solve(host, &Mode::All, &Options::default())?.prices)
}

/// What it takes until a host that stands is solved again after one of its applications has changed, left, or come, or its
/// capacities have changed by some parts in a thousand.
fn changes() -> Outcome<()> {
    const STANDING: usize = 1000;
    const CHANGES: usize = 1000;
    let table = applications();
    let claim = |index: usize| Claim {
        application: table.application(index % APPLICATIONS),
        ..Claim::default()
    };
    let mut rows = vec![row([
        "alpha",
        "beta",
        "change us",
        "remove us",
        "add us",
        "capacities us",
    ])];
    // The last alpha has no kernel of its own.
    for (alpha, beta) in [0.5, 1.0, 2.0, 0.7]
        .into_iter()
        .flat_map(|alpha| [(alpha, 0.0), (alpha, BETA)])
    {
        let utility = Utility {
            fairness: Fairness::Alpha(alpha),
            latency: beta,
        };
        let part = STANDING as f64 / APPLICATIONS as f64;
        let (egress, poll) = (RANDOM_HOST.0 * part, RANDOM_HOST.1 * part);
        let mut standing = Allocator::new(utility, egress, poll, Sharing::All);
        let mut keys: Vec<Key> = (0..STANDING).map(|j| standing.insert(claim(j))).collect();
        standing.resolve()?;
        let mut times = [Duration::ZERO; 4];
        for change in 0..CHANGES {
            let key = keys[change * 7 % STANDING];
            let steps: [&mut dyn FnMut(&mut Allocator); 4] = [
                &mut |standing| {
                    standing.update(key, claim(STANDING + change));
                },
                &mut |standing| {
                    standing.remove(key);
                },
                &mut |standing| keys[change * 7 % STANDING] = standing.insert(claim(change)),
                &mut |standing| {
                    let part = |steps: usize| 1.0 + 1e-3 * (change % steps) as f64;
                    standing.set_capacities(egress * part(17), poll * part(13));
                },
            ];
            for (time, step) in times.iter_mut().zip(steps) {
                let start = Instant::now();
                step(&mut standing);
                black_box(standing.resolve()?);
                *time += start.elapsed();
            }
        }
        let mean = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e6 / CHANGES as f64);
        let mut cells = vec![alpha.to_string(), beta.to_string()];
        cells.extend(times.map(mean));
        rows.push(cells);
    }
    table::print(
        &format!("drum: one change of a standing host of {STANDING} applications"),
        &rows,
    )
}

/// One host by this solver and by a generic one.
fn one_host() -> Outcome<()> {
    let table = applications();
    let host = host(&table, 0.5, BETA);
    let mut rows = vec![row(["solver", "ms", "objective"])];
    let mut own = None;
    let time = best(|| own = Some(solve(&host, &Mode::All, &Options::default())));
    let own = own.ok_or("not solved")??;
    let mut other = None;
    let generic = best(|| other = Some(conic(&host)));
    let other = other.ok_or("not solved")??;
    let ms = |time: Duration| format!("{:.3}", time.as_secs_f64() * 1e3);
    rows.push(vec![
        "fairlane".into(),
        ms(time),
        format!("{:.9}", own.objective),
    ]);
    rows.push(vec!["Clarabel".into(), ms(generic), format!("{other:.9}")]);
    let ratio = generic.as_secs_f64() / time.as_secs_f64();
    rows.push(vec!["ratio".into(), format!("{ratio:.0}"), String::new()]);
    let gap = own.relative_gap();
    let title = format!("drum: one host of {APPLICATIONS} applications, certified to {gap:.0e}");
    table::print(&title, &rows)
}

/// The same host by a generic solver.
fn conic(host: &Host<'_>) -> Outcome<f64> {
    let apps = &host.applications;
    let mut program = Program::default();
    let rates: Vec<usize> = (0..apps.len()).map(|_| program.variable(0.0)).collect();
    let entries = |load: &dyn Fn(usize) -> f64| -> Vec<(usize, f64)> {
        let loads = rates.iter().enumerate();
        loads.map(|(app, rate)| (*rate, load(app))).collect()
    };
    let bytes = entries(&|app| apps.bytes[app]);
    let polls = entries(&|app| apps.poll_cost[app] * apps.completions[app]);
    program.at_most(&bytes, RANDOM_HOST.0);
    program.at_most(&polls, RANDOM_HOST.1);
    for (app, &rate) in rates.iter().enumerate() {
        let z = apps.completions[app];
        program.utility(rate, 0.5, apps.weight[app]);
        program.latency(
            rate,
            host.utility.latency * apps.latency_weight[app] / (z * z),
        );
    }
    let optimum = program.solve(clarabel(f64::INFINITY)?);
    Ok(optimum.ok_or("Clarabel found no optimum")?.value)
}

/// Solves a network of hosts and prints wall time, user time, memory and the worst gap (1e-12).
pub(crate) fn one(name: &str, hosts: &str, applications: &str) -> Outcome<()> {
    let (hosts, applications) = (hosts.parse()?, applications.parse()?);
    let tolerance = SCALE
        .into_iter()
        .find_map(|(known, tolerance)| (known == name).then_some(tolerance))
        .ok_or("unknown problem")?;
    let start = Instant::now();
    let gap = match name {
        "coupled" => network(hosts, applications, tolerance)?,
        "topk" => each_host(
            hosts,
            applications,
            tolerance,
            &Mode::TopUtilities { k: 20 },
        )?,
        _ => each_host(hosts, applications, tolerance, &Mode::All)?,
    };
    let wall = start.elapsed();
    if gap.is_nan() {
        return Err("a gap is not a number".into());
    }
    table::numbers(&[
        u64::try_from(wall.as_micros())?,
        process::user_us()?,
        process::max_rss_kib()?,
        (gap * 1e12) as u64,
    ])
}

/// The worst gap of hosts that are generated, solved and forgotten one by one.
fn each_host(hosts: usize, applications: usize, tolerance: f64, mode: &Mode<'_>) -> Outcome<f64> {
    let options = Options {
        tolerance,
        nodes: 0,
        ..Options::default()
    };
    let task = |_, number| {
        let mut table = Table::default();
        random_host(&mut table, (number, applications), SEED);
        solve(&host(&table, 0.5, BETA), mode, &options).map(|solution| solution.relative_gap())
    };
    let (mut worst, mut error) = (0.0_f64, None);
    Threads::available().stream(0..hosts, task, |gap| match gap {
        Ok(gap) => {
            // Not a number is the worst of all.
            worst = if gap.total_cmp(&worst).is_gt() {
                gap
            } else {
                worst
            };
            ControlFlow::Continue(())
        }
        Err(refused) => {
            error = Some(refused);
            ControlFlow::Break(())
        }
    });
    match error {
        Some(refused) => Err(refused.into()),
        None => Ok(worst),
    }
}

fn network(hosts: usize, applications: usize, tolerance: f64) -> Outcome<f64> {
    let network = RandomNetwork::new(hosts, applications, (0.5, BETA), SEED);
    let options = CoupledOptions {
        tolerance,
        ..CoupledOptions::default()
    };
    let solution = coupled::solve(&network, &options, &Threads::available())?;
    Ok(solution.relative_gap())
}
