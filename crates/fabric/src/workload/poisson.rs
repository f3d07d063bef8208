//! Open-loop arrivals.

use fairlane_engine::Stream;
use fairlane_scenario::{Error, SizeDistribution};
use fairlane_units::{Bytes, Duration, NodeId, Time};

use super::context::{Context, Messages};
use crate::MessageSpec;

/// Messages arrive at every source as a Poisson process whose mean gap is
/// mean size x 8 / (rate of the source's link x load).
pub(super) struct Poisson<'a> {
    pub(super) sizes: &'a SizeDistribution,
    pub(super) load: f64,
    pub(super) start: Duration,
    pub(super) duration: Duration,
    pub(super) sources: Vec<NodeId>,
    pub(super) destinations: Vec<NodeId>,
    pub(super) class: u8,
}

impl Poisson<'_> {
    pub(super) fn generate(
        &self,
        context: &Context<'_>,
        messages: &mut Messages,
    ) -> Result<(), Error> {
        if !(self.load > 0.0 && self.load <= 1.0) {
            let message = format!("is {}, expected above 0 and at most 1", self.load);
            return Err(context.error("load", message, "0.5 uses half of every source's link"));
        }
        for source in &self.sources {
            self.generate_from(*source, context, messages)?;
        }
        Ok(())
    }

    fn generate_from(
        &self,
        source: NodeId,
        context: &Context<'_>,
        messages: &mut Messages,
    ) -> Result<(), Error> {
        let others = Others::of(&self.destinations, source);
        if others.count() == 0 {
            let message = format!("leaves host {source} nobody to send to");
            return Err(context.error("destinations", message, "add another host"));
        }
        let template = context.template(Bytes::new(1), self.start, self.class)?;
        let rate = context.rates[source.index()];
        let gap = self.sizes.mean() * 8e12 / (rate.as_f64() * self.load);
        let mut stream = context.stream(source);
        let end = template.start.saturating_add(self.duration);
        let mut start = after_gap(template.start, gap, &mut stream);
        while start < end {
            let size = self.sizes.sample(stream.next_f64());
            let destination = others.pick(&mut stream);
            messages.push(
                context,
                MessageSpec {
                    source,
                    destination,
                    size,
                    start,
                    ..template
                },
            )?;
            start = after_gap(start, gap, &mut stream);
        }
        Ok(())
    }
}

/// The time an exponentially distributed gap of `mean` picoseconds later, to the nearest picosecond.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the gap is rounded and never negative; the cast saturates"
)]
fn after_gap(time: Time, mean: f64, stream: &mut Stream) -> Time {
    // 1 - u is never 0, of which there is no logarithm.
    let gap = -libm::log(1.0 - stream.next_f64()) * mean;
    time.saturating_add(Duration::from_ps(libm::round(gap) as u64))
}

/// A set of hosts without one of them.
struct Others<'a> {
    hosts: &'a [NodeId],
    skipped: Option<usize>,
}

impl<'a> Others<'a> {
    fn of(hosts: &'a [NodeId], host: NodeId) -> Self {
        Self {
            hosts,
            skipped: hosts.binary_search(&host).ok(),
        }
    }

    fn count(&self) -> u64 {
        self.hosts.len() as u64 - u64::from(self.skipped.is_some())
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "an index below the number of hosts"
    )]
    fn pick(&self, stream: &mut Stream) -> NodeId {
        let index = stream.below(self.count()) as usize;
        let jump = self.skipped.is_some_and(|skipped| index >= skipped);
        self.hosts[index + usize::from(jump)]
    }
}
