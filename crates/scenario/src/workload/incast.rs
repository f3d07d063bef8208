//! Many to one, again and again.

use fairlane_engine::Stream;
use fairlane_units::{Bytes, Duration, NodeId, Time};

use super::arrivals::{Arrivals, LoadOf, after_gap, below};
use super::context::Context;
use super::kind::{Figures, Kind, StatedSizes, workload};
use super::message::MessageSpec;
use super::messages::{MAX_MESSAGES, Messages};
use super::traffic::{Traffic, resolved};
use super::verb::Verb;
use crate::error::{Error, ensure};
use crate::host_set::HostSet;
use crate::section::Check;

/// Destination port of incast messages; HPCC's analysis tells messages apart by it.
const INCAST_PORT: u16 = 200;

workload! {
    /// In each round several random hosts send to one, or with `verb = "read"` it reads from them. Rounds come every `period`, or
    /// at Poisson times with a `load`.
    Incast [hosts] {
        /// Senders in each round.
        degree: u32 => positive,
        /// Size of each message.
        size: Bytes => message,
        /// The receiver; left out, a random host each round.
        receiver: Option<u32>,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Time between rounds; left out, 1 ms. Not together with `load`.
        period: Option<Duration> => span,
        /// Rounds; left out, 1. Not together with `load`.
        rounds: Option<u32> => positive,
        /// Rounds at Poisson times instead: payload of all rounds, in bytes per second, over the sum of the rates of the links of
        /// `hosts` (of all ports, or the one of the `plane`).
        load: Option<f64> => share,
        /// With `load`: rounds begin in `start .. start + duration`.
        duration: Option<Duration> => period,
        /// Each sender starts up to this much later.
        jitter: Duration = "Duration::default" => span,
        /// Hosts that take part.
        hosts: HostSet = "HostSet::default",
    } + class + message + owner & paths
}

impl Incast {
    /// Time between rounds that aren't at Poisson times.
    pub fn period(&self) -> Duration {
        self.period.unwrap_or(Duration::from_ms(1))
    }

    /// Rounds, if they aren't at Poisson times.
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(1)
    }
}

impl Kind for Incast {
    fn check(&self, context: &Context<'_>) -> Check {
        check(context, self)
    }

    fn sizes(&self, _: &Context<'_>) -> Option<StatedSizes> {
        Some(StatedSizes::one(self.size))
    }

    /// Data flows to the receiver, whoever posts.
    fn traffic(&self, context: &Context<'_>) -> Option<Vec<Traffic>> {
        let hosts = || resolved(context.hosts, &self.hosts);
        let named = self.receiver.map(|host| [NodeId::new(host)].into());
        Some(vec![Traffic {
            senders: hosts(),
            receivers: named.unwrap_or_else(hosts),
        }])
    }

    /// The receiver of an incast of READs posts them.
    fn posts(&self) -> Option<(&'static str, NodeId)> {
        let receiver = self.receiver.filter(|_| self.verb == Verb::Read);
        receiver.map(|receiver| ("receiver", NodeId::new(receiver)))
    }

    /// All that its hosts could send goes to one of them, from all others alike, also where that one reads it.
    fn arrivals(&self, context: &Context<'_>) -> Result<Option<Arrivals>, Error> {
        let (Some(load), Some(duration)) = (self.load, self.duration) else {
            return Ok(None);
        };
        let hosts = context.members("hosts", &self.hosts)?;
        let rates = hosts
            .iter()
            .map(|host| context.rates[host.index()].as_f64());
        let all: f64 = rates.sum();
        let receiver = self.receiver.map(NodeId::new);
        let others = hosts.iter().copied().filter(|host| Some(*host) != receiver);
        let senders: Vec<NodeId> = others.collect();
        let each = all / senders.len() as f64;
        Ok(Some(Arrivals {
            start: self.start,
            duration,
            load,
            load_of: LoadOf::Hosts,
            senders: senders.into_iter().map(|host| (host, each)).collect(),
            receivers: receiver.map_or(hosts, |receiver| vec![receiver]),
            reads: false,
        }))
    }

