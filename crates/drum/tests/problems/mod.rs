//! Random problems whose numbers have nothing in common.

use fairlane_drum::coupled::{Network, RowKind, SharedRow};
use fairlane_drum::{
    Application, Dependency, Fairness, Host, Load, Row, RowName, Supply, Table, Utility,
};

/// Most flows of a network.
const FLOWS: f64 = 20_000.0;

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

/// A problem, one of two kinds.
pub(crate) enum Problem {
    Network(Network),
    Attempts(Attempts),
}

/// A host whose polls may be more than its completions.
pub(crate) struct Attempts {
    pub(crate) table: Table,
    pub(crate) utility: Utility,
    /// Egress and polling, and then limits of requests and of completions.
    capacities: [f64; 2],
    pub(crate) others: Vec<(Vec<f64>, f64)>,
}

impl Problem {
    /// Four of five are networks.
    pub(crate) fn random(seed: u64, most_rows: f64) -> Self {
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
            false => Self::Network(network(&mut random, utility, most_rows)),
        }
    }
}

/// A network of log-uniform size, in which everything differs by orders of magnitude: weights by eight.
fn network(random: &mut Random, utility: Utility, most_rows: f64) -> Network {
    let rows = random.spread(2.0, most_rows).round() as usize;
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

    pub(crate) fn host(&self) -> Host<'_> {
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
}
