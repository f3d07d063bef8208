//! Every host sends to all others.

use fairlane_units::{Bytes, Duration};

use super::context::Context;
use super::kind::{Figures, Kind, StatedSizes, workload};
use super::message::MessageSpec;
use super::messages::Messages;
use crate::error::Error;
use crate::host_set::HostSet;
use crate::section::Check;

workload! {
    /// Every host sends one message to every other.
    AllToAll [hosts] {
        /// Size of each message.
        size: Bytes => message,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Hosts that take part.
        hosts: HostSet = "HostSet::default",
    } + class + message + owner & paths
}

impl Kind for AllToAll {
    fn check(&self, context: &Context<'_>) -> Check {
        let count = context.several(&self.hosts)?;
        context.messages(count.saturating_mul(count - 1))
    }

    fn sizes(&self, _: &Context<'_>) -> Option<StatedSizes> {
        Some(StatedSizes::one(self.size))
    }

    /// Each host begins with its successor, so that the first messages don't all go to the same host.
    fn generate(&self, context: &Context<'_>, messages: &mut Messages) -> Result<(), Error> {
        let hosts = context.members("hosts", &self.hosts)?;
        let template = context.template(self.verb, self.class, self.start);
        for shift in 1..hosts.len() {
            for (index, source) in hosts.iter().enumerate() {
                let message = MessageSpec {
                    source: *source,
                    destination: hosts[(index + shift) % hosts.len()],
                    size: self.size,
                    ..template
                };
                messages.push(context, message)?;
            }
        }
        Ok(())
    }

    fn heading(&self, figures: &dyn Figures) -> String {
        format!("all-to-all of {}", figures.size(self.size))
    }
}
