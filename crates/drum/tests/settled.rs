//! Terms of utility that have nothing in common: latency that outweighs all throughput, outages beyond all values,
//! networks whose rows have prices many orders of magnitude apart.

use fairlane_drum::coupled::{
    Choice, CoupledOptions, Network, RowKind, Selection, SharedRow, solve as solve_network,
    solve_chosen,
};
use fairlane_drum::{Error, Fairness, Mode, Options, Sequential, Status, Utility, solve};

use crate::instances::{Instance, Random, best_active_set, tied, value};

/// Values of applications that don't send: their utility at `part` of an equal share.
fn outages(instance: &Instance, part: f64) -> Vec<f64> {
    let (table, alpha) = (&instance.table, instance.alpha);
    let rate = part * instance.egress / table.bytes.iter().sum::<f64>();
    let one = |j: usize| {
        let polls = table.completions[j] * rate;
        let utility = rate.powf(1.0 - alpha) / (1.0 - alpha);
        table.weight[j] * utility - instance.beta * table.latency_weight[j] / (polls * polls)
    };
    (0..table.len()).map(one).collect()
}

#[test]
fn selections_dominated_by_latency_are_the_best() {
    let mut random = Random(35);
    let mut gaps = 0;
    for number in 0..60 {
        let alpha = random.pick(&[1.5, 3.0]);
        let beta = random.pick(&[1.0, 100.0, 1e4]);
        let m = 3 + (random.bits() % 5) as usize;
        let k = 1 + (random.bits() % m as u64) as usize;
        let instance = Instance::random(&mut random, m, k, alpha, beta);
        let part = random.pick(&[0.5, 0.1, 1e-3]);
        let outage = outages(&instance, part);
        let host = instance.host();
        let mode = Mode::ActiveSet {
            k,
            outage: Some(&outage),
        };
        let solution = solve(&host, &mode, &Options::default()).expect("a solution");
        let (best, set) = best_active_set(&host, k, &outage);
        let size = best.abs();
        assert!(
            (solution.objective - best).abs() <= 1e-9 * size,
            "{number}: {set:?} {solution:?}"
        );
        assert!(
            solution.dual_bound >= best - 1e-12 * size,
            "{number}: {solution:?}"
        );
        assert!(solution.status == Status::Optimal, "{number}: {solution:?}");
        gaps += usize::from(solution.dual_bound - best > 1e-6 * size);
    }
    // Such selections have a gap between prices and the best; the search is what proves them.
    assert!(gaps > 2, "only {gaps} gaps");
}

#[test]
fn outages_beyond_all_values_leave_bounds_right() {
    let mut random = Random(21);
    for number in 0..40 {
        let m = 2 + (random.bits() % 8) as usize;
        let instance = Instance::random(&mut random, m, m, 8.0, 1.0);
        let outage = vec![-1e21; m];
        let host = instance.host();
        let mode = Mode::ActiveSet {
            k: m,
            outage: Some(&outage),
        };
        let own = solve(&host, &mode, &Options::default()).expect("a solution");
        let all = solve(&host, &Mode::All, &Options::default()).expect("a solution");
        assert!(
            (own.objective / all.objective - 1.0).abs() < 1e-9,
            "{number}: {own:?}"
        );
        assert!(own.relative_gap() < 1e-9, "{number}: {own:?}");
        assert!(
            (own.dual_bound / all.objective - 1.0).abs() < 1e-9,
            "{number}: {own:?}"
        );
    }
}

#[test]
fn rates_fill_rows_where_one_term_outweighs_the_others() {
    let mut random = Random(653);
    for number in 0..40 {
        let mut instance = Instance::random(&mut random, 20, 20, 50.0, 0.0);
        // The rate of one is so small that its utility is all that a value shows.
        instance.table.maximum[0] = 0.2;
        let host = instance.host();
        let solution = solve(&host, &Mode::All, &Options::default()).expect("a solution");
        let full = host.rows.iter().zip(&solution.usage);
        let capacities = [instance.egress, instance.poll];
        let fullest = full.zip(capacities).map(|((_, used), all)| used / all);
        assert!(
            fullest.fold(0.0, f64::max) > 1.0 - 1e-8,
            "{number}: {:?}",
            solution.usage
        );
        let worth = value(
            &host,
            &solution.x,
            &tied(&host, &solution.x),
            |_| true,
            |_| true,
        );
        assert!((worth / solution.objective - 1.0).abs() < 1e-9);
    }
}

#[test]
fn values_beyond_all_numbers_are_refused() {
    let mut random = Random(5);
    for (rates, latency) in [(1e-8, 0.0), (1e-7, 1e-9), (1e9, 0.0)] {
        let mut instance = Instance::random(&mut random, 4, 4, 50.0, latency);
        (instance.egress, instance.poll) = (instance.egress * rates, instance.poll * rates);
        let host = instance.host();
        for mode in [Mode::All, Mode::TopUtilities { k: 1 }] {
            let refused = solve(&host, &mode, &Options::default());
            assert_eq!(refused, Err(Error::Range), "{rates:e} {mode:?}");
        }
    }
}

