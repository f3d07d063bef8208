//! The receiver's side: who sends, and what each may send.

mod divide;
mod due;

use alloc::vec::Vec;

use fairlane_units::{Bytes, Duration, HostId, Rate, TenantId, Time};

use self::divide::{Group, Scratch};
use super::params::{Mode, Params, sizes, spans};
use super::rows::{Look, Peer, Row, Rows, bps};
use crate::Environment;
use crate::scope::Share;

/// Which part of a message a packet is, as its opcode says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The first of several packets.
    First,
    /// Neither the first nor the last.
    Middle,
    /// The last of several.
    Last,
    /// All of it.
    Only,
    /// A packet that doesn't count: a duplicate, or one that the transport discards. All it shows is that its sender is there.
    Other,
}

impl Part {
    const fn begins(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    const fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

/// What a packet with data says.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// The driver's number for where share packets to its sender go: its queue pair.
    pub via: u32,
    /// Its size on the wire.
    pub wire: Bytes,
    /// Which part of a message it is.
    pub part: Part,
    /// The rate that its sender could use, in parts of 65535 of its line rate; 0 if nothing follows. `None` if it
    /// doesn't say.
    pub demand: Option<u16>,
    /// Bytes that its sender has yet to send to this receiver. `None` if it doesn't say.
    pub backlog: Option<u32>,
}

/// A share that a sender is to be told of without having asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Push {
    /// Whom.
    pub peer: Peer,
    /// Where its last packet [came in](Data::via).
    pub via: u32,
    /// What it may send.
    pub share: Share,
}

/// How often in a round trip a receiver looks at all rows, at most, but for joins and leaves: that takes time in proportion to
/// their number.
const LOOKS: u64 = 8;

/// Round trips over which senders that don't declare their demand are measured.
const MEASURED_OVER: f64 = 2.0;

/// Round trips over which declared demand is checked.
const CHECKED_OVER: f64 = 16.0;

/// Packets that measuring a sender takes at least.
const MEASURED: u64 = 2;

/// Packets that checking a sender's declared demand takes at least. A queue that drains brings packets closer together,
/// by less than the head-room over so many of them.
const CHECKED: u64 = 8;

/// How the card of a receiver apportions its link; one for each port.
#[derive(Clone, Debug)]
pub struct Receiver {
    params: Params,
    line_rate: Rate,
    rtt: Duration,
    bdp: Bytes,
    /// The largest packet seen.
    packet: Bytes,
    groups: Vec<Group>,
    /// Rows that a group may have.
    room: u32,
    rows: Rows,
    /// Rows that are to be told of their share, and where the search for the next one goes on.
    unheard: usize,
    hand: usize,
    /// Until when a queue may stand; zero for none.
    drains_until: Time,
    deadline: Time,
    /// When it last divided, and whether demand has changed since.
    divided_at: Time,
    wants_division: bool,
    turned_away: u64,
    scratch: Scratch,
}

impl Receiver {
    /// A receiver on a link of `environment.line_rate` that nobody sends to yet, with the weights of tenants, each
    /// above zero. Tenants that aren't among them have weight 1 together.
    ///
    /// # Panics
    /// If the link has no rate, or nobody [divides](Mode::divides) under the mode.
    pub fn new(params: &Params, environment: &Environment, tenants: &[(TenantId, f64)]) -> Self {
        let line_rate = environment.line_rate;
        assert!(!line_rate.is_zero(), "a link that is divided has a rate");
        assert!(params.mode.divides(), "a receiver divides its link");
        let mut groups: Vec<Group> = match params.mode {
            Mode::Count => Vec::new(),
            _ => tenants.iter().map(|&one| Group::new(Some(one))).collect(),
        };
        groups.push(Group::new(None));
        let room = params.rows as usize / groups.len();
        Self {
            params: params.clone(),
            line_rate,
            rtt: environment.base_rtt,
            bdp: environment.bdp,
            packet: environment.mtu,
            groups,
            room: u32::try_from(room.max(1)).unwrap_or(u32::MAX),
            rows: Rows::default(),
            unheard: 0,
            hand: 0,
            drains_until: Time::ZERO,
            deadline: Time::MAX,
            divided_at: Time::ZERO,
            wants_division: false,
            turned_away: 0,
            scratch: Scratch::default(),
        }
    }

