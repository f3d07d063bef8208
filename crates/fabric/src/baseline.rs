//! What the fabric does without queues: base round-trip times, and ideal completion times.

use fairlane_network::routing::{Edge, Graph, HostPort, Link, PathSums, PortPair, Search};
use fairlane_scenario::{BaseRtt, Verb};
use fairlane_units::{Bytes, Duration, NodeId, Rate};
use fairlane_wire::{Opcode, Position};

use crate::rules::Rules;

const PS_PER_NS: u64 = 1000;

/// Round-trip time and bandwidth-delay product of a pair of hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundTrip {
    pub(crate) rtt: Duration,
    pub(crate) bdp: Bytes,
    pub(crate) rate: Rate,
}

/// Round-trip times of all pairs in all planes, by the switches that hosts hang on.
#[derive(Clone, Debug)]
pub(crate) struct Baseline {
    nanoseconds: bool,
    /// Row of each node among switches that have hosts.
    row: Vec<u32>,
    rows: usize,
    /// Sums over the first-found shortest path between two such switches.
    between: Vec<PathSums>,
    /// The largest of all pairs, each figure by itself.
    pub(crate) largest: RoundTrip,
    sizes: [u16; 2],
}

impl Baseline {
    /// Searches from every switch that has hosts.
    pub(crate) fn new(graph: &Graph, hosts: &[NodeId], rules: &Rules) -> Self {
        let nodes = graph.edges.len();
        let mut row = vec![u32::MAX; nodes];
        let links = hosts.iter().flat_map(|host| &graph.edges[host.index()]);
        let mut edges: Vec<u32> = links.map(|edge| edge.to).collect();
        edges.sort_unstable();
        edges.dedup();
        for (number, &node) in (0..).zip(&edges) {
            row[node as usize] = number;
        }
        // HPCC's simulator counts payload one way; exactly, it is a full packet there and an
        // acknowledgement back.
        let sizes = if rules.quirks.round_trips {
            [rules.net.mtu as u16, 0]
        } else {
            [
                rules.data_wire(Opcode::RcWriteOnly, rules.net.mtu as u16),
                rules.sizes.ack,
            ]
        };
        let mut baseline = Self {
            nanoseconds: rules.quirks.round_trips,
            row,
            rows: edges.len(),
            between: Vec::with_capacity(edges.len() * edges.len()),
            largest: RoundTrip::default(),
            sizes,
        };
        for &edge in &edges {
            let search = Search::from(graph, edge, |rate| baseline.serialization(rate));
            baseline
                .between
                .extend(edges.iter().map(|&other| search.sums[other as usize]));
        }
        match graph.planes == graph.ports {
            true => (0..graph.planes).for_each(|plane| baseline.look_at_plane(graph, plane, hosts)),
            false => baseline.look_at_all(graph, hosts),
        }
        baseline
    }

    fn serialization(&self, rate: Rate) -> u64 {
        if self.nanoseconds {
            let bits = u64::from(self.sizes[0]) * 8;
            return bits * 1_000_000_000 / rate.as_bps() * PS_PER_NS;
        }
        self.sizes
            .iter()
            .map(|&s| Bytes::new(u64::from(s)).serialization(rate).as_ps())
            .sum()
    }

    /// Takes all pairs of hosts into account that a plane joins.
    fn look_at_plane(&mut self, graph: &Graph, plane: u8, hosts: &[NodeId]) {
        let link = |host: &NodeId| {
            kind_of(
                graph,
                graph.host_edge(HostPort {
                    host: *host,
                    port: plane,
                }),
            )
        };
        let kept = two_of_each(hosts, link);
        for &a in &kept {
            for &b in kept.iter().filter(|&&b| b != a) {
                self.take_in(self.pair(graph, [plane; 2], (a, b)));
            }
        }
    }

