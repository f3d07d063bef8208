//! Every host sends to one other.

use fairlane_engine::Stream;
use fairlane_units::{Bytes, Duration};

use super::arrivals::below;
use super::context::Context;
use super::kind::{Figures, Kind, StatedSizes, workload};
use super::message::MessageSpec;
use super::messages::Messages;
use crate::error::Error;
use crate::host_set::HostSet;
use crate::section::Check;

workload! {
    /// Every host sends one message to another, and receives one.
    Permutation [hosts] {
        /// Size of each message.
        size: Bytes => message,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Hosts that take part.
        hosts: HostSet = "HostSet::default",
    } + class + message + owner & paths
}

impl Kind for Permutation {
    fn check(&self, context: &Context<'_>) -> Check {
        context.messages(context.several(&self.hosts)?)
    }

    fn sizes(&self, _: &Context<'_>) -> Option<StatedSizes> {
        Some(StatedSizes::one(self.size))
    }

    fn generate(&self, context: &Context<'_>, messages: &mut Messages) -> Result<(), Error> {
        let hosts = context.members("hosts", &self.hosts)?;
        let template = context.template(self.verb, self.class, self.start);
        let partners = derangement(hosts.len(), &mut context.shared_stream());
        for (source, partner) in hosts.iter().zip(partners) {
            let message = MessageSpec {
                source: *source,
                destination: hosts[partner],
                size: self.size,
                ..template
            };
            messages.push(context, message)?;
        }
        Ok(())
    }

    fn heading(&self, figures: &dyn Figures) -> String {
        format!("permutation of {}", figures.size(self.size))
    }
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
