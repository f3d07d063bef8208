//! Packets and where they wait.

use fairlane_congestion::Telemetry;
use fairlane_engine::Event;
use fairlane_units::{Bytes, FlowId, TenantId, Time};
use fairlane_wire::{Aeth, Opcode, Syndrome};
use prefetch_index::prefetch_index;

use crate::fork::{Fork, Forks};

/// No packet, or no record.
pub const NONE: u32 = u32::MAX;
/// The port is chosen once the packet is there.
pub(crate) const UNDECIDED: u32 = NONE - 1;
/// Instead of an egress port: the switch has kept the packet, or lost it.
pub(crate) const TAKEN: u32 = NONE - 1;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A packet of a requester, or the response to a READ: whatever a switch may mark.
    Data,
    /// An acknowledgement.
    Ack,
    /// A negative acknowledgement.
    Nak,
    /// A congestion notification.
    Cnp,
    /// Pauses the packet's class at the receiving port.
    Pause,
    /// Ends that.
    Resume,
    /// Follows the last packet of a stream that has left a port for another.
    Tail,
    /// Tells the switch that sent a tail that it is through.
    Clear,
}

impl Kind {
    /// Whether it speaks between neighbours instead of belonging to a message.
    #[inline]
    pub(crate) const fn is_pause_frame(self) -> bool {
        matches!(self, Self::Pause | Self::Resume)
    }

    /// Whether switches send it to each other.
    pub(crate) const fn is_of_switches(self) -> bool {
        !self.is_of_hosts()
    }

    /// Whether hosts send it, so that it must come to one or be lost.
    #[inline]
    pub const fn is_of_hosts(self) -> bool {
        matches!(self, Self::Data | Self::Ack | Self::Nak | Self::Cnp)
    }
}

/// One of the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The requester's, at the host that posts.
    Requester,
    /// The responder's.
    Responder,
}

impl Side {
    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Requester => Self::Responder,
            Self::Responder => Self::Requester,
        }
    }
}

/// A packet in the fabric. It fills a cache line: misses on packets are what a hop costs most.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct PacketRecord {
    /// The event of the arrival of the packet behind it on a link.
    follower: Event,
    /// The packet behind it in a queue or on a link; without meaning in the last one.
    pub(crate) next: u32,
    /// Sequence number as on the wire.
    pub psn: u32,
    /// Address in a RETH, counted from the beginning of its message; in a tail or its answer, half of the fork.
    pub address: u32,
    /// Length in a RETH, or an AETH; in a tail or its answer, the other half of the fork.
    pub word: u32,
    /// Record of what it collects or carries for the congestion control, or [`NONE`].
    pub telemetry: u32,
    /// Port that sent it last.
    pub sender: u32,
    /// Port that the switch it is on its way to will send it from, in the routes of `epoch`: a port,
    /// [`NONE`] if there is none, or [`UNDECIDED`]. On its way to a host it only says what to fetch: the host's
    /// port, if that is known.
    pub(crate) egress: u32,
    /// Its flow; [`NONE`] for pause frames.
    pub flow: FlowId,
    /// Bytes on the wire without gap.
    pub wire: u16,
    /// Payload.
    pub payload: u16,
    /// Routing epoch in which its path was chosen.
    pub epoch: u16,
    /// Switches passed.
    pub hop: u8,
    /// Traffic class, 0 for control.
    pub class: u8,
    /// Its tenant; without meaning for pause frames.
    pub tenant: u16,
    /// In an acknowledgement the receiver's share, 0 for none; in data the sender's demand, if senders say it.
    pub share: u16,
    /// The class that the buffer is charged for where it is.
    pub charged: u8,
    /// What it is to links and switches.
    pub kind: Kind,
    /// The opcode of its BTH; without meaning in frames of switches.
    pub opcode: Opcode,
    /// A set of the constants below.
    pub flags: u8,
}

const _: () = assert!(size_of::<PacketRecord>() == 64);

