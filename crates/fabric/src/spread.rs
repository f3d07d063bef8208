//! What bounds the completion time of a message whose packets take different paths.
//!
//! Alone on the fabric, packets that take different paths wait for each other nowhere but at the links that
//! all of them pass: the first and the last one, of the two hosts. So no packet is faster than
//!
//! - it leaves the sender once all packets before it have;
//! - between the hosts' links it takes the time of the fastest path for its size, without any wait;
//! - the receiver's link takes one packet after the other, in the order of arrival.
//!
//! This stays a bound however packets are distributed, also where hosts are faster than links between
//! switches: then packets on several paths do beat the best single one. Since a short last packet may
//! overtake, the receiver's link is charged with what is still to come whenever the earliest of it could be
//! there. The acknowledgement that ends the message leaves behind the last packet and waits for nothing.

use std::collections::BTreeMap;

use fairlane_network::routing::{Graph, HostPort, Leg, Link, Routes};
use fairlane_scenario::Verb;
use fairlane_units::{Bytes, Duration, Rate};
use fairlane_wire::{Opcode, Position};

use crate::baseline::{Work, data_opcode, response_opcode};
use crate::rules::Rules;

/// Kinds of paths between two switches that are kept apart; more are replaced by one that is as fast as
/// any of them.
const MOST: usize = 16;

/// A path between two switches as far as its speed goes, which doesn't depend on the order of links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Shape {
    /// Rates of the links, slowest first.
    rates: Vec<Rate>,
    /// Propagation over all of them, in picoseconds.
    delay: u64,
}

impl Shape {
    fn with(&self, rate: Rate, delay: u64) -> Self {
        let mut rates = self.rates.clone();
        let at = rates.partition_point(|&other| other <= rate);
        rates.insert(at, rate);
        Self {
            rates,
            delay: self.delay + delay,
        }
    }

    /// Whether no packet takes longer than on `other`, which has as many links.
    fn is_as_fast(&self, other: &Self) -> bool {
        let mut rates = self.rates.iter().zip(&other.rates);
        self.delay <= other.delay && rates.all(|(own, other)| own >= other)
    }

    /// As fast as the faster of both at everything.
    fn best(&self, other: &Self) -> Self {
        let rates = self.rates.iter().zip(&other.rates);
        Self {
            rates: rates.map(|(&own, &other)| own.max(other)).collect(),
            delay: self.delay.min(other.delay),
        }
    }
}

/// Adds a shape unless one that is known is as fast, and drops those that it makes superfluous.
fn add(profiles: &mut Vec<Shape>, new: Shape) {
    if profiles.iter().any(|known| known.is_as_fast(&new)) {
        return;
    }
    profiles.retain(|known| !new.is_as_fast(known));
    profiles.push(new);
    if profiles.len() > MOST {
        let best = profiles
            .iter()
            .skip(1)
            .fold(profiles[0].clone(), |best, shape| best.best(shape));
        *profiles = vec![best];
    }
}

/// The profiles of shortest paths between switches under the present routes, as far as somebody asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathProfiles {
    /// By the nodes of the two switches.
    known: BTreeMap<(u32, u32), Vec<Shape>>,
}

impl PathProfiles {
    /// Routes have changed.
    pub(crate) fn clear(&mut self) {
        self.known.clear();
    }

    /// The hops of paths from host to host: of those on which
    /// no packet is faster than on others, one. Links between switches stand in any order.
    pub(crate) fn paths(&mut self, graph: &Graph, routes: &Routes, leg: &Leg) -> Vec<Vec<Link>> {
        let ends = [leg.from(), leg.to()].map(|end| graph.host_edge(end));
        let links = ends.map(|edge| edge.port as usize / 2);
        if links.iter().any(|&link| !graph.link_up[link]) {
            return Vec::new();
        }
        let [first, last] = links.map(|link| graph.link(link));
        if links[0] == links[1] {
            return vec![vec![first]];
        }
        let [from, to] = ends.map(|edge| edge.to);
        let find = || find(graph, routes, (from, to), leg.to());
        let profiles = self.known.entry((from, to)).or_insert_with(find);
        let path = |shape: &Shape| {
            // The whole delay stands with the first link.
            let delays = std::iter::once(shape.delay).chain(std::iter::repeat(0));
            let between = shape.rates.iter().zip(delays);
            let between = between.map(|(&rate, delay)| Link { rate, delay });
            [first].into_iter().chain(between).chain([last]).collect()
        };
        profiles.iter().map(path).collect()
    }
}

/// Follows all shortest paths at once, hop by hop.
fn find(graph: &Graph, routes: &Routes, (from, to): (u32, u32), host: HostPort) -> Vec<Shape> {
    let mut reached = BTreeMap::from([(from, vec![Shape::default()])]);
    while !reached.is_empty() && !reached.contains_key(&to) {
        let mut next: BTreeMap<u32, Vec<Shape>> = BTreeMap::new();
        for (node, profiles) in reached {
            let switch = routes.number(node);
            for &port in routes.towards(switch, host, true) {
                let Link { rate, delay } = graph.link(port as usize / 2);
                let there = next.entry(graph.peer(port)).or_default();
                for shape in &profiles {
                    add(there, shape.with(rate, delay));
                }
            }
        }
        reached = next;
    }
    reached.remove(&to).unwrap_or_default()
}

