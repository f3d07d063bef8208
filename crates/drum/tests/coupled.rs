//! The network's solver against its vector, a generic convex solver, itself in other forms, and what must
//! hold of any answer.

use fairlane_drum::coupled::{
    Choice, CoupledOptions, Flows, Network, RowKind, Rows, Selection, SharedRow, Source, solve,
    solve_chosen,
};
use fairlane_drum::{
    Application, Fairness, Host, Mode, Options, Sequential, Status, Table, Utility, Workers,
};
use proptest::prelude::*;

use crate::network::{clarabel_objective, coupled_vector, held, uses};
use crate::random::RandomNetwork;

fn exact() -> CoupledOptions {
    CoupledOptions {
        tolerance: 1e-12,
        ..CoupledOptions::default()
    }
}

#[test]
fn the_vector_is_met() {
    let (network, optimum) = coupled_vector();
    let solution = solve(&network.indexed().unwrap(), &exact(), &Sequential).unwrap();
    let objective = optimum["objective"].as_f64().unwrap();
    assert!(
        (solution.objective - objective).abs() < 1e-9 * objective,
        "{solution:?}"
    );
    assert!(
        solution.dual_bound >= objective * (1.0 - 1e-14),
        "{}",
        solution.dual_bound
    );
    for (own, right) in solution.x.iter().zip(optimum["x"].as_array().unwrap()) {
        let right = right.as_f64().unwrap();
        assert!(
            (own - right).abs() < 1e-7 * right,
            "{own} instead of {right}"
        );
    }
}

#[test]
fn a_generic_solver_agrees() {
    for (seed, alpha, beta) in [
        (1, 0.5, 0.01),
        (2, 1.0, 0.05),
        (3, 2.0, 0.01),
        (4, 0.5, 0.0),
    ] {
        let network = held(&RandomNetwork::new(4, 5, (alpha, beta), seed));
        let solution = solve(&network.indexed().unwrap(), &exact(), &Sequential).unwrap();
        let objective = clarabel_objective(&network).expect("a solution");
        let scale = objective.abs();
        assert!(
            (solution.objective - objective).abs() < 1e-7 * scale && solution.relative_gap() < 1e-9,
            "alpha {alpha}, beta {beta}: {} instead of {objective}, gap {:e}",
            solution.objective,
            solution.relative_gap(),
        );
    }
}

/// Networks from small to middling.
const SIZES: [(usize, usize, f64, f64); 9] = [
    (6, 5, 0.5, 0.01),
    (20, 20, 0.5, 0.01),
    (20, 20, 1.0, 0.05),
    (20, 20, 2.0, 0.01),
    (100, 50, 0.5, 0.01),
    (100, 50, 0.5, 1.0),
    (100, 50, 0.5, 0.0),
    (300, 50, 0.5, 0.01),
    (300, 50, 0.5, 1.0),
];

