//! The messages that workloads generate.

use fairlane_units::{MessageId, Time};

use super::context::Context;
use super::message::{MessageSpec, PAIR};
use super::steps::{STEP, Steps};
use crate::error::Error;

/// Messages of a run; 4,096 hosts all to all are just below.
pub const MAX_MESSAGES: usize = 1 << 24;
/// No message starts later, so that no time in a run overflows: 106 days.
const LAST_START: Time = Time::from_ps(u64::MAX / 2);

/// The messages so far, in order of generation, and what programs do beside sending.
#[derive(Debug, Default)]
pub struct Messages {
    all: Vec<MessageSpec>,
    pub(super) steps: Steps,
    /// Connections that have been numbered, of communicators.
    connections: u32,
}

impl Messages {
    /// Numbers for so many connections of communicators: the first of them.
    pub(super) const fn number_connections(&mut self, count: u32) -> u32 {
        let first = PAIR + 1 + self.connections;
        self.connections += count;
        first
    }

    /// The index of the next message.
    pub(super) fn next_index(&self) -> u32 {
        u32::try_from(self.all.len()).unwrap_or(u32::MAX)
    }

    /// Adds a message, unless there are too many or it starts too late.
    pub(super) fn push(
        &mut self,
        context: &Context<'_>,
        message: MessageSpec,
    ) -> Result<(), Error> {
        if self.all.len() >= MAX_MESSAGES {
            let message = format!("asks for more than {MAX_MESSAGES} messages in all");
            return Err(context.error("kind", message, "shorten the workload or use fewer hosts"));
        }
        if message.start > LAST_START {
            let message = format!("a message starts later than {LAST_START}");
            return Err(context.error("start", message, "start earlier or send fewer rounds"));
        }
        self.all.push(message);
        Ok(())
    }

    /// The messages in order of start, those of equal start in order of generation, and the steps.
    pub fn sorted(mut self) -> (Vec<MessageSpec>, Steps) {
        (sorted(self.all, &mut self.steps), self.steps)
    }
}

/// Sorts by start, keeping the order of equal starts, and lets [`MessageSpec::after`],
/// [`MessageSpec::joins`] and [`MessageSpec::part_of`] follow.
///
/// A predecessor that starts no later and comes earlier also comes earlier in the result.
pub fn by_start(messages: Vec<MessageSpec>) -> Vec<MessageSpec> {
    sorted(messages, &mut Steps::default())
}

/// As [`by_start`]; edges of `steps` follow, too.
fn sorted(messages: Vec<MessageSpec>, steps: &mut Steps) -> Vec<MessageSpec> {
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
