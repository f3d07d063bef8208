//! Connections: the two ends of a queue pair, the controller of its rate, its way through the fabric.

use fairlane_congestion::{Controller, NotificationPoint, Pacer, Window};
use fairlane_engine::Wake;
use fairlane_scenario::Verb;
use fairlane_transport::{Requester, Responder};
use fairlane_units::{Bytes, Duration, Psn, Time};

use crate::nic::Turn;
use crate::packet::NONE;

/// Deadlines of a connection: those of its controller, then the acknowledgement timeout.
pub(crate) const WAKES: usize = fairlane_congestion::TIMERS + 1;
/// Index of the acknowledgement timeout.
pub(crate) const ACK_TIMEOUT: usize = fairlane_congestion::TIMERS;

/// One message on a queue pair of its own, or a queue pair that stays open, and both its ends. The first cache line is all that the
/// arrival of data touches.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Connection {
    pub(crate) pacer: Pacer,
    /// The window at the current rate.
    pub(crate) window_limit: Bytes,
    /// Packets of it that exist: while there are any, nobody else gets the slot.
    pub(crate) packets: u32,
    /// The message that it carries.
    pub(crate) message: u32,
    /// The host that posted it.
    pub(crate) source: u32,
    /// Its number at the enforcer of the host that sends its data, or [`NONE`].
    pub(crate) sender: u32,
    pub(crate) class: u8,
    pub(crate) live: bool,
    /// Whether an event for the acknowledgement timeout is under way, perhaps too early a one.
    pub(crate) timeout_armed: bool,
    pub(crate) verb: Verb,
    /// Whether a marked packet has arrived that no acknowledgement told of.
    pub(crate) owes_mark: bool,
    /// Whether it outlasts its messages: then `pair` is the queue pair, and `message` stands for it.
    pub(crate) stays_open: bool,
    /// Number of the tenant that it belongs to.
    pub(crate) tenant: u16,
    pub(crate) responder: Responder,
    /// Position among the turns of the host that posted it.
    pub(crate) position: u32,
    /// The message that its own is a part of, or [`NONE`].
    pub(crate) whole: u32,
    pub(crate) requester: Requester,
    pub(crate) controller: Controller,
    pub(crate) window: Window,
    /// The receiver's, if marks come back as CNPs.
    pub(crate) notification_point: NotificationPoint,
    pub(crate) start: Time,
    /// Completion time alone on the fabric, least of the ways that it had.
    pub(crate) ideal: Option<Duration>,
    pub(crate) response: Response,
    /// The queue pair that stays open, or [`NONE`].
    pub(crate) pair: u32,
}

const _: () = assert!(std::mem::offset_of!(Connection, responder) == 48);

impl Connection {
    /// The position of one of its turns.
    pub(crate) fn turn_mut(&mut self, turn: Turn) -> &mut u32 {
        if turn.is_response() {
            &mut self.response.position
        } else {
            &mut self.position
        }
    }

    /// When the responder's host may send the next packet of the response.
    pub(crate) fn response_available(&self, paused: bool) -> Option<Time> {
        let open =
            self.responder.has_packet() && !paused && self.response.in_flight() < self.window_limit;
        open.then(|| self.pacer.available())
    }
}

/// The sending of a READ's response: the responder's host takes turns, paces and limits it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response {
    /// The responder's host.
    pub(crate) host: u32,
    /// Position among the turns of that host, [`NONE`] before a request has come.
    pub(crate) position: u32,
    /// Bytes of the message before the next response packet.
    pub(crate) next: u64,
    /// Bytes that have arrived, as far as the responder's host has heard.
    pub(crate) heard: u64,
    /// Packets sent more than once.
    pub(crate) repeated: u32,
}

impl Response {
    /// Nothing asked for yet.
    pub(crate) const fn new(host: u32) -> Self {
        Self {
            host,
            position: NONE,
            next: 0,
            heard: 0,
            repeated: 0,
        }
    }

    /// Position of a response packet on a queue pair that stays open, where each packet counts `mtu`
    /// bytes: the one nearest to the next packet with this PSN.
    pub(crate) const fn position(&self, psn: Psn, mtu: u64) -> u64 {
        let next = self.next / mtu;
        let ahead = psn.distance(Psn::new(next as u32));
        next.saturating_add_signed(ahead as i64) * mtu
    }

