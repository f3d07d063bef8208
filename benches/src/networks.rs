//! Random problems whose numbers have nothing in common, by this solver and by a generic one.
//!
//! Rates are tied to polls (`z = a x`) in networks of 2 to 5000 rows, and apart (`z >= a x`) in hosts, whose rows are few.

use std::time::{Duration, Instant};

use fairlane_drum::coupled::{self, CoupledOptions, Network, RowKind, SharedRow};
use fairlane_drum::{
    Application, Dependency, Fairness, Host, Load, Mode, Options, Row, RowName, Sequential, Supply,
    Table, Utility, solve,
};

use crate::Outcome;
use crate::conic::{Answer, Program};
use crate::table::{self, row};

/// Most rows of a network, and most flows.
const ROWS: f64 = 5000.0;
const FLOWS: f64 = 20_000.0;
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
        let problem = Problem::random(seed);
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
    table::print("with a gap, or slow", &violators)
}

/// Prints what one problem takes.
pub(crate) fn one(seed: &str) -> Outcome<()> {
    let problem = Problem::random(seed.parse()?);
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
            .map_or("failed".into(), |value| format!("{value:e}")),
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

/// Random numbers by SplitMix64.
struct Random(u64);

impl Random {
    /// From 0 to below 1.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, end: usize) -> usize {
        (self.unit() * end as f64) as usize
    }

    /// A number whose logarithm is uniform.
    fn spread(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// What both solvers make of a problem.
struct Comparison {
    error: Option<String>,
    gap: f64,
    value: f64,
    time: Duration,
    generic: Answer,
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
        let slow = self.ratio().filter(|ratio| *ratio > SLOW);
        let slow = slow.map(|ratio| format!("{ratio:.1} times Clarabel's time"));
        if self.gap.is_nan() || self.gap > OPEN {
            return Some(format!("gap {:.1e}", self.gap));
        }
        slow
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
        let ratio = |place: usize| ratios.get(place).map_or("-".into(), |r| format!("{r:.2}"));
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

/// A problem, one of two kinds.
enum Problem {
    Network(Network),
    Attempts(Attempts),
}

/// A host whose polls may be more than its completions.
struct Attempts {
    table: Table,
    utility: Utility,
    /// Egress and polling, and then limits of requests and of completions.
    capacities: [f64; 2],
    others: Vec<(Vec<f64>, f64)>,
}

impl Problem {
    /// Four of five are networks.
    fn random(seed: u64) -> Self {
        let mut random = Random(seed);
        let alpha = match random.below(4) {
            0 => random.pick(&[0.5, 1.0, 2.0]),
            _ => random.spread(0.2, 5.0),
        };
        let attempts = random.below(5) == 0;
        let latency = match attempts || random.below(2) == 0 {
            true => random.spread(1e-6, 1.0),
            false => 0.0,
        };
        let utility = Utility {
            fairness: Fairness::Alpha(alpha),
            latency,
        };
        match attempts {
            true => Self::Attempts(Attempts::random(&mut random, utility)),
            false => Self::Network(network(&mut random, utility)),
        }
    }

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
        let mut generic = self.conic().solve(PATIENCE)?;
        for _ in 1..3 {
            if generic.time <= SHORT {
                generic.time = generic.time.min(self.conic().solve(PATIENCE)?.time);
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
            Self::Attempts(host) => host.program(),
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

/// A network of log-uniform size, in which everything differs by orders of magnitude: weights by eight.
fn network(random: &mut Random, utility: Utility) -> Network {
    let rows = random.spread(2.0, ROWS).round() as usize;
    let hosts = (rows / random.pick(&[2, 3, 4])).max(1);
    let most = (FLOWS / hosts as f64).clamp(1.0, 100.0);
    let applications = random.spread(1.0, most).round() as usize;
    let flows = hosts * applications;
    let mut list = |low: f64, high: f64| -> Vec<f64> {
        (0..flows).map(|_| random.spread(low, high)).collect()
    };
    let (weight, latency_weight) = (list(1e-4, 1e4), list(1e-2, 1e2));
    let (bytes, completions) = (list(0.1, 10.0), list(0.1, 1.0));
    let mut network = Network {
        hosts,
        applications,
        utility,
        weight,
        latency_weight,
        completions,
        minimum: Vec::new(),
        maximum: Vec::new(),
        rows: shared_rows(rows, hosts),
    };
    for (flow, bytes) in bytes.into_iter().enumerate() {
        let (from, to) = (flow / applications, random.below(hosts));
        let polls = network.completions[flow];
        let ends = [
            (from, bytes),
            (hosts + from, polls),
            (2 * hosts + to, bytes),
        ];
        for (index, load) in ends {
            if let Some(row) = network.rows.get_mut(index) {
                row.entries.push((flow, load));
            }
        }
        for _ in 0..random.below(4) {
            let link = 3 * hosts + random.below(rows);
            let other = network.rows.get_mut(link);
            if let Some(row) = other.filter(|row| row.entries.last().is_none_or(|e| e.0 != flow)) {
                row.entries.push((flow, bytes));
            }
        }
    }
    for row in &mut network.rows {
        let used: f64 = row.entries.iter().map(|entry| entry.1).sum();
        row.capacity = used.max(1.0) * random.spread(0.1, 10.0);
    }
    bounds(random, &mut network);
    network
}

/// Rows of each host, one kind after the other, and links.
fn shared_rows(rows: usize, hosts: usize) -> Vec<SharedRow> {
    let kinds = [RowKind::Egress, RowKind::Poll, RowKind::Ingress];
    let one = |index: usize| SharedRow {
        kind: kinds.get(index / hosts).copied().unwrap_or(RowKind::Core),
        host: (index < 3 * hosts).then_some(index % hosts),
        capacity: 1.0,
        entries: Vec::new(),
    };
    (0..rows).map(one).collect()
}

/// Least rates that take up to half of a row, and greatest ones, in one network of three.
fn bounds(random: &mut Random, network: &mut Network) {
    if random.below(3) > 0 {
        return;
    }
    let flows = network.weight.len();
    let some = |random: &mut Random, none: f64| match random.below(2) {
        0 => random.spread(1e-2, 1e2),
        _ => none,
    };
    let mut minimum: Vec<f64> = (0..flows).map(|_| some(random, 0.0)).collect();
    let used = |row: &SharedRow| -> f64 {
        let entries = row.entries.iter();
        entries
            .map(|(flow, load)| load * minimum[*flow])
            .sum::<f64>()
            / row.capacity
    };
    let fullest = network.rows.iter().map(used).fold(1e-9, f64::max);
    let part = random.pick(&[0.01, 0.5]) / fullest;
    minimum.iter_mut().for_each(|least| *least *= part);
    let most = |least: &f64| some(random, f64::INFINITY).max(2.0 * least);
    network.maximum = minimum.iter().map(most).collect();
    network.minimum = minimum;
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

impl Attempts {
    fn random(random: &mut Random, utility: Utility) -> Self {
        let applications = random.spread(2.0, 2000.0).round() as usize;
        let mut table = Table::default();
        for _ in 0..applications {
            table.push(Application {
                weight: random.spread(1e-4, 1e4),
                latency_weight: random.spread(1e-2, 1e2),
                completions: random.spread(0.1, 1.0),
                bytes: random.spread(0.1, 10.0),
                poll_cost: random.spread(0.1, 10.0),
                ..Application::default()
            });
        }
        let mut size = || applications as f64 * random.spread(0.1, 10.0);
        let capacities = [size(), size()];
        let others = (0..random.below(Host::MOST_ROWS - 1))
            .map(|_| {
                let loads = (0..applications)
                    .map(|_| random.spread(0.1, 10.0))
                    .collect();
                (loads, applications as f64 * random.spread(0.1, 10.0))
            })
            .collect();
        Self {
            table,
            utility,
            capacities,
            others,
        }
    }

    fn host(&self) -> Host<'_> {
        let [egress, poll] = self.capacities;
        let mut host = Host::new(self.table.view(), self.utility, egress, poll);
        host.dependency = Dependency::AtLeast;
        for (index, (loads, capacity)) in self.others.iter().enumerate() {
            host.rows.push(Row {
                name: RowName::Other(if index % 2 == 0 {
                    "requests"
                } else {
                    "completions"
                }),
                load: if index % 2 == 0 {
                    Load::Requests(loads)
                } else {
                    Load::Completions(loads)
                },
                supply: Supply::Capacity(*capacity),
            });
        }
        host
    }

    fn program(&self) -> Program {
        let (host, mut program) = (self.host(), Program::default());
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
}