impl PacketRecord {
    /// Asks for an acknowledgement.
    pub const ACK_REQUEST: u8 = 1;
    /// Goes from the responder of its connection to the requester.
    pub const BACK: u8 = 2;
    /// Congestion experienced, or its echo in a reply.
    pub const MARKED: u8 = 4;
    /// Its sender keeps packets that arrive out of order.
    pub const SELECTIVE: u8 = 8;
    /// The packet was sent before, which no header on the wire shows.
    pub const AGAIN: u8 = 16;
    /// No buffer is charged for it where it is: it has been held, or is a tail at the switch that sends it.
    pub const UNCHARGED: u8 = 32;
    /// The packet carries [labels](PacketPool::forks).
    pub(crate) const LABELLED: u8 = 64;

    /// A packet that hasn't been anywhere yet.
    pub const fn new(kind: Kind, opcode: Opcode, class: u8, wire: u16) -> Self {
        Self {
            follower: Event::NEVER,
            next: NONE,
            psn: 0,
            address: 0,
            word: 0,
            share: 0,
            telemetry: NONE,
            sender: 0,
            egress: NONE,
            flow: FlowId::new(NONE),
            wire,
            payload: 0,
            epoch: 0,
            hop: 0,
            class,
            tenant: 0,
            charged: class,
            kind,
            opcode,
            flags: 0,
        }
    }

    /// Whether it has one of the flags below.
    #[inline]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The address that a RETH names, counted from the beginning of the message.
    pub const fn address(&self) -> Bytes {
        Bytes::new(self.address as u64)
    }

    /// The length that a RETH names.
    pub const fn length(&self) -> Bytes {
        Bytes::new(self.word as u64)
    }

    /// The AETH of a packet that has one.
    #[inline]
    pub fn aeth(&self) -> Aeth {
        Aeth {
            syndrome: Syndrome::from_byte((self.word >> 24) as u8).unwrap_or(Syndrome::ACK),
            msn: self.word & 0x00ff_ffff,
        }
    }

    /// Its tenant, if it is of hosts.
    pub const fn tenant(&self) -> TenantId {
        TenantId::new(self.tenant as u32)
    }

    /// The end of its flow that it goes to.
    #[inline]
    pub const fn towards(&self) -> Side {
        match self.has(Self::BACK) {
            true => Side::Requester,
            false => Side::Responder,
        }
    }

    /// The fork that a tail, or the answer to one, is about.
    pub const fn fork(&self) -> Fork {
        Fork::from_halves([self.address, self.word])
    }

    /// Makes it a tail, or the answer to one, of a fork.
    pub(crate) const fn set_fork(&mut self, fork: Fork) {
        [self.address, self.word] = fork.halves();
    }
}

/// What its sender says with a packet that doesn't fit into the [record](PacketRecord), and how far it came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    /// When it was sent.
    pub sent: Time,
    /// What its sender has yet to send to the receiver, if senders say it.
    pub backlog: u32,
    /// Switches that it passed on its way to the receiver.
    pub hops: u8,
}

const _: () = assert!(size_of::<Stamp>() == 16);

/// All packets of a run, by index.
#[derive(Clone, Debug, Default)]
pub struct PacketPool {
    packets: Vec<PacketRecord>,
    free: u32,
    telemetry: Vec<Telemetry>,
    stamps: Vec<Stamp>,
    free_records: Vec<u32>,
    /// By packet, as far as any has ever carried labels.
    forks: Vec<Forks>,
}

impl PacketPool {
    /// A pool without packets.
    pub fn new() -> Self {
        Self {
            free: NONE,
            ..Self::default()
        }
    }

    /// A place for a packet, with what an earlier one has left there.
    #[inline]
    pub fn alloc(&mut self) -> (u32, &mut PacketRecord) {
        if self.free == NONE {
            self.grow();
        }
        let at = self.free;
        let packet = &mut self.packets[at as usize];
        self.free = packet.next;
        (at, packet)
    }

    #[cold]
    fn grow(&mut self) {
        self.free = u32::try_from(self.packets.len()).expect("fewer than 2^26 packets");
        self.packets
            .push(PacketRecord::new(Kind::Data, Opcode::Cnp, 0, 0));
    }

    /// Forgets a packet, with what it has collected.
    #[inline]
    pub fn release(&mut self, at: u32) {
        let packet = &mut self.packets[at as usize];
        packet.next = self.free;
        self.free = at;
        if packet.telemetry != NONE {
            self.free_records.push(packet.telemetry);
        }
    }