    /// Rounds in each of which `degree` random hosts send to one receiver.
    fn generate(&self, context: &Context<'_>, messages: &mut Messages) -> Result<(), Error> {
        let hosts = context.members("hosts", &self.hosts)?;
        let template = MessageSpec {
            destination_port: INCAST_PORT,
            size: self.size,
            ..context.template(self.verb, self.class, self.start)
        };
        let mut choices = context.shared_stream();
        let mut jitters: Vec<_> = hosts.iter().map(|host| context.stream(*host)).collect();
        for start in starts(context, self, &hosts, template.start, &mut choices) {
            let destination = match self.receiver {
                Some(receiver) => NodeId::new(receiver),
                None => hosts[below(&mut choices, hosts.len())],
            };
            for sender in senders(&hosts, self.degree as usize, destination, &mut choices) {
                // The data of a READ flows to the host that posts it.
                let (source, destination) = match self.verb {
                    Verb::Read => (destination, hosts[sender]),
                    _ => (hosts[sender], destination),
                };
                let message = MessageSpec {
                    source,
                    destination,
                    start: start.saturating_add(jitter(self.jitter, &mut jitters[sender])),
                    ..template
                };
                messages.push(context, message)?;
            }
        }
        Ok(())
    }

    fn heading(&self, figures: &dyn Figures) -> String {
        let rounds = match (self.load, self.duration) {
            (Some(load), Some(time)) => format!("at {} % load for {time}", figures.percent(load)),
            _ => format!("{} rounds", self.rounds()),
        };
        format!(
            "incast of {} x {}, {rounds}",
            self.degree,
            figures.size(self.size)
        )
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate; the cast saturates"
)]
fn check(context: &Context<'_>, it: &Incast) -> Check {
    let (degree, rounds, period) = (it.degree, it.rounds(), it.period());
    times(context, it)?;
    ensure!(rounds == 1 || !period.is_zero(), context.key("period"),
        "is 0, expected a time between rounds"; "write a time such as \"1ms\"");
    context.in_all("rounds", rounds, period)?;
    let hosts = context.members("hosts", &it.hosts)?;
    if let Some(node) = it.receiver {
        context.check_host(node, || context.key("receiver"))?;
    }
    let member = |node| hosts.binary_search(&NodeId::new(node)).is_ok();
    let available = hosts.len() - usize::from(it.receiver.is_none_or(member));
    ensure!(degree as usize <= available, context.key("degree"),
        "is {degree}, expected at most {available}, the hosts beside the receiver";
        "lower it, or name more hosts");
    let rounds = match (it.load, it.duration) {
        (Some(load), Some(duration)) => {
            let bytes = context.capacity(hosts.len()) / 8.0 * duration.as_secs_f64();
            (bytes * load / (it.size.as_f64() * f64::from(degree))) as u64
        }
        _ => u64::from(rounds),
    };
    context.messages(u64::from(degree).saturating_mul(rounds))
}

/// Rounds are at regular times or at random ones, not both.
fn times(context: &Context<'_>, it: &Incast) -> Check {
    if it.load.is_none() {
        ensure!(it.duration.is_none(), context.key("duration"),
            "is stated without a load, expected `rounds`";
            "add `load` for rounds at Poisson times, or write `period` and `rounds`");
        return Ok(());
    }
    let stated = [
        ("period", it.period.is_some()),
        ("rounds", it.rounds.is_some()),
    ];
    for (key, stated) in stated {
        ensure!(!stated, context.key(key), "is stated beside `load`, expected one of them";
            "`load` has rounds at Poisson times for `duration`; remove one of the two");
    }
    ensure!(it.duration.is_some(), context.key("duration"),
        "is missing beside `load`, expected a time"; "write how long rounds come, such as \"10ms\"");
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