    /// Takes all pairs of hosts into account, with the ports that they use.
    fn look_at_all(&mut self, graph: &Graph, hosts: &[NodeId]) {
        let links = |host: &NodeId| -> Vec<_> {
            let edges = graph.edges[host.index()].iter();
            edges.map(|&edge| kind_of(graph, edge)).collect()
        };
        let kept = two_of_each(hosts, links);
        for &a in &kept {
            for &b in kept.iter().filter(|&&b| b != a) {
                for ports in graph.port_pairs([a, b]) {
                    self.take_in(self.pair(graph, ports, (a, b)));
                }
            }
        }
    }

    fn take_in(&mut self, pair: RoundTrip) {
        let largest = &mut self.largest;
        largest.rtt = largest.rtt.max(pair.rtt);
        largest.bdp = largest.bdp.max(pair.bdp);
        largest.rate = largest.rate.max(pair.rate);
    }

    /// The round trip from `a` to `b` by a port of each.
    pub(crate) fn pair(
        &self,
        graph: &Graph,
        ports: PortPair,
        (a, b): (NodeId, NodeId),
    ) -> RoundTrip {
        let [first, last] = [(a, ports[0]), (b, ports[1])]
            .map(|(host, port)| graph.host_edge(HostPort { host, port }));
        let mut links = vec![first.port / 2];
        let mut sums = PathSums {
            delay: 0,
            serialization: 0,
            rate: Rate::from_bps(u64::MAX),
        };
        if first.to != b.get() {
            links.push(last.port / 2);
            let (from, to) = (self.row[last.to as usize], self.row[first.to as usize]);
            sums = self.between[from as usize * self.rows + to as usize];
        }
        for link in links {
            let rate = graph.rates[link as usize];
            sums.delay += graph.delays[link as usize];
            sums.serialization += self.serialization(rate);
            sums.rate = sums.rate.min(rate);
        }
        let rtt = Duration::from_ps(sums.delay * 2 + sums.serialization);
        let bdp = if self.nanoseconds {
            Bytes::new(rtt.as_ns() * sums.rate.as_bps() / 1_000_000_000 / 8)
        } else {
            sums.rate.bytes_in(rtt)
        };
        RoundTrip {
            rtt,
            bdp,
            rate: sums.rate,
        }
    }

    /// What a controller of messages between `ends` is told.
    pub(crate) fn for_controller(
        &self,
        graph: &Graph,
        mode: BaseRtt,
        ports: PortPair,
        ends: (NodeId, NodeId),
    ) -> RoundTrip {
        match mode {
            BaseRtt::Global => self.largest,
            BaseRtt::Pair => self.pair(graph, ports, ends),
        }
    }
}

/// Where a link of a host leads, its rate and its delay: hosts with such links are interchangeable.
fn kind_of(graph: &Graph, edge: Edge) -> (u32, Rate, u64) {
    let link = edge.port as usize / 2;
    (edge.to, graph.rates[link], graph.delays[link])
}

/// Two hosts of each kind, which are enough to have every kind of pair.
fn two_of_each<K: Ord>(hosts: &[NodeId], kind: impl Fn(&NodeId) -> K) -> Vec<NodeId> {
    let mut sorted: Vec<(K, NodeId)> = hosts.iter().map(|host| (kind(host), *host)).collect();
    sorted.sort();
    let kinds = sorted.chunk_by(|a, b| a.0 == b.0);
    let kept = kinds.flat_map(|hosts| hosts.iter().take(2));
    kept.map(|(_, host)| *host).collect()
}

/// The standalone time of HPCC's text format: a base round trip and all bytes at the slowest link,
/// with 48-byte headers and never telemetry. It isn't a strict lower bound.
pub(crate) fn standalone(pair: RoundTrip, size: Bytes, mtu: u32) -> Duration {
    let packets = (size.get() - 1) / u64::from(mtu) + 1;
    // The format sums in 32 bits.
    let total = (size.get() + packets * 48) as u32;
    let nanoseconds = u128::from(total) * 8_000_000_000 / u128::from(pair.rate.as_bps());
    Duration::from_ns(pair.rtt.as_ns() + nanoseconds as u64)
}

