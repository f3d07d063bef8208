//! Rates at prices that are almost right, brought onto the rows that have a price.
//!
//! Where utilities hardly bend, rates answer to the last digit of a price. The change of rates that fills rows
//! exactly and costs least, to second order, is that of further prices: each rate changes by its flexibility
//! times what they charge it.

use alloc::vec::Vec;

use crate::kernel::Kernel;
use crate::linear::solve_symmetric;
use crate::math::clamp;
use crate::problem::{AnyKernel, Block, Problem, with_kernel};

/// Corrections: rates that reach a bound leave the rest to others.
const ROUNDS: usize = 4;
/// Difference between worth and cost, over worth, that counts as none.
const LEVEL: f64 = 1e-6;
/// Flexibility of a rate that nothing bends, over that of one that a cost of its worth takes all from.
const FREE: f64 = 1e6;

/// Rates changed so that `binding` rows are used up; nothing if no rate is free to.
pub(crate) fn polish<const R: usize>(
    problem: &Problem,
    rates: &[Block],
    prices: [f64; R],
    binding: [bool; R],
) -> Option<Vec<Block>> {
    let mut rates = rates.to_vec();
    for _ in 0..ROUNDS {
        let flexible = flexibilities(problem, &rates, prices);
        let usage = problem.usage(&rates);
        let left: [f64; R] =
            core::array::from_fn(|r| if binding[r] { 1.0 - usage[r] } else { 0.0 });
        let changes = solve_symmetric(response(problem, &flexible, binding), left)?;
        let entries = rates.as_flattened_mut().iter_mut().zip(&flexible);
        for (j, (rate, flexible)) in entries.enumerate() {
            let charge: f64 = (0..R)
                .filter(|r| binding[*r])
                .map(|r| changes[r] * problem.rows[r].as_flattened()[j])
                .sum();
            let (floor, cap) = (problem.floors[j], problem.caps[j]);
            let next = *rate + flexible * charge;
            // What bends is known around the rate alone.
            let next = if is_level(problem, j) {
                next
            } else {
                clamp(next, 0.5 * *rate, 2.0 * *rate)
            };
            *rate = clamp(next, floor, cap);
        }
    }
    Some(rates)
}

/// `-1 / phi''` of each application whose rate is between its bounds, 0 for others. Where nothing bends and a
/// rate is worth what it costs, any rate is as good.
fn flexibilities<const R: usize>(problem: &Problem, rates: &[Block], prices: [f64; R]) -> Vec<f64> {
    let charge = |j: usize| -> f64 {
        let rows = problem.rows.iter().zip(prices);
        rows.map(|(row, price)| row.as_flattened()[j] * price).sum()
    };
    let (weight, kappa) = (problem.weight.as_flattened(), problem.kappa.as_flattened());
    let rates = rates.as_flattened();
    let one = |j: usize| {
        let rate = rates[j];
        if is_level(problem, j) {
            let open = (charge(j) - weight[j]).abs() <= LEVEL * weight[j];
            let most = problem.caps[j];
            return if open {
                FREE * most / weight[j].max(1e-300)
            } else {
                0.0
            };
        }
        if rate <= problem.floors[j] || rate >= problem.caps[j] {
            return 0.0;
        }
        with_kernel!(problem.kernel, k => k.worth::<true>(weight[j], kappa[j], k.variable(rate)).flexibility)
    };
    (0..problem.applications).map(one).collect()
}

/// Whether nothing bends the utility of an application.
fn is_level(problem: &Problem, j: usize) -> bool {
    matches!(problem.kernel, AnyKernel::Linear(_)) && problem.kappa.as_flattened()[j] == 0.0
}

/// How the use of binding rows answers to their prices; other rows answer to themselves alone.
fn response<const R: usize>(
    problem: &Problem,
    flexible: &[f64],
    binding: [bool; R],
) -> [[f64; R]; R] {
    let mut matrix = [[0.0; R]; R];
    for r in 0..R {
        for s in 0..R {
            if binding[r] && binding[s] {
                let (a, b) = (
                    problem.rows[r].as_flattened(),
                    problem.rows[s].as_flattened(),
                );
                let terms = flexible.iter().zip(a.iter().zip(b));
                matrix[r][s] = terms.map(|(f, (a, b))| f * a * b).sum();
            }
        }
        if !binding[r] {
            matrix[r][r] = 1.0;
        }
    }
    matrix
}