    /// As [`release`](Self::release), but what the packet had collected is under way elsewhere.
    #[inline]
    pub fn release_without_record(&mut self, at: u32) {
        self.packets[at as usize].next = self.free;
        self.free = at;
    }

    /// A record with what a packet has brought along from another part of the fabric.
    pub(crate) fn restore_record(
        &mut self,
        telemetry: Option<Telemetry>,
        stamp: Option<Stamp>,
    ) -> u32 {
        let at = match self.free_records.pop() {
            Some(at) => at,
            None => {
                let records = self.telemetry.len().max(self.stamps.len());
                if telemetry.is_some() {
                    self.telemetry.push(Telemetry::EMPTY);
                }
                if stamp.is_some() {
                    self.stamps.push(Stamp::default());
                }
                u32::try_from(records).expect("fewer than 2^32 packets")
            }
        };
        if let Some(telemetry) = telemetry {
            self.telemetry[at as usize] = telemetry;
        }
        if let Some(stamp) = stamp {
            self.stamps[at as usize] = stamp;
        }
        at
    }

    /// Forgets what a packet that is gone had collected.
    pub fn release_record(&mut self, record: u32) {
        self.free_records.push(record);
    }

    /// A packet by its place.
    #[inline]
    pub fn get(&self, at: u32) -> &PacketRecord {
        &self.packets[at as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: u32) -> &mut PacketRecord {
        &mut self.packets[at as usize]
    }

    /// Has the record of a packet brought into the cache, if there is one.
    #[inline]
    pub(crate) fn fetch(&self, at: u32) {
        prefetch_index(&self.packets, at as usize);
    }

    /// A packet, if there is one.
    #[inline]
    pub(crate) fn peek(&self, at: u32) -> Option<&PacketRecord> {
        self.packets.get(at as usize)
    }

    /// A record with the parts that are asked for, if any.
    #[inline]
    pub fn alloc_record(&mut self, (telemetry, stamps): (bool, bool), now: Time) -> u32 {
        if !telemetry && !stamps {
            return NONE;
        }
        let stamp = Stamp {
            sent: now,
            ..Stamp::default()
        };
        if let Some(at) = self.free_records.pop() {
            if telemetry {
                self.telemetry[at as usize].clear();
            }
            if stamps {
                self.stamps[at as usize] = stamp;
            }
            return at;
        }
        if telemetry {
            self.telemetry.push(Telemetry::EMPTY);
        }
        if stamps {
            self.stamps.push(stamp);
        }
        let records = self.telemetry.len().max(self.stamps.len());
        u32::try_from(records - 1).expect("fewer than 2^32 packets")
    }

    /// The labels that a packet carries.
    #[inline]
    pub(crate) fn forks(&self, at: u32) -> Forks {
        match self.packets[at as usize].has(PacketRecord::LABELLED) {
            true => self.forks[at as usize],
            false => Forks::default(),
        }
    }

    /// Gives a packet other labels.
    pub(crate) fn set_forks(&mut self, at: u32, forks: Forks) {
        let packet = &mut self.packets[at as usize];
        if forks.is_empty() {
            packet.flags &= !PacketRecord::LABELLED;
            return;
        }
        packet.flags |= PacketRecord::LABELLED;
        if self.forks.len() <= at as usize {
            self.forks.resize(self.packets.len(), Forks::default());
        }
        self.forks[at as usize] = forks;
    }

    /// The telemetry in a record.
    #[inline]
    pub fn telemetry(&self, at: u32) -> Option<&Telemetry> {
        self.telemetry.get(at as usize)
    }

    #[inline]
    pub(crate) fn telemetry_mut(&mut self, at: u32) -> &mut Telemetry {
        &mut self.telemetry[at as usize]
    }

    /// The stamp in a record.
    #[inline]
    pub fn stamp(&self, at: u32) -> Option<Stamp> {
        self.stamps.get(at as usize).copied()
    }

    /// Notes what the sender of a packet with this record has yet to send.
    pub fn set_backlog(&mut self, at: u32, backlog: u32) {
        if let Some(stamp) = self.stamps.get_mut(at as usize) {
            stamp.backlog = backlog;
        }
    }

    /// Notes that packet `at` has come to its receiver.
    #[inline]
    pub fn note_hops(&mut self, at: u32) {
        let packet = &self.packets[at as usize];
        let stamp = self.stamps.get_mut(packet.telemetry as usize);
        if let Some(stamp) = stamp.filter(|_| packet.kind == Kind::Data) {
            stamp.hops = packet.hop;
        }
    }
}

/// A first-in-first-out list of packets, linked through the packets.
#[derive(Clone, Copy, Debug)]
pub struct PacketList {
    pub(crate) head: u32,
    tail: u32,
}

impl Default for PacketList {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
        }
    }
}