#[test]
fn all_reduces_are_few() {
    let mut table = String::from("   n  m alpha beta | 1e-2 1e-3 1e-4 1e-6\n");
    for (n, m, alpha, beta) in SIZES {
        let mut line = format!("{n:4} {m:2} {alpha:5} {beta:4} |");
        let network = RandomNetwork::new(n, m, (alpha, beta), 1);
        for gap in [1e-2, 1e-3, 1e-4, 1e-6] {
            let options = CoupledOptions {
                tolerance: gap,
                iterations: 150,
            };
            let solution = solve(&network, &options, &Sequential).unwrap();
            let close = solution.relative_gap() <= gap;
            line += &if close {
                format!(" {:4}", solution.iterations)
            } else {
                "    -".into()
            };
        }
        table += &line;
        table.push('\n');
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_rough_gap_takes_twenty_all_reduces_at_most() {
    for (n, m) in [(100, 50), (1000, 50), (100, 500)] {
        for seed in 1..=2 {
            let network = RandomNetwork::new(n, m, (0.5, 0.01), seed);
            let options = CoupledOptions {
                tolerance: 1e-2,
                ..CoupledOptions::default()
            };
            let solution = solve(&network, &options, &Sequential).unwrap();
            assert!(solution.relative_gap() <= 1e-2);
            assert!(
                solution.iterations <= 20,
                "{n} hosts of {m}, seed {seed}: {}",
                solution.iterations
            );
        }
    }
}

/// Items from the back, as if other threads were faster.
struct Backwards;

impl Workers for Backwards {
    fn for_each<T: Send>(&self, items: &mut [T], task: impl Fn(usize, &mut T) + Sync) {
        for (index, item) in items.iter_mut().enumerate().rev() {
            task(index, item);
        }
    }
}

/// A thread for each item.
struct Threads;

impl Workers for Threads {
    fn for_each<T: Send>(&self, items: &mut [T], task: impl Fn(usize, &mut T) + Sync) {
        std::thread::scope(|scope| {
            for (index, item) in items.iter_mut().enumerate() {
                let task = &task;
                scope.spawn(move || task(index, item));
            }
        });
    }
}

#[test]
fn threads_change_nothing() {
    let network = RandomNetwork::new(40, 10, (0.5, 0.01), 7);
    let options = CoupledOptions::default();
    let one = solve(&network, &options, &Sequential).unwrap();
    assert_eq!(one, solve(&network, &options, &Threads).unwrap());
    assert_eq!(one, solve(&network, &options, &Backwards).unwrap());
}

#[test]
fn choices_are_certified() {
    for (choice, outage, worst) in [
        (Choice::TopUtilities(5), 0.0, 1e-3),
        (Choice::ActiveSet(5), 0.0, 1e-2),
    ] {
        let beta = if choice == Choice::TopUtilities(5) {
            0.001
        } else {
            0.0
        };
        let network = held(&RandomNetwork::new(10, 30, (0.5, beta), 3));
        let source = network.indexed().unwrap();
        let selection = Selection { choice, outage };
        let options = CoupledOptions::default();
        let solution = solve_chosen(&source, selection, &options, &Sequential).unwrap();
        assert!(
            solution.relative_gap() < worst,
            "{choice:?}: {:e}",
            solution.relative_gap()
        );
        assert!(solution.objective <= solution.dual_bound);
        for host in solution.counts.chunks(30) {
            assert!(host.iter().filter(|&&counts| counts).count() <= 5);
        }
        for (used, row) in uses(&network, &solution.x).iter().zip(&network.rows) {
            assert!(*used <= row.capacity * (1.0 + 1e-12));
        }
    }
}

#[test]
fn one_host_alone_is_the_network_of_it_at_any_outage() {
    let (bytes, polls) = ([1.0, 0.5, 2.0, 1.5], [1.0, 1.0, 0.5, 2.0]);
    let mut table = Table::default();
    for j in 0..4 {
        table.push(Application {
            weight: 1.0 + 0.3 * j as f64,
            bytes: bytes[j],
            poll_cost: polls[j],
            ..Application::default()
        });
    }
    for (alpha, beta, outage) in [
        (1.0, 0.0, 0.0),
        (1.0, 0.0, 0.4),
        (1.0, 0.05, -1.0),
        (0.5, 0.05, 0.0),
        (0.5, 0.5, 1.0),
        (0.5, 0.0, 2.0),
        (2.0, 0.05, -0.6),
    ] {
        let utility = Utility {
            fairness: Fairness::Alpha(alpha),
            latency: beta,
        };
        let host = Host::new(table.view(), utility, 6.0, 5.0);
        let mode = Mode::ActiveSet {
            k: 2,
            outage: Some(&[outage; 4]),
        };
        let right = fairlane_drum::solve(&host, &mode, &Options::default()).unwrap();
        assert_eq!(right.status, Status::Optimal);
        let row = |loads: [f64; 4], capacity| SharedRow {
            kind: RowKind::Core,
            host: None,
            capacity,
            entries: loads.into_iter().enumerate().collect(),
        };
        let network = Network {
            hosts: 1,
            applications: 4,
            utility,
            weight: table.weight.clone(),
            latency_weight: table.latency_weight.clone(),
            completions: table.completions.clone(),
            minimum: Vec::new(),
            maximum: Vec::new(),
            rows: vec![row(bytes, 6.0), row(polls, 5.0)],
        };
        let choice = Choice::ActiveSet(2);
        let selection = Selection { choice, outage };
        let source = network.indexed().unwrap();
        let own = solve_chosen(&source, selection, &exact(), &Sequential).unwrap();
        assert!(
            (own.objective - right.objective).abs() < 1e-8 * right.objective.abs().max(1.0),
            "alpha {alpha}, beta {beta}, outage {outage}: {} instead of {}",
            own.objective,
            right.objective
        );
        assert!(own.dual_bound >= right.objective - 1e-9);
    }
}

#[test]
fn above_alpha_1_only_a_negative_outage_lets_anybody_send() {
    let network = held(&RandomNetwork::new(1, 3, (2.0, 0.0), 1));
    let source = network.indexed().unwrap();
    let solved = |outage| {
        let choice = Choice::ActiveSet(2);
        solve_chosen(&source, Selection { choice, outage }, &exact(), &Sequential)
    };
    let refused = solved(0.0).unwrap_err();
    assert!(refused.to_string().starts_with("outage") && refused.hint().is_some());
    assert!(solved(-1e3).unwrap().counts.contains(&true));
}

#[test]
fn choices_among_flows_with_floors_are_refused() {
    let mut network = held(&RandomNetwork::new(2, 3, (0.5, 0.0), 1));
    network.minimum = vec![0.0, 0.0, 0.0, 0.0, 1e-3, 0.0];
    let solved = |choice| {
        let source = network.indexed().unwrap();
        let selection = Selection {
            choice,
            outage: 0.0,
        };
        solve_chosen(&source, selection, &exact(), &Sequential)
    };
    for choice in [Choice::ActiveSet(2), Choice::TopUtilities(2)] {
        let refused = solved(choice).unwrap_err();
        assert!(refused.to_string().starts_with("x_min") && refused.hint().is_some());
    }
    assert!(solved(Choice::All).unwrap().x[4] >= 1e-3);
}

#[test]
fn no_other_choice_on_small_networks_is_better() {
    for seed in 0..12 {
        let alpha = [0.5, 1.0, 0.0, 2.0][seed as usize % 4];
        let network = held(&RandomNetwork::new(2, 4, (alpha, 0.01), seed));
        let selection = Selection {
            choice: Choice::TopUtilities(2),
            outage: 0.0,
        };
        let found = solve_chosen(
            &network.indexed().unwrap(),
            selection,
            &exact(),
            &Sequential,
        );
        let found = found.unwrap();
        assert!(
            found.relative_gap() < 1e-9,
            "{seed}: {:e}",
            found.relative_gap()
        );
        let pairs = || (0..4).flat_map(|a| (a + 1..4).map(move |b| [a, b]));
        let mut best = f64::NEG_INFINITY;
        for (first, second) in pairs().flat_map(|a| pairs().map(move |b| (a, b))) {
            let counts = |f: usize| {
                if f < 4 {
                    first.contains(&f)
                } else {
                    second.contains(&(f - 4))
                }
            };
            let mut chosen = network.clone();
            for (f, weight) in chosen.weight.iter_mut().enumerate() {
                *weight = if counts(f) { *weight } else { 0.0 };
            }
            let one = solve(&chosen.indexed().unwrap(), &exact(), &Sequential).unwrap();
            best = best.max(one.objective);
        }
        let short = (best - found.objective) / best.abs();
        assert!(
            short < 1e-9,
            "{seed}: {} instead of {best}",
            found.objective
        );
    }
}

#[test]
fn every_alpha_is_solved_on_small_networks() {
    for seed in 0..20 {
        for alpha in [0.0, 0.001, 0.1, 40.0] {
            let network = held(&RandomNetwork::new(4, 5, (alpha, 0.01), seed));
            let found = solve(&network.indexed().unwrap(), &exact(), &Sequential).unwrap();
            let gap = found.relative_gap();
            assert!(gap < 1e-9, "alpha {alpha}, seed {seed}: {gap:e}");
        }
        let mut network = held(&RandomNetwork::new(4, 5, (1.0, 0.0), seed));
        network.utility.fairness = Fairness::MaxMin;
        let found = solve(&network.indexed().unwrap(), &exact(), &Sequential).unwrap();
        assert!(found.relative_gap() < 1e-12, "max-min, seed {seed}");
    }
}

/// Upper bound that prices give.
fn bound(network: &Network, prices: &[f64]) -> f64 {
    let paid: f64 = network
        .rows
        .iter()
        .zip(prices)
        .map(|(row, price)| row.capacity * price)
        .sum();
    let mut flow_price = vec![0.0; network.weight.len()];
    for (row, price) in network.rows.iter().zip(prices) {
        for &(flow, coefficient) in &row.entries {
            flow_price[flow] += coefficient * price;
        }
    }
    // Of alpha 1/2 without latency: max 2 w sqrt(x) - p x = w^2 / p.
    let kept = network
        .weight
        .iter()
        .zip(&flow_price)
        .map(|(w, p)| w * w / p);
    paid + kept.sum::<f64>()
}

#[test]
fn the_dual_bound_of_a_selection_is_that_of_its_prices() {
    let mut less = 0;
    for seed in 0..20 {
        let (hosts, m, k) = (3, 5, 2);
        let network = held(&RandomNetwork::new(hosts, m, (0.5, 0.0), seed));
        let selection = Selection {
            choice: Choice::ActiveSet(k),
            outage: 0.0,
        };
        let source = network.indexed().expect("a network");
        let found = solve_chosen(&source, selection, &exact(), &Sequential).expect("a solution");
        let rows = || network.rows.iter().zip(&found.prices);
        let mut bound: f64 = rows().map(|(row, price)| row.capacity * price).sum();
        let mut price = vec![0.0; hosts * m];
        for (row, paid) in rows() {
            for &(flow, coefficient) in &row.entries {
                price[flow] += coefficient * paid;
            }
        }
        for host in 0..hosts {
            // No rate is more than what a row has.
            let most = |flow: usize| {
                let rows = network.rows.iter();
                let uses = rows.flat_map(|row| row.entries.iter().map(move |entry| (row, entry)));
                let own = uses.filter(|(_, (user, load))| *user == flow && *load > 0.0);
                let room = own.map(|(row, (_, load))| row.capacity / load);
                room.fold(f64::INFINITY, f64::min)
            };
            let keeps = |flow: usize| {
                let weight = network.weight[flow];
                let rate = (weight / price[flow]).powi(2).min(most(flow));
                2.0 * weight * rate.sqrt() - price[flow] * rate
            };
            let mut kept: Vec<f64> = (host * m..(host + 1) * m).map(keeps).collect();
            kept.sort_by(|a, b| b.total_cmp(a));
            bound += kept[..k].iter().sum::<f64>();
        }
        assert!(
            (found.dual_bound / bound - 1.0).abs() < 1e-9,
            "{seed}: {bound} {found:?}"
        );
        assert!((found.objective..=found.dual_bound).contains(&found.proven_bound));
        less += usize::from(found.proven_bound < found.dual_bound);
    }
    assert!(less > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_prices_bound_less_than_the_value(seed in 0..1000_u64, scale in 0.01..10.0_f64) {
        let network = held(&RandomNetwork::new(3, 4, (0.5, 0.0), seed));
        let solution = solve(&network.indexed().unwrap(), &exact(), &Sequential).unwrap();
        let prices: Vec<f64> = (0..network.rows.len())
            .map(|row| scale * (1.0 + ((row as u64 * 7919 + seed) % 13) as f64))
            .collect();
        prop_assert!(bound(&network, &prices) >= solution.objective);
        prop_assert!(solution.dual_bound >= solution.objective * (1.0 - 1e-13));
        for (used, row) in uses(&network, &solution.x).iter().zip(&network.rows) {
            prop_assert!(*used <= row.capacity * (1.0 + 1e-12));
        }
    }

    #[test]
    fn scaled_problems_have_scaled_solutions(seed in 0..1000_u64, scale in 0.01..100.0_f64) {
        let network = held(&RandomNetwork::new(3, 4, (0.5, 0.01), seed));
        let mut scaled = network.clone();
        for row in &mut scaled.rows {
            row.capacity *= scale;
        }
        // w sqrt(s x) + v (s x)^-2: the same value if weights take the powers.
        scaled.weight.iter_mut().for_each(|w| *w /= scale.sqrt());
        scaled.latency_weight.iter_mut().for_each(|v| *v *= scale * scale);
        let solve = |network: &Network| solve(&network.indexed().unwrap(), &exact(), &Sequential).unwrap();
        let (one, other) = (solve(&network), solve(&scaled));
        prop_assert!((one.objective - other.objective).abs() < 1e-9 * one.objective.abs());
        for (x, y) in one.x.iter().zip(&other.x) {
            prop_assert!((scale * x - y).abs() < 1e-4 * y, "{x} {y}");
        }
    }
}

#[test]
fn bad_problems_are_refused() {
    let network = held(&RandomNetwork::new(2, 2, (0.5, 0.0), 1));
    let refused = |change: &dyn Fn(&mut Network)| {
        let mut network = network.clone();
        change(&mut network);
        let solution = network
            .indexed()
            .and_then(|s| solve(&s, &exact(), &Sequential).map(|_| ()));
        solution.unwrap_err().to_string()
    };
    let errors = [
        refused(&|n| n.rows[0].capacity = 0.0),
        refused(&|n| n.rows[1].entries[0].1 = f64::NAN),
        refused(&|n| n.rows[1].entries[0].0 = 99),
        refused(&|n| n.weight.truncate(1)),
        refused(&|n| n.rows.clear()),
        refused(&|n| n.utility.fairness = Fairness::Alpha(-1.0)),
        refused(&|n| n.utility.fairness = Fairness::Alpha(f64::INFINITY)),
        refused(&|n| (n.utility.fairness, n.utility.latency) = (Fairness::MaxMin, 1.0)),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn a_source_tells_the_same_each_time() {
    let network = RandomNetwork::new(5, 7, (0.5, 0.01), 11);
    let (mut once, mut again) = (Flows::default(), Flows::default());
    network.fill(2, &mut once);
    network.fill(4, &mut again);
    network.fill(2, &mut again);
    assert_eq!(once, again);
}

/// Two hosts, the first with one flow; the throughput of some of the other's flows counts.
struct Uneven {
    network: RandomNetwork,
    counts: Vec<usize>,
}

impl Source for Uneven {
    fn hosts(&self) -> usize {
        2
    }

    fn utility(&self) -> Utility {
        self.network.utility()
    }

    fn capacities(&self) -> &[f64] {
        self.network.capacities()
    }

    fn flows(&self, host: usize) -> usize {
        [1, self.network.flows(1)][host]
    }

    fn fill(&self, host: usize, flows: &mut Flows) {
        self.network.fill(host, flows);
        let own = self.flows(host);
        flows.weight.truncate(own);
        flows.kappa.truncate(own);
        for column in &mut flows.columns {
            column.coefficient.truncate(own);
            if let Rows::Each(rows) = &mut column.rows {
                rows.truncate(own);
            }
        }
        for (flow, weight) in flows.weight.iter_mut().enumerate() {
            *weight *= f64::from(host == 0 || self.counts.contains(&flow));
        }
    }
}

#[test]
fn hosts_may_have_fewer_flows_than_may_count() {
    let choice = Choice::TopUtilities(3);
    let selection = Selection {
        choice,
        outage: 0.0,
    };
    for seed in 0..30 {
        let source = |counts: Vec<usize>| Uneven {
            network: RandomNetwork::new(2, 7, ([0.5, 0.2][seed as usize % 2], 0.01), seed),
            counts,
        };
        let all = source((0..7).collect());
        let found = solve_chosen(&all, selection, &exact(), &Sequential).expect("a solution");
        let triples = (0..7).flat_map(|a| (a + 1..7).map(move |b| (a, b)));
        let triples = triples.flat_map(|(a, b)| (b + 1..7).map(move |c| vec![a, b, c]));
        let values = triples.map(|counts| {
            let one = solve(&source(counts), &exact(), &Sequential).expect("a solution");
            one.objective
        });
        let best = values.fold(f64::NEG_INFINITY, f64::max);
        assert!(
            found.proven_bound >= best - 1e-11 * best.abs(),
            "{seed}: {best} {found:?}"
        );
        assert!(
            found.objective >= best - 1e-9 * best.abs(),
            "{seed}: {best} {found:?}"
        );
    }
}
