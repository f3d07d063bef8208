//! Prices alone, for where the interior-point method ends with a gap: terms of utility that differ by many orders of
//! magnitude have prices that do, and its steps have one size for all.

use alloc::vec::Vec;

use super::Program;
use super::factor::{Pattern, Term};
use crate::fixed::Answer;
use crate::path::{Demand, prices};
use crate::supply::Staircase;

/// Rates that answer to prices.
struct Rates<'a> {
    program: &'a Program,
    pattern: Pattern,
    flexible: Vec<f64>,
}

impl Rates<'_> {
    fn terms(&self, index: usize) -> Term<'_> {
        Term {
            uses: self.program.uses(index),
            factor: self.flexible[index],
        }
    }
}

impl Demand for Rates<'_> {
    fn ask(&mut self, prices: &[f64]) -> (Vec<f64>, f64) {
        let mut usage = alloc::vec![0.0; prices.len()];
        let mut kept = 0.0;
        for (index, column) in self.program.columns.iter().enumerate() {
            let price = self.program.price(index, prices);
            let (rate, flexible) = self.program.response(column, price);
            self.flexible[index] = flexible;
            for &(row, load) in self.program.uses(index) {
                usage[row as usize] += load * rate;
            }
            kept += self.program.worth(column, rate) - price * rate;
        }
        (usage, kept)
    }

    fn changes(&self, prices: &[f64], resist: &[f64], wanted: Vec<f64>) -> Option<Vec<f64>> {
        let diagonal: Vec<f64> = resist.iter().zip(prices).map(|(r, p)| r / p).collect();
        let columns = || (0..self.flexible.len()).map(|index| self.terms(index));
        let factor = self.pattern.factor(&diagonal, columns());
        let found = self.pattern.solve(&factor, &diagonal, columns, &wanted);
        let changes: Vec<f64> = found.iter().zip(prices).map(|(d, p)| d / p).collect();
        changes
            .iter()
            .all(|change| change.is_finite())
            .then_some(changes)
    }
}

impl Program {
    /// What prices lead to that are found in their logarithms, from some of about the right size; nothing where rates don't
    /// follow from prices.
    pub(crate) fn by_prices(&self, size: f64, tolerance: f64) -> Option<Answer> {
        if self.alpha == 0.0 || !self.supplies.iter().all(Staircase::is_hard) {
            return None;
        }
        let columns = 0..self.columns.len();
        let mut rates = Rates {
            program: self,
            pattern: Pattern::new(self.supplies.len(), columns.map(|index| self.uses(index))),
            flexible: alloc::vec![0.0; self.columns.len()],
        };
        let floors: Vec<f64> = self.columns.iter().map(|column| column.low).collect();
        let base = self.usage(&floors);
        let (prices, passes) = prices(&mut rates, &base, size, tolerance)?;
        let answer = |(index, column)| self.answer(column, self.price(index, &prices));
        let rates: Vec<f64> = self.columns.iter().enumerate().map(answer).collect();
        let point = self.certified(&rates, &prices, passes);
        (point.gap() < f64::INFINITY).then_some(point)
    }
}
