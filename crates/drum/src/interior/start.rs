//! Where the interior-point method begins: with room in all rows, since where rates bend much it takes long to make some.

use alloc::vec::Vec;

use super::{Column, Program};
use crate::math::clamp;

/// Part of what rows have left that rates take so that they are alike, and part that they take each.
const ALIKE: f64 = 0.85;
const EACH: f64 = 0.05;
/// Part that rates which are tied to others take of what these give.
const TIED: f64 = 0.5;
/// Halvings that find what is alike.
const HALVINGS: usize = 50;

/// Rates to begin with: above the least ones, and alike as far as these allow.
pub(super) fn starts(program: &Program) -> Vec<f64> {
    let all =
        |value: &dyn Fn(&Column) -> f64| program.columns.iter().map(value).collect::<Vec<f64>>();
    let loads = program.usage(&all(&|column| f64::from(column.low < column.high)));
    let base = program.usage(&all(&|column| column.low));
    let rows = program.supplies.iter().zip(&base);
    let room = rows.map(|(supply, base)| match supply.is_hard() {
        true => (1.0 - base).max(0.0),
        false => 1.0,
    });
    let room: Vec<f64> = room.collect();
    let levels = levels(program, &base, &room, &loads);
    let mut users = alloc::vec![0.0; base.len()];
    for (index, column) in program.columns.iter().enumerate() {
        for (row, _) in program.uses(index) {
            users[*row as usize] += f64::from(column.low < column.high);
        }
    }
    let above = |index: usize| {
        let column = &program.columns[index];
        let Column { low, high, .. } = *column;
        let rows = program
            .uses(index)
            .iter()
            .filter(|(row, _)| !is_tie(program, *row));
        let rows = rows.map(|(row, load)| (*row as usize, *load));
        let is_hard = |(row, _): &(usize, f64)| program.supplies[*row].is_hard();
        let level = |(row, _): (usize, f64)| levels[row];
        let limit = rows.clone().filter(is_hard).map(level);
        let limit = limit.fold(f64::INFINITY, f64::min);
        let level = rows.clone().map(level).fold(f64::INFINITY, f64::min);
        let share = rows.clone().map(|(row, _)| room[row] / loads[row]);
        let share = share.fold(f64::INFINITY, f64::min);
        let bought = rows.clone().filter(|use_of| !is_hard(use_of));
        let price = bought.fold(0.0, |price, (row, load)| {
            price + load * program.supplies[row].highest()
        });
        // Rows with a price are worth more than their unit where even what is dearest is worth it.
        let dearest = match price > 0.0 && column.bends(program.alpha) {
            true => program.answer(column, price).min(limit),
            false => 0.0,
        };
        // Where nothing bends rates have no size of their own, and uses are alike instead.
        let part = rows.map(|(row, load)| ALIKE * room[row] / (users[row] * load));
        let above = match column.bends(program.alpha) {
            true => (level.max(dearest) - low).max(EACH * share),
            false => part.fold(f64::INFINITY, f64::min),
        };
        let above = above.min(high - low);
        match (above.is_finite(), high.is_finite()) {
            (true, _) => above,
            (false, true) => 0.5 * (high - low),
            (false, false) => 1.0,
        }
    };
    let mut above: Vec<f64> = (0..program.columns.len()).map(above).collect();
    limit_tied(program, &mut above);
    let columns = program.columns.iter().zip(above);
    columns.map(|(column, above)| column.low + above).collect()
}

/// Whether a row has only what some rates give it.
fn is_tie(program: &Program, row: u32) -> bool {
    !program.supplies[row as usize].has_room()
}

/// Lets rates that are tied to others be as high as these allow.
fn limit_tied(program: &Program, above: &mut [f64]) {
    let mut given = alloc::vec![0.0; program.supplies.len()];
    for (index, above) in above.iter().enumerate() {
        for (row, load) in program.uses(index) {
            given[*row as usize] += (-load).max(0.0) * above;
        }
    }
    for (index, above) in above.iter_mut().enumerate() {
        let uses = program.uses(index).iter();
        for (row, load) in uses.filter(|(row, load)| is_tie(program, *row) && *load > 0.0) {
            *above = above.min(TIED * given[*row as usize] / load);
        }
    }
}

/// By row the rate at which all who have less by their least rates fill it but for a part.
fn levels(program: &Program, base: &[f64], room: &[f64], loads: &[f64]) -> Vec<f64> {
    let highest = |row: usize| (base[row] + room[row]) / loads[row];
    let mut bounds: Vec<(f64, f64)> = (0..base.len()).map(|row| (0.0, highest(row))).collect();
    let mut usage = alloc::vec![0.0; base.len()];
    for _ in 0..HALVINGS {
        usage.fill(0.0);
        for (index, column) in program.columns.iter().enumerate() {
            for (row, load) in program.uses(index) {
                let (low, high) = bounds[*row as usize];
                usage[*row as usize] += load * clamp(0.5 * (low + high), column.low, column.high);
            }
        }
        for (row, (low, high)) in bounds.iter_mut().enumerate() {
            let middle = 0.5 * (*low + *high);
            match usage[row] > base[row] + ALIKE * room[row] {
                true => *high = middle,
                false => *low = middle,
            }
        }
    }
    bounds.into_iter().map(|(low, _)| low).collect()
}
