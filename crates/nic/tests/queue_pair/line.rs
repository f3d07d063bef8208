//! Two NICs side by side with a queue pair each, and memory that refuses what it is told to.

use std::collections::VecDeque;
use std::sync::Arc;

use fairlane_congestion::{Environment, Params};
use fairlane_nic::{
    Arrival, Departure, Event, Extensions, Measured, Meta, Nic, Opening, PairId, Role, Settings,
    Start, Tenants,
};
use fairlane_transport::{
    Access, Config, Memory, Operation, Packet, Placement, Receive, ReceiveCompletion, ReceiveQueue,
    Receives, Remote, Service, Status, WorkRequest,
};
use fairlane_units::{Bytes, Duration, FlowId, HostId, Psn, Rate, TenantId, Time};
use fairlane_wire::{Opcode, Service as Wire};

pub(crate) const KEY: u32 = 7;

/// Memory that is one word, with one key.
#[derive(Debug, Default)]
pub(crate) struct Word {
    pub(crate) value: u64,
    pub(crate) executed: u32,
    pub(crate) invalid: bool,
}

impl Memory for Word {
    fn permits(&self, _: Access, remote: Remote, _: Bytes) -> bool {
        remote.key == KEY && !self.invalid
    }

    fn execute(&mut self, operation: &Operation) -> u64 {
        let original = self.value;
        if let Operation::FetchAdd { add, .. } = operation {
            self.value = self.value.wrapping_add(*add);
        }
        self.executed += 1;
        original
    }

    fn invalidate(&mut self, key: u32) -> bool {
        let valid = key == KEY && !self.invalid;
        self.invalid |= valid;
        valid
    }
}

/// One end.
#[derive(Debug)]
pub(crate) struct End {
    nic: Nic,
    pair: PairId,
    now: Time,
    config: Config,
    receives: ReceiveQueue,
    pub(crate) memory: Word,
    pub(crate) placed: Vec<Placement>,
    pub(crate) completions: Vec<(u64, Status)>,
    pub(crate) received: Vec<ReceiveCompletion>,
    pub(crate) sent: u64,
    pub(crate) retransmitted: u64,
    /// Packets on their way to this end.
    pub(crate) inbound: VecDeque<Packet>,
}

/// Two connected ends in state RTS; what `lost` says about their packets is up to the test.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) now: Time,
    pub(crate) ends: [End; 2],
}

/// A configuration with short times and small packets.
pub(crate) fn config() -> Config {
    Config {
        mtu: Bytes::new(100),
        ack_interval: 1000,
        ack_timeout: Some(Duration::from_us(50)),
        retry_limit: 3,
        rnr_timer: Duration::from_us(10),
        nak_interval: Duration::from_us(30),
        ..Config::default()
    }
}

pub(crate) fn selective() -> Config {
    Config {
        selective_window: 64,
        ..config()
    }
}

pub(crate) const fn target() -> Remote {
    Remote {
        address: 0x1000,
        key: KEY,
    }
}

pub(crate) const fn request(id: u64, operation: Operation, length: u64) -> WorkRequest {
    WorkRequest::new(id, operation, Bytes::new(length))
}

pub(crate) const fn fetch_add(id: u64, add: u64) -> WorkRequest {
    let remote = target();
    request(id, Operation::FetchAdd { remote, add }, 8)
}

/// A NIC that holds nothing back: no congestion control, and a link that takes no time.
fn nic(environment: Environment) -> Nic {
    let mut settings = Settings::new(Params::uncontrolled().algorithm());
    (settings.paced, settings.read_feedback) = (false, false);
    Nic::new(Arc::new(settings), &[environment], &Tenants::default())
}