/// A message, or an operation, as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) verb: Verb,
    pub(crate) size: Bytes,
    /// Payload of each of the work requests that it is posted as, the last one perhaps a smaller one.
    pub(crate) piece: Bytes,
    /// Whether its first packet is the first of its queue pair, so that it is known which ones ask for an
    /// acknowledgement; otherwise those do that ask in any case.
    pub(crate) counted: bool,
}

impl Work {
    /// A message with a queue pair of its own.
    pub(crate) const fn message(verb: Verb, size: Bytes) -> Self {
        Self {
            verb,
            size,
            piece: size,
            counted: true,
        }
    }

    /// Sizes of its work requests.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Bytes> + use<> {
        let (size, piece) = (self.size.get(), self.piece.get().max(1));
        let count = size.div_ceil(piece).max(1);
        (0..count).map(move |number| Bytes::new((size - number * piece).min(piece)))
    }

    /// Every how many packets one is acknowledged, if any surely is but the last of a work request: the
    /// acknowledgement of another, if it is lost on its way, keeps no link from the last one.
    const fn asks_every(&self, rules: &Rules) -> Option<u64> {
        match rules.transport.ack_interval {
            _ if rules.lossy => None,
            1 => Some(1),
            interval if self.counted => Some(interval as u64),
            _ => None,
        }
    }
}

/// Completion time of a message alone on the fabric: each packet is stored and forwarded at every
/// switch, the sender sends at line rate, and the acknowledgement of the last packet comes back. A
/// READ is a request there and all packets of the response back; an atomic a packet there and back.
///
/// Departures form a max-plus recursion: packet i leaves hop j when it has arrived there and packet
/// i-1 has left with its gap.
pub(crate) fn ideal([forward, back]: [&[Link]; 2], work: &Work, rules: &Rules) -> Duration {
    let mut asked = vec![0; forward.len()];
    let ask = |opcode, asked: &mut [u64]| {
        let request = rules.data_wire(opcode, 0);
        pass(forward, request, rules, (0, asked))
    };
    let verb = work.verb;
    let finished = match verb {
        Verb::Write | Verb::Send => stream([forward, back], (0, work), rules, |position| {
            let opcode = data_opcode(rules, verb, position);
            (opcode, Some(rules.sizes.ack))
        }),
        Verb::Read => {
            let at = ask(Opcode::RcReadRequest, &mut asked);
            stream([back, &[]], (at, work), rules, |position| {
                (response_opcode(position), None)
            })
        }
        Verb::FetchAdd | Verb::CompareSwap => {
            let at = ask(Opcode::RcFetchAdd, &mut asked);
            let answer = rules.reply_wire(Opcode::RcAtomicAcknowledge);
            pass(back, answer, rules, (at, &mut vec![0; back.len()]))
        }
    };
    Duration::from_ps(finished)
}

/// Time until the last packet of a message of an unreliable service is on the wire.
pub(crate) fn sent(forward: &[Link], work: &Work, rules: &Rules) -> Duration {
    let first = forward.first().map(|link| Link { delay: 0, ..*link });
    let first: Vec<Link> = first.into_iter().collect();
    let finished = stream([&first, &[]], (0, work), rules, |position| {
        (data_opcode(rules, work.verb, position), None)
    });
    Duration::from_ps(finished)
}

/// The opcode of a packet of a WRITE or SEND.
pub(crate) fn data_opcode(rules: &Rules, verb: Verb, position: Position) -> Opcode {
    match (verb, position) {
        (Verb::Write, _) if rules.transport.direct_placement => Opcode::RcWriteOnly,
        (Verb::Write, Position::First | Position::Only) => Opcode::RcWriteFirst,
        (Verb::Write, _) => Opcode::RcWriteMiddle,
        _ => Opcode::RcSendMiddle,
    }
}

