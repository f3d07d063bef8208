//! Order of start.

use fairlane_units::MessageId;

use crate::MessageSpec;
use crate::steps::{STEP, Steps};

/// Sorts by start, keeping the order of equal starts, and lets [`MessageSpec::after`],
/// [`MessageSpec::joins`] and [`MessageSpec::part_of`] follow.
///
/// A predecessor that starts no later and comes earlier also comes earlier in the result.
pub(crate) fn by_start(messages: Vec<MessageSpec>) -> Vec<MessageSpec> {
    sorted(messages, &mut Steps::default())
}

/// As [`by_start`]; edges of `steps` follow, too.
pub(super) fn sorted(messages: Vec<MessageSpec>, steps: &mut Steps) -> Vec<MessageSpec> {
    if messages.is_sorted_by_key(|message| message.start) {
        return messages;
    }
    let count = u32::try_from(messages.len()).unwrap_or(u32::MAX);
    let mut order: Vec<u32> = (0..count).collect();
    order.sort_by_key(|index| messages[*index as usize].start);
    let mut places = vec![0; messages.len()];
    for (place, index) in (0u32..).zip(&order) {
        places[*index as usize] = place;
    }
    for (before, after) in &mut steps.edges {
        for node in [before, after] {
            if *node < STEP {
                *node = places[*node as usize];
            }
        }
    }
    let place = |message: MessageId| MessageId::new(places[message.index()]);
    let moved = |index: &u32| {
        let message = messages[*index as usize];
        MessageSpec {
            after: message.after.map(place),
            joins: message.joins.map(place),
            part_of: message.part_of.map(place),
            ..message
        }
    };
    order.iter().map(moved).collect()
}
