//! The sender's side: what it may send to each receiver, and what it says of itself.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use fairlane_units::{Bytes, Duration, HostId, Rate, TenantId, Time};

use super::carried::Carried;
use super::index::{Index, Key};
use super::params::{Mode, PUSH_CHANGE, Params, SILENCE, SILENT_PACKETS, sizes, spans};
use super::uplink::Uplink;
use crate::Environment;
use crate::scope::Grant;

/// Receivers without queue pairs whose share a sender remembers.
const REMEMBERED: usize = 1024;

/// A receiver that a [`Sender`] sends to for one tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DestinationId(u32);

impl DestinationId {
    /// Its number at the card; numbers of forgotten ones are used again.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The one with this [`index`](Self::index).
    pub const fn from_index(index: u32) -> Self {
        Self(index)
    }
}

/// What the header of a packet with data says to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The rate that this sender could use, in parts of 65535 of its line rate, rounded up; 0 if nothing follows.
    pub demand: u16,
    /// Payload that follows, in bytes, at most `u32::MAX`.
    pub backlog: u32,
}

/// Payload of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Sent, and not known to have arrived.
    pub in_flight: Bytes,
    /// Yet to be sent, or sent again.
    pub backlog: Bytes,
}

/// One receiver, for one tenant.
#[derive(Clone, Copy, Debug)]
struct Destination {
    key: Key,
    /// Queue pairs.
    users: u32,
    rtt: Duration,
    /// What may be in flight before its share is known.
    first_burst: Bytes,
    /// What may be in flight while the sender returns and its share is remembered.
    return_burst: Bytes,
    /// What it lets this sender send, once it has said so, and what may be in flight then.
    share: Option<Rate>,
    window: Bytes,
    heard: Time,
    /// Whether it hasn't been heard since nothing was in flight: perhaps it counts this sender as gone.
    returns: bool,
    /// Whether something was given up as lost since it was heard.
    lost: bool,
    in_flight: Bytes,
    backlog: Bytes,
    /// What controllers and applications allow, which they see to themselves.
    limit: Rate,
    /// What the way there carries.
    carried: Carried,
    /// When the last packet left, and its size.
    departed: Time,
    last_size: Bytes,
    /// From when on it paces the next packet: when the last one was due, at most a packet time at the share before that left.
    paced_from: Time,
}

/// What a card may send to each receiver, and what it says of itself; one for each port.
///
/// A sender limits what queue pairs of a tenant send to a receiver together, beside whatever controllers limit each
/// of them: the lower rate wins.
#[derive(Clone, Debug)]
pub struct Sender {
    params: Params,
    line_rate: Rate,
    mtu: Bytes,
    destinations: Vec<Destination>,
    free: Vec<u32>,
    index: Index,
    /// Destinations without queue pairs, by the time when the last one closed.
    idle: BTreeSet<(Time, u32)>,
    uplink: Uplink,
}

impl Sender {
    /// A card with a link of `environment.line_rate` that sends nothing yet.
    ///
    /// # Panics
    /// If the link has no rate.
    pub fn new(params: &Params, environment: &Environment) -> Self {
        let line_rate = environment.line_rate;
        assert!(!line_rate.is_zero(), "a link that is divided has a rate");
        Self {
            params: params.clone(),
            line_rate,
            mtu: environment.mtu,
            destinations: Vec::new(),
            free: Vec::new(),
            index: Index::default(),
            idle: BTreeSet::new(),
            uplink: Uplink::new(line_rate.as_f64(), params.tolerance),
        }
    }

    /// A queue pair of `tenant` to `receiver` begins, on a path with this round-trip time and bandwidth-delay product.
    pub fn open(
        &mut self,
        now: Time,
        tenant: TenantId,
        receiver: HostId,
        environment: &Environment,
    ) -> DestinationId {
        let key = (tenant, receiver);
        let at = match self.index.get(key) {
            Some(at) => at,
            None => self.add(Destination {
                key,
                users: 0,
                rtt: environment.base_rtt,
                first_burst: sizes(environment.bdp, self.params.first_burst),
                return_burst: sizes(environment.bdp, self.params.return_burst()),
                share: None,
                window: Bytes::ZERO,
                heard: now,
                returns: true,
                lost: false,
                in_flight: Bytes::ZERO,
                backlog: Bytes::ZERO,
                limit: self.line_rate,
                carried: Carried::default(),
                departed: Time::ZERO,
                last_size: Bytes::ZERO,
                paced_from: Time::ZERO,
            }),
        };
        let destination = &mut self.destinations[at as usize];
        if destination.users == 0 {
            self.idle.remove(&(destination.departed, at));
        }
        destination.users += 1;
        DestinationId(at)
    }

