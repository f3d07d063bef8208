//! No prices give a bound below what can be had.

use fairlane_drum::{DualFunction, Load, Mode, Options, Row, RowName, Supply, solve};
use proptest::prelude::*;

use crate::common::{Owned, Random, value};

proptest! {
    #[test]
    fn every_price_bounds_every_rate(
        seed in any::<u64>(),
        m in 1..30_usize,
        alpha in prop::sample::select(vec![0.0, 0.25, 0.5, 0.999, 1.0, 1.001, 2.0, 8.0]),
        beta in prop::sample::select(vec![0.001, 0.1, 1.0]),
        exponents in prop::array::uniform2(-3.0..2.0_f64),
    ) {
        let mut random = Random(seed);
        let owned = Owned::random(&mut random, m, alpha, beta);
        let host = owned.host();
        let solution = solve(&host, &Mode::All, &Options::default()).expect("a solution");
        let dual = DualFunction::new(&host).expect("a dual function");
        let slack = 1e-9 * solution.objective.abs();
        let prices = exponents.map(|exponent| 10_f64.powf(exponent));
        prop_assert!(dual.at(&prices) >= solution.objective - slack);
        prop_assert!((dual.at(&solution.prices) - solution.dual_bound).abs() <= slack);
        prop_assert!((value(&host, &solution.x, |_| true) - solution.objective).abs() <= slack);
        for (used, capacity) in solution.usage.iter().zip([owned.egress, owned.poll]) {
            prop_assert!(*used <= capacity * (1.0 + 1e-12));
        }
        for j in 0..m {
            let (least, most) = (owned.table.minimum[j], owned.table.maximum[j]);
            prop_assert!((least..=most).contains(&solution.x[j]), "{} of {least}..{most}", solution.x[j]);
        }
    }

    #[test]
    fn bound_and_value_are_those_of_prices_and_rates(
        seed in any::<u64>(),
        m in 1..60_usize,
        rows in 0..4_usize,
        alpha in 0.05..20.0_f64,
        beta in prop::sample::select(vec![0.0, 0.001, 1.0]),
    ) {
        let mut random = Random(seed);
        let mut owned = Owned::random(&mut random, m, alpha, beta);
        owned.table.minimum.fill(0.0);
        owned.table.maximum.fill(f64::INFINITY);
        let loads: Vec<Vec<f64>> = (0..rows)
            .map(|_| (0..m).map(|_| random.within(0.0, 2.0)).collect())
            .collect();
        let mut host = owned.host();
        host.rows.extend(loads.iter().map(|loads| Row {
            name: RowName::Other("more"),
            load: Load::Requests(loads),
            supply: Supply::Capacity(random.within(0.1, 2.0) * m as f64),
        }));
        let solution = solve(&host, &Mode::All, &Options::default()).expect("a solution");
        let dual = DualFunction::new(&host).expect("a dual function");
        let off = (dual.at(&solution.dual_prices) - solution.dual_bound).abs();
        prop_assert!(off <= 1e-13 * solution.scale, "{off} of {}", solution.scale);
        let off = (value(&host, &solution.x, |_| true) - solution.objective).abs();
        prop_assert!(off <= 1e-13 * solution.scale, "{off} of {}", solution.scale);
        for (used, row) in solution.usage.iter().zip(&host.rows) {
            let Supply::Capacity(capacity) = row.supply else { continue };
            prop_assert!(*used <= capacity * (1.0 + 1e-12), "{used} of {capacity}");
        }
    }

    #[test]
    fn a_price_instead_of_a_capacity_is_bounded_too(
        seed in any::<u64>(),
        m in 1..12_usize,
        steps in prop::collection::vec((0.01..2.0_f64, 0.0..2.0_f64), 1..6),
        exponent in -2.0..1.0_f64,
    ) {
        let mut random = Random(seed);
        let owned = Owned::random(&mut random, m, 0.5, 0.1);
        let (mut start, mut slope) = (0.0, 0.05);
        let segments: Vec<(f64, f64)> = steps
            .iter()
            .map(|step| {
                let segment = (start, slope);
                start += step.0 * m as f64;
                slope += step.1;
                segment
            })
            .collect();
        let mut host = owned.host();
        host.rows[0] = Row { name: RowName::Egress, load: Load::Bytes, supply: Supply::Price(&segments) };
        let solution = solve(&host, &Mode::All, &Options::default()).expect("a solution");
        prop_assert!(solution.relative_gap() < 1e-9, "{solution:?}");
        let dual = DualFunction::new(&host).expect("a dual function");
        let slack = 1e-9 * solution.objective.abs();
        prop_assert!(dual.at(&[10_f64.powf(exponent), solution.prices[1]]) >= solution.objective - slack);
    }
}