    /// Bytes sent that nobody has confirmed.
    pub(crate) const fn in_flight(&self) -> Bytes {
        Bytes::new(self.next.saturating_sub(self.heard))
    }
}

impl Connection {
    /// Whether a change of the rate can change what the window permits.
    pub(crate) const fn is_window_limited(&self) -> bool {
        self.window_limit.get() != u64::MAX
    }

    /// Brings the window up to date with the controller.
    #[inline]
    pub(crate) fn update_window(&mut self) {
        if self.is_enforced() {
            return;
        }
        let limit = self.window.limit(self.controller.rate());
        let own = self.controller.window();
        self.window_limit = own.map_or(limit, |own| own.min(limit));
    }
}

/// All connections, by slot; a slot is used again after its message has ended.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    pub(crate) slots: Vec<Connection>,
    /// Deadlines outlive the use of a slot, so that an old event is recognised.
    pub(crate) wakes: Vec<[Wake; WAKES]>,
    /// Egress ports at the switches on the way there and the way back, `stride` each.
    ways: Vec<u32>,
    stride: usize,
    free: Vec<u32>,
}

impl Connections {
    /// `stride` is the number of switches on the longest shortest path.
    pub(crate) fn new(stride: usize) -> Self {
        Self {
            stride,
            ..Self::default()
        }
    }

    /// Takes a slot.
    pub(crate) fn insert(&mut self, connection: Connection) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = connection;
            self.way_mut(slot, false).fill(NONE);
            self.way_mut(slot, true).fill(NONE);
            return slot;
        }
        self.slots.push(connection);
        self.wakes.push(Default::default());
        self.ways.resize(self.slots.len() * 2 * self.stride, NONE);
        (self.slots.len() - 1) as u32
    }

    /// Makes room for ways over `stride` switches; every way must be found again.
    pub(crate) fn widen(&mut self, stride: usize) {
        if stride > self.stride {
            self.stride = stride;
            self.ways = vec![NONE; self.slots.len() * 2 * stride];
        }
    }

    /// Ends the use of a slot. It is free once no packet of it exists.
    pub(crate) fn remove(&mut self, slot: u32) {
        self.slots[slot as usize].live = false;
        for wake in &mut self.wakes[slot as usize] {
            wake.cancel();
        }
        if self.slots[slot as usize].packets == 0 {
            self.free.push(slot);
        }
    }

    /// A packet of a connection ceases to exist; returns whether that was all that was left of it.
    #[inline]
    pub(crate) fn on_packet_gone(&mut self, slot: u32) -> bool {
        let connection = &mut self.slots[slot as usize];
        connection.packets -= 1;
        let ends = connection.packets == 0 && !connection.live;
        if ends {
            self.free.push(slot);
        }
        ends
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> &Connection {
        &self.slots[slot as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut Connection {
        &mut self.slots[slot as usize]
    }

    /// The connection of a packet, unless its message has ended.
    #[inline]
    pub(crate) fn of_packet(&mut self, slot: u32) -> Option<&mut Connection> {
        let connection = &mut self.slots[slot as usize];
        connection.live.then_some(connection)
    }

    /// Egress ports at the switches on one of the two ways.
    pub(crate) fn way_mut(&mut self, slot: u32, back: bool) -> &mut [u32] {
        let start = (slot as usize * 2 + usize::from(back)) * self.stride;
        &mut self.ways[start..start + self.stride]
    }

    /// Egress port at the `hop`-th switch, [`NONE`] if there is none; without meaning behind the last switch.
    #[inline]
    pub(crate) fn egress(&self, slot: u32, back: bool, hop: u8) -> u32 {
        let way = (slot as usize * 2 + usize::from(back)) * self.stride;
        let port = self.ways.get(way + usize::from(hop));
        port.copied().unwrap_or(NONE)
    }

    /// Slots in use.
    pub(crate) fn live(&self) -> impl Iterator<Item = u32> + '_ {
        (0..)
            .zip(&self.slots)
            .filter(|(_, connection)| connection.live)
            .map(|(slot, _)| slot)
    }
}