    /// Data has arrived. Returns what its sender may send, for the acknowledgement if one goes back.
    pub fn on_data(&mut self, now: Time, peer: Peer, data: Data) -> Share {
        self.packet = self.packet.max(data.wire);
        let found = self.rows.find(peer.key());
        if found.is_none() && data.part.ends() && data.demand == Some(0) {
            // It has come and gone.
            return self.newcomer(peer);
        }
        let (at, joins) = match found {
            Some(at) => (at, false),
            None => match self.join(now, peer) {
                Some(at) => (at, true),
                None => return self.turn_away(),
            },
        };
        if joins {
            self.drain(now);
        }
        self.wants_division |= self.note(now, at, &data);
        let row = &self.rows.all[at];
        if data.part.ends() && (data.demand == Some(0)) {
            let share = row.stated();
            self.leave(at);
            self.divide(now);
            return share;
        }
        let again = self.divided_at.saturating_add(self.rtt / LOOKS);
        if joins || self.wants_division && now >= again {
            self.divide(now);
        } else if self.wants_division {
            // Who changes its demand with every packet must not have everybody's share computed as often.
            self.deadline = self.deadline.min(again);
        }
        let row = &mut self.rows.all[at];
        (row.told, row.told_at) = (row.share, now);
        let due = row.ended.then(|| now.saturating_add(self.rtt));
        self.deadline = due.map_or(self.deadline, |due| self.deadline.min(due));
        self.rows.all[at].stated()
    }

    /// A connection has ended, and no other one of this sender is open.
    pub fn close(&mut self, now: Time, tenant: TenantId, host: HostId) {
        if let Some(at) = self.rows.find((tenant, host)) {
            self.leave(at);
            self.divide(now);
        }
    }

    /// What a sender may send now, for a reply that isn't for a packet of just now; for one that is unknown
    /// what it would get at most.
    pub fn share(&self, peer: Peer) -> Share {
        let row = self.rows.find(peer.key());
        row.map_or_else(|| self.newcomer(peer), |at| self.rows.all[at].stated())
    }

    /// The next one that is to be told of its share. An acknowledgement by then makes that needless.
    pub fn poll_push(&mut self, now: Time) -> Option<Push> {
        if self.unheard == 0 {
            return None;
        }
        let count = self.rows.all.len();
        let mut places = (0..count).map(|step| (self.hand + step) % count);
        let at = places.find(|&at| self.rows.all[at].unheard)?;
        self.hand = at + 1;
        self.unheard -= 1;
        let row = &mut self.rows.all[at];
        (row.told, row.told_at, row.unheard) = (row.share, now, false);
        let due = due::due(row, self.rtt, self.packet);
        self.deadline = self.deadline.min(due);
        Some(Push {
            peer: row.peer,
            via: row.via,
            share: row.stated(),
        })
    }

    /// When to call [`on_deadline`](Self::on_deadline), if ever.
    pub fn deadline(&self) -> Option<Time> {
        (self.deadline != Time::MAX).then_some(self.deadline)
    }

    /// Senders that it divides among.
    pub const fn senders(&self) -> usize {
        self.rows.all.len()
    }

    /// Packets of senders that it had no room to know.
    pub const fn turned_away(&self) -> u64 {
        self.turned_away
    }

    /// What senders may use together: for each its share, or its demand if that was less when the link was divided last.
    pub fn apportioned(&self) -> Rate {
        let used = |row: &Row| match row.divided < row.share.as_f64() {
            true => bps(row.divided),
            false => row.share,
        };
        let rates = self.rows.all.iter().map(used);
        Rate::from_bps(rates.map(Rate::as_bps).sum())
    }

