//! Every host sends: to one other, or to all others.

use fairlane_engine::Stream;
use fairlane_scenario::Error;
use fairlane_units::NodeId;

use super::context::{Context, Messages};
use super::incast::below;
use crate::MessageSpec;

/// Every host sends one message and receives one.
pub(super) fn permutation(
    context: &Context<'_>,
    template: &MessageSpec,
    hosts: &[NodeId],
    messages: &mut Messages,
) -> Result<(), Error> {
    context.at_least_two(hosts)?;
    let partners = derangement(hosts.len(), &mut context.shared_stream());
    for (source, partner) in hosts.iter().zip(partners) {
        let message = MessageSpec {
            source: *source,
            destination: hosts[partner],
            ..*template
        };
        messages.push(context, message)?;
    }
    Ok(())
}

/// A permutation that leaves nothing in place, each equally likely: shuffles until one fits, which
/// takes e shuffles on average.
fn derangement(count: usize, stream: &mut Stream) -> Vec<usize> {
    let mut partners: Vec<usize> = (0..count).collect();
    loop {
        for index in (1..count).rev() {
            partners.swap(index, below(stream, index + 1));
        }
        if partners
            .iter()
            .enumerate()
            .all(|(index, partner)| index != *partner)
        {
            return partners;
        }
    }
}

/// Every host sends one message to every other, each beginning with its successor, so that the first
/// messages don't all go to the same host.
pub(super) fn all_to_all(
    context: &Context<'_>,
    template: &MessageSpec,
    hosts: &[NodeId],
    messages: &mut Messages,
) -> Result<(), Error> {
    context.at_least_two(hosts)?;
    for shift in 1..hosts.len() {
        for (index, source) in hosts.iter().enumerate() {
            let destination = hosts[(index + shift) % hosts.len()];
            messages.push(
                context,
                MessageSpec {
                    source: *source,
                    destination,
                    ..*template
                },
            )?;
        }
    }
    Ok(())
}