/// Completion time of a message that nothing can beat whichever of the paths each packet takes; there
/// must be at least one there and one back. Operations are those of [`crate::baseline::ideal`].
pub(crate) fn ideal([there, back]: [&[Vec<Link>]; 2], work: &Work, rules: &Rules) -> Duration {
    let verb = work.verb;
    let ask = |opcode| fastest(there, rules.data_wire(opcode, 0), rules);
    let finished = match verb {
        Verb::Write | Verb::Send => {
            let arrived = stream(there, work, rules, |position| {
                data_opcode(rules, verb, position)
            });
            arrived + fastest(back, rules.sizes.ack, rules)
        }
        Verb::Read => ask(Opcode::RcReadRequest) + stream(back, work, rules, response_opcode),
        Verb::FetchAdd | Verb::CompareSwap => {
            let answer = rules.reply_wire(Opcode::RcAtomicAcknowledge);
            ask(Opcode::RcFetchAdd) + fastest(back, answer, rules)
        }
    };
    Duration::from_ps(finished)
}

/// Like [`ideal`], for a message that may be divided into packets of any size: the hosts' links carry all of its bytes and
/// as few headers as may be, and whatever comes last is as small as a packet can be.
pub(crate) fn divided([there, back]: [&[Vec<Link>]; 2], work: &Work, rules: &Rules) -> Duration {
    let (verb, size) = (work.verb, work.size);
    let finished = match verb {
        Verb::Write | Verb::Send => {
            let opcode = data_opcode(rules, verb, Position::Middle);
            fluid(there, size, opcode, rules) + fastest(back, rules.sizes.ack, rules)
        }
        Verb::Read => {
            let ask = rules.data_wire(Opcode::RcReadRequest, 0);
            let opcode = response_opcode(Position::Middle);
            fastest(there, ask, rules) + fluid(back, size, opcode, rules)
        }
        // They are never divided.
        Verb::FetchAdd | Verb::CompareSwap => return ideal([there, back], work, rules),
    };
    Duration::from_ps(finished)
}

/// Time that so many bytes take at least, in packets of any size.
fn fluid(paths: &[Vec<Link>], size: Bytes, opcode: Opcode, rules: &Rules) -> u64 {
    let ends = paths.first().and_then(|path| path.first().zip(path.last()));
    let Some((first, last)) = ends else {
        return 0;
    };
    let mtu = u64::from(rules.net.mtu);
    let packets = size.get().div_ceil(mtu).max(1);
    let headers = u64::from(rules.data_wire(opcode, 0) + rules.net.gap) * packets;
    let wire = Bytes::new(size.get() + headers - u64::from(rules.net.gap));
    let least = rules.data_wire(opcode, 1);
    let alone = fastest(paths, least, rules);
    let takes = |link: &Link| wire.serialization(link.rate).as_ps();
    // The smallest packet waits at one of the hosts' links until all others have passed it.
    let waits = |link: &Link| takes(link).saturating_sub(rules.net.pass(link, least) - link.delay);
    alone + waits(first).max(waits(last))
}

/// The time of one packet on the fastest of several paths.
fn fastest(paths: &[Vec<Link>], wire: u16, rules: &Rules) -> u64 {
    let times = paths
        .iter()
        .map(|path| path.iter().map(|link| rules.net.pass(link, wire)).sum());
    times.min().unwrap_or(0)
}

/// Packets of equal size that follow each other.
struct Run {
    count: u64,
    wire: u16,
}

/// Time until the last packet of a message has arrived.
fn stream(
    paths: &[Vec<Link>],
    work: &Work,
    rules: &Rules,
    opcode: impl Fn(Position) -> Opcode,
) -> u64 {
    let mtu = u64::from(rules.net.mtu);
    let mut runs: Vec<Run> = Vec::new();
    let mut add = |count, position, payload| {
        let wire = rules.data_wire(opcode(position), payload);
        match runs.last_mut() {
            Some(run) if run.wire == wire => run.count += count,
            _ => runs.push(Run { count, wire }),
        }
    };
    for size in work.pieces() {
        let packets = size.get().div_ceil(mtu).max(1);
        let rest = (size.get() - (packets - 1) * mtu) as u16;
        if packets == 1 {
            add(1, Position::Only, rest);
            continue;
        }
        add(1, Position::First, mtu as u16);
        add(packets - 2, Position::Middle, mtu as u16);
        add(1, Position::Last, rest);
    }
    arrival(paths, &runs, rules)
}

/// Time until all packets of `runs` have passed the last link.
fn arrival(paths: &[Vec<Link>], runs: &[Run], rules: &Rules) -> u64 {
    let Some((first, last)) = paths.first().and_then(|path| path.first().zip(path.last())) else {
        return 0;
    };
    let takes = |link: &Link, wire: u16| {
        let whole = u32::from(wire) + u32::from(rules.net.gap);
        rules.net.serialization(whole, link.rate).as_ps()
    };
    let runs = || runs.iter().filter(|run| run.count > 0);
    // From the end of a packet to when the link is free.
    let gap = runs()
        .map(|run| takes(last, run.wire) + last.delay - rules.net.pass(last, run.wire))
        .max()
        .unwrap_or(0);
    // From the last run to the first: the earliest that any packet from here on could be at the last link,
    // and how long that link needs for all of them.
    let mut sent: u64 = runs().map(|run| run.count * takes(first, run.wire)).sum();
    let (mut earliest, mut needed, mut latest) = (u64::MAX, 0, 0);
    for run in runs().rev() {
        let (out, through) = (takes(first, run.wire), takes(last, run.wire));
        let alone = fastest(paths, run.wire, rules);
        let before_last = alone - rules.net.pass(last, run.wire);
        // Within a run times grow linearly, so its last packet and its first are enough.
        latest = latest.max(sent - out + alone);
        earliest = earliest.min(sent - out + before_last);
        latest = latest.max(earliest + needed + through - gap + last.delay);
        sent -= run.count * out;
        needed += run.count * through;
        earliest = earliest.min(sent + before_last);
        latest = latest.max(earliest + needed - gap + last.delay);
    }
    latest
}
