//! Two simulated NICs (`fairlane-nic`) at a simulated leaf-spine (`fairlane-network`), in virtual time. Payload travels beside the
//! packets.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use fairlane_congestion::Environment;
use fairlane_middleware::Posting;
use fairlane_multipath::{Atomic, Outcome, Remote, Segment, Tag, Work};
use fairlane_network::five_tuple::FiveTuple;
use fairlane_network::packet::{Kind, Side as End};
use fairlane_network::settings::Settings as Switches;
use fairlane_network::topology::Topology;
use fairlane_network::{Attachment, Delivery, LiveNetwork, Network, Packet};
use fairlane_nic::{
    Arrival, Departure, Event, Extensions, Measured, Nic, Opening, PairId, Role, Settings, Tenants,
};
use fairlane_transport::{
    self as transport, Operation, Placement, Receive, Receives, Source, Status, WorkRequest,
};
use fairlane_units::{
    Bytes, Duration, FlowId, HostId, NodeId, PathId, PortId, Rate, TenantId, Time,
};

use crate::carrier::{Carrier, Happened, Side};
use crate::memory::Memory;

const RATE: Rate = Rate::from_gbps(100);
/// The class of data.
const CLASS: u8 = 3;
/// What may wait at a host's port before its NIC is asked for more.
const WAITING: Bytes = Bytes::new(10_000);
/// Hosts at different leaves.
const HOSTS: [u32; 2] = [0, 2];

fn scenario(rough: bool) -> String {
    let loss = if rough { "0.005" } else { "0" };
    format!(
        r#"
        topology = {{ kind = "leaf-spine", leaves = 2, spines = 4, hosts_per_leaf = 2, host_link = {{ rate = "100Gbps", delay = "1us" }}, fabric_link = {{ rate = "100Gbps", delay = "1us" }} }}
        packet = {{ mtu = "1100B" }}
        faults = {{ loss_rate = {loss} }}
        workload = [{{ kind = "flows", flow = [{{ source = 0, destination = 1, size = "1kB" }}] }}]
        "#
    )
}

/// What a host has of a work request.
struct Posted {
    /// What it carries there.
    bytes: Vec<u8>,
    /// Where what it brings back goes.
    pieces: Vec<Segment>,
}

/// Receives of a queue pair: there is always one.
#[derive(Default)]
struct Buffers {
    next: u64,
    filled: BTreeMap<u64, Vec<u8>>,
}

impl Receives for Buffers {
    fn take(&mut self) -> Option<Receive> {
        self.next += 1;
        Some(Receive {
            id: self.next,
            length: Bytes::new(1 << 20),
            closed: false,
        })
    }
}

/// The queue pair of a path at one host.
struct Pair {
    id: PairId,
    posted: BTreeMap<u64, Posted>,
    buffers: Buffers,
}

struct Host {
    nic: Nic,
    pairs: Vec<Pair>,
    happened: VecDeque<Happened>,
}

pub(crate) struct Simulated {
    net: LiveNetwork,
    hosts: [Host; 2],
    memory: Memory,
    /// By path.
    flows: Vec<FlowId>,
    dead: Vec<bool>,
    /// Flows opened so far: each has another source port.
    opened: u16,
    /// Packets under way, and places that are free.
    under_way: Vec<Option<(Departure, Vec<u8>)>>,
    free: Vec<u32>,
}