impl End {
    pub(crate) fn new(config: &Config) -> Self {
        let environment = Environment {
            line_rate: Rate::from_bps(u64::MAX),
            base_rtt: Duration::from_us(8),
            bdp: Bytes::new(1 << 30),
            mtu: config.mtu,
        };
        let opening = Opening {
            flow: FlowId::new(0),
            port: 0,
            class: 3,
            tenant: TenantId::new(0),
            peer: HostId::new(0),
            extensions: Extensions::with(environment.line_rate),
            environment,
            group: None,
        };
        let start = Start {
            sends: Psn::new(100),
            expects: Psn::new(100),
            transport: Some(Arc::new(config.clone())),
            ..Start::default()
        };
        let mut nic = nic(environment);
        let pair = nic.open_at(Time::ZERO, &opening, start);
        Self {
            nic,
            pair,
            now: Time::ZERO,
            config: config.clone(),
            receives: ReceiveQueue::default(),
            memory: Word::default(),
            placed: Vec::new(),
            completions: Vec::new(),
            received: Vec::new(),
            sent: 0,
            retransmitted: 0,
            inbound: VecDeque::new(),
        }
    }

    pub(crate) fn post(&mut self, request: WorkRequest) {
        request.check(&self.config).expect("it can be posted");
        self.nic.post(self.now, self.pair, request);
    }

    pub(crate) fn receive(&mut self, id: u64, length: u64) {
        self.receives.post(Receive {
            id,
            length: Bytes::new(length),
            closed: false,
        });
    }

    pub(crate) fn post_receive(&mut self, receive: Receive) {
        self.receives.post(receive);
    }

    /// Goes to ERR.
    pub(crate) fn fail(&mut self) {
        self.nic.fail(self.now, self.pair);
    }

    /// Goes to SQD.
    pub(crate) fn drain(&mut self) {
        self.nic.drain(self.now, self.pair);
    }

    /// Goes back to RTS.
    pub(crate) fn resume(&mut self) {
        self.nic.resume(self.now, self.pair);
    }

    /// The data of a request, of which a packet has just left, can't be read.
    pub(crate) fn on_local_error(&mut self, id: u64) {
        self.nic.on_local_error(self.now, self.pair, id);
    }

    /// Whether it is in ERR.
    pub(crate) fn has_failed(&self) -> bool {
        let pair = self.nic.pair(self.pair);
        pair.has_failed() || self.config.service.is_reliable() && pair.requester().has_failed()
    }

    /// Whether it is in SQE.
    pub(crate) fn sends_no_more(&self) -> bool {
        !self.has_failed() && self.nic.pair(self.pair).requester().has_failed()
    }

    /// Whether all that has begun has ended, as SQD waits for.
    pub(crate) fn is_drained(&self) -> bool {
        self.nic.pair(self.pair).requester().is_drained()
    }

    /// Whether a packet waits to be sent.
    pub(crate) fn has_packet(&mut self) -> bool {
        self.nic.sends_at(0).is_some()
    }

    fn timeouts(&self) -> u32 {
        self.nic.pair(self.pair).timeouts()
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.nic.deadline()
    }

    pub(crate) fn on_deadline(&mut self, now: Time) {
        let now = self.at(now);
        self.nic.on_deadline(now);
        self.settle();
    }

    /// The NIC's time, which never goes back.
    fn at(&mut self, now: Time) -> Time {
        self.now = self.now.max(now);
        self.now
    }

    /// The next packet.
    pub(crate) fn packet(&mut self, now: Time) -> Option<Departure> {
        // Packets are some picoseconds apart.
        let due = now.saturating_add(Duration::from_ns(1));
        let at = self.nic.sends_at(0).filter(|&at| at <= due)?;
        let at = self.at(now.max(at));
        let departure = self.nic.poll_transmit(at, 0)?;
        self.sent += 1;
        self.retransmitted += u64::from(departure.meta.retransmitted);
        Some(departure)
    }