impl PacketList {
    /// Whether there is no packet.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Adds a packet at the end.
    #[inline]
    pub fn push(&mut self, pool: &mut PacketPool, at: u32) {
        if self.head == NONE {
            self.head = at;
        } else {
            pool.get_mut(self.tail).next = at;
        }
        self.tail = at;
    }

    /// Inserts a packet behind the first ones that satisfy `ahead`.
    pub(crate) fn push_behind(
        &mut self,
        pool: &mut PacketPool,
        at: u32,
        ahead: impl Fn(&PacketRecord) -> bool,
    ) {
        let (mut before, mut next) = (NONE, self.head);
        while next != NONE && ahead(pool.get(next)) {
            before = next;
            next = self.behind(pool, next);
        }
        if next == NONE {
            return self.push(pool, at);
        }
        pool.get_mut(at).next = next;
        match before {
            NONE => self.head = at,
            _ => pool.get_mut(before).next = at,
        }
    }

    /// Removes the first packet.
    #[inline]
    pub fn pop(&mut self, pool: &PacketPool) -> Option<u32> {
        if self.head == NONE {
            return None;
        }
        let at = self.head;
        self.head = self.behind(pool, at);
        Some(at)
    }

    /// The packet behind one of the list, or [`NONE`]: what the last one says of that has no meaning.
    #[inline]
    fn behind(&self, pool: &PacketPool, at: u32) -> u32 {
        let next = pool.get(at).next;
        if at == self.tail { NONE } else { next }
    }

    /// Visits the packets from the first one.
    pub fn iter<'a>(&self, pool: &'a PacketPool) -> impl Iterator<Item = &'a PacketRecord> {
        let (list, mut at) = (*self, self.head);
        std::iter::from_fn(move || {
            let packet = (at != NONE).then(|| pool.get(at))?;
            at = list.behind(pool, at);
            Some(packet)
        })
    }
}

/// The packets on a link, first the one that arrives next.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    packets: PacketList,
    /// The event of the first one's arrival, which alone is scheduled. Those of the others are kept with
    /// the packets ahead of them, so that an arrival touches one packet only.
    arrival: Event,
}

impl Default for Flight {
    fn default() -> Self {
        Self {
            packets: PacketList::default(),
            arrival: Event::NEVER,
        }
    }
}

impl Flight {
    /// Adds a packet; `true` if it is the only one, so that its arrival is to be scheduled.
    #[inline]
    pub fn push(&mut self, pool: &mut PacketPool, at: u32, arrival: Event) -> bool {
        let first = self.packets.is_empty();
        if first {
            self.arrival = arrival;
            self.packets.head = at;
        } else {
            let last = pool.get_mut(self.packets.tail);
            (last.follower, last.next) = (arrival, at);
        }
        self.packets.tail = at;
        first
    }

    /// Removes the packet that arrives with `event`, unless the link has lost it, and says what is to be
    /// scheduled.
    #[inline]
    pub fn pop(&mut self, pool: &PacketPool, event: Event) -> Option<(u32, Option<Event>)> {
        if event != self.arrival {
            return None;
        }
        let at = self.packets.head;
        let &PacketRecord { next, follower, .. } = pool.get(at);
        let last = at == self.packets.tail;
        self.packets.head = if last { NONE } else { next };
        self.arrival = if last { Event::NEVER } else { follower };
        Some((at, (!last).then_some(follower)))
    }

    /// The packets, from the first one.
    pub const fn packets(&self) -> PacketList {
        self.packets
    }
}
