//! Makes programs out of random decisions.

use fairlane_transport::{Config, Operation, Remote, Service, WorkRequest};
use fairlane_units::{Bytes, Duration, Psn, QpNumber};

use super::choices::Choices;
use super::program::{Action, Capacity, End, Link, Profile, Program, Region, Side, Step};

/// Bytes between regions that nothing may touch.
pub(super) const GUARD: u64 = 64;
/// Where the memory of each host begins.
pub(super) const BASE: [u64; 2] = [0x7f00_0000_1000, 0xffff_ffff_0000_0000];
/// The key that datagrams need.
pub(super) const QUEUE_KEY: u32 = 0x1111;

const FOREVER: u32 = Config::FOREVER;

const SHARED_KEY: u32 = 0x100;
const READ_ONLY_KEY: u32 = 0x200;
const WRITE_ONLY_KEY: u32 = 0x300;
const OWN_KEY: u32 = 0x1000;

pub(super) fn program(profile: Profile, choices: &mut Choices) -> Program {
    let mtu = choices.pick(&[32, 60, 64, 256]);
    let count = choices.pick(&[1, 1, 1, 2, 3]);
    let mut connections: Vec<[End; 2]> = (0..count)
        .map(|_| connection(profile, mtu, choices))
        .collect();
    one_configuration(&mut connections);
    let link = link(profile, choices);
    let mut maker = Maker {
        choices,
        faulty: false,
        mtu,
        regions: [regions(0, mtu, count), regions(1, mtu, count)],
        services: connections
            .iter()
            .map(|ends| ends[0].config.service)
            .collect(),
        ids: Vec::new(),
        wanted: Vec::new(),
        posted: Vec::new(),
        steps: Vec::new(),
        unreadable: Vec::new(),
    };
    maker.steps();
    Program {
        profile,
        link,
        regions: maker.regions,
        steps: maker.steps,
        unreadable: maker.unreadable,
        connections,
    }
}

/// The queue pairs of a host have one.
fn one_configuration(connections: &mut [[End; 2]]) {
    if let Some((first, others)) = connections.split_first_mut() {
        for ends in others {
            for (end, first) in ends.iter_mut().zip(&*first) {
                end.config = first.config.clone();
            }
        }
    }
}

fn link(profile: Profile, choices: &mut Choices) -> Link {
    let ns = Duration::from_ns;
    let clean = Link {
        slot: ns(choices.pick(&[10, 100, 1_000])),
        delay: ns(choices.pick(&[1_000, 10, 20_000])),
        jitter: Duration::ZERO,
        loss: 0,
        duplication: 0,
        corruption: 0,
        marks: choices.pick(&[0, 10, 100]),
        seed: choices.below(1 << 16),
    };
    if profile.is_clean() {
        return clean;
    }
    Link {
        jitter: ns(choices.pick(&[0, 0, 300, 3_000, 100_000])),
        loss: choices.between(0, 30) as u8,
        duplication: choices.pick(&[0, 0, 5, 30]),
        corruption: choices.pick(&[0, 0, 2, 10]),
        ..clean
    }
}

fn connection(profile: Profile, mtu: u64, choices: &mut Choices) -> [End; 2] {
    let service = match profile {
        Profile::Clean | Profile::GoBackN | Profile::Selective => Service::ReliableConnection,
        Profile::Unreliable => Service::UnreliableConnection,
        Profile::Datagram => Service::UnreliableDatagram,
        Profile::UnreliableClean => {
            choices.pick(&[Service::UnreliableConnection, Service::UnreliableDatagram])
        }
    };
    let us = Duration::from_us;
    let mut end = || {
        let selective = match profile {
            Profile::Clean => choices.pick(&[0, 0, 64, 128]),
            Profile::Selective => choices.pick(&[64, 64, 8, 128, 0]),
            _ => 0,
        };
        let timeout = if profile.is_clean() {
            us(100_000)
        } else {
            us(choices.pick(&[100, 20, 500]))
        };
        let config = Config {
            service,
            mtu: Bytes::new(mtu),
            ack_interval: choices.between(1, 8) as u32,
            ack_timeout: Some(timeout),
            retry_limit: choices.pick(&[20, 7, 20, 20, 20, 20, 2, 0]),
            rnr_retry_limit: choices.pick(&[FOREVER, FOREVER, FOREVER, 7, FOREVER, 1, 0]),
            rnr_timer: us(choices.pick(&[10, 40, 160])),
            nak_interval: us(choices.pick(&[0, 20, 100])),
            ack_duplicates: profile == Profile::Clean || !choices.percent(5),
            max_reads: choices.pick(&[16, 4, 2, 1]),
            max_destination_reads: 16,
            selective_window: selective,
            reorder_tolerance: choices.pick(&[0, 0, 1, 4]),
            direct_placement: profile == Profile::Selective && choices.percent(30),
        };
        End {
            config,
            capacity: Capacity {
                requests: choices.pick(&[64, 64, 3]),
                receives: 64,
            },
            initial: initial(choices),
        }
    };
    let mut ends = [end(), end()];
    for side in Side::BOTH {
        let asked = ends[side.other().index()].config.max_reads;
        // Once in a while the other side may ask for more than there is.
        let depth = asked.max(1) / if choices.percent(3) { 2 } else { 1 };
        ends[side.index()].config.max_destination_reads = depth.max(1);
    }
    ends
}