    /// A queue pair ends, with so much payload that was in flight and that was to follow.
    pub fn close(&mut self, id: DestinationId, load: Load) {
        let destination = &mut self.destinations[id.index()];
        destination.in_flight = destination.in_flight.saturating_sub(load.in_flight);
        destination.backlog = destination.backlog.saturating_sub(load.backlog);
        destination.users -= 1;
        if destination.users == 0 {
            (destination.in_flight, destination.backlog) = (Bytes::ZERO, Bytes::ZERO);
            self.idle.insert((destination.departed, id.0));
        }
        self.follow(id);
        while self.idle.len() > REMEMBERED {
            if let Some((_, oldest)) = self.idle.pop_first() {
                self.index.remove(self.destinations[oldest as usize].key);
                self.free.push(oldest);
            }
        }
    }

    /// The payload of a queue pair has changed, for a driver that doesn't tell why: by what follows here, but for packets that
    /// [leave](Self::on_sent).
    pub fn on_load(&mut self, id: DestinationId, was: Load, is: Load) {
        let destination = &mut self.destinations[id.index()];
        let moved = |all: Bytes, was: Bytes, is: Bytes| all.saturating_sub(was) + is;
        destination.in_flight = moved(destination.in_flight, was.in_flight, is.in_flight);
        destination.backlog = moved(destination.backlog, was.backlog, is.backlog);
        self.follow(id);
    }

    /// There is so much more payload to send.
    pub fn on_posted(&mut self, id: DestinationId, payload: Bytes) {
        self.destinations[id.index()].backlog += payload;
        self.follow(id);
    }

    /// Payload that was in flight has arrived, as far as this host knows.
    pub fn on_acknowledged(&mut self, id: DestinationId, payload: Bytes) {
        let destination = &mut self.destinations[id.index()];
        destination.in_flight = destination.in_flight.saturating_sub(payload);
    }

    /// Payload that was in flight will be sent again. Until something is heard, packets go one by one: a queue that
    /// delays acknowledgements for so long needs no further burst.
    pub fn on_rewound(&mut self, id: DestinationId, payload: Bytes) {
        let destination = &mut self.destinations[id.index()];
        destination.in_flight = destination.in_flight.saturating_sub(payload);
        destination.backlog += payload;
        destination.lost = true;
        self.follow(id);
    }

    /// Controllers and applications allow this rate, all queue pairs together. They pace their packets themselves.
    pub fn set_limit(&mut self, id: DestinationId, limit: Rate) {
        let limit = limit.min(self.line_rate).max(Rate::from_bps(1));
        self.destinations[id.index()].limit = limit;
        if self.params.mode == Mode::Window {
            self.resize_window(id);
        }
        self.follow(id);
    }

    /// A reply has come, or a share that nobody asked for. Returns whether the [time](Self::available) of the next packet has
    /// changed.
    pub fn on_share(&mut self, now: Time, id: DestinationId, grant: Grant) -> bool {
        let share = match grant {
            Grant::Unsaid => return false,
            Grant::Free => self.line_rate,
            Grant::Share(share) => share.of(self.line_rate).max(Rate::from_bps(1)),
        };
        let destination = &mut self.destinations[id.index()];
        destination.heard = now;
        (destination.returns, destination.lost) = (false, false);
        if destination.share == Some(share) {
            return false;
        }
        let was = destination.share.replace(share);
        let (was, is) = (was.unwrap_or(self.line_rate).as_f64(), share.as_f64());
        if (was - is).abs() > PUSH_CHANGE * was {
            destination.carried.restart();
        }
        self.resize_window(id);
        self.follow(id);
        true
    }

    /// A packet leaves, of `wire` bytes with headers.
    pub fn on_sent(&mut self, now: Time, id: DestinationId, (wire, payload): (Bytes, Bytes)) {
        self.expire(now, id);
        let due = self.paced(id);
        let destination = &mut self.destinations[id.index()];
        let pace = destination.share.unwrap_or(self.line_rate);
        // What other packets of the port have taken of its time, it makes up for, up to a packet: shares that add up to the link
        // would leave some of that unused otherwise.
        let made_up = now.saturating_since(due).min(wire.serialization(pace));
        destination.paced_from = now - made_up;
        if destination.in_flight.is_zero() {
            destination.paced_from = now;
            destination.returns = true;
            destination.carried.restart();
        }
        let rtt = destination.rtt;
        destination.carried.on_sent(now, wire, rtt, pace);
        destination.in_flight += payload;
        destination.backlog = destination.backlog.saturating_sub(payload);
        (destination.departed, destination.last_size) = (now, wire);
        self.follow(id);
    }

    /// From when on the next packet may leave, with so much payload; `None` if something must be acknowledged before.
    pub fn available(&mut self, now: Time, id: DestinationId, payload: Bytes) -> Option<Time> {
        self.expire(now, id);
        let destination = &mut self.destinations[id.index()];
        let admits = destination.admits(payload);
        if !admits {
            destination.carried.on_closed();
        }
        admits.then(|| self.paced(id))
    }

