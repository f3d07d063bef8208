//! Ring all-reduces of hosts.

use fairlane_units::{Bytes, Duration, MessageId, NodeId};

use super::context::Context;
use super::kind::{Figures, Kind, StatedSizes, workload};
use super::message::MessageSpec;
use super::messages::Messages;
use crate::error::{Error, ensure};
use crate::host_set::HostSet;
use crate::rules::message;
use crate::section::{Check, number};

workload! {
    /// n hosts in ascending order, 2(n-1) steps; in each a host sends size/n to its successor once it has received the
    /// previous step. Unlike under `collective`, its next round begins with its last received block, without waiting for
    /// acknowledgements.
    RingAllReduce [hosts] {
        /// Size of the vector.
        size: Bytes,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Collectives, one after the other.
        rounds: u32 = "number::<1, u32>" => positive,
        /// Hosts that take part.
        hosts: HostSet = "HostSet::default",
    } + class + message + sends + owner & paths
}

impl Kind for RingAllReduce {
    fn check(&self, context: &Context<'_>) -> Check {
        let (size, hosts) = (self.size, context.several(&self.hosts)?);
        // A message carries a part for each host.
        let part = message(context.run.profile, &Bytes::new(size.get().div_ceil(hosts)));
        part.map_err(|error| error.at(context.key("size")))?;
        let channels = u64::from(self.channels);
        let of = match channels {
            1 => String::new(),
            _ => format!(" and {channels} channels"),
        };
        ensure!(size.get() >= hosts.saturating_mul(channels), context.key("size"),
            "is {size}, expected at least a byte for each of {hosts} hosts{of}";
            "raise it, or name fewer hosts");
        let step = hosts.saturating_mul(2 * (hosts - 1));
        context.messages(step.saturating_mul(u64::from(self.rounds)))
    }

    /// Each step carries a part of the vector.
    fn sizes(&self, _: &Context<'_>) -> Option<StatedSizes> {
        Some(StatedSizes {
            smallest: Bytes::new(1),
            ..StatedSizes::one(self.size)
        })
    }

    /// A reduce-scatter of n - 1 steps and an all-gather of n - 1 steps around a ring of n hosts.
    ///
    /// In step s host i sends chunk (i - s) mod n to host i + 1, once it has received that chunk from
    /// host i - 1 in step s - 1 (Patarasuk and Yuan, 2009).
    fn generate(&self, context: &Context<'_>, messages: &mut Messages) -> Result<(), Error> {
        let hosts = context.members("hosts", &self.hosts)?;
        let template = MessageSpec {
            delay: self.send_latency,
            ..context.template(self.verb, self.class, self.start)
        };
        let (count, channels) = (hosts.len(), self.channels);
        let first = messages.number_connections(channels);
        let rings = (0..channels).map(|channel| Ring {
            size: share(self.size, channels.into(), channel.into()),
            connection: first + channel,
            between: count * channels as usize,
            hosts: hosts.clone(),
        });
        let rings: Vec<Ring> = rings.collect();
        for round in 0..self.rounds {
            for number in 0..2 * (count - 1) {
                // A host begins a round when it has received its last chunk of the round before.
                let follows = round > 0 || number > 0;
                for ring in &rings {
                    ring.step(context, &template, RingStep { number, follows }, messages)?;
                }
            }
        }
        Ok(())
    }

    fn heading(&self, figures: &dyn Figures) -> String {
        let size = figures.size(self.size);
        format!("ring all-reduce of {size}, {} rounds", self.rounds)
    }
}

/// One of `count` parts that add up exactly and differ by at most one byte.
fn share(size: Bytes, count: u64, index: u64) -> Bytes {
    let size = size.get();
    Bytes::new(size / count + u64::from(index < size % count))
}

/// A step of a ring.
#[derive(Clone, Copy)]
struct RingStep {
    number: usize,
    /// Whether hosts wait for what they receive in the step before.
    follows: bool,
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
        step: RingStep,
        messages: &mut Messages,
    ) -> Result<(), Error> {
        let count = self.hosts.len();
        let first = messages.next_index();
        for (index, source) in self.hosts.iter().enumerate() {
            let predecessor = (index + count - 1) % count;
            let message = MessageSpec {
                source: *source,
                destination: self.hosts[(index + 1) % count],
                size: self.chunk((index + 2 * count - step.number) % count),
                after: step
                    .follows
                    .then(|| before(first, self.between, predecessor)),
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