fn initial(choices: &mut Choices) -> Psn {
    let near_wrap = choices.percent(50);
    let number = choices.below(1 << 24) as u32;
    Psn::new(if near_wrap {
        (1 << 24) - 1 - number % 40
    } else {
        number
    })
}

fn regions(side: usize, mtu: u64, connections: usize) -> Vec<Region> {
    let length = mtu * 9 + 40;
    let own = (0..connections).map(|owner| (OWN_KEY + owner as u32, Some(owner)));
    let shared = [SHARED_KEY, READ_ONLY_KEY, WRITE_ONLY_KEY];
    let keys = shared.into_iter().map(|key| (key, None)).chain(own);
    keys.zip(0..)
        .map(|((key, owner), place)| Region {
            start: Remote {
                // Atomics need multiples of eight.
                address: BASE[side] + GUARD + place * (length + GUARD).next_multiple_of(8),
                key,
            },
            length: Bytes::new(length),
            read: key != WRITE_ONLY_KEY,
            write: key != READ_ONLY_KEY,
            atomic: key != READ_ONLY_KEY && key != WRITE_ONLY_KEY,
            owner,
        })
        .collect()
}

/// What the steps of a program are made with; numbers are by connection and side.
struct Maker<'a> {
    choices: &'a mut Choices,
    /// Whether some requests are wrong.
    faulty: bool,
    mtu: u64,
    regions: [Vec<Region>; 2],
    services: Vec<Service>,
    /// The number of the next work request.
    ids: Vec<[u64; 2]>,
    /// Receives that the requests so far take.
    wanted: Vec<[u64; 2]>,
    /// Receives posted.
    posted: Vec<[u64; 2]>,
    steps: Vec<Step>,
    unreadable: Vec<(Side, usize, u64)>,
}