impl Simulated {
    pub(crate) fn new(paths: usize, rough: bool) -> Self {
        let text = scenario(rough);
        let loaded = fairlane_scenario::parse(&text, "fabric.toml", Path::new("."), &[], None);
        let scenario = loaded.unwrap_or_else(|error| panic!("{error}")).scenario;
        let loss = scenario.faults.loss_rate;
        let topology = Topology::build(&scenario.topology, None, loss).expect("it was checked");
        let switches = Switches::new(&scenario);
        let net = Network::new(&scenario, &topology, switches, 1 << CLASS);
        let net = net.unwrap_or_else(|error| panic!("{error}"));
        let mut settings = Settings::new("dcqcn".parse().expect("it is in the list"));
        settings.transport.ack_timeout = Some(Duration::from_us(200));
        settings.transport.retry_limit = if rough { 3 } else { 7 };
        let settings = Arc::new(settings);
        let host = || Host {
            nic: Nic::new(settings.clone(), &[environment()], &Tenants::default()),
            pairs: Vec::new(),
            happened: VecDeque::new(),
        };
        let mut own = Self {
            net: LiveNetwork::new(net),
            hosts: [host(), host()],
            memory: Memory::new(),
            flows: Vec::new(),
            dead: vec![false; paths],
            opened: 0,
            under_way: Vec::new(),
            free: Vec::new(),
        };
        for _ in 0..paths {
            let (flow, pairs) = own.open();
            own.flows.push(flow);
            for (host, pair) in own.hosts.iter_mut().zip(pairs) {
                host.pairs.push(pair);
            }
        }
        own
    }

    /// A flow of a source port of its own, and the queue pairs at its ends.
    fn open(&mut self) -> (FlowId, [Pair; 2]) {
        self.opened += 1;
        let [source, destination] = HOSTS.map(NodeId::new);
        let tuple = FiveTuple {
            source,
            destination,
            source_port: 0xc000 + self.opened,
            destination_port: 4791,
        };
        let flow = self.net.open(tuple, [0, 0], CLASS, TenantId::new(0));
        let flow = flow.unwrap_or_else(|error| panic!("{error}"));
        let now = self.now();
        let pairs = [0, 1].map(|side: usize| {
            let opening = Opening {
                flow,
                port: 0,
                class: CLASS,
                tenant: TenantId::new(0),
                peer: HostId::new(HOSTS[1 - side]),
                extensions: Extensions::with(RATE),
                environment: environment(),
                group: None,
            };
            Pair {
                id: self.hosts[side].nic.open(now, &opening),
                posted: BTreeMap::new(),
                buffers: Buffers::default(),
            }
        });
        (flow, pairs)
    }

    fn path_of(&self, flow: FlowId) -> Option<usize> {
        self.flows.iter().position(|&own| own == flow)
    }

    /// Hands packets to the network, as far as hosts' ports take them.
    fn transmit(&mut self) {
        let now = self.now();
        for side in [0, 1] {
            // Ports are numbered by links; hosts come first.
            let port = PortId::new(2 * HOSTS[side]);
            while self.net.waiting(port) < WAITING
                && self.hosts[side].nic.sends_at(0).is_some_and(|at| at <= now)
            {
                let Some(departure) = self.hosts[side].nic.poll_transmit(now, 0) else {
                    break;
                };
                self.inject(side, departure);
            }
        }
    }

    fn inject(&mut self, side: usize, departure: Departure) {
        let flow = departure.meta.flow;
        let Some(path) = self.path_of(flow).filter(|&path| !self.dead[path]) else {
            return;
        };
        let (packet, meta) = (&departure.packet, &departure.meta);
        let pair = &self.hosts[side].pairs[path];
        let length = packet.payload.get();
        let payload = match self.hosts[side].nic.source() {
            Source::Nothing => Vec::new(),
            Source::Request { id, offset } => {
                let at = offset.get() as usize;
                pair.posted[&id].bytes[at..at + length as usize].to_vec()
            }
            Source::Memory(_) if length == 0 => Vec::new(),
            Source::Memory(remote) => self.memory.bytes(remote.address, length).to_vec(),
        };
        let kind = match meta.role {
            Role::Cnp => Kind::Cnp,
            Role::Response if packet.opcode.has_aeth() && length == 0 => Kind::Ack,
            Role::Feedback => Kind::Ack,
            Role::Request | Role::Response => Kind::Data,
        };
        let out = Packet {
            flow,
            towards: if side == 0 {
                End::Responder
            } else {
                End::Requester
            },
            kind,
            opcode: packet.opcode,
            psn: packet.psn,
            payload: length as u16,
            wire: meta.wire,
            class: meta.class,
            marked: false,
            hops: 0,
        };
        let place = self.free.pop().unwrap_or_else(|| {
            self.under_way.push(None);
            self.under_way.len() as u32 - 1
        });
        self.under_way[place as usize] = Some((departure, payload));
        let injected = self.net.inject(&out, Some(Attachment::new(place)));
        injected.unwrap_or_else(|error| panic!("{error}"));
    }

