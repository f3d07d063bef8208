//! Random problems whose numbers have nothing in common, by this solver and by a generic one.
//!
//! Rates are tied to polls (`z = a x`) in networks of 2 to 5000 rows, and apart (`z >= a x`) in hosts, whose rows are few.

#[path = "../../crates/drum/tests/problems/mod.rs"]
mod problems;

use std::time::{Duration, Instant};

use clarabel::solver::{DefaultSettings, DefaultSettingsBuilder};
use fairlane_drum::coupled::{self, CoupledOptions, Network};
use fairlane_drum::{Fairness, Host, Load, Mode, Options, Sequential, Supply, solve};

use self::problems::Problem;
use crate::Outcome;
use crate::conic::{Optimum, Program};
use crate::table::{self, row};

/// Most rows of a network.
const ROWS: f64 = 5000.0;
/// The gap that is asked for, which is what Clarabel stops at.
const ASKED: f64 = 1e-8;
/// The gap that counts as one, and the time that is too long, over Clarabel's.
const OPEN: f64 = 1e-6;
const SLOW: f64 = 3.0;
/// Seconds that Clarabel has.
const PATIENCE: f64 = 60.0;
/// Time below which a solution is repeated.
const SHORT: Duration = Duration::from_millis(20);
/// Classes of problems, by most rows.
const CLASSES: [usize; 5] = [10, 50, 300, 1500, 5000];

/// Prints what `count` problems take, and names those with a gap and those that take too long.
pub(crate) fn table(count: u64) -> Outcome<()> {
    let mut classes = vec![Class::default(); CLASSES.len() + 1];
    let mut violators = Vec::new();
    for seed in 0..count {
        let problem = Problem::random(seed, ROWS);
        let result = problem.compare()?;
        if let Some(what) = result.violation() {
            violators.push(vec![seed.to_string(), problem.describe(), what]);
        }
        classes[problem.class()].add(&result);
    }
    let mut rows = vec![row([
        "rows",
        "problems",
        "refused",
        "open",
        "worst gap",
        "Clarabel fails",
        "slow",
        "worst time",
        "median time",
        "own s",
        "Clarabel s",
    ])];
    let names = CLASSES.map(|most| format!("up to {most}"));
    let names = names.into_iter().chain(["z >= a x".into()]);
    rows.extend(names.zip(&classes).map(|(name, class)| class.row(name)));
    table::print(
        &format!("drum: {count} random problems, times over Clarabel's"),
        &rows,
    )?;
    violators.insert(0, row(["seed", "problem", "what"]));
    table::print("with a gap, another value, or slow", &violators)
}

/// Prints what one problem takes.
pub(crate) fn one(seed: &str) -> Outcome<()> {
    let problem = Problem::random(seed.parse()?, ROWS);
    let result = problem.compare()?;
    let cells = vec![
        problem.describe(),
        result.error.clone().unwrap_or_default(),
        format!("{:.1e}", result.gap),
        format!("{:.4}", result.time.as_secs_f64()),
        format!("{:.4}", result.generic.time.as_secs_f64()),
        format!("{:e}", result.value),
        result
            .generic
            .value
            .map_or_else(|| "failed".into(), |value| format!("{value:e}")),
    ];
    let header = row([
        "problem",
        "refused",
        "gap",
        "s",
        "Clarabel s",
        "value",
        "Clarabel's",
    ]);
    table::print("drum: one random problem", &[header, cells])
}

/// Clarabel with one thread, for so many seconds at most.
pub(crate) fn clarabel(limit: f64) -> Outcome<DefaultSettings<f64>> {
    let mut settings = DefaultSettingsBuilder::default();
    let settings = settings.verbose(false).time_limit(limit).max_threads(1);
    Ok(settings.build()?)
}

/// What Clarabel makes of a problem.
struct Generic {
    /// The greatest value, if it is found.
    value: Option<f64>,
    time: Duration,
}

impl Generic {
    fn solve(program: Program) -> Outcome<Self> {
        let settings = clarabel(PATIENCE)?;
        let start = Instant::now();
        let found = program.solve(settings);
        Ok(Self {
            value: found.map(|Optimum { value, .. }| value),
            time: start.elapsed(),
        })
    }
}

