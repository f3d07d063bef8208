//! Programs as GOAL schedules.

use std::fmt::Write as _;

use fairlane_program::{Operation, Program, Work};

use crate::Error;

/// Writes a program as a GOAL schedule whose computations are in nanoseconds.
///
/// Operations are called `l0`, `l1` ...; their names and steps are left out. [`read`](super::read) gives the same program.
///
/// # Errors
/// For what GOAL has no words for: collectives, and computations that aren't whole nanoseconds.
pub fn write(program: &Program) -> Result<String, Error> {
    let mut out = format!("num_ranks {}\n", program.ranks.len());
    for (rank, operations) in program.ranks.iter().enumerate() {
        let _ = write!(out, "\nrank {rank} {{\n");
        for (number, operation) in operations.iter().enumerate() {
            let place = || format!("rank {rank}, operation {number}");
            let work = statement(operation)
                .map_err(|(message, hint)| Error::new(place(), message, hint))?;
            let _ = writeln!(out, "l{number}: {work}");
        }
        for (number, operation) in operations.iter().enumerate() {
            for before in &operation.after {
                let _ = writeln!(out, "l{number} requires l{before}");
            }
            for before in &operation.after_start {
                let _ = writeln!(out, "l{number} irequires l{before}");
            }
        }
        out.push_str("}\n");
    }
    Ok(out)
}

fn statement(operation: &Operation) -> Result<String, (String, &'static str)> {
    let mut text = match &operation.work {
        Work::Compute(time) if time.as_ps() % 1000 == 0 => format!("calc {}", time.as_ns()),
        Work::Compute(time) => {
            let message = format!("takes {time}, expected whole nanoseconds");
            return Err((message, "GOAL has no fractions"));
        }
        Work::Send { to, size, tag } => format!("send {}b to {to} tag {tag}", size.get()),
        Work::Receive { from, size, tag } => format!("recv {}b from {from} tag {tag}", size.get()),
        Work::Collective(_) => {
            let message = "is a collective, expected a computation or a message";
            return Err((message.into(), "GOAL has messages only"));
        }
    };
    if operation.stream != 0 {
        let _ = write!(text, " cpu {}", operation.stream);
    }
    if let Some(nic) = operation.nic {
        let _ = write!(text, " nic {nic}");
    }
    Ok(text)
}
