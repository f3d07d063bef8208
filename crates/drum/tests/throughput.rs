//! Greatest throughput with a latency term: utilities that bend by latency alone, or not at all.

use fairlane_drum::{Host, Load, Mode, Options, Row, RowName, Supply, solve};

use crate::common::{Owned, Random};

/// Hosts of each kind.
const HOSTS: usize = 400;

/// A host of which some applications have no latency term, with bounds that bind or without any.
fn mixed(random: &mut Random, number: usize) -> Owned {
    let m = 1 + (random.bits() % 30) as usize;
    let beta = random.pick(&[1e-4, 0.01, 1.0]);
    let mut owned = Owned::random(random, m, 0.0, beta);
    for latency in &mut owned.table.latency_weight {
        if random.within(0.0, 1.0) < 0.5 {
            *latency = 0.0;
        }
    }
    if number.is_multiple_of(3) {
        owned.table.maximum.fill(f64::INFINITY);
    }
    owned
}

/// Further rows: some use a limit, others a price.
fn add_rows<'a>(host: &mut Host<'a>, loads: &'a [f64], price: &'a [(f64, f64)], number: usize) {
    let row = |name, supply| Row {
        name: RowName::Other(name),
        load: Load::Requests(loads),
        supply,
    };
    if number % 2 == 1 {
        host.rows
            .push(row("limit", Supply::Capacity(price[1].0 * 1.5)));
    }
    if number % 5 < 2 {
        host.rows.push(row("price", Supply::Price(price)));
    }
}

#[test]
fn throughput_with_latency_is_exact() {
    let mut random = Random(11);
    for number in 0..HOSTS {
        let m = 1 + (random.bits() % 30) as usize;
        let beta = random.pick(&[1e-4, 0.01, 1.0]);
        let owned = Owned::random(&mut random, m, 0.0, beta);
        let solution = solve(&owned.host(), &Mode::All, &Options::default())
            .unwrap_or_else(|error| panic!("host {number}: {error}"));
        let gap = solution.relative_gap();
        assert!(gap < 1e-9, "host {number}: {gap:e}");
    }
}

#[test]
fn throughput_is_exact_where_only_some_have_latency() {
    let mut random = Random(12);
    for number in 0..HOSTS {
        let owned = mixed(&mut random, number);
        let m = owned.table.weight.len();
        let loads: Vec<f64> = (0..m).map(|_| random.within(0.2, 2.0)).collect();
        let most = owned.egress * random.within(0.2, 1.0);
        let slope = random.within(0.05, 0.5);
        let price = [
            (0.0, slope),
            (0.5 * most, 3.0 * slope),
            (most, 30.0 * slope),
        ];
        let mut host = owned.host();
        add_rows(&mut host, &loads, &price, number);
        let peak: Vec<f64> = (0..m)
            .map(|j| owned.table.minimum[j] + random.within(0.5, 3.0))
            .collect();
        let turns = Mode::TimeShare {
            k: 0.7 * m as f64,
            peak: &peak,
        };
        for mode in [Mode::All, turns] {
            let solution = match solve(&host, &mode, &Options::default()) {
                Ok(solution) => solution,
                Err(fairlane_drum::Error::Infeasible { .. }) => continue,
                Err(error) => panic!("host {number}: {error}"),
            };
            let gap = solution.relative_gap();
            // Nothing that is rounded is closer where no row has a price either.
            let most = if number % 5 < 2 { 1e-9 } else { 1e-8 };
            assert!(gap < most, "host {number}, {mode:?}: {gap:e}");
        }
    }
}
