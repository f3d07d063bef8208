//! Links and how full they were, and which of them are parallel for a pair of hosts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::records::{Message, Port, Run, Way};

/// A link is full in an interval in which its packets took this share of the time.
pub(crate) const FULL: f64 = 0.9;

/// The fabric of a run.
pub(crate) struct Fabric<'a> {
    pub(crate) ports: &'a [Port],
    /// Ports by their node and the node at the other end, by index.
    by_ends: BTreeMap<(u32, u32), Vec<usize>>,
    /// Ports by the node that owns them.
    by_node: BTreeMap<u32, Vec<usize>>,
    /// Picoseconds of each interval in which anything was under way.
    busy_ps: Vec<u64>,
    start_ps: u64,
    interval_ps: u64,
}

impl<'a> Fabric<'a> {
    pub(crate) fn new(run: &'a Run) -> Self {
        let (mut by_ends, mut by_node) = (BTreeMap::new(), BTreeMap::new());
        for (index, port) in run.ports.iter().enumerate() {
            let ends = by_ends.entry((port.node, port.peer));
            ends.or_insert_with(Vec::new).push(index);
            by_node
                .entry(port.node)
                .or_insert_with(Vec::new)
                .push(index);
        }
        let intervals = run.ports.iter().map(|port| port.sent.len()).max();
        let mut fabric = Self {
            ports: &run.ports,
            by_ends,
            by_node,
            busy_ps: vec![0; intervals.unwrap_or(0)],
            start_ps: run.start_ps,
            interval_ps: run.interval_ps.max(1),
        };
        let spans = joined_spans(run.messages.iter(), run.end_ps);
        for (from, to) in spans {
            for (interval, overlap) in fabric.intervals(from, to) {
                fabric.busy_ps[interval] += overlap;
            }
        }
        fabric
    }

    /// Time in which anything was under way.
    pub(crate) fn busy(&self) -> u64 {
        self.busy_ps.iter().sum()
    }

    /// Intervals between two times, each with how much of it lies between them.
    pub(crate) fn intervals(&self, from: u64, to: u64) -> Vec<(usize, u64)> {
        let (start, length) = (self.start_ps, self.interval_ps);
        let first = (from.saturating_sub(start) / length) as usize;
        let overlap = |interval: usize| {
            let begin = start.saturating_add(length.saturating_mul(interval as u64));
            let end = begin.saturating_add(length).min(to);
            (interval, end.saturating_sub(begin.max(from)))
        };
        let intervals = first..self.busy_ps.len();
        intervals
            .map(overlap)
            .take_while(|(_, overlap)| *overlap > 0)
            .collect()
    }

    /// Use of a port in an interval, over the time in which anything was under way; at most 1.
    pub(crate) fn usage(&self, port: usize, interval: usize) -> f64 {
        self.mean_usage(port, interval..interval + 1)
    }

    /// How many intervals the time series has.
    pub(crate) const fn count(&self) -> usize {
        self.busy_ps.len()
    }

    /// Use of a port over some intervals, as far as anything was under way; at most 1.
    pub(crate) fn mean_usage(&self, port: usize, intervals: std::ops::Range<usize>) -> f64 {
        let busy: u64 = self.busy_ps[intervals.clone()].iter().sum();
        let port = &self.ports[port];
        let sent = port.sent.get(intervals).unwrap_or(&[]).iter();
        let bits = (sent.sum::<u64>() * 8) as f64;
        let room = port.rate_bps as f64 * busy as f64 * 1e-12;
        if room > 0.0 {
            (bits / room).min(1.0)
        } else {
            0.0
        }
    }

    /// Whether a port was paused for a quarter of an interval.
    pub(crate) fn is_paused(&self, port: usize, interval: usize) -> bool {
        let paused = self.ports[port].paused_ns.get(interval).copied();
        paused.unwrap_or(0).saturating_mul(4000) >= self.busy_ps[interval].max(1)
    }

    /// Bytes that a port sent in the whole run.
    pub(crate) fn sent(&self, port: usize) -> u64 {
        self.ports[port].sent.iter().sum()
    }

    /// The port from a node to another, of several that with an index.
    fn port(&self, (from, to): (u32, u32), index: u32) -> Option<usize> {
        self.by_ends.get(&(from, to))?.get(index as usize).copied()
    }

    /// The ports of a way.
    pub(crate) fn links(&self, way: &Way) -> Vec<usize> {
        let pairs = way.nodes.windows(2).zip(&way.indices);
        let ports = pairs.filter_map(|(ends, index)| self.port((ends[0], ends[1]), *index));
        ports.collect()
    }

    /// All shortest ways from a host to another: the ports at each distance, the first of them at the source.
    pub(crate) fn stages(&self, source: u32, destination: u32) -> Vec<Vec<usize>> {
        let distance = self.distances(destination);
        let Some(mut left) = distance.get(&source).copied() else {
            return Vec::new();
        };
        let (mut nodes, mut stages) = (BTreeSet::from([source]), Vec::new());
        while left > 0 {
            let ports = nodes.iter().filter_map(|node| self.by_node.get(node));
            let nearer = |port: &usize| {
                let peer = self.ports[*port].peer;
                distance.get(&peer) == Some(&(left - 1)) && (left == 1 || self.is_switch(peer))
            };
            let stage: Vec<usize> = ports.flatten().copied().filter(nearer).collect();
            nodes = stage.iter().map(|port| self.ports[*port].peer).collect();
            stages.push(stage);
            left -= 1;
        }
        stages
    }

    /// Whether a node is a switch, so that packets pass it.
    pub(crate) fn is_switch(&self, node: u32) -> bool {
        let ports = self.by_node.get(&node).into_iter().flatten();
        ports.take(1).any(|port| self.ports[*port].on_switch)
    }

    /// Links between each node and a host; packets pass switches only.
    fn distances(&self, destination: u32) -> BTreeMap<u32, u32> {
        let mut found = BTreeMap::from([(destination, 0)]);
        let mut open = VecDeque::from([destination]);
        while let Some(node) = open.pop_front() {
            let ports = self.by_node.get(&node).into_iter().flatten();
            let passes = |port: &&usize| node == destination || self.ports[**port].on_switch;
            let further = found[&node] + 1;
            for port in ports.filter(passes) {
                let peer = self.ports[*port].peer;
                found.entry(peer).or_insert_with(|| {
                    open.push_back(peer);
                    further
                });
            }
        }
        found
    }
}

/// The times in which messages were under way, joined where they overlap; those that didn't complete to the `end`.
pub(crate) fn joined_spans<'a>(
    messages: impl Iterator<Item = &'a Message>,
    end: u64,
) -> Vec<(u64, u64)> {
    let mut spans: Vec<(u64, u64)> = messages
        .map(|message| (message.start_ps, message.finish_ps.unwrap_or(end)))
        .filter(|(from, to)| from < to)
        .collect();
    spans.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (from, to) in spans {
        match joined.last_mut() {
            Some(last) if last.1 >= from => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}
