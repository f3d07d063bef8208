//! Where the interior-point method begins: with room in all rows, since where rates bend much it takes long to make some.

use alloc::vec::Vec;

use super::{Column, Program};

/// Part of what rows have left that rates take.
const TAKEN: f64 = 0.85;
/// Part that rates which are tied to others take, together, of what these give.
const TIED: f64 = 0.5;

/// Rates to begin with: above the least ones by what takes alike of a row from all who use it.
pub(super) fn starts(program: &Program) -> Vec<f64> {
    let low: Vec<f64> = program.columns.iter().map(|column| column.low).collect();
    let rows = program.supplies.iter().zip(program.usage(&low));
    let room = rows.map(|(supply, base)| match supply.is_hard() {
        true => (1.0 - base).max(0.0),
        false => 1.0,
    });
    let room: Vec<f64> = room.collect();
    let mut users = alloc::vec![0.0; room.len()];
    for (index, column) in program.columns.iter().enumerate() {
        for (row, _) in program.uses(index) {
            users[*row as usize] += f64::from(column.low < column.high);
        }
    }
    let above = |(index, column): (usize, &Column)| {
        let rows = program.uses(index).iter();
        let rows = rows.filter(|(row, _)| !is_tie(program, *row));
        let part = |(row, load): &(u32, f64)| {
            let row = *row as usize;
            TAKEN * room[row] / (users[row] * load)
        };
        let span = column.high - column.low;
        let above = rows.map(part).fold(span, f64::min);
        match (above.is_finite(), above < span) {
            (true, true) => above,
            (true, false) => 0.5 * span,
            (false, _) => 1.0,
        }
    };
    let mut above: Vec<f64> = program.columns.iter().enumerate().map(above).collect();
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
    let mut takers = alloc::vec![0.0; given.len()];
    for (index, above) in above.iter().enumerate() {
        for (row, load) in program.uses(index) {
            given[*row as usize] += (-load).max(0.0) * above;
            takers[*row as usize] += f64::from(*load > 0.0);
        }
    }
    for (index, above) in above.iter_mut().enumerate() {
        let uses = program.uses(index).iter();
        for (row, load) in uses.filter(|(row, load)| is_tie(program, *row) && *load > 0.0) {
            let row = *row as usize;
            *above = above.min(TIED * given[row] / (takers[row] * load));
        }
    }
}
