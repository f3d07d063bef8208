//! Prices row by row, for where the interior-point method ends with a gap: terms of utility that differ by many
//! orders of magnitude have prices that do, and its steps have one size for all.

use alloc::vec::Vec;

use super::{Point, Program};
use crate::nested::Nested;
use crate::newton::Model;
use crate::pass::Pass;
use crate::problem::AnyKernel;

/// Most times that all rows are gone through, and passes for a row each time.
const SWEEPS: usize = 200;
const PASSES: usize = 150;
/// Sweeps without a smaller gap after which there is none to come.
const PATIENCE: usize = 10;

/// One row of a program, while the prices of the others stay.
struct OneRow<'a> {
    program: &'a Program,
    /// Rates that use the row: which one, how much, and what the others' prices are for it.
    uses: Vec<(usize, f64, f64)>,
    floors: f64,
}

impl Model<1> for OneRow<'_> {
    fn pass(&self, [price]: [f64; 1]) -> Pass<1> {
        let use_of = |&(index, load, others): &(usize, f64, f64)| {
            let column = &self.program.columns[index];
            load * self.program.answer(column, others + load * price)
        };
        Pass {
            usage: [self.uses.iter().map(use_of).sum()],
            ..Pass::ZERO
        }
    }

    fn first_prices(&self) -> [f64; 1] {
        let slope = |&(index, load, _): &(usize, f64, f64)| {
            let column = &self.program.columns[index];
            let even = 1.0 / (load * self.uses.len() as f64);
            self.program.slope(column, even.max(column.low)).0 / load
        };
        let most = self.uses.iter().map(slope).fold(0.0, f64::max);
        [if most.is_finite() { most } else { 1.0 }]
    }

    fn floors(&self) -> [f64; 1] {
        [self.floors]
    }

    fn is_linear(&self) -> bool {
        matches!(self.program.kernel, AnyKernel::Linear(_))
    }
}

impl Program {
    /// A better point than `from`, or that; looks at about `most` uses of rows by rates.
    pub(crate) fn settle(&self, from: Point, tolerance: f64, most: usize) -> Point {
        let users = self.users();
        let mut prices = from.prices.clone();
        let mut best = from;
        let (mut since, mut work) = (0, 0);
        for _ in 0..SWEEPS {
            if best.gap() <= tolerance || since >= PATIENCE || work >= most {
                break;
            }
            for (row, users) in users.iter().enumerate() {
                let model = self.one_row(row, users, &prices);
                let supply = &self.supplies[row..=row];
                let mut nested = Nested::new(&model, supply, &prices[row..=row], PASSES);
                nested.run();
                prices[row] = nested.prices[0];
                work += (nested.passes + 1) * users.len();
            }
            let point = self.point(&prices, best.passes + 1);
            let closer = point.gap() < best.gap();
            since = if closer { 0 } else { since + 1 };
            if closer {
                best = point;
            }
        }
        best
    }

    /// Rates that use each row, and how much.
    fn users(&self) -> Vec<Vec<(usize, f64)>> {
        let mut users = alloc::vec![Vec::new(); self.supplies.len()];
        for index in 0..self.columns.len() {
            for &(row, load) in self.uses(index) {
                users[row as usize].push((index, load));
            }
        }
        users
    }

    fn one_row(&self, row: usize, users: &[(usize, f64)], prices: &[f64]) -> OneRow<'_> {
        let others = |index: usize| -> f64 {
            let uses = self.uses(index).iter();
            let others = uses.filter(|(other, _)| *other as usize != row);
            others
                .map(|(other, load)| load * prices[*other as usize])
                .sum()
        };
        let use_of = |&(index, load): &(usize, f64)| (index, load, others(index));
        OneRow {
            program: self,
            uses: users.iter().map(use_of).collect(),
            floors: users
                .iter()
                .map(|(index, load)| load * self.columns[*index].low)
                .sum(),
        }
    }

    /// What prices lead to.
    pub(crate) fn point(&self, prices: &[f64], passes: usize) -> Point {
        let answer = |(index, column)| self.answer(column, self.price(index, prices));
        let mut rates: Vec<f64> = self.columns.iter().enumerate().map(answer).collect();
        self.fit(&mut rates);
        let objective = self.value(&rates);
        Point {
            objective,
            bound: self.bound(prices).max(objective),
            rates,
            prices: prices.to_vec(),
            passes,
        }
    }
}
