//! Open-loop arrivals.

use fairlane_engine::Stream;
use fairlane_units::{Duration, NodeId};

use super::arrivals::{Arrivals, LoadOf, after_gap};
use super::context::Context;
use super::kind::{Figures, Kind, Source, StatedSizes, workload};
use super::message::MessageSpec;
use super::messages::Messages;
use super::traffic::Traffic;
use super::verb::Verb;
use crate::error::{Error, bail};
use crate::host_set::HostSet;
use crate::section::Check;
use crate::sizes::{SizeDistribution, Sizes};

workload! {
    /// Poisson arrivals at every source, each to a uniformly random other destination.
    Poisson [sources] {
        /// Sizes of messages.
        sizes: Sizes,
        /// Mean use of links by payload, of those that `load_of` names; of several ports all links together, or the
        /// one of the `plane`.
        load: f64 => share,
        /// Whose use `load` is.
        load_of: LoadOf = "LoadOf::default",
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Arrivals happen in `start .. start + duration`.
        duration: Duration => period,
        /// Hosts that send.
        sources: HostSet = "HostSet::default",
        /// Hosts that receive.
        destinations: HostSet = "HostSet::default",
    } + class + message + owner & paths
}

impl Kind for Poisson {
    fn check(&self, context: &Context<'_>) -> Check {
        check(context, self)
    }

    fn sizes(&self, context: &Context<'_>) -> Option<StatedSizes> {
        StatedSizes::distribution(context)
    }

    fn source(&self) -> Source<'_> {
        Source::Sizes(&self.sizes)
    }

    fn traffic(&self, context: &Context<'_>) -> Option<Vec<Traffic>> {
        let ends = [&self.sources, &self.destinations];
        Some(vec![Traffic::between(context, self.verb, ends)])
    }

    fn arrivals(&self, context: &Context<'_>) -> Result<Option<Arrivals>, Error> {
        let sources = context.members("sources", &self.sources)?;
        let rate = |host: NodeId| (host, context.rates[host.index()].as_f64());
        Ok(Some(Arrivals {
            start: self.start,
            duration: self.duration,
            load: self.load,
            load_of: self.load_of,
            senders: sources.into_iter().map(rate).collect(),
            receivers: context.members("destinations", &self.destinations)?,
            reads: self.verb == Verb::Read,
        }))
    }

    /// Messages arrive at every source as a Poisson process whose mean gap is
    /// mean size x 8 / (rate of the source's link x load), where a load of the fabric is converted to one of sources.
    fn generate(&self, context: &Context<'_>, messages: &mut Messages) -> Result<(), Error> {
        let process = Process {
            sizes: context.sizes()?,
            duration: self.duration,
            template: context.template(self.verb, self.class, self.start),
            destinations: context.members("destinations", &self.destinations)?,
        };
        for source in context.members("sources", &self.sources)? {
            process.at(source, context, messages)?;
        }
        Ok(())
    }

    fn heading(&self, figures: &dyn Figures) -> String {
        let sizes = match &self.sizes {
            Sizes::Named(name) => name,
            Sizes::Points(_) => "own",
        };
        let load = figures.percent(self.load);
        format!("{sizes} sizes at {load} % load for {}", self.duration)
    }
}

fn check(context: &Context<'_>, it: &Poisson) -> Check {
    let from = context.members("sources", &it.sources)?;
    let to = context.members("destinations", &it.destinations)?;
    if let ([only], Some(source)) = (to.as_slice(), from.iter().find(|source| to == [**source])) {
        bail!(context.key("destinations"),
            "host {only} is all there is, and host {source} can't send to itself";
            "name another destination");
    }
    match context.sizes() {
        Ok(sizes) => context.messages(count(context, it, sizes, from.len())),
        Err(_) => Ok(()),
    }
}

/// About how many messages arrive.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate; the cast saturates"
)]
fn count(context: &Context<'_>, it: &Poisson, sizes: &SizeDistribution, hosts: usize) -> u64 {
    let bits = context.capacity(hosts) * it.load * it.duration.as_secs_f64();
    (bits / 8.0 / sizes.mean()) as u64
}

/// What the arrivals at all sources have in common.
struct Process<'a> {
    sizes: &'a SizeDistribution,
    duration: Duration,
    template: MessageSpec,
    destinations: Vec<NodeId>,
}

impl Process<'_> {
    fn at(
        &self,
        source: NodeId,
        context: &Context<'_>,
        messages: &mut Messages,
    ) -> Result<(), Error> {
        let others = Others::of(&self.destinations, source);
        let rate = context.rates[source.index()];
        let gap = self.sizes.mean() * 8e12 / (rate.as_f64() * context.load);
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
