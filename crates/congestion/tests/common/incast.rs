//! Senders of one receiver in virtual time: links of one rate, one queue in front of the receiver, fixed delays,
//! acknowledgements that get lost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairlane_congestion::Environment;
use fairlane_congestion::dasr::{Data, DestinationId, Params, Part, Peer, Receiver, Sender};
use fairlane_congestion::scope::{Grant, Share};
use fairlane_units::{Bytes, Duration, HostId, Rate, TenantId, Time};

/// 56 Gb/s, 1048 bytes on the wire, 4.3 us: the star of `blitz.md`.
pub const STAR: Environment = Environment {
    line_rate: Rate::from_gbps(56),
    base_rtt: Duration::from_ns(4300),
    bdp: Bytes::new(30_100),
    mtu: Bytes::new(1000),
};
pub const WIRE: Bytes = Bytes::new(1048);
/// Each way, beside two serialisations on the way there.
const DELAY: Duration = Duration::from_ns(2000);
/// An endless message.
pub const ENDLESS: u64 = 1 << 40;

/// So many round trips without queues.
pub fn rtts(count: f64) -> Duration {
    Duration::from_ps((STAR.base_rtt.as_ps() as f64 * count) as u64)
}

/// So many of them after the beginning.
pub fn at(count: f64) -> Time {
    Time::ZERO + rtts(count)
}

pub fn in_rtts(span: Duration) -> f64 {
    span.as_ns_f64() / STAR.base_rtt.as_ns_f64()
}

/// What each of so many equal senders has.
pub fn fair(count: usize) -> Rate {
    let crowded = WIRE * count as u64 > STAR.bdp;
    let divided = STAR.line_rate.scale(if crowded { 0.98 } else { 1.0 });
    divided / count as u64
}

/// What a sender says of its demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// What is true.
    Truth,
    /// Nothing.
    Nothing,
    /// Always this.
    Units(u16),
}

/// A message and its sender.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    pub tenant: u32,
    pub start: Time,
    pub bytes: u64,
    /// What its own congestion control allows.
    pub limit: Rate,
    pub says: Says,
}

impl Flow {
    pub fn endless(start: Time) -> Self {
        Self {
            tenant: 0,
            start,
            bytes: ENDLESS,
            limit: STAR.line_rate,
            says: Says::Truth,
        }
    }

    pub fn of(bytes: u64, start: Time) -> Self {
        Self {
            bytes,
            ..Self::endless(start)
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Deadline,
    Reply {
        to: usize,
        acknowledged: u64,
        share: u16,
    },
    Arrive {
        from: usize,
        position: u64,
        demand: u16,
        backlog: u32,
    },
    Queue {
        from: usize,
        position: u64,
        demand: u16,
        backlog: u32,
    },
    Send(usize),
    Timeout(usize),
}

struct Node {
    flow: Flow,
    sender: Sender,
    to: DestinationId,
    next: u64,
    acknowledged: u64,
    expected: u64,
    free: Time,
    wakes: Time,
    times_out: Time,
}

/// A rate that a sender has come to.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub at: Time,
    pub sender: usize,
    pub rate: Rate,
}

pub struct Net {
    pub receiver: Receiver,
    nodes: Vec<Node>,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    entries: u64,
    pub now: Time,
    free: Time,
    watched: Time,
    loss: f64,
    random: u64,
    /// Most bytes waiting since it was last taken.
    pub queue: Bytes,
    /// Payload that has arrived in order, by sender.
    pub arrived: Vec<u64>,
    /// When its last byte arrived, and when its last packet left.
    pub finished: Vec<Option<Time>>,
    pub last_departure: Vec<Time>,
    pub changes: Vec<Change>,
    pub pushes: u64,
    pub timeouts: u64,
    /// The most that the receiver apportioned.
    pub apportioned: Rate,
}

impl Net {
    pub fn new(params: &Params, tenants: &[(TenantId, f64)], flows: &[Flow], loss: f64) -> Self {
        let node = |flow: &Flow| {
            let mut sender = Sender::new(params, &STAR);
            let tenant = TenantId::new(flow.tenant);
            let to = sender.open(Time::ZERO, tenant, HostId::new(0), &STAR);
            sender.set_limit(to, flow.limit);
            Node {
                flow: *flow,
                sender,
                to,
                next: 0,
                acknowledged: 0,
                expected: 0,
                free: Time::ZERO,
                wakes: Time::MAX,
                times_out: Time::MAX,
            }
        };
        let mut net = Self {
            receiver: Receiver::new(params, &STAR, tenants),
            nodes: flows.iter().map(node).collect(),
            events: BinaryHeap::new(),
            entries: 0,
            now: Time::ZERO,
            free: Time::ZERO,
            watched: Time::MAX,
            loss,
            random: 0x9e37_79b9,
            queue: Bytes::ZERO,
            arrived: vec![0; flows.len()],
            finished: vec![None; flows.len()],
            last_departure: vec![Time::ZERO; flows.len()],
            changes: Vec::new(),
            pushes: 0,
            timeouts: 0,
            apportioned: Rate::ZERO,
        };
        for (at, flow) in flows.iter().enumerate() {
            let node = &mut net.nodes[at];
            node.wakes = flow.start;
            net.enter(flow.start, Event::Send(at));
        }
        net
    }