    /// Adds a row, if there is room.
    fn join(&mut self, now: Time, peer: Peer) -> Option<usize> {
        let group = self.group(peer.tenant);
        let state = &mut self.groups[group];
        if state.rows >= self.room {
            return None;
        }
        state.rows += 1;
        let group = u32::try_from(group).expect("fewer tenants than rows");
        Some(self.rows.push(Row::new(now, peer, group)))
    }

    /// Takes in what a packet says; whether shares may change.
    fn note(&mut self, now: Time, at: usize, data: &Data) -> bool {
        let row = &mut self.rows.all[at];
        (row.via, row.seen) = (data.via, now);
        self.unheard -= usize::from(core::mem::take(&mut row.unheard));
        if data.part == Part::Other {
            return false;
        }
        let (rounds, packets) = match data.demand {
            Some(_) => (CHECKED_OVER, CHECKED),
            None => (MEASURED_OVER, MEASURED),
        };
        let look = Look {
            span: spans(self.rtt, rounds),
            bytes: self.packet * packets,
            headroom: self.params.headroom,
        };
        let mode = self.params.mode;
        row.note_demand(now, data.wire, data.demand, mode, look);
        row.backlog = data.backlog.unwrap_or(u32::MAX);
        if data.part.begins() {
            row.open = row.open.saturating_add(1);
        }
        if matches!(data.part, Part::Middle | Part::Last) {
            // Of a message whose beginning was forgotten when its sender was silent.
            row.open = row.open.max(1);
        }
        if data.part.ends() {
            row.open -= 1;
        }
        row.ended = row.open == 0 && data.demand.is_none();
        let group = &self.groups[row.group as usize];
        row.has_new_demand(self.params.tolerance)
            || mode == Mode::ShortestFirst && group.is_out_of_order(row)
    }

    /// Removes a row.
    fn leave(&mut self, at: usize) {
        let row = self.rows.remove(at);
        self.unheard -= usize::from(row.unheard);
        self.groups[row.group as usize].rows -= 1;
    }

    fn turn_away(&mut self) -> Share {
        self.turned_away += 1;
        Share::LEAST
    }

    /// What is divided, in bits per second.
    fn divided(&self) -> f64 {
        let packets = self.packet * self.rows.all.len() as u64;
        let crowded = packets > self.bdp && self.params.mode != Mode::ShortestFirst;
        let part = match crowded || self.drains_until != Time::ZERO {
            true => self.params.draining,
            false => self.params.eta,
        };
        part * self.line_rate.as_f64()
    }

    /// Leaves the queue that a newcomer's first burst and shares that are out of date make the time to drain. Windows let
    /// no more stand than what they have beyond a round trip, and a packet of each sender.
    fn drain(&mut self, now: Time) {
        let spare = (self.params.eta - self.params.draining) * self.line_rate.as_f64();
        let rows = self.rows.all.len() as u64;
        if rows > 1 && spare >= 1.0 {
            let queue = sizes(self.bdp, self.params.window - 1.0) + self.packet * rows;
            self.drains_until = now.saturating_add(queue.serialization(bps(spare)));
        }
    }

    /// What one more sender would get, the least if there is no room for it.
    fn newcomer(&self, peer: Peer) -> Share {
        let group = &self.groups[self.group(peer.tenant)];
        if group.rows >= self.room {
            return Share::LEAST;
        }
        let rows = f64::from(group.rows);
        let weights: f64 = self
            .groups
            .iter()
            .filter(|one| one.rows > 0)
            .map(|one| one.weight)
            .sum();
        let rate = match group.rows {
            0 => self.divided() * group.weight / (weights + group.weight),
            _ => group.budget / (rows + 1.0),
        };
        Share::from_rate(bps(rate), peer.line_rate)
    }

    /// Place of a tenant.
    fn group(&self, tenant: TenantId) -> usize {
        let is = |group: &Group| group.tenant == Some(tenant);
        let others = self.groups.len() - 1;
        // Usually all tenants are there, in order.
        match self.groups.get(tenant.index()).is_some_and(is) {
            true => tenant.index(),
            false if self.params.mode == Mode::Count => others,
            false => self.groups.iter().position(is).unwrap_or(others),
        }
    }
}