    /// A packet has come to a host.
    fn arrive(&mut self, packet: &Packet, (mut departure, payload): (Departure, Vec<u8>)) {
        let now = self.now();
        let side = usize::from(packet.towards == End::Responder);
        let Some(path) = self.path_of(packet.flow).filter(|&path| !self.dead[path]) else {
            return;
        };
        if packet.kind == Kind::Data {
            departure.meta.marked = packet.marked;
        }
        let arrival = Arrival::from_departure(&departure, Measured::default());
        let host = &mut self.hosts[side];
        let Pair {
            id,
            posted,
            buffers,
        } = &mut host.pairs[path];
        let heard = host
            .nic
            .on_packet(now, *id, &arrival, &mut self.memory, buffers);
        match heard.placement {
            None => {}
            Some(Placement::Memory(remote)) => self.memory.put(remote.address, &payload),
            Some(Placement::Receive { id, offset }) => {
                let buffer = buffers.filled.entry(id).or_default();
                let end = offset.get() as usize + payload.len();
                buffer.resize(buffer.len().max(end), 0);
                buffer[offset.get() as usize..end].copy_from_slice(&payload);
            }
            Some(Placement::Request { id, offset }) => {
                let pieces = &posted[&id].pieces;
                self.memory.scatter(pieces, offset.get(), &payload);
            }
            Some(Placement::Result { id, original }) => {
                let pieces = &posted[&id].pieces;
                self.memory.scatter(pieces, 0, &original.to_ne_bytes());
            }
        }
        self.hear(side);
    }

    /// Hears what has ended at a host.
    fn hear(&mut self, side: usize) {
        while let Some(event) = self.hosts[side].nic.poll_event() {
            let (Event::Completed { pair, flow, .. } | Event::Received { pair, flow, .. }) = event;
            let current = self.path_of(flow);
            let host = &mut self.hosts[side];
            let Some(path) = current.filter(|&path| host.pairs[path].id == pair) else {
                continue;
            };
            let own = &mut host.pairs[path];
            match event {
                Event::Completed { id, status, .. } => {
                    own.posted.remove(&id);
                    let outcome = match status {
                        Status::Success => Outcome::Delivered,
                        Status::Flushed => Outcome::Flushed,
                        Status::RetryExceeded | Status::RnrRetryExceeded => Outcome::RetryExceeded,
                        _ => Outcome::Rejected,
                    };
                    let (path, tag) = (PathId::new(path as u32), Tag::from_number(id));
                    host.happened.push_back(Happened::Ended(path, tag, outcome));
                }
                Event::Received { completion, .. } => {
                    let Some(ended) = completion else { continue };
                    let bytes = own.buffers.filled.remove(&ended.id).unwrap_or_default();
                    if ended.status == Status::Success {
                        assert_eq!(bytes.len() as u64, ended.length.get());
                        host.happened.push_back(Happened::Came(bytes));
                    }
                }
            }
        }
    }

    fn has_happened(&self) -> bool {
        self.hosts.iter().any(|host| !host.happened.is_empty())
    }
}

const fn environment() -> Environment {
    Environment {
        line_rate: RATE,
        base_rtt: Duration::from_us(9),
        bdp: Bytes::new(112_500),
        mtu: Bytes::new(1024),
    }
}

impl Carrier for Simulated {
    fn now(&self) -> Time {
        self.net.network().now()
    }

