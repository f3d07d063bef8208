//! Rows that least rates fill, so that no interior is left.

use alloc::vec::Vec;

use super::Program;

/// Part of a row that counts as nothing where least rates leave it.
const NOTHING: f64 = 1e-14;
/// Least rate at which utility rises by a number.
const LEAST: f64 = 1e-20;

impl Program {
    /// Rows that least rates fill: who uses them has no choice, nor who is tied to them, and no interior is left. Ties come
    /// first.
    pub(super) fn full_rows(&self) -> Vec<usize> {
        let low: Vec<f64> = self.columns.iter().map(|column| column.low).collect();
        let base = self.usage(&low);
        let is_full = |row: usize| {
            let supply = &self.supplies[row];
            supply.is_hard() && supply.has_room() && base[row] > 1.0 - NOTHING
        };
        let mut is_tied = alloc::vec![false; base.len()];
        for index in 0..self.columns.len() {
            let uses = self.uses(index);
            if uses.iter().any(|(row, _)| is_full(*row as usize)) {
                for (row, _) in uses.iter().filter(|(_, load)| *load < 0.0) {
                    is_tied[*row as usize] = true;
                }
            }
        }
        let tied = (0..base.len()).filter(|row| is_tied[*row]);
        tied.chain((0..base.len()).filter(|row| is_full(*row)))
            .collect()
    }

    /// The program in which rates have their least values that are worth nothing and give nothing, or use rows that are full;
    /// and these rows are used by nobody.
    pub(super) fn without_choices(&self, full: &[usize]) -> Self {
        let mut program = self.clone();
        let mut is_full = alloc::vec![false; self.supplies.len()];
        for row in full {
            is_full[*row] = true;
        }
        for (index, column) in program.columns.iter_mut().enumerate() {
            let mut uses = self.uses(index).iter();
            let gives = self.uses(index).iter().any(|(_, load)| *load < 0.0);
            if (column.is_idle() && !gives) || uses.any(|(row, _)| is_full[*row as usize]) {
                column.high = column.low;
            }
        }
        for (row, load) in &mut program.uses {
            if is_full[*row as usize] {
                *load = 0.0;
            }
        }
        program
    }

    /// Prices of rows that are full, at which nobody who uses them wants more than the least rate. What gives to a tie wants
    /// less of it the higher its price is, so the row that it fills comes later.
    pub(super) fn price_full_rows(&self, full: &[usize], prices: &mut [f64]) {
        for &full in full {
            prices[full] = 0.0;
            let mut highest = 0.0_f64;
            for (index, column) in self.columns.iter().enumerate() {
                let mut uses = self.uses(index).iter();
                let uses = uses.find(|(row, load)| *row as usize == full && *load > 0.0);
                if let Some((_, load)) = uses {
                    let (slope, _) = self.slope(column, column.low.max(LEAST));
                    highest = highest.max((slope - self.price(index, prices)) / load);
                }
            }
            prices[full] = highest;
        }
    }
}
