//! Ring all-reduce.

use fairlane_scenario::{Error, RingAllReduce};
use fairlane_units::{Bytes, MessageId, NodeId};

use super::context::{Context, Messages};
use crate::MessageSpec;

/// A reduce-scatter of n - 1 steps and an all-gather of n - 1 steps around a ring of n hosts.
///
/// In step s host i sends chunk (i - s) mod n to host i + 1, once it has received that chunk from
/// host i - 1 in step s - 1 (Patarasuk and Yuan, 2009).
pub(super) fn generate(
    context: &Context<'_>,
    workload: &RingAllReduce,
    messages: &mut Messages,
) -> Result<(), Error> {
    let template = context.template(workload.size, workload.start, workload.class)?;
    let hosts = context.members(&workload.hosts, "hosts")?;
    let size = workload.size;
    context.at_least_two(&hosts)?;
    let count = hosts.len();
    let channels = context.channels;
    if size.get() < count as u64 * u64::from(channels) {
        let of = match channels {
            1 => String::new(),
            _ => format!(" and {channels} channels"),
        };
        let message = format!("is {size}, expected at least a byte for each of {count} hosts{of}");
        return Err(context.error("size", message, "reduce a larger vector"));
    }
    let first = messages.number_connections(channels);
    let rings = (0..channels).map(|channel| Ring {
        size: share(size, channels.into(), channel.into()),
        connection: first + channel,
        between: count * channels as usize,
        hosts: hosts.clone(),
    });
    let rings: Vec<Ring> = rings.collect();
    for round in 0..workload.rounds {
        for step in 0..2 * (count - 1) {
            // A host begins a round when it has received its last chunk of the round before.
            let follows = round > 0 || step > 0;
            for ring in &rings {
                ring.step(context, &template, (step, follows), messages)?;
            }
        }
    }
    Ok(())
}

/// One of `count` parts that add up exactly and differ by at most one byte.
fn share(size: Bytes, count: u64, index: u64) -> Bytes {
    let size = size.get();
    Bytes::new(size / count + u64::from(index < size % count))
}

struct Ring {
    /// Size of the vector; the chunks add up to it exactly and differ by at most one byte.
    size: Bytes,
    /// The connections that it goes over.
    connection: u32,
    /// Messages from one step to the next: those of all rings in one step.
    between: usize,
    /// In ascending order.
    hosts: Vec<NodeId>,
}

impl Ring {
    fn step(
        &self,
        context: &Context<'_>,
        template: &MessageSpec,
        (step, follows): (usize, bool),
        messages: &mut Messages,
    ) -> Result<(), Error> {
        let count = self.hosts.len();
        let first = messages.next_index();
        for (index, source) in self.hosts.iter().enumerate() {
            let predecessor = (index + count - 1) % count;
            let message = MessageSpec {
                source: *source,
                destination: self.hosts[(index + 1) % count],
                size: self.chunk((index + 2 * count - step) % count),
                after: follows.then(|| before(first, self.between, predecessor)),
                connection: Some(self.connection),
                ..*template
            };
            messages.push(context, message)?;
        }
        Ok(())
    }

    fn chunk(&self, index: usize) -> Bytes {
        share(self.size, self.hosts.len() as u64, index as u64)
    }
}

/// The message of host `index` in the step before the one whose messages begin at `first`, which is `between` messages back.
fn before(first: u32, between: usize, index: usize) -> MessageId {
    let back = u32::try_from(between - index).unwrap_or(u32::MAX);
    MessageId::new(first.saturating_sub(back))
}