    fn post(&mut self, side: Side, posting: &Posting, pieces: &[Segment]) {
        let chunk = &posting.chunk;
        let there = |remote: Remote| transport::Remote {
            address: remote.address,
            key: remote.key,
        };
        let length = chunk.length.get();
        let (operation, bytes) = match chunk.work {
            Work::Write(remote) => (Operation::Write(there(remote)), self.memory.gather(pieces)),
            Work::Read(remote) => (Operation::Read(there(remote)), vec![0; length as usize]),
            Work::Send(frame) => {
                let bytes = [&frame.encode()[..], &self.memory.gather(pieces)].concat();
                (Operation::Send, bytes)
            }
            Work::Atomic(remote, Atomic::FetchAdd(add)) => {
                let remote = there(remote);
                (Operation::FetchAdd { remote, add }, vec![0; 8])
            }
            Work::Atomic(..) => unreachable!("the model adds"),
        };
        let now = self.now();
        let length = Bytes::new(bytes.len() as u64);
        let host = &mut self.hosts[side as usize];
        let pair = &mut host.pairs[chunk.path.index()];
        let pieces = pieces.to_vec();
        pair.posted
            .insert(chunk.tag.get(), Posted { bytes, pieces });
        let request = WorkRequest::new(chunk.tag.get(), operation, length);
        host.nic.post(now, pair.id, request);
        self.hear(side as usize);
        self.transmit();
    }

    fn poll(&mut self, side: Side) -> Option<Happened> {
        self.hosts[side as usize].happened.pop_front()
    }

    fn wait(&mut self, until: Time) {
        while self.now() < until && !self.has_happened() {
            let mut next = until;
            for (host, number) in self.hosts.iter_mut().zip(HOSTS) {
                let open = self.net.waiting(PortId::new(2 * number)) < WAITING;
                let sends = host.nic.sends_at(0).filter(|_| open);
                let due = [sends, host.nic.deadline()].into_iter().flatten().min();
                next = next.min(due.unwrap_or(until));
            }
            let next = self
                .net
                .next_time()
                .unwrap_or(next)
                .min(next)
                .max(self.now());
            let mut out = Vec::new();
            let mut lost = Vec::new();
            self.net.advance(next, |delivery| match delivery {
                Delivery::Packet {
                    packet, attachment, ..
                } => out.push((packet, attachment)),
                Delivery::Lost(packet) => lost.extend(packet.attachment),
                Delivery::Pauses { .. } => {}
            });
            for attachment in lost {
                self.under_way[attachment.get() as usize] = None;
                self.free.push(attachment.get());
            }
            for (packet, attachment) in out {
                let Some(attachment) = attachment else {
                    continue;
                };
                self.free.push(attachment.get());
                let sent = self.under_way[attachment.get() as usize].take();
                self.arrive(&packet, sent.expect("it was under way"));
            }
            let now = self.now();
            for side in [0, 1] {
                self.hosts[side].nic.on_deadline(now);
                self.hear(side);
            }
            self.transmit();
        }
    }

    fn replace(&mut self, path: PathId) -> [Vec<Tag>; 2] {
        let path = path.index();
        let now = self.now();
        let closed = self.net.close(self.flows[path]);
        closed.unwrap_or_else(|error| panic!("{error}"));
        let (flow, pairs) = self.open();
        self.flows[path] = flow;
        let mut flushed = [Vec::new(), Vec::new()];
        for ((host, pair), tags) in self.hosts.iter_mut().zip(pairs).zip(&mut flushed) {
            let gone = std::mem::replace(&mut host.pairs[path], pair);
            host.nic.close(now, gone.id, true);
            tags.extend(gone.posted.keys().copied().map(Tag::from_number));
            // A completion of the queue pair that has gone says nothing of the new one.
            host.happened.retain(|one| match one {
                Happened::Ended(of, tag, outcome)
                    if of.index() == path && *outcome != Outcome::Delivered =>
                {
                    tags.push(*tag);
                    false
                }
                _ => true,
            });
        }
        flushed
    }

    fn kill(&mut self, path: PathId) {
        if let Some(dead) = self.dead.get_mut(path.index()) {
            *dead = true;
        }
    }

    fn revive(&mut self, path: PathId) {
        if let Some(dead) = self.dead.get_mut(path.index()) {
            *dead = false;
        }
    }

    fn write(&mut self, _: Side, address: u64, bytes: &[u8]) {
        self.memory.put(address, bytes);
    }

    fn read(&self, _: Side, address: u64, length: u64) -> Vec<u8> {
        self.memory.bytes(address, length).to_vec()
    }
}