    /// As [`available`](Self::available) without waiting for ACKs, to avoid a deadlock: the peer's ACKs may queue behind its
    /// own READ data.
    pub fn paced(&self, id: DestinationId) -> Time {
        let destination = &self.destinations[id.index()];
        let rate = destination.share.unwrap_or(self.line_rate);
        match destination.last_size.is_zero() {
            true => Time::ZERO,
            false => destination
                .paced_from
                .saturating_add(destination.last_size.serialization(rate)),
        }
    }

    /// The rate towards a receiver: its share, or the line rate before one is known; what controllers and
    /// applications allow, if that is less.
    pub fn rate(&self, id: DestinationId) -> Rate {
        self.destinations[id.index()].rate(self.line_rate)
    }

    /// What a receiver lets this sender send, if it is known.
    pub fn share(&self, id: DestinationId) -> Option<Rate> {
        self.destinations[id.index()].share
    }

    /// What the header of the packet says that leaves now; [`on_sent`](Self::on_sent) has been called for it.
    pub fn declare(&mut self, id: DestinationId) -> Declared {
        let destination = &self.destinations[id.index()];
        let backlog = destination.backlog.get();
        let demand = match backlog {
            0 => 0,
            _ => {
                let could = self.uplink.part(id.index());
                self.units(destination.usable().as_f64().min(could))
            }
        };
        Declared {
            demand,
            backlog: u32::try_from(backlog).unwrap_or(u32::MAX),
        }
    }

    /// Receivers that it knows.
    pub const fn destinations(&self) -> usize {
        self.destinations.len() - self.free.len()
    }

    /// A rate in parts of the line, rounded up.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates"
    )]
    fn units(&self, rate: f64) -> u16 {
        let units = rate / self.line_rate.as_f64() * f64::from(u16::MAX);
        let down = units as u16;
        down.saturating_add(u16::from(f64::from(down) < units))
            .max(1)
    }

    #[expect(clippy::cast_possible_truncation, reason = "memory ends earlier")]
    fn add(&mut self, destination: Destination) -> u32 {
        let at = match self.free.pop() {
            Some(at) => {
                self.destinations[at as usize] = destination;
                at
            }
            None => {
                self.destinations.push(destination);
                self.destinations.len() as u32 - 1
            }
        };
        self.index.set(destination.key, at);
        at
    }

    /// Sets what may be in flight, by the share or, where nobody divides, the rate.
    fn resize_window(&mut self, id: DestinationId) {
        let (line_rate, params) = (self.line_rate, &self.params);
        let destination = &mut self.destinations[id.index()];
        let rate = match params.mode {
            Mode::Window => destination.rate(line_rate),
            _ => destination.share.unwrap_or(line_rate),
        };
        destination.window = sizes(rate.bytes_in(destination.rtt), params.window);
    }

    /// Tells the link what a receiver can take.
    fn follow(&mut self, id: DestinationId) {
        let destination = &self.destinations[id.index()];
        let active = !destination.backlog.is_zero();
        let rate = destination.rate(self.line_rate).min(destination.usable());
        let cap = active.then(|| rate.as_f64());
        self.uplink.set(id.index(), cap);
    }

    /// Forgets a share of which nothing was heard for so long that the receiver has forgotten this sender; not while an
    /// acknowledgement is to come, since a queue may delay that for longer.
    fn expire(&mut self, now: Time, id: DestinationId) {
        let destination = &mut self.destinations[id.index()];
        let Some(share) = destination
            .share
            .filter(|_| destination.in_flight.is_zero())
        else {
            return;
        };
        let since = destination.heard.max(destination.departed);
        let slow = self.mtu.max(destination.last_size).serialization(share);
        let slow = slow.saturating_mul(SILENT_PACKETS);
        let span = spans(destination.rtt, SILENCE).max(slow);
        if now.saturating_since(since) >= span {
            (destination.share, destination.carried) = (None, Carried::default());
            self.follow(id);
        }
    }
}

impl Destination {
    fn rate(&self, line_rate: Rate) -> Rate {
        self.share.unwrap_or(line_rate).min(self.limit)
    }

    /// What it could use of the receiver's link, as far as controllers, applications and the way there let it.
    fn usable(&self) -> Rate {
        let carried = self.carried.rate();
        carried.map_or(self.limit, |rate| rate.min(self.limit))
    }

    /// Whether the next packet may be sent on top of what is in flight; a single one always may.
    fn admits(&self, payload: Bytes) -> bool {
        let next = self.in_flight + payload;
        let fits = match self.share {
            None => next <= self.first_burst,
            Some(_) => {
                let returns = !self.returns || next <= self.return_burst;
                returns && self.in_flight < self.window
            }
        };
        self.in_flight.is_zero() || fits && !self.lost
    }
}