/// What both solvers make of a problem.
struct Comparison {
    error: Option<String>,
    gap: f64,
    value: f64,
    time: Duration,
    generic: Generic,
}

impl Comparison {
    /// Time over Clarabel's, where that found the optimum.
    fn ratio(&self) -> Option<f64> {
        let ratio = self.time.as_secs_f64() / self.generic.time.as_secs_f64();
        self.generic.value.map(|_| ratio)
    }

    fn violation(&self) -> Option<String> {
        if let Some(error) = &self.error {
            return Some(format!("refused: {error}"));
        }
        if self.gap.is_nan() || self.gap > OPEN {
            return Some(format!("gap {:.1e}", self.gap));
        }
        let apart = |other: f64| (self.value - other).abs() / other.abs().max(1.0);
        if let Some(other) = self.generic.value.filter(|other| apart(*other) > OPEN) {
            return Some(format!("value {:e}, Clarabel's is {other:e}", self.value));
        }
        let slow = self.ratio().filter(|ratio| *ratio > SLOW);
        slow.map(|ratio| format!("{ratio:.1} times Clarabel's time"))
    }
}

/// What is known of the problems of a class.
#[derive(Clone, Default)]
struct Class {
    problems: usize,
    refused: usize,
    open: usize,
    worst: f64,
    ratios: Vec<f64>,
    own: Duration,
    generic: Duration,
}

impl Class {
    fn add(&mut self, result: &Comparison) {
        self.problems += 1;
        self.refused += usize::from(result.error.is_some());
        self.own += result.time;
        self.generic += result.generic.time;
        if result.error.is_none() {
            self.open += usize::from(result.gap.is_nan() || result.gap > OPEN);
            self.worst = self.worst.max(result.gap);
            self.ratios.extend(result.ratio());
        }
    }

    fn row(&self, name: String) -> Vec<String> {
        let mut ratios = self.ratios.clone();
        ratios.sort_by(f64::total_cmp);
        let ratio = |place: usize| {
            ratios
                .get(place)
                .map_or_else(|| "-".into(), |r| format!("{r:.2}"))
        };
        vec![
            name,
            self.problems.to_string(),
            self.refused.to_string(),
            self.open.to_string(),
            format!("{:.1e}", self.worst),
            (self.problems - self.refused - ratios.len()).to_string(),
            ratios.iter().filter(|r| **r > SLOW).count().to_string(),
            ratio(ratios.len().saturating_sub(1)),
            ratio(ratios.len() / 2),
            format!("{:.2}", self.own.as_secs_f64()),
            format!("{:.2}", self.generic.as_secs_f64()),
        ]
    }
}

impl Problem {
    fn class(&self) -> usize {
        match self {
            Self::Network(network) => CLASSES
                .iter()
                .position(|most| network.rows.len() <= *most)
                .unwrap_or(CLASSES.len() - 1),
            Self::Attempts(_) => CLASSES.len(),
        }
    }

    fn describe(&self) -> String {
        let (rows, rates, utility) = match self {
            Self::Network(network) => (network.rows.len(), network.weight.len(), network.utility),
            Self::Attempts(host) => (host.others.len() + 2, host.table.len(), host.utility),
        };
        let kind = match self {
            Self::Network(_) => "network",
            Self::Attempts(_) => "z >= a x",
        };
        let Fairness::Alpha(alpha) = utility.fairness else {
            unreachable!("problems have an alpha")
        };
        format!(
            "{kind}, {rows} rows, {rates} rates, alpha {alpha:.3}, beta {:.1e}",
            utility.latency
        )
    }

