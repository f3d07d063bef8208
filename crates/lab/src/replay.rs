//! A scenario's messages, carried by software NICs at the hosts of the simulated fabric, in virtual time.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use fairlane_fabric::{
    Attachment, CaptureRecord, CarriedFlow, Control, Ending, Happening, Kind, LiveSimulation,
    Packet, Progress, Results, Side, Simulation,
};
use fairlane_scenario::{Error, HostSet, Loaded, Tenant, Verb};
use fairlane_softnic::{
    Attributes, Completion, Done, Error as NicError, ReceiveRequest, Region, Sge, Status,
};
use fairlane_units::{Bytes, FlowId, HostId, MessageId, Time};

use crate::connection::{Connection, End};
use crate::contents::Captured;
use crate::frames::{self, Frames};
use crate::payload;
use crate::roster::check_telemetry;
use crate::soft_nic::SoftNic;

/// Steps between two reports of progress.
const REPORT_STEPS: u64 = 1 << 14;
/// The largest message: it is in memory at both ends.
const LARGEST: Bytes = Bytes::new(1 << 30);

/// A run of a scenario in which software NICs with memory and payload carry messages.
///
/// Nothing in it depends on a real clock: time goes from one thing that happens to the next, in the fabric or in a NIC, and the same
/// scenario has the same results. Payload is compared with what was sent when a message has ended.
pub struct Replay {
    sim: LiveSimulation,
    tenants: Vec<Tenant>,
    nics: Vec<SoftNic>,
    /// By host and port, the NIC.
    places: HashMap<(HostId, u8), usize>,
    /// By address, the NIC.
    addresses: HashMap<IpAddr, usize>,
    connections: BTreeMap<FlowId, Connection>,
    frames: Frames,
    /// Bytes of captured packets.
    contents: Vec<Option<Box<str>>>,
    /// When which NIC has something to do.
    due: BTreeSet<(Time, usize)>,
    /// By NIC, when that is.
    due_at: Vec<Option<Time>>,
    /// What nobody uses any more once packets under way have come.
    closing: VecDeque<(Time, Closing)>,
}

/// What is forgotten.
#[derive(Debug)]
enum Closing {
    /// A region of a NIC.
    Region(usize, Region),
    /// The responder of a connection, whose requester is no more.
    End(FlowId, End),
}

impl Replay {
    /// The run of a scenario's `simulation` in which software NICs carry the messages that these `hosts` post.
    ///
    /// # Errors
    /// As [`LiveSimulation::new`]; and for a path MTU that InfiniBand doesn't have, or a message that is too large.
    pub fn new(simulation: Simulation, loaded: &Loaded, hosts: &HostSet) -> Result<Self, Error> {
        let sim = LiveSimulation::new(simulation, loaded, Some(hosts))?;
        check(&sim)?;
        check_telemetry(&loaded.scenario)?;
        Ok(Self {
            sim,
            tenants: loaded.scenario.tenants(),
            nics: Vec::new(),
            places: HashMap::new(),
            addresses: HashMap::new(),
            connections: BTreeMap::new(),
            frames: Frames::default(),
            contents: Vec::new(),
            due: BTreeSet::new(),
            due_at: Vec::new(),
            closing: VecDeque::new(),
        })
    }

