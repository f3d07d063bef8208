//! What results say of connections with several paths.

use std::collections::BTreeMap;

use fairlane_multipath::{Health, Paths};
use fairlane_network::Network;
use fairlane_units::{Bytes, Duration, FlowId, MessageId, NodeId, PathId, Rate};

use super::{Multipath, MultipathConnection};
use crate::{MultipathRecord, PathRecord};

/// What is counted as a run goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tallies {
    pub(super) connections: u64,
    pub(super) messages: u64,
    pub(super) chunks: u64,
    /// Chunks that were tried before.
    pub(super) again: u64,
    /// Chunks and messages put together at their destinations, of those that somebody waits for there.
    pub(super) placed: u64,
    pub(super) arrived: u64,
    pub(super) cpu: super::Costs,
    /// By source, destination and path, of connections that are over.
    paths: BTreeMap<(NodeId, NodeId, PathId), PathTally>,
}

/// What a path has carried, over one connection or several, and what was known of it at the end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathTally {
    pub(super) bytes: u64,
    pub(super) chunks: u64,
    pub(super) failures: u64,
    pub(super) quarantines: u64,
    connections: u64,
    twins: u64,
    twin_of: Option<PathId>,
    /// Sums over connections that knew it, and how many those are.
    round_trips: (u64, u64),
    capacities: (u64, u64),
    limits: (u64, u64),
    loss: u8,
    health: Option<Health>,
    /// The flow of the first connection.
    flow: Option<FlowId>,
}

impl PathTally {
    /// With what is known of the path.
    pub(super) fn with(mut self, paths: &Paths, path: usize) -> Self {
        self.connections = 1;
        self.twin_of = paths.twin_of(path).map(|twin| PathId::new(twin as u32));
        self.twins = u64::from(self.twin_of.is_some());
        let known = |value: Option<u64>| value.map_or((0, 0), |value| (value, 1));
        self.round_trips = known(paths.round_trip(path).map(Duration::as_ps));
        self.capacities = known(paths.capacity(path).map(Rate::as_bps));
        self.limits = (paths.limit(path).get(), 1);
        self.loss = paths.loss(path);
        self.health = Some(paths.health(path));
        self
    }

    fn add(&mut self, other: &Self) {
        let sum = |own: &mut (u64, u64), other: (u64, u64)| {
            *own = (own.0.saturating_add(other.0), own.1 + other.1);
        };
        self.bytes += other.bytes;
        self.chunks += other.chunks;
        self.failures += other.failures;
        self.quarantines += other.quarantines;
        self.connections += other.connections;
        self.twins += other.twins;
        self.twin_of = other.twin_of;
        sum(&mut self.round_trips, other.round_trips);
        sum(&mut self.capacities, other.capacities);
        sum(&mut self.limits, other.limits);
        self.loss = self.loss.max(other.loss);
        self.health = other.health;
        self.flow = self.flow.or(other.flow);
    }

    fn record(
        &self,
        (source, destination, path): (NodeId, NodeId, PathId),
        net: &Network,
    ) -> PathRecord {
        let mean = |(sum, count): (u64, u64)| sum.checked_div(count);
        let port = |flow: FlowId| net.flow(flow).tuple.source_port;
        let way = |flow: FlowId| match net.plan().foreseen {
            true => net.flow(flow).path_there(net.graph()),
            false => None,
        };
        PathRecord {
            source,
            destination,
            path,
            source_port: self.flow.map_or(0, port),
            connections: self.connections,
            bytes: Bytes::new(self.bytes),
            chunks: self.chunks,
            failures: self.failures,
            quarantines: self.quarantines,
            twins: self.twins,
            twin_of: self.twin_of,
            round_trip: mean(self.round_trips).map(Duration::from_ps),
            capacity: mean(self.capacities).map(Rate::from_bps),
            chunk_limit: mean(self.limits).map(Bytes::new),
            loss: self.loss,
            health: self.health.map_or("good", name),
            way: self.flow.and_then(way),
        }
    }
}

/// The name of a state in results.
const fn name(health: Health) -> &'static str {
    match health {
        Health::Good => "good",
        Health::Suspect => "suspect",
        Health::Quarantined => "quarantined",
        Health::Probing => "probing",
        Health::Back => "back",
        Health::Twin => "twin",
    }
}

impl Tallies {
    /// A connection is over.
    pub(super) fn on_over(&mut self, connection: &MultipathConnection, paths: &[PathTally]) {
        for ((path, flow), tally) in (0..).map(PathId::new).zip(connection.flows()).zip(paths) {
            let key = (connection.source, connection.destination, path);
            let known = self.paths.entry(key).or_default();
            known.add(tally);
            known.flow.get_or_insert(flow);
        }
    }

    /// Takes in those of another part of a fabric.
    pub(super) fn absorb(&mut self, other: Self) {
        self.connections += other.connections;
        self.messages += other.messages;
        self.chunks += other.chunks;
        self.again += other.again;
        self.placed += other.placed;
        self.arrived += other.arrived;
        self.cpu.post += other.cpu.post;
        self.cpu.poll += other.cpu.poll;
        self.cpu.split += other.cpu.split;
        self.cpu.reassemble += other.cpu.reassemble;
        // A connection's sending end is in one part.
        self.paths.extend(other.paths);
    }
}

impl Multipath {
    /// What results say.
    pub(crate) fn record(&self, net: &Network) -> MultipathRecord {
        let mut tallies = self.tallies.clone();
        for (&connection, sender) in &self.senders {
            tallies.on_over(self.connection(connection), &sender.tallies());
        }
        let paths = tallies.paths.iter();
        MultipathRecord {
            connections: tallies.connections,
            messages: tallies.messages,
            chunks: tallies.chunks,
            again: tallies.again,
            placed: tallies.placed,
            arrived: tallies.arrived,
            post: tallies.cpu.post,
            poll: tallies.cpu.poll,
            split: tallies.cpu.split,
            reassemble: tallies.cpu.reassemble,
            coupled: self.coupled,
            paths: paths.map(|(&key, tally)| tally.record(key, net)).collect(),
        }
    }

    /// How much of a message under way is known to have arrived.
    pub(crate) fn acknowledged(&self, message: MessageId) -> Option<Bytes> {
        let sender = self.senders.get(&self.connection_of_message(message)?)?;
        sender.acknowledged(message)
    }
}