/// A network of `hosts`, whose flows go anywhere, with least rates that use `part` of the fullest row.
fn network(random: &mut Random, alpha: f64, part: f64) -> Network {
    let (hosts, applications) = (4, 4);
    let flows = hosts * applications;
    let mut draw = |low: f64, high: f64| -> Vec<f64> {
        (0..flows).map(|_| random.within(low, high)).collect()
    };
    let (weight, latency_weight) = (draw(-3.0, 3.0), draw(0.5, 2.0));
    let (bytes, mut minimum) = (draw(0.5, 2.0), draw(-0.5, 1.0));
    let to: Vec<usize> = draw(0.0, hosts as f64)
        .iter()
        .map(|host| *host as usize)
        .collect();
    minimum.iter_mut().for_each(|least| *least = least.max(0.0));
    let row = |kind, host: Option<usize>, capacity: f64, uses: &dyn Fn(usize) -> bool| SharedRow {
        kind,
        host,
        capacity,
        entries: (0..flows)
            .filter(|flow| uses(*flow))
            .map(|flow| (flow, bytes[flow]))
            .collect(),
    };
    let mut rows = Vec::new();
    for host in 0..hosts {
        let own = |flow: usize| flow / applications == host;
        rows.push(row(RowKind::Egress, Some(host), 4.0, &own));
        rows.push(row(RowKind::Ingress, Some(host), 3.0, &|flow| {
            to[flow] == host
        }));
    }
    rows.push(row(RowKind::Core, None, 7.0, &|_| true));
    let used = |row: &SharedRow| -> f64 {
        let entries = row.entries.iter();
        entries
            .map(|(flow, load)| load * minimum[*flow])
            .sum::<f64>()
            / row.capacity
    };
    let fullest = rows.iter().map(used).fold(1e-9, f64::max);
    minimum
        .iter_mut()
        .for_each(|least| *least *= part / fullest);
    Network {
        hosts,
        applications,
        utility: Utility {
            fairness: Fairness::Alpha(alpha),
            latency: 0.1,
        },
        weight: weight
            .iter()
            .map(|exponent| 10.0_f64.powf(*exponent))
            .collect(),
        latency_weight,
        completions: vec![1.0; flows],
        minimum,
        maximum: Vec::new(),
        rows,
    }
}

#[test]
fn networks_with_tight_least_rates_leave_no_gap() {
    let mut random = Random(106);
    let options = CoupledOptions {
        tolerance: 1e-12,
        ..CoupledOptions::default()
    };
    let mut greatest: f64 = 0.0;
    for number in 0..200 {
        let alpha = random.pick(&[0.001, 0.5, 1.0, 3.0, 8.0, 50.0]);
        let part = random.pick(&[0.5, 0.9, 0.999]);
        let network = network(&mut random, alpha, part);
        let source = network.indexed().expect("a network");
        let found = solve_network(&source, &options, &Sequential).expect("a solution");
        let gap = found.relative_gap();
        assert!(
            gap < 1e-6,
            "network {number}, alpha {alpha}, {part}: {gap:e}"
        );
        greatest = greatest.max(gap);
    }
    println!("greatest gap {greatest:.1e}");
}

/// Hosts with one flow each, which nobody shares a row with but in the core.
fn lonely(alpha: f64) -> Network {
    let row = |host: usize| SharedRow {
        kind: RowKind::Egress,
        host: Some(host),
        capacity: 1.0 + host as f64,
        entries: vec![(host, 2.0)],
    };
    Network {
        hosts: 3,
        applications: 1,
        utility: Utility {
            fairness: Fairness::Alpha(alpha),
            latency: 0.01,
        },
        weight: vec![1.0, 2.0, 0.5],
        latency_weight: vec![1.0; 3],
        completions: vec![1.0; 3],
        minimum: vec![0.0; 3],
        maximum: Vec::new(),
        rows: (0..3).map(row).collect(),
    }
}

#[test]
fn a_row_that_one_flow_fills_has_a_price() {
    let options = CoupledOptions {
        tolerance: 1e-12,
        ..CoupledOptions::default()
    };
    for alpha in [0.1, 0.5, 1.0, 3.0] {
        let network = lonely(alpha);
        let source = network.indexed().expect("a network");
        let found = solve_network(&source, &options, &Sequential);
        let found = found.expect("a solution");
        for flow in 0..3 {
            let rate = (1.0 + flow as f64) / 2.0;
            let slope = network.weight[flow] * rate.powf(-alpha) + 0.02 * rate.powf(-3.0);
            let price = found.prices[flow];
            assert!(
                (price * 2.0 / slope - 1.0).abs() < 1e-5,
                "alpha {alpha}, flow {flow}: {price}"
            );
        }
    }
}

#[test]
fn flows_worth_little_are_selected_all_the_same() {
    let mut network = lonely(3.0);
    network.minimum.clear();
    network.weight = vec![0.0, 0.0, 0.5];
    let selection = Selection {
        choice: Choice::ActiveSet(1),
        outage: -222.0,
    };
    let source = network.indexed().expect("a network");
    let options = CoupledOptions {
        tolerance: 1e-9,
        ..CoupledOptions::default()
    };
    let found = solve_chosen(&source, selection, &options, &Sequential).expect("a solution");
    assert_eq!(found.counts, [true; 3], "{found:?}");
    assert!(found.relative_gap() < 1e-6, "{found:?}");
}

#[test]
fn values_of_networks_beyond_all_numbers_are_refused() {
    let mut network = lonely(50.0);
    network.utility.latency = 0.0;
    for row in &mut network.rows {
        row.capacity *= 1e9;
    }
    let source = network.indexed().expect("a network");
    let refused = solve_network(&source, &CoupledOptions::default(), &Sequential);
    assert_eq!(refused.err(), Some(Error::Range));
}
