//! One end of a link: its transmitter, its egress queues, and the buffer that what it has sent uses
//! at the switch at the other end.

mod fair;
mod tenants;

use fairlane_congestion::{ClassScheduler, PacingRounding};
use fairlane_engine::{Key, Stream};
use fairlane_units::{Bytes, Duration, NodeId, Rate, Time};

use prefetch_index::prefetch_index;

use crate::packet::{Flight, PacketList, PacketPool, PacketRecord};
use crate::waking::Waking;

pub use fair::FairQueues;
pub use tenants::TenantUse;

/// Traffic classes. Class 0 is control: before all others, never paused, never charged.
pub use fairlane_congestion::CLASSES;

/// An egress queue of one class.
#[derive(Clone, Copy, Debug, Default)]
pub struct Queue {
    pub(crate) packets: PacketList,
    /// Bytes that wait in the queue.
    pub bytes: u32,
}

/// What packets sent by a port, in one class, occupy of the buffer of the switch that received them.
///
/// The counts are kept with the sending port, which an arrival touches anyway.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ingress {
    /// In reserve and shared buffer.
    pub(crate) bytes: u32,
    pub(crate) headroom: u32,
}

/// Marking thresholds of a port.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marking {
    /// Bytes from which packets are marked at random.
    pub kmin: u32,
    pub(crate) kmax: u32,
    pub(crate) pmax: f64,
}

/// One end of a link. Fields that a hop touches together lie together, which spares cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Port {
    // Link, and what forwarding looks at.
    /// Packets on the way to the peer.
    pub flight: Flight,
    /// If tenants are told of the load by what they use.
    pub(crate) tenants: Option<Box<TenantUse>>,
    /// The port at the other end.
    pub peer: u32,
    /// The number of the port's node among hosts, or among switches if `on_switch`.
    pub owner: u32,
    /// The number of the node at the other end among hosts, or among switches.
    pub peer_owner: u32,
    /// Headroom at the switch at the other end, and the share of its free buffer from which that
    /// switch pauses this port.
    pub(crate) headroom_limit: u32,
    pub(crate) threshold_shift: u8,
    /// Whether the port is on a switch.
    pub on_switch: bool,
    pub(crate) peer_on_switch: bool,
    /// Classes of which the switch at the other end has paused this port, as that switch sees it: the
    /// pause frame may still be on its way.
    pub pausing: u8,
    /// Whether the link is up.
    pub up: bool,
    /// Whether the link loses packets.
    pub(crate) loses: bool,
    /// Whether the other end is in another part of the fabric.
    pub crosses: bool,
    /// Classes with waiting packets, as a bit set.
    pub nonempty: u8,
    /// Classes that the peer has paused, as a bit set.
    pub paused: u8,
    /// Class served last, for round robin.
    pub(crate) last_served: u8,
    /// Whether `scheduler` chooses the class instead.
    scheduled: bool,
    /// Whether somebody waits for the transmitter to become free.
    pub free_armed: bool,
    // Transmitter.
    /// When the transmitter becomes free.
    pub free_at: Time,
    pub(crate) free_key: Key,
    /// What decides on events of its transmitter becoming free, and of arrivals of what it sends.
    pub(crate) keys: [Key; 2],
    ps_per_byte: u64,
    pub(crate) delay: Duration,
    /// Bytes sent so far.
    pub sent_bytes: u64,
    /// Most bytes waiting in all classes since the last sample.
    pub waiting_max: u64,
    // Queues, and buffer use at the other end.
    /// Bytes waiting in all classes.
    pub waiting: u64,
    /// The packets of classes above 0, if ingress ports take turns.
    pub(crate) fair: Option<Box<FairQueues>>,
    /// The queues, by class.
    pub queues: [Queue; CLASSES],
    /// The queue lengths between which packets are marked.
    pub marking: Marking,
    pub(crate) ingress: [Ingress; CLASSES],
    memo: [(u32, Duration); 2],
    /// The number of the port's node in the topology.
    pub node: u32,
    /// The rate of the link.
    pub rate: Rate,
    pub(crate) marks: Stream,
    pub(crate) losses: Stream,
    scheduler: Option<Box<ClassScheduler>>,
    /// The share of packets that the link loses, from 0 to 1.
    pub loss_rate: f64,
    // Counters.
    /// Packets that were marked.
    pub marked: u64,
    /// Most bytes ever waiting until the last sample.
    pub deepest: u64,
    pub(crate) paused_since: Time,
    pub(crate) paused_total: Duration,
    rounding: PacingRounding,
}

/// Each begins a cache line.
const _: () = assert!(std::mem::offset_of!(Port, free_at) == 64);
const _: () = assert!(std::mem::offset_of!(Port, waiting) == 128);
const _: () = assert!(std::mem::offset_of!(Port, ingress) == 256);

