//! What is wrong with single operations.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use fairlane_units::Bytes;

use crate::pattern::is_possible;
use crate::{Collective, Error, Kind, LONGEST, Operation, Program, Work};

/// Checks what each operation names.
pub(super) fn references(program: &Program) -> Result<(), Error> {
    let ranks = program.ranks.len() as u32;
    let members = groups(program)?;
    for (rank, operations) in (0u32..).zip(&program.ranks) {
        for (number, operation) in (0u32..).zip(operations) {
            let at = (rank, number);
            predecessors(at, operation, operations.len())?;
            match &operation.work {
                Work::Compute(_) => {}
                Work::Send {
                    to: other, size, ..
                }
                | Work::Receive {
                    from: other, size, ..
                } => {
                    peer(at, *other, ranks)?;
                    bounded(at, *size, 1)?;
                }
                Work::Collective(collective) => check_collective(at, collective, &members)?,
            }
        }
    }
    Ok(())
}

/// For each group its members in ascending order.
fn groups(program: &Program) -> Result<Vec<Vec<u32>>, Error> {
    let ranks = program.ranks.len() as u32;
    let mut all = Vec::new();
    for (number, group) in program.groups.iter().enumerate() {
        let mut members = group.clone();
        members.sort_unstable();
        let twice = members.windows(2).find(|pair| pair[0] == pair[1]);
        let unknown = members.last().filter(|last| **last >= ranks);
        let message = match (twice, unknown) {
            (Some(pair), _) => format!(
                "group {number} has rank {} twice, expected it once",
                pair[0]
            ),
            (_, Some(rank)) => format!(
                "group {number} has rank {rank}, expected 0 to {}",
                ranks.saturating_sub(1)
            ),
            _ => {
                all.push(members);
                continue;
            }
        };
        let at = first_of(program, number as u32);
        return Err(Error::new(
            at,
            message,
            "name each rank of the program once at most",
        ));
    }
    Ok(all)
}

/// The first operation in a group.
fn first_of(program: &Program, group: u32) -> (u32, u32) {
    let uses = |operation: &Operation| match &operation.work {
        Work::Collective(collective) => collective.group == group,
        _ => false,
    };
    let found = (0u32..).zip(&program.ranks).find_map(|(rank, operations)| {
        let number = operations.iter().position(uses)?;
        Some((rank, number as u32))
    });
    found.unwrap_or_default()
}

fn predecessors(at: (u32, u32), operation: &Operation, count: usize) -> Result<(), Error> {
    let all = operation.after.iter().chain(&operation.after_start);
    for &before in all {
        if before as usize >= count {
            let message =
                format!("waits for operation {before}, expected one of the rank's {count}");
            return Err(Error::new(at, message, "operations are counted from 0"));
        }
    }
    Ok(())
}

fn peer(at: (u32, u32), other: u32, ranks: u32) -> Result<(), Error> {
    if other == at.0 {
        let message = "a message of the rank to itself, expected another rank";
        return Err(Error::new(
            at,
            message,
            "a computation stands for a local copy",
        ));
    }
    if other < ranks {
        return Ok(());
    }
    let message = format!("names rank {other}, expected 0 to {}", ranks - 1);
    Err(Error::new(
        at,
        message,
        "is a rank missing from the program?",
    ))
}

fn bounded(at: (u32, u32), size: Bytes, least: u64) -> Result<(), Error> {
    if size.get() >= least && size <= LONGEST {
        return Ok(());
    }
    let message = format!("is of {size}, expected {} to {LONGEST}", Bytes::new(least));
    Err(Error::new(
        at,
        message,
        "divide it into several, or leave it out",
    ))
}

fn check_collective(at: (u32, u32), it: &Collective, groups: &[Vec<u32>]) -> Result<(), Error> {
    let Some(group) = groups.get(it.group as usize) else {
        let message = format!("names group {}, expected one of {}", it.group, groups.len());
        return Err(Error::new(at, message, "groups are counted from 0"));
    };
    if group.binary_search(&at.0).is_err() {
        let message = format!(
            "is a collective of group {}, which the rank isn't in",
            it.group
        );
        return Err(Error::new(at, message, "add the rank to the group"));
    }
    bounded(at, it.size, 0)?;
    if !is_possible(it.kind, it.algorithm) {
        let message = format!("{} isn't an algorithm for {}", it.algorithm, it.kind);
        return Err(Error::new(at, message, "take the usual one"));
    }
    let members = group.len();
    if let Kind::Broadcast { root } | Kind::Reduce { root } = it.kind
        && root as usize >= members
    {
        let message = format!("has root {root}, expected 0 to {}", members - 1);
        return Err(Error::new(
            at,
            message,
            "the root is an index into the group",
        ));
    }
    if it.parts.is_empty() {
        return Ok(());
    }
    let wrong: Option<String> = if it.kind != Kind::AllToAll {
        Some("has parts, which only an all-to-all may".into())
    } else if it.parts.len() != members {
        Some(format!(
            "has {} parts, expected one for each of {members} members",
            it.parts.len()
        ))
    } else {
        None
    };
    match wrong {
        Some(message) => Err(Error::new(
            at,
            message,
            "state what the rank sends to each member, 0 for itself",
        )),
        None => it.parts.iter().try_for_each(|part| bounded(at, *part, 0)),
    }
}

/// Which operations others wait for to begin, by rank.
pub(super) fn begun(program: &Program) -> Vec<Vec<bool>> {
    let of_rank = |operations: &Vec<Operation>| {
        let mut begun = vec![false; operations.len()];
        for &before in operations
            .iter()
            .flat_map(|operation| &operation.after_start)
        {
            begun[before as usize] = true;
        }
        begun
    };
    program.ranks.iter().map(of_rank).collect()
}
