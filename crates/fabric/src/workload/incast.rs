//! Many to one, again and again.

use fairlane_engine::Stream;
use fairlane_scenario::{Error, Incast, Verb};
use fairlane_units::{Duration, NodeId};

use super::context::{Context, Messages};
use crate::MessageSpec;

/// Destination port of incast messages; HPCC's analysis tells messages apart by it.
const INCAST_PORT: u16 = 200;

/// Rounds in each of which `degree` random hosts send to one receiver.
pub(super) fn generate(
    context: &Context<'_>,
    incast: &Incast,
    messages: &mut Messages,
) -> Result<(), Error> {
    let receiver = incast.receiver.map(|node| context.host(node, "receiver"));
    let receiver = receiver.transpose()?;
    let hosts = context.members(&incast.hosts, "hosts")?;
    check(context, incast.degree, receiver, &hosts)?;
    let template = MessageSpec {
        destination_port: INCAST_PORT,
        ..context.template(incast.size, incast.start, incast.class)?
    };
    let mut choices = context.shared_stream();
    let mut jitters: Vec<_> = hosts.iter().map(|host| context.stream(*host)).collect();
    for round in 0..incast.rounds {
        let destination = receiver.unwrap_or_else(|| hosts[below(&mut choices, hosts.len())]);
        let later = incast.period.saturating_mul(u64::from(round));
        let start = template.start.saturating_add(later);
        for sender in senders(&hosts, incast.degree as usize, destination, &mut choices) {
            // The data of a READ flows to the host that posts it.
            let (source, destination) = match template.verb {
                Verb::Read => (destination, hosts[sender]),
                _ => (hosts[sender], destination),
            };
            let message = MessageSpec {
                source,
                destination,
                start: start.saturating_add(jitter(incast.jitter, &mut jitters[sender])),
                ..template
            };
            messages.push(context, message)?;
        }
    }
    Ok(())
}

fn check(
    context: &Context<'_>,
    degree: u32,
    receiver: Option<NodeId>,
    hosts: &[NodeId],
) -> Result<(), Error> {
    let receiving = receiver.is_none_or(|host| hosts.contains(&host));
    let senders = hosts.len() - usize::from(receiving && !hosts.is_empty());
    if degree == 0 || degree as usize > senders {
        let message = format!("is {degree}, expected 1 to {senders}");
        let hint = "the receiver is none of the senders; add hosts or lower the degree";
        return Err(context.error("degree", message, hint));
    }
    Ok(())
}

/// Indices of `degree` senders in ascending order: the first steps of a Fisher-Yates shuffle.
fn senders(hosts: &[NodeId], degree: usize, receiver: NodeId, choices: &mut Stream) -> Vec<usize> {
    let may_send = |index: &usize| hosts[*index] != receiver;
    let mut pool: Vec<usize> = (0..hosts.len()).filter(may_send).collect();
    for index in 0..degree {
        let other = index + below(choices, pool.len() - index);
        pool.swap(index, other);
    }
    pool.truncate(degree);
    pool.sort_unstable();
    pool
}

/// Uniform in `0..=most`.
fn jitter(most: Duration, stream: &mut Stream) -> Duration {
    if most.is_zero() {
        return Duration::ZERO;
    }
    Duration::from_ps(stream.below(most.as_ps().saturating_add(1)))
}

/// An index below `count`.
#[expect(clippy::cast_possible_truncation, reason = "below a number that fits")]
pub(super) fn below(stream: &mut Stream, count: usize) -> usize {
    stream.below(count as u64) as usize
}