    fn enter(&mut self, at: Time, event: Event) {
        self.entries += 1;
        self.events.push(Reverse((at, self.entries, event)));
    }

    /// Whether an acknowledgement gets lost.
    fn loses(&mut self) -> bool {
        self.random = self
            .random
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        ((self.random >> 40) as f64) < self.loss * f64::from(1 << 24)
    }

    /// Everything that happens until `end`.
    pub fn run(&mut self, end: Time) {
        while let Some(&Reverse((at, _, event))) = self.events.peek() {
            if at > end {
                break;
            }
            self.events.pop();
            self.now = at;
            match event {
                Event::Deadline => self.on_deadline(),
                Event::Send(from) => self.on_send(from),
                Event::Queue {
                    from,
                    position,
                    demand,
                    backlog,
                } => {
                    self.free = self.free.max(at) + WIRE.serialization(STAR.line_rate);
                    let waiting = STAR.line_rate.bytes_in(self.free - at);
                    self.queue = self.queue.max(waiting);
                    let arrive = Event::Arrive {
                        from,
                        position,
                        demand,
                        backlog,
                    };
                    self.enter(self.free, arrive);
                }
                Event::Arrive {
                    from,
                    position,
                    demand,
                    backlog,
                } => self.on_data(from, position, (demand, backlog)),
                Event::Reply {
                    to,
                    acknowledged,
                    share,
                } => self.on_reply(to, acknowledged, share),
                Event::Timeout(from) => self.on_timeout(from),
            }
        }
        self.now = end;
    }

    fn on_send(&mut self, from: usize) {
        let node = &mut self.nodes[from];
        if node.wakes != self.now {
            return;
        }
        node.wakes = Time::MAX;
        if node.next == 0 && node.acknowledged == 0 {
            node.sender.on_posted(node.to, Bytes::new(node.flow.bytes));
        }
        self.send(from);
    }

    /// Sends the next packet, or sees to it that it is sent.
    fn send(&mut self, from: usize) {
        let now = self.now;
        let node = &mut self.nodes[from];
        let left = node.flow.bytes - node.next;
        if left == 0 || now < node.flow.start {
            return;
        }
        let payload = Bytes::new(left.min(STAR.mtu.get()));
        let Some(at) = node.sender.available(now, node.to, payload) else {
            node.wakes = Time::MAX;
            return;
        };
        let at = at.max(node.free).max(now);
        if at > now {
            if node.wakes != at {
                node.wakes = at;
                self.enter(at, Event::Send(from));
            }
            return;
        }
        node.sender.on_sent(now, node.to, (WIRE, payload));
        let declared = node.sender.declare(node.to);
        let demand = match node.flow.says {
            Says::Units(units) if declared.demand > 0 => units,
            _ => declared.demand,
        };
        let (position, backlog) = (node.next, declared.backlog);
        node.next += payload.get();
        // Its own congestion control paces what it allows.
        node.free = now + WIRE.serialization(node.flow.limit);
        self.last_departure[from] = now;
        let arrives = now + WIRE.serialization(STAR.line_rate) + DELAY;
        let again = node.free;
        node.wakes = again;
        self.arm(from);
        let event = Event::Queue {
            from,
            position,
            demand,
            backlog,
        };
        self.enter(arrives, event);
        self.enter(again, Event::Send(from));
    }

    /// The transport's own timeout, about a millisecond: nothing but the last acknowledgement should need it.
    fn arm(&mut self, from: usize) {
        let at = self.now + STAR.base_rtt * 250;
        self.nodes[from].times_out = at;
        self.enter(at, Event::Timeout(from));
    }

