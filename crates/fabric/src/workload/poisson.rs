//! Open-loop arrivals.

use fairlane_engine::Stream;
use fairlane_scenario::{Error, Poisson, SizeDistribution};
use fairlane_units::{Bytes, Duration, NodeId, Time};

use super::context::{Context, Messages};
use crate::{MessageSpec, load};

/// Messages arrive at every source as a Poisson process whose mean gap is
/// mean size x 8 / (rate of the source's link x load), where a load of the fabric is converted to one of sources.
pub(super) fn generate(
    context: &Context<'_>,
    poisson: &Poisson,
    messages: &mut Messages,
) -> Result<(), Error> {
    let load = poisson.load;
    if !(load > 0.0 && load <= 1.0) {
        let message = format!("is {load}, expected above 0 and at most 1");
        return Err(context.error("load", message, "0.5 uses half of every source's link"));
    }
    let arrivals = Arrivals {
        sizes: context.sizes()?,
        load: load::of_sources(poisson, context.index, context.topology)?,
        duration: poisson.duration,
        template: context.template(Bytes::new(1), poisson.start, poisson.class)?,
        destinations: context.members(&poisson.destinations, "destinations")?,
    };
    for source in context.members(&poisson.sources, "sources")? {
        arrivals.at(source, context, messages)?;
    }
    Ok(())
}

/// What the arrivals at all sources have in common.
struct Arrivals<'a> {
    sizes: &'a SizeDistribution,
    load: f64,
    duration: Duration,
    template: MessageSpec,
    destinations: Vec<NodeId>,
}

impl Arrivals<'_> {
    fn at(
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
        let rate = context.rates[source.index()];
        let gap = self.sizes.mean() * 8e12 / (rate.as_f64() * self.load);
        let mut stream = context.stream(source);
        let end = self.template.start.saturating_add(self.duration);
        let mut start = after_gap(self.template.start, gap, &mut stream);
        while start < end {
            let size = self.sizes.sample(stream.next_f64());
            let message = MessageSpec {
                source,
                destination: others.pick(&mut stream),
                size,
                start,
                ..self.template
            };
            messages.push(context, message)?;
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
pub(super) fn after_gap(time: Time, mean: f64, stream: &mut Stream) -> Time {
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