impl Maker<'_> {
    fn steps(&mut self) {
        let connections = self.services.len();
        self.ids.resize(connections, [0; 2]);
        self.wanted.resize(connections, [0; 2]);
        self.posted.resize(connections, [0; 2]);
        self.faulty = self.choices.percent(30);
        if self.choices.percent(50) {
            self.post_early();
        }
        let steps = self.choices.between(1, 40);
        for _ in 0..steps {
            if !self.choices.has_more() {
                break;
            }
            self.step();
        }
        // What was late or held comes at last, so that everything ends.
        for connection in 0..connections {
            for side in Side::BOTH {
                self.add(connection, side, Action::Resume);
                self.post_missing(connection, side);
            }
        }
    }

    fn step(&mut self) {
        let connection = self.choices.below(self.services.len() as u64) as usize;
        let side = self.choices.pick(&Side::BOTH);
        let action = match self.choices.below(100) {
            0..60 => self.request(connection, side),
            60..90 => self.receive(connection, side),
            90..95 => Action::Drain,
            95..98 => Action::Resume,
            98 if self.faulty && self.choices.percent(50) => Action::Fail,
            99 if self.faulty && self.choices.percent(50) => self.reconnect(connection),
            _ => self.request(connection, side),
        };
        self.add(connection, side, action);
    }

    /// Receives that are there before anything takes one.
    fn post_early(&mut self) {
        for connection in 0..self.services.len() {
            for side in Side::BOTH {
                for _ in 0..self.choices.between(1, 12) {
                    let receive = self.receive(connection, side);
                    self.add(connection, side, receive);
                }
            }
        }
    }

    fn add(&mut self, connection: usize, side: Side, action: Action) {
        let us = self.choices.pick(&[0, 0, 0, 1, 10, 60, 300]);
        self.steps.push(Step {
            after: Duration::from_us(us),
            side,
            connection,
            action,
        });
    }

    fn reconnect(&mut self, connection: usize) -> Action {
        self.wanted[connection] = [0; 2];
        self.posted[connection] = [0; 2];
        Action::Reconnect(initial(self.choices), initial(self.choices))
    }

    fn receive(&mut self, connection: usize, side: Side) -> Action {
        self.posted[connection][side.index()] += 1;
        let short = self.faulty && self.choices.percent(5);
        let most = if short { self.mtu } else { self.longest() };
        let least = if short { 0 } else { most };
        Action::Receive(Bytes::new(self.choices.between(least, most)))
    }

    /// Receives for all that takes one.
    fn post_missing(&mut self, connection: usize, side: Side) {
        let wanted = self.wanted[connection][side.index()];
        let posted = self.posted[connection][side.index()];
        for _ in posted..wanted {
            let length = Bytes::new(self.longest());
            self.add(connection, side, Action::Receive(length));
        }
    }

    const fn longest(&self) -> u64 {
        self.mtu * 9
    }

    fn length(&mut self) -> u64 {
        let mtu = self.mtu;
        match self.choices.below(8) {
            0 => 0,
            1 => mtu * self.choices.between(1, 8),
            2 => self.choices.between(1, 8 * mtu),
            3 => mtu + 1,
            4 => 8 * mtu,
            _ => self.choices.between(1, mtu),
        }
    }

    fn request(&mut self, connection: usize, side: Side) -> Action {
        let length = self.length();
        let other = side.other();
        let service = self.services[connection];
        let data = self.choices.below(1 << 32) as u32;
        let operation = match (service, self.choices.below(12)) {
            (Service::UnreliableDatagram, kind) => Operation::Datagram {
                destination: QpNumber::new(number(connection, other)),
                queue_key: QUEUE_KEY + u32::from(self.faulty && kind == 0),
                immediate: (kind < 4).then_some(data),
            },
            (_, 0 | 1) => Operation::Send,
            (_, 2) => Operation::SendImmediate(data),
            (_, 3..=5) => Operation::Write(self.target(connection, other, length)),
            (_, 6) => Operation::WriteImmediate(self.target(connection, other, length), data),
            (Service::UnreliableConnection, _) => {
                Operation::Write(self.target(connection, other, length))
            }
            (_, 7) if self.choices.percent(20) => {
                Operation::SendInvalidate(OWN_KEY + connection as u32)
            }
            (_, 7..=9) => Operation::Read(self.target(connection, other, length)),
            (_, 10) => Operation::FetchAdd {
                remote: self.word(connection, other),
                add: self.choices.below(1000),
            },
            _ => Operation::CompareSwap {
                remote: self.word(connection, other),
                compare: self.choices.below(2) * 500,
                swap: self.choices.below(1000),
            },
        };
        let length = match operation {
            Operation::FetchAdd { .. } | Operation::CompareSwap { .. } => 8,
            Operation::Datagram { .. } => length.min(self.mtu),
            _ => length,
        };
        self.wanted[connection][other.index()] += u64::from(operation.takes_receive());
        let id = &mut self.ids[connection][side.index()];
        *id += 1;
        let id = *id;
        if self.faulty && self.choices.percent(2) {
            self.unreadable.push((side, connection, id));
        }
        Action::Request(WorkRequest {
            id,
            operation,
            length: Bytes::new(length),
            signaled: !self.choices.percent(30),
            fence: self.choices.percent(20),
            solicited: self.choices.percent(20),
        })
    }

    /// The place of a READ or WRITE of `length` bytes.
    fn target(&mut self, connection: usize, side: Side, length: u64) -> Remote {
        let region = self.region(connection, side);
        let free = region.length.get().saturating_sub(length);
        let offset = self.choices.between(0, free);
        let mut remote = region.start.behind(Bytes::new(offset));
        if self.faulty && self.choices.percent(5) {
            remote = match self.choices.below(4) {
                0 => region.start.behind(Bytes::new(free + 1)),
                1 => Remote {
                    key: 0xbad,
                    ..remote
                },
                2 => Remote {
                    address: u64::MAX - 3,
                    ..remote
                },
                _ => Remote {
                    key: region.start.key ^ 0x300,
                    ..remote
                },
            };
        }
        remote
    }

    /// The place of an atomic: one of few, so that they meet.
    fn word(&mut self, connection: usize, side: Side) -> Remote {
        let region = self.region(connection, side);
        let word = region.start.behind(Bytes::new(8 * self.choices.below(3)));
        if self.faulty && self.choices.percent(5) {
            return region
                .start
                .behind(Bytes::new(region.length.get().next_multiple_of(8)));
        }
        word
    }

    fn region(&mut self, connection: usize, side: Side) -> Region {
        let choice = self.choices.below(12);
        let regions = &self.regions[side.index()];
        match choice {
            0 if self.faulty => regions[1],
            1 if self.faulty => regions[2],
            2..5 => regions[3 + connection],
            _ => regions[0],
        }
    }
}

/// The number of a queue pair.
pub(super) const fn number(connection: usize, side: Side) -> u32 {
    0x10 + 2 * connection as u32 + side as u32
}