    fn on_timeout(&mut self, from: usize) {
        let node = &mut self.nodes[from];
        if node.times_out != self.now || node.next == node.acknowledged {
            return;
        }
        self.timeouts += 1;
        let back = node.next - node.acknowledged;
        node.next = node.acknowledged;
        node.sender.on_rewound(node.to, Bytes::new(back));
        self.send(from);
    }

    fn peer(&self, of: usize) -> Peer {
        Peer {
            tenant: TenantId::new(self.nodes[of].flow.tenant),
            host: HostId::new(of as u32 + 1),
            line_rate: STAR.line_rate,
        }
    }

    fn on_data(&mut self, from: usize, position: u64, (demand, backlog): (u16, u32)) {
        let peer = self.peer(from);
        let node = &mut self.nodes[from];
        let fresh = position == node.expected;
        let length = STAR.mtu.get().min(node.flow.bytes - position);
        let ends = position + length == node.flow.bytes;
        let part = match (fresh, position == 0, ends) {
            (false, ..) => Part::Other,
            (true, true, true) => Part::Only,
            (true, true, false) => Part::First,
            (true, false, true) => Part::Last,
            (true, false, false) => Part::Middle,
        };
        if fresh {
            node.expected += length;
            self.arrived[from] += length;
            if ends {
                self.finished[from] = Some(self.now);
            }
        }
        let says = node.flow.says != Says::Nothing && fresh;
        let acknowledged = node.expected;
        let data = Data {
            via: from as u32,
            wire: WIRE,
            part,
            demand: says.then_some(demand),
            backlog: says.then_some(backlog),
        };
        let share = self.receiver.on_data(self.now, peer, data);
        self.reply(from, acknowledged, share);
        self.after_receiver();
    }

    fn reply(&mut self, to: usize, acknowledged: u64, share: Share) {
        if !self.loses() {
            let reply = Event::Reply {
                to,
                acknowledged,
                share: share.get(),
            };
            self.enter(self.now + DELAY, reply);
        }
    }

    fn on_deadline(&mut self) {
        if self.watched == self.now {
            self.watched = Time::MAX;
            self.receiver.on_deadline(self.now);
            self.after_receiver();
        }
    }

    fn after_receiver(&mut self) {
        self.apportioned = self.apportioned.max(self.receiver.apportioned());
        while let Some(push) = self.receiver.poll_push(self.now) {
            self.pushes += 1;
            let to = push.via as usize;
            self.reply(to, self.nodes[to].expected, push.share);
        }
        let due = self.receiver.deadline().unwrap_or(Time::MAX);
        if due != self.watched {
            self.watched = due.max(self.now);
            if due != Time::MAX {
                self.enter(self.watched, Event::Deadline);
            }
        }
    }

    fn on_reply(&mut self, to: usize, acknowledged: u64, share: u16) {
        let node = &mut self.nodes[to];
        let before = node.acknowledged;
        node.acknowledged = before.max(acknowledged);
        node.next = node.next.max(node.acknowledged);
        let more = Bytes::new(node.acknowledged - before);
        node.sender.on_acknowledged(node.to, more);
        let grant = Share::new(share).map_or(Grant::Free, Grant::Share);
        if node.sender.on_share(self.now, node.to, grant) || before == 0 {
            let rate = node.sender.rate(node.to);
            self.changes.push(Change {
                at: self.now,
                sender: to,
                rate,
            });
        }
        self.arm(to);
        self.send(to);
    }

    /// When the last of these senders came to within a part of its fair rate for good, after `since`; `since` if none
    /// was outside.
    pub fn settled(&self, since: Time, fair: impl Fn(usize) -> Option<Rate>, part: f64) -> Time {
        let outside =
            |rate: Rate, fair: Rate| (rate.as_f64() - fair.as_f64()).abs() > part * fair.as_f64();
        let mut settled = since;
        for sender in 0..self.nodes.len() {
            let Some(fair) = fair(sender) else {
                continue;
            };
            let own = self.changes.iter().filter(|one| one.sender == sender);
            let mut was_outside = true;
            for change in own {
                if was_outside && !outside(change.rate, fair) {
                    settled = settled.max(change.at);
                }
                was_outside = outside(change.rate, fair);
            }
            if was_outside {
                return Time::MAX;
            }
        }
        settled
    }
}