    /// Runs to the end, reporting progress from time to time.
    ///
    /// # Errors
    /// If a NIC can't do what it is asked for, or the payload of a message is wrong.
    pub fn run(
        mut self,
        report: &mut dyn FnMut(&Progress<'_>) -> Control,
    ) -> Result<Results, Error> {
        let mut steps = 0_u64;
        while let Some(now) = self.next_time() {
            steps += 1;
            if steps.is_multiple_of(REPORT_STEPS)
                && report(&self.sim.progress()) == Control::Interrupt
            {
                self.sim.end(Ending::Interrupted);
            }
            self.sim.set_will_act(!self.due.is_empty());
            if self.sim.advance(now) {
                break;
            }
            self.step(now)?;
        }
        let ledger = self.sim.ledger();
        self.nics.iter_mut().for_each(|nic| nic.report(ledger));
        for connection in self.connections.values() {
            for message in connection.under_way() {
                let pairs = queried(&self.nics, connection).map_err(refused)?;
                self.sim.note(message, connection.state(message, &pairs));
            }
        }
        report(&self.sim.progress());
        let mut results = self.sim.into_results();
        results.contents = self.contents;
        Ok(results)
    }

    /// When something happens next.
    fn next_time(&mut self) -> Option<Time> {
        let due = self.due.first().map(|(at, _)| *at);
        let next = self.sim.next_time().into_iter().chain(due).min();
        next.map(|at| at.max(self.sim.now()))
    }

    /// Does what follows from what has happened in the fabric; once nothing else happens there by now, what NICs have to do by
    /// themselves.
    fn step(&mut self, now: Time) -> Result<(), Error> {
        loop {
            while let Some(happening) = self.sim.poll() {
                self.on_happening(now, happening)?;
            }
            let is_over = self.sim.next_time().is_none_or(|next| next > now);
            let Some(nic) = is_over.then(|| self.next_due(now)).flatten() else {
                break;
            };
            self.nics[nic].device.on_time(now);
            self.see_to(now, nic)?;
        }
        self.forget(now).map_err(refused)
    }

    fn on_happening(&mut self, now: Time, happening: Happening) -> Result<(), Error> {
        match happening {
            Happening::Posted(message) => self.post(now, message),
            Happening::Arrived { packet, attachment } => self.on_arrival(now, &packet, attachment),
            Happening::Lost(attachment) => {
                self.frames.forget(attachment);
                Ok(())
            }
            Happening::Captured { record, attachment } => {
                let captured = attachment.and_then(|attachment| self.captured(&record, attachment));
                let digits = captured.and_then(|captured| captured.digits(&record));
                self.contents.push(digits);
                Ok(())
            }
            Happening::Pauses {
                host,
                plane,
                paused,
            } => {
                let Some(&nic) = self.places.get(&(host, plane)) else {
                    return Ok(());
                };
                self.nics[nic].device.on_pauses(now, paused);
                self.pump(now, nic).map(drop)
            }
            Happening::Free { host, plane } => {
                let nic = self.places.get(&(host, plane)).copied();
                if !nic.map_or(Ok(false), |nic| self.pump(now, nic))? {
                    self.sim.resume(host, plane);
                }
                Ok(())
            }
        }
    }

    /// What a captured packet is made of.
    fn captured(&self, record: &CaptureRecord, attachment: Attachment) -> Option<Captured<'_>> {
        let transport = record.packet.transport()?;
        let ends = self.connections.get(&transport.flow)?.ends;
        let address = |end: End| match self.nics[end.nic].device.address() {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        };
        let [requester, responder] = [address(ends[0])?, address(ends[1])?];
        Some(Captured {
            bytes: self.frames.get(attachment),
            way: match transport.from_responder {
                true => [responder, requester],
                false => [requester, responder],
            },
            source_port: self.frames.source_port(attachment),
        })
    }

    /// The next NIC that has something to do by now.
    fn next_due(&mut self, now: Time) -> Option<usize> {
        let (_, nic) = self.due.first().copied().filter(|(at, _)| *at <= now)?;
        self.arm(nic, None);
        Some(nic)
    }

    /// The NIC at an end of a flow, which is made for its first one.
    fn nic_at(&mut self, carried: &CarriedFlow, side: Side) -> Result<usize, NicError> {
        let end = &carried.ends[side as usize];
        let place = (end.host, end.plane);
        if let Some(&known) = self.places.get(&place) {
            return Ok(known);
        }
        let nic = SoftNic::new(end, self.sim.nic_settings(), &self.tenants)?;
        let number = self.nics.len();
        self.places.insert(place, number);
        self.addresses.insert(nic.device.address(), number);
        self.nics.push(nic);
        self.due_at.push(None);
        Ok(number)
    }