    fn compare(&self) -> Outcome<Comparison> {
        let mut time = Duration::MAX;
        let mut result = Err(String::new());
        for _ in 0..3 {
            let start = Instant::now();
            result = self.solve();
            time = time.min(start.elapsed());
            if time > SHORT {
                break;
            }
        }
        let mut generic = Generic::solve(self.conic())?;
        for _ in 1..3 {
            if generic.time <= SHORT {
                generic.time = generic.time.min(Generic::solve(self.conic())?.time);
            }
        }
        let (value, gap) = *result.as_ref().unwrap_or(&(f64::NAN, f64::NAN));
        Ok(Comparison {
            error: result.err(),
            gap,
            value,
            time,
            generic,
        })
    }

    /// Value and gap.
    fn solve(&self) -> Result<(f64, f64), String> {
        match self {
            Self::Network(network) => {
                let source = network.indexed().map_err(|error| error.to_string())?;
                let options = CoupledOptions {
                    tolerance: ASKED,
                    ..CoupledOptions::default()
                };
                coupled::solve(&source, &options, &Sequential)
                    .map(|found| (found.objective, found.relative_gap()))
            }
            Self::Attempts(host) => {
                let options = Options {
                    tolerance: ASKED,
                    ..Options::default()
                };
                solve(&host.host(), &Mode::All, &options)
                    .map(|found| (found.objective, found.relative_gap()))
            }
        }
        .map_err(|error| error.to_string())
    }

    fn conic(&self) -> Program {
        match self {
            Self::Network(network) => network_program(network),
            Self::Attempts(host) => host_program(&host.host()),
        }
    }
}

/// A rate in the program, between its bounds.
fn rate(program: &mut Program, low: f64, high: f64) -> usize {
    let rate = program.variable(0.0);
    program.at_most(&[(rate, -1.0)], -low);
    if high.is_finite() {
        program.at_most(&[(rate, 1.0)], high);
    }
    rate
}

fn network_program(network: &Network) -> Program {
    let mut program = Program::default();
    let bound = |list: &[f64], flow: usize, none: f64| list.get(flow).copied().unwrap_or(none);
    let rates: Vec<usize> = (0..network.weight.len())
        .map(|flow| {
            let low = bound(&network.minimum, flow, 0.0);
            let high = bound(&network.maximum, flow, f64::INFINITY);
            rate(&mut program, low, high)
        })
        .collect();
    for row in &network.rows {
        let entries = row.entries.iter().map(|(flow, load)| (rates[*flow], *load));
        program.at_most(&entries.collect::<Vec<_>>(), row.capacity);
    }
    let Fairness::Alpha(alpha) = network.utility.fairness else {
        unreachable!("problems have an alpha")
    };
    for (flow, &rate) in rates.iter().enumerate() {
        program.utility(rate, alpha, network.weight[flow]);
        if network.utility.latency > 0.0 {
            let polls = network.completions[flow];
            let cost = network.utility.latency * network.latency_weight[flow];
            program.latency(rate, cost / (polls * polls));
        }
    }
    program
}

fn host_program(host: &Host<'_>) -> Program {
    let mut program = Program::default();
    let apps = &host.applications;
    let Fairness::Alpha(alpha) = host.utility.fairness else {
        unreachable!("problems have an alpha")
    };
    let mut rates = Vec::new();
    for j in 0..apps.len() {
        let x = rate(&mut program, 0.0, f64::INFINITY);
        let z = program.variable(0.0);
        program.at_most(&[(x, apps.completions[j]), (z, -1.0)], 0.0);
        rates.push((x, z));
    }
    for row in &host.rows {
        let entry = |(j, &(x, z)): (usize, &(usize, usize))| match row.load {
            Load::Bytes => (x, apps.bytes[j]),
            Load::Polls => (z, apps.poll_cost[j]),
            Load::Requests(loads) => (x, loads[j]),
            Load::Completions(loads) => (z, loads[j]),
        };
        let Supply::Capacity(capacity) = row.supply else {
            unreachable!("all rows have a capacity")
        };
        let entries: Vec<_> = rates.iter().enumerate().map(entry).collect();
        program.at_most(&entries, capacity);
    }
    for (j, &(x, z)) in rates.iter().enumerate() {
        program.utility(x, alpha, apps.weight[j]);
        program.latency(z, host.utility.latency * apps.latency_weight[j]);
    }
    program
}