/// What a port is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortSpec {
    pub(crate) number: u32,
    pub(crate) node: u32,
    pub(crate) owner: u32,
    pub(crate) peer: u32,
    pub(crate) peer_owner: u32,
    pub(crate) on_switch: bool,
    pub(crate) peer_on_switch: bool,
    pub(crate) rate: Rate,
    pub(crate) delay: Duration,
    pub(crate) loss_rate: f64,
}

impl Port {
    /// `streams` gives the random numbers for marks and for losses.
    pub(crate) fn new(spec: PortSpec, rounding: PacingRounding, streams: [Stream; 2]) -> Self {
        let exact = rounding == PacingRounding::Picosecond;
        let ps_per_byte = spec.rate.exact_ps_per_byte().filter(|_| exact).unwrap_or(0);
        let [marks, losses] = streams;
        Self {
            free_at: Time::ZERO,
            free_key: Key::MIN,
            keys: [Waking::PortFree, Waking::Arrival].map(|waking| {
                let rank = waking.rank(u64::from(spec.number));
                Key::ranked(rank, waking.component(spec.number))
            }),
            free_armed: false,
            up: true,
            on_switch: spec.on_switch,
            peer_on_switch: spec.peer_on_switch,
            nonempty: 0,
            paused: 0,
            pausing: 0,
            last_served: 0,
            scheduled: false,
            scheduler: None,
            peer: spec.peer,
            owner: spec.owner,
            peer_owner: spec.peer_owner,
            node: spec.node,
            rate: spec.rate,
            delay: spec.delay,
            ps_per_byte,
            rounding,
            fair: None,
            tenants: None,
            memo: [(0, Duration::ZERO); 2],
            flight: Flight::default(),
            waiting: 0,
            queues: [Queue::default(); CLASSES],
            ingress: [Ingress::default(); CLASSES],
            headroom_limit: 0,
            threshold_shift: 0,
            marking: Marking::default(),
            marks,
            losses,
            loses: spec.loss_rate > 0.0,
            crosses: false,
            loss_rate: spec.loss_rate,
            sent_bytes: 0,
            marked: 0,
            waiting_max: 0,
            deepest: 0,
            paused_since: Time::ZERO,
            paused_total: Duration::ZERO,
        }
    }

    /// The number of the port's node in the topology.
    pub const fn node(&self) -> NodeId {
        NodeId::new(self.node)
    }

    /// Has what a packet that leaves touches brought into the cache.
    #[inline]
    pub(crate) fn fetch(&self) {
        prefetch_index(std::slice::from_ref(&self.flight), 0);
        prefetch_index(std::slice::from_ref(&self.free_at), 0);
    }

    /// The time of `bytes` on this link.
    #[inline]
    pub fn serialization(&mut self, bytes: u32) -> Duration {
        if self.ps_per_byte != 0 {
            return Duration::from_ps(u64::from(bytes) * self.ps_per_byte);
        }
        // Data and acknowledgements have two sizes nearly always; division is slow.
        if self.memo[0].0 == bytes {
            return self.memo[0].1;
        }
        if self.memo[1].0 != bytes {
            let time = self
                .rounding
                .serialization(Bytes::new(u64::from(bytes)), self.rate);
            self.memo[1] = (bytes, time);
        }
        self.memo.swap(0, 1);
        self.memo[0].1
    }

    /// Classes that have a packet and may send it, as a bit set.
    #[inline]
    pub(crate) const fn sendable(&self) -> u8 {
        // Class 0 is never paused.
        self.nonempty & !(self.paused & !1)
    }

    /// Adds a packet to the queue of `class`.
    #[inline]
    pub(crate) fn enqueue(&mut self, pool: &mut PacketPool, class: u8, at: u32) {
        let wire = u32::from(pool.get(at).wire);
        let queue = &mut self.queues[usize::from(class)];
        match &mut self.fair {
            Some(fair) if class != 0 => fair.push(pool, class, at),
            _ => queue.packets.push(pool, at),
        }
        queue.bytes += wire;
        self.nonempty |= 1 << class;
        self.waiting += u64::from(wire);
        self.waiting_max = self.waiting_max.max(self.waiting);
    }

    /// Adds a pause frame to the control queue, behind other pause frames and ahead of everything
    /// else: headroom covers no wait for acknowledgements.
    pub(crate) fn enqueue_pause(&mut self, pool: &mut PacketPool, at: u32) {
        let wire = u32::from(pool.get(at).wire);
        let queue = &mut self.queues[0];
        queue
            .packets
            .push_behind(pool, at, |packet| packet.kind.is_pause_frame());
        queue.bytes += wire;
        self.nonempty |= 1;
        self.waiting += u64::from(wire);
        self.waiting_max = self.waiting_max.max(self.waiting);
    }