    /// Opens the connection of a flow at both ends, as connection managers would before the run.
    fn connect(&mut self, now: Time, carried: CarriedFlow) -> Result<(), NicError> {
        let mut open = |side| {
            let nic = self.nic_at(&carried, side)?;
            let pair = self.nics[nic].open(&carried, side, &self.tenants)?;
            Ok::<_, NicError>(End { nic, pair })
        };
        let ends = [open(Side::Requester)?, open(Side::Responder)?];
        let config = &self.sim.nic_settings().transport;
        for (own, other) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            let [here, there] = self
                .nics
                .get_disjoint_mut([own.nic, other.nic])
                .map_err(|_| NicError::Invalid("destination", "another host"))?;
            here.connect(now, own.pair, there, other.pair, &carried, config)?;
        }
        let connection = Connection::new(carried, ends);
        self.connections.insert(carried.flow, connection);
        Ok(())
    }

    /// Posts a message at its source, with memory at both ends.
    fn post(&mut self, now: Time, message: MessageId) -> Result<(), Error> {
        let carried = self.sim.flow_of(message);
        if !self.connections.contains_key(&carried.flow) {
            self.connect(now, carried).map_err(refused)?;
        }
        let spec = *self.sim.message(message);
        let Some(connection) = self.connections.get_mut(&carried.flow) else {
            return Ok(());
        };
        let [here, there] = connection.ends;
        let nics = &mut self.nics;
        let mut give = || {
            let [own, other] = payload::before(message, &spec);
            let own = nics[here.nic].memory(&own)?;
            let other = nics[there.nic].memory(&other)?;
            let request = connection.request(message, &spec, [own, other]);
            if spec.verb == Verb::Send {
                let pieces = vec![Sge::of(&other, 0, spec.size.get() as u32)];
                let receive = ReceiveRequest {
                    id: request.id,
                    pieces,
                };
                nics[there.nic].device.post_receive(there.pair, receive)?;
            }
            nics[here.nic].device.post_send(now, here.pair, request)
        };
        give().map_err(refused)?;
        self.see_to(now, here.nic)
    }

    /// A packet has come to a host.
    fn on_arrival(
        &mut self,
        now: Time,
        packet: &Packet,
        attachment: Attachment,
    ) -> Result<(), Error> {
        let Some(connection) = self.connections.get_mut(&packet.flow) else {
            // The connection is over.
            self.frames.forget(attachment);
            return Ok(());
        };
        let End { nic, pair } = connection.ends[packet.towards as usize];
        let from = connection.ends[packet.towards.other() as usize].nic;
        let from = self.nics[from].device.address();
        let from = SocketAddr::new(from, self.frames.source_port(attachment));
        if let Some(telemetry) = self
            .sim
            .telemetry(attachment)
            .filter(|_| packet.kind == Kind::Data)
        {
            self.frames.stamp(attachment, telemetry);
        }
        let bytes = self.frames.get(attachment);
        let device = &mut self.nics[nic].device;
        device.on_packet(now, from, bytes, packet.marked);
        self.frames.forget(attachment);
        if packet.towards == Side::Responder && packet.opcode.position().ends() {
            let expected = device.query(pair).map_err(refused)?.expects;
            while let Some(message) = connection.next_arrived(expected) {
                self.sim.received(message);
            }
        }
        self.see_to(now, nic)
    }

    /// After something has happened to a NIC: looks what has ended, and lets it send.
    fn see_to(&mut self, now: Time, nic: usize) -> Result<(), Error> {
        while let Some(completion) = self.nics[nic].next_completion().map_err(refused)? {
            if completion.done != Done::Receive {
                self.on_completion(now, &completion, nic)?;
            }
        }
        self.nics[nic].report(self.sim.ledger());
        self.pump(now, nic).map(drop)
    }

    /// A request of a NIC has ended.
    fn on_completion(
        &mut self,
        now: Time,
        completion: &Completion,
        nic: usize,
    ) -> Result<(), Error> {
        let message = MessageId::new(completion.id as u32);
        let known = self.nics[nic].end_of(completion.pair);
        let connection = known.and_then(|(flow, _)| self.connections.get_mut(&flow));
        let Some(connection) = connection else {
            return Ok(());
        };
        let pairs = queried(&self.nics, connection).map_err(refused)?;
        let Some(ended) = connection.end(message, &pairs) else {
            return Ok(());
        };
        let (ends, flow) = (connection.ends, connection.carried.flow);
        // As in the simulation, what is under way on an idle fabric still comes.
        let at = now.saturating_add(connection.carried.ends[0].environment.base_rtt);
        for (end, region) in ends.into_iter().zip(ended.regions) {
            let region = Closing::Region(end.nic, region);
            self.closing.push_back((at, region));
        }
        if completion.status == Status::Success {
            self.compare(message, ends, &ended.regions)?;
            if ended.is_last {
                let [here, there] = ends;
                let closed = self.nics[here.nic].close(now, here.pair);
                closed.map_err(refused)?;
                self.closing.push_back((at, Closing::End(flow, there)));
            }
        }
        self.sim.complete(message, completion.status, ended.state);
        Ok(())
    }

    /// Compares what a message has brought with what was sent.
    fn compare(
        &self,
        message: MessageId,
        ends: [End; 2],
        regions: &[Region; 2],
    ) -> Result<(), Error> {
        let spec = self.sim.message(message);
        let read = |at: usize| {
            let mut bytes = vec![0; spec.size.get() as usize];
            let device = &self.nics[ends[at].nic].device;
            device.read(&regions[at], 0, &mut bytes).map(|()| bytes)
        };
        let [here, there] = [read(0).map_err(refused)?, read(1).map_err(refused)?];
        if payload::is_right(message, spec, [&here, &there]) {
            return Ok(());
        }
        let what = format!(
            "message {message} from host {} to host {} has come with wrong payload",
            spec.source, spec.destination
        );
        let hint =
            "this is a bug in fairlane: please report it with the scenario and its side files";
        Err(Error::new("replay", what, hint))
    }

    /// Lets a NIC send as long as its port is free, and notes when it has something to do; whether it has sent.
    fn pump(&mut self, now: Time, at: usize) -> Result<bool, Error> {
        let nic = &mut self.nics[at];
        let (host, plane) = (nic.host, nic.plane);
        let mut sent = false;
        while self.sim.is_free(host, plane) {
            let Some(outgoing) = nic.device.poll_transmit(now) else {
                break;
            };
            let Some((flow, side)) = nic.flows.get(&outgoing.pair) else {
                let (peer, bytes) = (outgoing.peer, outgoing.bytes.to_vec());
                let port = outgoing.source_port;
                let from = SocketAddr::new(nic.device.address(), port);
                self.greet(now, from, peer, &bytes);
                return self.pump(now, at);
            };
            if let Some(packet) = frames::packet(outgoing.bytes, *flow, outgoing.class) {
                let towards = side.other();
                let packet = Packet { towards, ..packet };
                let attachment = self.frames.keep(outgoing.bytes, outgoing.source_port);
                self.sim.inject(&packet, attachment)?;
                sent = true;
            }
        }
        let next = nic.device.next_time();
        let waits = next.is_some_and(|at| at <= now) && !self.sim.is_free(host, plane);
        if waits {
            self.sim.await_free(host, plane);
        }
        let next = if waits { nic.device.deadline() } else { next };
        self.arm(at, next.map(|next| next.max(now)));
        Ok(sent)
    }

    /// Hands a datagram that is of no flow to the NIC that it goes to: what devices tell of themselves takes no time.
    fn greet(&mut self, now: Time, from: SocketAddr, to: IpAddr, bytes: &[u8]) {
        if let Some(&there) = self.addresses.get(&to) {
            self.nics[there].device.on_packet(now, from, bytes, false);
            self.arm(there, Some(now));
        }
    }

    /// Has a NIC asked at a time what it has to do, and at no other one.
    fn arm(&mut self, nic: usize, at: Option<Time>) {
        let before = std::mem::replace(&mut self.due_at[nic], at);
        if before != at {
            before.map(|before| self.due.remove(&(before, nic)));
            self.due.extend(at.map(|at| (at, nic)));
        }
    }

    /// Forgets what nobody uses any more.
    fn forget(&mut self, now: Time) -> Result<(), NicError> {
        while let Some((_, closing)) = self.closing.pop_front_if(|(at, _)| *at <= now) {
            match closing {
                Closing::Region(nic, region) => self.nics[nic].device.deregister(&region)?,
                Closing::End(flow, end) => {
                    self.connections.remove(&flow);
                    self.nics[end.nic].close(now, end.pair)?;
                }
            }
        }
        Ok(())
    }
}

