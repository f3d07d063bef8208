use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::Localiser;

/// The least value found, and what cuts say of others.
#[derive(Debug, PartialEq)]
struct Minimum {
    at: Vec<f64>,
    value: f64,
    lower: f64,
    evaluations: usize,
}

/// Cuts until a value is within `tolerance` (relative) of the least, or after so many evaluations.
fn minimise(
    upper: &[f64],
    limit: &[f64],
    tolerance: f64,
    evaluations: usize,
    mut oracle: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> Minimum {
    let mut localiser = Localiser::new(upper, limit);
    let mut prices = vec![0.0; upper.len()];
    let mut slope = prices.clone();
    let mut asked = 0;
    while asked < evaluations && !localiser.is_done(tolerance * localiser.best().abs()) {
        localiser.next(&mut prices);
        let value = oracle(&prices, &mut slope);
        localiser.on_value(&prices, value, &slope);
        asked += 1;
    }
    Minimum {
        at: localiser.best_at().unwrap_or(&prices).to_vec(),
        value: localiser.best(),
        lower: localiser.lower(),
        evaluations: asked,
    }
}

/// `sum c |x - m| + q (x - m)^2`: kinks and curvature, least value 0 at `m`.
fn kinked(at: &[f64], middle: &[f64], slope: &mut [f64], (kink, curve): (f64, f64)) -> f64 {
    let mut value = 0.0;
    for (index, (x, m)) in at.iter().zip(middle).enumerate() {
        let away = x - m;
        value += kink * away.abs() + curve * away * away;
        let side = if away >= 0.0 { 1.0 } else { -1.0 };
        slope[index] = kink * side + 2.0 * curve * away;
    }
    value
}

fn check(middle: &[f64], upper: f64, shape: (f64, f64), tolerance: f64) {
    let dimensions = middle.len();
    let limit = vec![f64::INFINITY; dimensions];
    let found = minimise(
        &vec![upper; dimensions],
        &limit,
        1e-10,
        6000,
        |at, slope| 1.0 + kinked(at, middle, slope, shape),
    );
    assert!(
        (found.value - 1.0).abs() < tolerance,
        "{found:?}, middle {middle:?}"
    );
    assert!(found.lower <= 1.0 + 1e-12, "{found:?}");
}

proptest! {
    #[test]
    fn the_least_value_is_found_in_one_dimension(
        middle in 1e-3..100.0, upper in 0.1..1e3, kink in 0.0..2.0, curve in 0.01..2.0,
    ) {
        check(&[middle], upper, (kink, curve), 1e-9);
    }

    #[test]
    fn the_least_value_is_found_in_the_plane(
        a in 1e-3..100.0, b in 1e-3..100.0, upper in 0.1..1e3, kink in 0.0..2.0, curve in 0.01..2.0,
    ) {
        check(&[a, b], upper, (kink, curve), 1e-9);
    }

    #[test]
    fn the_least_value_is_found_in_more_dimensions(
        middle in proptest::collection::vec(0.1..10.0, 3..6), kink in 0.0..1.0, curve in 0.1..2.0,
    ) {
        check(&middle, 12.0, (kink, curve), 1e-8);
    }

    #[test]
    fn a_linear_function_is_least_at_zero(a in 0.1..10.0, b in 0.1..10.0, upper in 0.1..1e3) {
        let found = minimise(&[upper; 2], &[f64::INFINITY; 2], 1e-12, 400, |at, slope| {
            slope.copy_from_slice(&[a, b]);
            3.0 + a * at[0] + b * at[1]
        });
        prop_assert!((found.value - 3.0).abs() < 1e-9, "{:?}", found);
    }

    #[test]
    fn limits_hold(limit in 0.1..0.9, upper in 0.01..10.0) {
        let limits = [limit, f64::INFINITY];
        let found = minimise(&[upper; 2], &limits, 1e-12, 400, |at, slope| {
            assert!(at[0] <= limit);
            slope.copy_from_slice(&[2.0 * (at[0] - 1.0), 2.0 * (at[1] - 5.0)]);
            1.0 + (at[0] - 1.0) * (at[0] - 1.0) + (at[1] - 5.0) * (at[1] - 5.0)
        });
        let expected = 1.0 + (1.0 - limit) * (1.0 - limit);
        prop_assert!((found.value - expected).abs() < 1e-9, "{:?}", found);
    }
}

#[test]
fn infinite_values_are_cut_off() {
    // -log x + x, infinite below 0.5: the least value 1 is at 1.
    let found = minimise(&[8.0], &[f64::INFINITY], 1e-13, 200, |at, slope| {
        if at[0] < 0.5 {
            slope[0] = -1.0;
            return f64::INFINITY;
        }
        slope[0] = 1.0 - 1.0 / at[0];
        at[0] - libm::log(at[0])
    });
    assert!((found.value - 1.0).abs() < 1e-12, "{found:?}");
}

#[test]
fn the_plane_takes_few_evaluations() {
    let counts: Vec<usize> = [(0.3, 0.8), (2.5, 0.1), (0.01, 3.9)]
        .iter()
        .map(|&(a, b)| {
            minimise(&[4.0; 2], &[f64::INFINITY; 2], 1e-9, 400, |at, slope| {
                1.0 + kinked(at, &[a, b], slope, (0.1, 1.0))
            })
            .evaluations
        })
        .collect();
    assert!(counts.iter().all(|count| *count <= 70), "{counts:?}");
}