    /// Has classes above 0 sent in the order of a scheduler.
    pub(crate) fn schedule(&mut self, scheduler: ClassScheduler) {
        self.scheduled = true;
        self.scheduler = Some(Box::new(scheduler));
    }

    /// Removes the next packet: control first, then round robin over classes that aren't paused, or as they are scheduled.
    #[inline]
    pub(crate) fn dequeue(&mut self, pool: &PacketPool) -> Option<(u8, u32)> {
        let sendable = self.sendable();
        if sendable == 0 {
            return None;
        }
        let class = if sendable & 1 != 0 {
            0
        } else if self.scheduled {
            return self.dequeue_scheduled(pool, sendable);
        } else {
            let after = u32::from(self.last_served) + 1;
            let rotated = u16::from(sendable) | u16::from(sendable) << CLASSES;
            let class = (after + (rotated >> after).trailing_zeros()) % CLASSES as u32;
            self.last_served = class as u8;
            class as u8
        };
        let at = self.take(pool, class)?;
        Some((class, at))
    }

    /// Removes the next packet of the classes in `sendable` as they are scheduled.
    #[inline(never)]
    fn dequeue_scheduled(&mut self, pool: &PacketPool, sendable: u8) -> Option<(u8, u32)> {
        let class = self.scheduler.as_mut()?.choose(sendable)?;
        let at = self.take(pool, class)?;
        let wire = Bytes::new(u64::from(pool.get(at).wire));
        self.scheduler.as_mut()?.on_sent(class, wire);
        Some((class, at))
    }

    /// The packets that wait in a class.
    pub fn queued<'a>(
        &'a self,
        pool: &'a PacketPool,
        class: usize,
    ) -> impl Iterator<Item = &'a PacketRecord> {
        let fair = self
            .fair
            .iter()
            .flat_map(move |fair| fair.iter(pool, class));
        self.queues[class].packets.iter(pool).chain(fair)
    }

    /// Removes the first packet of `class`.
    #[inline]
    pub(crate) fn take(&mut self, pool: &PacketPool, class: u8) -> Option<u32> {
        let queue = &mut self.queues[usize::from(class)];
        let at = match &mut self.fair {
            Some(fair) if class != 0 => fair.pop(pool, class)?,
            _ => queue.packets.pop(pool)?,
        };
        let wire = u32::from(pool.get(at).wire);
        queue.bytes -= wire;
        if queue.bytes == 0 {
            self.nonempty &= !(1 << class);
        }
        self.waiting -= u64::from(wire);
        Some(at)
    }

    /// Probability of a mark for the packet just taken from `class` (RED on what stays behind, of
    /// which the packet's sender is told the part `told`).
    #[inline]
    pub(crate) fn mark_probability(&self, class: u8, told: f64) -> f64 {
        let waiting = self.told(class, told);
        let Marking { kmin, kmax, pmax } = self.marking;
        if waiting <= kmin {
            0.0
        } else if waiting > kmax {
            1.0
        } else {
            pmax * f64::from(waiting - kmin) / f64::from(kmax - kmin)
        }
    }

    /// Whether every packet of `class` whose sender is told the part `told` is marked, without a draw.
    #[inline]
    pub(crate) fn is_over_kmax(&self, class: u8, told: f64) -> bool {
        self.told(class, told) > self.marking.kmax
    }

    /// The part `told` of what waits in a class.
    #[inline]
    fn told(&self, class: u8, told: f64) -> u32 {
        let all = self.queues[usize::from(class)].bytes;
        if told < 1.0 {
            (f64::from(all) * told) as u32
        } else {
            all
        }
    }

    /// Starts or ends a pause of `class` by the peer.
    pub(crate) fn set_paused(&mut self, now: Time, class: u8, pause: bool) {
        let before = self.paused;
        let bit = 1u8 << class;
        self.paused = if pause { before | bit } else { before & !bit };
        if before == 0 && self.paused != 0 {
            self.paused_since = now;
        } else if before != 0 && self.paused == 0 {
            self.paused_total += now - self.paused_since;
        }
    }

    /// Most bytes ever waiting.
    pub fn deepest_yet(&self) -> u64 {
        self.deepest.max(self.waiting_max)
    }

    /// Time spent paused until `now`.
    pub fn paused_until(&self, now: Time) -> Duration {
        let open = if self.paused == 0 {
            Duration::ZERO
        } else {
            now - self.paused_since
        };
        self.paused_total + open
    }
}
