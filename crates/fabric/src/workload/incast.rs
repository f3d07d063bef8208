//! Many to one, again and again.

use fairlane_engine::Stream;
use fairlane_scenario::{Error, Incast, Verb};
use fairlane_units::{Duration, NodeId, Time};

use super::context::{Context, MAX_MESSAGES, Messages};
use super::poisson::after_gap;
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
    check_load(context, incast)?;
    let template = MessageSpec {
        destination_port: INCAST_PORT,
        ..context.template(incast.size, incast.start, incast.class)?
    };
    let mut choices = context.shared_stream();
    let mut jitters: Vec<_> = hosts.iter().map(|host| context.stream(*host)).collect();
    for start in starts(context, incast, &hosts, template.start, &mut choices) {
        let destination = receiver.unwrap_or_else(|| hosts[below(&mut choices, hosts.len())]);
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

/// When rounds begin: regularly, or at Poisson times whose mean gap is degree x size x 8 / (load x the rates of all `hosts`).
fn starts(
    context: &Context<'_>,
    incast: &Incast,
    hosts: &[NodeId],
    first: Time,
    gaps: &mut Stream,
) -> Vec<Time> {
    let (Some(load), Some(duration)) = (incast.load, incast.duration) else {
        let later = |round| incast.period().saturating_mul(u64::from(round));
        let rounds = 0..incast.rounds();
        return rounds
            .map(|round| first.saturating_add(later(round)))
            .collect();
    };
    let rates = hosts
        .iter()
        .map(|host| context.rates[host.index()].as_f64());
    let round = f64::from(incast.degree) * incast.size.as_f64();
    let mean = round * 8e12 / (rates.sum::<f64>() * load);
    let end = first.saturating_add(duration);
    let next = |last: &Time| Some(after_gap(*last, mean, gaps));
    let times = std::iter::successors(Some(first), next).skip(1);
    // One more than there may be is refused.
    times
        .take_while(|start| *start < end)
        .take(MAX_MESSAGES + 1)
        .collect()
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

fn check_load(context: &Context<'_>, incast: &Incast) -> Result<(), Error> {
    let Some(load) = incast.load else {
        return Ok(());
    };
    if !(load > 0.0 && load <= 1.0) {
        let message = format!("is {load}, expected above 0 and at most 1");
        let hint = "0.02 uses a fiftieth of all hosts' links";
        return Err(context.error("load", message, hint));
    }
    if incast.duration.is_none() {
        let hint = "write how long rounds come, such as \"10ms\"";
        return Err(context.error(
            "duration",
            "is missing beside `load`, expected a time",
            hint,
        ));
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