pub(crate) const fn response_opcode(position: Position) -> Opcode {
    match position {
        Position::First => Opcode::RcReadResponseFirst,
        Position::Middle => Opcode::RcReadResponseMiddle,
        Position::Last => Opcode::RcReadResponseLast,
        Position::Only => Opcode::RcReadResponseOnly,
    }
}

/// Sends a message, ready at `start`; `packet` says what each packet is and how large the answer to it.
/// Returns when the last packet, or its answer, has arrived.
fn stream(
    [forward, back]: [&[Link]; 2],
    (start, work): (u64, &Work),
    rules: &Rules,
    packet: impl Fn(Position) -> (Opcode, Option<u16>),
) -> u64 {
    // When each transmitter is free: on the way there, then on the way back.
    let mut free = vec![start; forward.len() + back.len()];
    let mut finished = start;
    for size in work.pieces() {
        let sent = (size, work.asks_every(rules));
        finished = request([forward, back], (start, sent), rules, &packet, &mut free);
    }
    finished
}

/// Sends a work request of `size` whose packets ask for an answer every so many; see [`stream`].
fn request(
    [forward, back]: [&[Link]; 2],
    (start, (size, asks_every)): (u64, (Bytes, Option<u64>)),
    rules: &Rules,
    packet: impl Fn(Position) -> (Opcode, Option<u16>),
    free: &mut [u64],
) -> u64 {
    let mtu = u64::from(rules.net.mtu);
    let packets = size.get().div_ceil(mtu).max(1);
    let period = asks_every.unwrap_or(1);
    // Without answers in between, the way back waits for the last packet.
    let moving = match asks_every {
        Some(_) => free.len(),
        None => forward.len(),
    };
    let mut before = free.to_vec();
    let (mut finished, mut number) = (start, 0);
    while number < packets {
        let payload = (size.get() - number * mtu).min(mtu) as u16;
        let last = number + 1 == packets;
        let (opcode, answer) = packet(position(number, packets));
        number += 1;
        let (there, answers) = free.split_at_mut(forward.len());
        let wire = rules.data_wire(opcode, payload);
        finished = pass(forward, wire, rules, (start, there));
        let asks = last || asks_every.is_some_and(|every| number.is_multiple_of(every));
        if let Some(answer) = answer.filter(|_| asks) {
            finished = pass(back, answer, rules, (finished, answers));
        }
        if !number.is_multiple_of(period) {
            continue;
        }
        // Once packets of full size shift every hop by the same span, so do as many after them.
        let shift = free[0] - before[0];
        let both = free[..moving].iter().zip(&before);
        let steady = both.into_iter().all(|(now, then)| now - then == shift);
        if steady && number > period && number + 1 < packets {
            let periods = (packets - 1 - number) / period;
            let skipped = periods * shift;
            free[..moving].iter_mut().for_each(|at| *at += skipped);
            number += periods * period;
        }
        before.copy_from_slice(free);
    }
    finished
}

/// Where a packet is among those of its work request.
const fn position(number: u64, packets: u64) -> Position {
    match (number == 0, number + 1 == packets) {
        (true, true) => Position::Only,
        (true, false) => Position::First,
        (false, false) => Position::Middle,
        (false, true) => Position::Last,
    }
}

/// Sends one packet, ready at `at`, over all hops; `free` is when each transmitter is free. Returns
/// its arrival.
fn pass(links: &[Link], wire: u16, rules: &Rules, (mut at, free): (u64, &mut [u64])) -> u64 {
    for (link, free) in links.iter().zip(free) {
        let start = at.max(*free);
        *free = start
            + rules
                .net
                .serialization(u32::from(wire) + u32::from(rules.net.gap), link.rate)
                .as_ps();
        at = start + rules.net.pass(link, wire);
    }
    at
}

/// The hops from a host, given the egress ports at switches.
pub(crate) fn hops(graph: &Graph, from: HostPort, path: &[u32]) -> Vec<Link> {
    let ports = std::iter::once(graph.host_edge(from).port).chain(path.iter().copied());
    ports.map(|port| graph.link(port as usize / 2)).collect()
}
