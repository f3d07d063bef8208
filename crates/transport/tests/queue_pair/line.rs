//! Two queue pairs side by side, with memory that refuses what it is told to.

use std::collections::VecDeque;

use fairlane_transport::{
    Access, Capacity, Completion, Config, Memory, Modify, Operation, Outgoing, Packet, Placement,
    QueuePair, Receive, ReceiveCompletion, Remote, Status, WorkRequest,
};
use fairlane_units::{Bytes, Duration, Psn, Time};

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
    pub(crate) pair: QueuePair,
    pub(crate) config: Config,
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

impl End {
    fn new(config: &Config) -> Self {
        let capacity = Capacity {
            requests: 16,
            receives: 16,
        };
        let mut pair = QueuePair::new(config, capacity);
        let first = Psn::new(100);
        for modify in [
            Modify::Init,
            Modify::ReadyToReceive(first),
            Modify::ReadyToSend(first),
        ] {
            pair.modify(config, modify).expect("the way to RTS");
        }
        Self {
            pair,
            config: config.clone(),
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
        self.pair
            .post_request(&self.config, request)
            .expect("there is room");
    }

    pub(crate) fn receive(&mut self, id: u64, length: u64) {
        let length = Bytes::new(length);
        self.pair
            .post_receive(Receive {
                id,
                length,
                closed: false,
            })
            .expect("there is room");
    }

    pub(crate) fn modify(&mut self, modify: Modify) {
        self.pair.modify(&self.config, modify).expect("allowed");
    }

    /// The next packet.
    pub(crate) fn packet(&mut self, now: Time) -> Option<Outgoing> {
        let outgoing = self.pair.poll_transmit(&self.config, now)?;
        self.sent += 1;
        self.retransmitted += u64::from(outgoing.retransmitted);
        Some(outgoing)
    }

    /// Takes a packet; returns the reply.
    pub(crate) fn hear(&mut self, now: Time, packet: &Packet) -> Option<Packet> {
        let heard = self
            .pair
            .on_packet(&self.config, now, packet, &mut self.memory);
        self.placed.extend(heard.placement);
        self.settle();
        heard.reply
    }

    pub(crate) fn settle(&mut self) {
        let ended = |c: Completion| (c.id, c.status);
        self.completions
            .extend(std::iter::from_fn(|| self.pair.poll_completion()).map(ended));
        self.received
            .extend(std::iter::from_fn(|| self.pair.poll_receive_completion()));
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

    /// The same, and fires deadlines until none is left; returns how many fired.
    pub(crate) fn run(&mut self, mut lost: impl FnMut(usize, &Packet) -> bool) -> u32 {
        for fired in 0..1000 {
            self.exchange(&mut lost);
            if !self.fire() {
                return fired;
            }
        }
        panic!("no end is in sight");
    }

    /// Goes to the next deadline and fires it; `false` if there is none.
    pub(crate) fn fire(&mut self) -> bool {
        let deadlines = self.ends.iter().filter_map(|end| end.pair.deadline());
        let Some(next) = deadlines.min() else {
            return false;
        };
        self.now = self.now.max(next);
        for end in &mut self.ends {
            if end.pair.deadline().is_some_and(|at| at <= self.now) {
                end.pair.on_timeout(&end.config, self.now);
                end.settle();
            }
        }
        true
    }

    /// Runs without any loss.
    pub(crate) fn run_clean(&mut self) {
        self.run(|_, _| false);
    }
}