    /// Takes a packet; returns the reply.
    pub(crate) fn hear(&mut self, now: Time, packet: &Packet) -> Option<Packet> {
        if self.has_failed() || !self.belongs(packet) {
            return None;
        }
        let role = match packet.opcode {
            Opcode::Cnp => Role::Cnp,
            Opcode::RcReadFeedback => Role::Feedback,
            opcode if opcode.is_response() => Role::Response,
            _ => Role::Request,
        };
        let arrival = Arrival {
            packet,
            meta: Meta::new(FlowId::new(0), TenantId::new(0), role, 3),
            measured: Measured::default(),
        };
        let now = self.at(now);
        let (memory, receives) = (&mut self.memory, &mut self.receives);
        let heard = (self.nic).on_packet(now, self.pair, &arrival, memory, receives);
        self.placed.extend(heard.placement);
        self.settle();
        self.nic.poll_answer(0).map(|answer| answer.packet)
    }

    /// Whether a packet is of its service, as a driver finds out.
    fn belongs(&self, packet: &Packet) -> bool {
        let service = packet.opcode.service();
        packet.opcode == Opcode::Cnp
            || match self.config.service {
                Service::ReliableConnection => service == Wire::Rc,
                Service::UnreliableConnection => service == Wire::Uc,
                Service::UnreliableDatagram => service == Wire::Ud,
            }
    }

    /// Takes what has ended; receives of a queue pair that has failed are flushed by its driver.
    pub(crate) fn settle(&mut self) {
        while let Some(event) = self.nic.poll_event() {
            match event {
                Event::Completed { id, status, .. } => self.completions.push((id, status)),
                Event::Received { completion, .. } => self.received.extend(completion),
            }
        }
        while self.has_failed()
            && let Some(receive) = self.receives.take()
        {
            let flushed = ReceiveCompletion::failed(receive.id, Status::Flushed);
            self.received.push(flushed);
        }
    }

    pub(crate) fn statuses(&self) -> Vec<Status> {
        self.completions.iter().map(|(_, status)| *status).collect()
    }
}

impl Line {
    pub(crate) fn new(a: &Config, b: &Config) -> Self {
        Self {
            now: Time::ZERO,
            ends: [End::new(a), End::new(b)],
        }
    }

    /// Both ends alike.
    pub(crate) fn of(config: &Config) -> Self {
        Self::new(config, config)
    }

    /// Lets packets travel until none is left; `lost` is asked about each, with the end that sent it.
    pub(crate) fn exchange(&mut self, mut lost: impl FnMut(usize, &Packet) -> bool) {
        loop {
            let mut moved = false;
            for from in [0, 1] {
                if let Some(outgoing) = self.ends[from].packet(self.now) {
                    moved = true;
                    if !lost(from, &outgoing.packet) {
                        self.ends[1 - from].inbound.push_back(outgoing.packet);
                    }
                }
                self.ends[from].settle();
            }
            for to in [0, 1] {
                while let Some(packet) = self.ends[to].inbound.pop_front() {
                    moved = true;
                    let reply = self.ends[to].hear(self.now, &packet);
                    if let Some(reply) = reply.filter(|reply| !lost(to, reply)) {
                        self.ends[1 - to].inbound.push_back(reply);
                    }
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// The same, and fires deadlines until none is left; returns how many of them were timeouts. Others were those of packets
    /// that have been acknowledged since.
    pub(crate) fn run(&mut self, mut lost: impl FnMut(usize, &Packet) -> bool) -> u32 {
        let before = self.timeouts();
        for _ in 0..1000 {
            self.exchange(&mut lost);
            if !self.fire() {
                return self.timeouts() - before;
            }
        }
        panic!("no end is in sight");
    }

    fn timeouts(&self) -> u32 {
        self.ends.iter().map(End::timeouts).sum()
    }

    /// Goes to the next deadline and fires it; `false` if there is none.
    pub(crate) fn fire(&mut self) -> bool {
        let deadlines = self.ends.iter().filter_map(|end| end.deadline());
        let Some(next) = deadlines.min() else {
            return false;
        };
        self.now = self.now.max(next);
        for end in &mut self.ends {
            if end.deadline().is_some_and(|at| at <= self.now) {
                end.on_deadline(self.now);
            }
        }
        true
    }

    /// Runs without any loss.
    pub(crate) fn run_clean(&mut self) {
        self.run(|_, _| false);
    }
}