/// What the queue pairs of a connection are like.
fn queried(nics: &[SoftNic], connection: &Connection) -> Result<[Attributes; 2], NicError> {
    let [here, there] = connection.ends;
    let query = |end: End| nics[end.nic].device.query(end.pair);
    Ok([query(here)?, query(there)?])
}

/// Refuses what software NICs can't carry.
fn check(sim: &LiveSimulation) -> Result<(), Error> {
    let mtu = sim.nic_settings().transport.mtu;
    if !matches!(mtu.get(), 256 | 512 | 1024 | 2048 | 4096) {
        let message = format!("is {mtu}, which isn't a path MTU of InfiniBand");
        let hint = "software NICs take 256, 512, 1024, 2048 and 4096 bytes";
        return Err(Error::new("packet.mtu", message, hint));
    }
    let too_large = |message: &MessageId| sim.message(*message).size > LARGEST;
    if let Some(message) = sim.carried().find(too_large) {
        let spec = sim.message(message);
        let place = format!("workload[{}]", spec.workload);
        let message = format!("has a message of {}, expected at most {LARGEST}", spec.size);
        let hint = "software NICs have all of it in memory, at both ends";
        return Err(Error::new(place, message, hint));
    }
    Ok(())
}

/// A software NIC refuses what it is asked for.
fn refused(error: NicError) -> Error {
    let hint = "software NICs have the limits of docs/verbs.md";
    Error::new("software NIC", error.to_string(), hint)
}
