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
        let is_full = |row: u32| {
            let supply = &self.supplies[row as usize];
            supply.is_hard() && supply.has_room() && base[row as usize] > 1.0 - NOTHING
        };
        let mut full: Vec<usize> = (0..base.len()).filter(|row| is_full(*row as u32)).collect();
        for index in 0..self.columns.len() {
            let uses = self.uses(index);
            if uses.iter().any(|(row, _)| is_full(*row)) {
                let gives = uses.iter().filter(|(_, load)| *load < 0.0);
                full.splice(0..0, gives.map(|(row, _)| *row as usize));
            }
        }
        full
    }

    /// The program in which rates have their least values that are worth nothing, or use rows that are full; and these rows
    /// are used by nobody.
    pub(super) fn without_choices(&self, full: &[usize]) -> Self {
        let mut program = self.clone();
        let is_full = |row: u32| full.contains(&(row as usize));
        for (index, column) in program.columns.iter_mut().enumerate() {
            if column.is_idle() || self.uses(index).iter().any(|(row, _)| is_full(*row)) {
                column.high = column.low;
            }
        }
        for (row, load) in &mut program.uses {
            if is_full(*row) {
                *load = 0.0;
            }
        }
        program
    }

    /// Prices of rows that are full, at which nobody who uses them wants more than the least rate.
    pub(super) fn price_full_rows(&self, full: &[usize], prices: &mut [f64]) {
        for &full in full {
            prices[full] = 0.0;
            let mut highest = 0.0_f64;
            for (index, column) in self.columns.iter().enumerate() {
                let own = self
                    .uses(index)
                    .iter()
                    .find(|(row, _)| *row as usize == full);
                if let Some((_, load)) = own {
                    let (slope, _) = self.slope(column, column.low.max(LEAST));
                    highest = highest.max((slope - self.price(index, prices)) / load);
                }
            }
            prices[full] = highest;
        }
    }
}
