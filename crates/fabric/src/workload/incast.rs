//! Many to one, again and again.

use fairlane_engine::Stream;
use fairlane_scenario::{Error, Verb};
use fairlane_units::{Bytes, Duration, NodeId, Time};

use super::context::{Context, Messages};
use crate::MessageSpec;

/// Destination port of incast messages; HPCC's analysis tells messages apart by it.
const INCAST_PORT: u16 = 200;

/// Rounds in each of which `degree` random hosts send to one receiver.
pub(super) struct Incast {
    pub(super) degree: u32,
    pub(super) size: Bytes,
    pub(super) receiver: Option<NodeId>,
    pub(super) start: Duration,
    pub(super) period: Duration,
    pub(super) rounds: u32,
    pub(super) jitter: Duration,
    /// In ascending order.
    pub(super) hosts: Vec<NodeId>,
    pub(super) class: u8,
}

impl Incast {
    pub(super) fn generate(
        &self,
        context: &Context<'_>,
        messages: &mut Messages,
    ) -> Result<(), Error> {
        self.check(context)?;
        let template = context.template(self.size, self.start, self.class)?;
        let template = MessageSpec {
            destination_port: INCAST_PORT,
            ..template
        };
        let mut choices = context.shared_stream();
        let mut jitters: Vec<_> = self
            .hosts
            .iter()
            .map(|host| context.stream(*host))
            .collect();
        for round in 0..self.rounds {
            let destination = self.choose_receiver(&mut choices);
            let start = self.round_start(template.start, round);
            for sender in self.choose_senders(destination, &mut choices) {
                // The data of a READ flows to the host that posts it.
                let (source, destination) = match template.verb {
                    Verb::Read => (destination, self.hosts[sender]),
                    _ => (self.hosts[sender], destination),
                };
                let message = MessageSpec {
                    source,
                    destination,
                    start: start.saturating_add(self.jitter(&mut jitters[sender])),
                    ..template
                };
                messages.push(context, message)?;
            }
        }
        Ok(())
    }

    fn check(&self, context: &Context<'_>) -> Result<(), Error> {
        let receiving = self.receiver.is_none_or(|host| self.hosts.contains(&host));
        let senders = self.hosts.len() - usize::from(receiving && !self.hosts.is_empty());
        if self.degree == 0 || self.degree as usize > senders {
            let message = format!("is {}, expected 1 to {senders}", self.degree);
            let hint = "the receiver is none of the senders; add hosts or lower the degree";
            return Err(context.error("degree", message, hint));
        }
        Ok(())
    }

    fn round_start(&self, first: Time, round: u32) -> Time {
        first.saturating_add(self.period.saturating_mul(u64::from(round)))
    }

    fn choose_receiver(&self, choices: &mut Stream) -> NodeId {
        self.receiver
            .unwrap_or_else(|| self.hosts[below(choices, self.hosts.len())])
    }

    /// Indices of the senders in ascending order: the first steps of a Fisher-Yates shuffle.
    fn choose_senders(&self, receiver: NodeId, choices: &mut Stream) -> Vec<usize> {
        let may_send = |index: &usize| self.hosts[*index] != receiver;
        let mut pool: Vec<usize> = (0..self.hosts.len()).filter(may_send).collect();
        let degree = self.degree as usize;
        for index in 0..degree {
            let other = index + below(choices, pool.len() - index);
            pool.swap(index, other);
        }
        pool.truncate(degree);
        pool.sort_unstable();
        pool
    }

    /// Uniform in `0..=jitter`.
    fn jitter(&self, stream: &mut Stream) -> Duration {
        if self.jitter.is_zero() {
            return Duration::ZERO;
        }
        Duration::from_ps(stream.below(self.jitter.as_ps().saturating_add(1)))
    }
}

/// An index below `count`.
#[expect(clippy::cast_possible_truncation, reason = "below a number that fits")]
pub(super) fn below(stream: &mut Stream, count: usize) -> usize {
    stream.below(count as u64) as usize
}
