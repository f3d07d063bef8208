//! What a controller hears.

use alloc::boxed::Box;

use fairlane_units::{Bytes, Duration, Rate, Time};

/// One acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack<'a> {
    /// Position of the byte after the last one acknowledged, in the sender's stream.
    pub acknowledged: Bytes,
    /// Position of the next byte that has never been sent or is about to be sent again.
    pub next_to_send: Bytes,
    /// Whether the acknowledgement carries a congestion notification (a CNP, or its flag).
    pub congestion_notified: bool,
    /// From the sending of the packet that is acknowledged to now, where the driver measures it.
    pub round_trip: Option<Duration>,
    /// The part of the round trip that was spent in the two hosts, where the driver measures it.
    pub endpoint_delay: Option<Duration>,
    /// Switches that the packet passed, where the driver counts them.
    pub hops: u8,
    /// In-band telemetry that the packet collected on its way, hop by hop.
    pub telemetry: Option<Reading<'a>>,
}

/// Telemetry as it came, and the units to read it in.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// What the packet collected.
    pub record: &'a Telemetry,
    /// What an earlier packet collected at the same ports, from a driver that keeps a
    /// [`History`](crate::History); without, the controller remembers the packet before.
    pub earlier: Option<&'a Telemetry>,
    /// How it was rounded.
    pub format: &'a TelemetryFormat,
    /// The part that it has of a round trip's news: 1 for a stream on one path, where every record tells
    /// all; less where streams on many paths teach one controller.
    pub weight: f64,
    /// How much faster the packet went than the controller that hears of it allows, on credit.
    pub surplus: Rate,
    /// How much faster than by its own rules the controller comes to what others have.
    pub leveling: Leveling,
}

/// How controllers that meet at a port come to equal rates, beyond what the algorithm does for that. Only
/// HPCC follows it: its own steps take thousands of round trips. Ours, no publication has it; rule 14 of `docs/isolation.md`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leveling {
    /// How much more a controller at line rate gives way than one at next to nothing, and how much less it
    /// takes of what is free, 0 to 1. Above zero, room is also taken in many small parts, or whoever comes first
    /// has all of it.
    pub lean: f64,
    /// Multiplies the additive increase; 1 leaves it.
    pub increase: u32,
}

impl Leveling {
    /// Nothing beyond the algorithm.
    pub const NONE: Self = Self {
        lean: 0.0,
        increase: 1,
    };
}

/// What one port did between two packets that passed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Time between the two.
    pub span: Duration,
    /// Bytes that the port sent in that time.
    pub sent: Bytes,
    /// Bytes that waited behind the earlier packet.
    pub queue_before: Bytes,
    /// Bytes that waited behind the later packet.
    pub queue: Bytes,
    /// Rate of the port.
    pub rate: Rate,
}

impl Interval {
    /// What the port would have done without this traffic, if none of it had to wait.
    #[inline]
    fn without(self, surplus: Rate) -> Self {
        if surplus.is_zero() || !self.queue.min(self.queue_before).is_zero() {
            return self;
        }
        let sent = self.sent.saturating_sub(surplus.bytes_in(self.span));
        Self { sent, ..self }
    }
}

impl<'a> Reading<'a> {
    /// A record of a stream that goes one path at the rate of its controller.
    #[inline]
    pub const fn new(record: &'a Telemetry, format: &'a TelemetryFormat) -> Self {
        Self {
            record,
            earlier: None,
            format,
            weight: 1.0,
            surplus: Rate::ZERO,
            leveling: Leveling::NONE,
        }
    }

    /// Hop by hop what happened since `earlier`, which must have passed the same ports; hops whose
    /// clock is too coarse to tell the two packets apart are left out. What went on credit isn't counted
    /// where the port had room for it: at the controller's rate it wouldn't have been sent.
    #[inline]
    pub fn since(self, earlier: &'a Telemetry) -> impl Iterator<Item = Interval> + 'a {
        let format = self.format;
        let pairs = self.record.hops().iter().zip(earlier.hops());
        let intervals = pairs.map(move |(hop, before)| {
            let interval = Interval {
                span: format.time_between(before, hop),
                sent: format.sent_between(before, hop),
                queue_before: format.queue(before),
                queue: format.queue(hop),
                rate: hop.rate(),
            };
            interval.without(self.surplus)
        });
        intervals.filter(|interval| !interval.span.is_zero())
    }

    /// Whether the busiest port is another than the last one, the receiver's.
    pub(crate) fn is_held_before_the_last_hop(self) -> bool {
        let Some(earlier) = self.earlier else {
            return false;
        };
        let (mut before, mut last) = (0.0, 0.0);
        for hop in self.since(earlier) {
            // The time that the port needs for what it got, as a part of the time that it had.
            let bytes = hop.sent + hop.queue;
            let busy = bytes.serialization(hop.rate).as_ns_f64() / hop.span.as_ns_f64();
            before = f64::max(before, last);
            last = busy;
        }
        before > last
    }

    /// Keeps the record for the next packet, unless the driver does.
    #[inline]
    pub(crate) fn remember(self, previous: &mut Option<Box<Telemetry>>) {
        match previous {
            _ if self.earlier.is_some() => {}
            Some(previous) => previous.copy_from(self.record),
            None => *previous = Some(Box::new(*self.record)),
        }
    }
}

/// The state of one egress port when a packet left it (HPCC section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// When the packet left, in units of [`TelemetryFormat::time_unit`].
    pub time: u64,
    /// Bytes the port has sent, in units of [`TelemetryFormat::byte_unit`].
    pub sent: u64,
    /// Bytes waiting at the port, in units of [`TelemetryFormat::queue_unit`].
    pub queue: u32,
    /// Rate of the port in Mb/s, rounded down.
    pub rate_mbps: u32,
}

impl Hop {
    /// The rate of the port.
    pub const fn rate(&self) -> Rate {
        Rate::from_mbps(self.rate_mbps as u64)
    }
}

/// The hops that one packet passed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Telemetry {
    hops: [Hop; Self::MAX_HOPS],
    ports: [u32; Self::MAX_HOPS],
    /// What lies behind is left from earlier packets.
    count: u8,
}

impl PartialEq for Telemetry {
    fn eq(&self, other: &Self) -> bool {
        self.same_path(other) && self.hops() == other.hops()
    }
}

impl Eq for Telemetry {}

impl Telemetry {
    /// How many hops fit: those of a four-tier fat-tree (7), or of a three-tier one (5) in which two failures
    /// have a packet go down and up again.
    pub const MAX_HOPS: usize = 9;

    /// Nothing collected.
    pub const EMPTY: Self = Self {
        hops: [Hop {
            time: 0,
            sent: 0,
            queue: 0,
            rate_mbps: 0,
        }; Self::MAX_HOPS],
        ports: [0; Self::MAX_HOPS],
        count: 0,
    };

    /// Forgets what was collected.
    #[inline]
    pub const fn clear(&mut self) {
        self.count = 0;
    }

    /// Becomes what `other` is; room that neither needs isn't touched.
    #[inline]
    fn copy_from(&mut self, other: &Self) {
        let count = usize::from(other.count);
        self.hops[..count].copy_from_slice(other.hops());
        self.ports[..count].copy_from_slice(other.ports());
        self.count = other.count;
    }

    /// Adds the hop at port number `port`; one that doesn't fit is dropped.
    #[inline]
    pub fn push(&mut self, port: u32, hop: Hop) {
        self.end_with(usize::from(self.count), port, hop);
    }

    /// Makes the hop at port number `port` the last one, behind `before` others that have been added; one
    /// that doesn't fit is dropped. It reads nothing, so that nobody waits for a record that isn't cached.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most MAX_HOPS")]
    pub fn end_with(&mut self, before: usize, port: u32, hop: Hop) {
        if before < Self::MAX_HOPS {
            self.hops[before] = hop;
            self.ports[before] = port;
            self.count = before as u8 + 1;
        }
    }

    /// Whether both passed the same ports (HPCC section 4.1: pathID).
    #[inline]
    pub fn same_path(&self, other: &Self) -> bool {
        self.ports() == other.ports()
    }

    /// The ports of the hops.
    #[inline]
    pub fn ports(&self) -> &[u32] {
        &self.ports[..usize::from(self.count)]
    }

    /// The hops, first one first.
    #[inline]
    pub fn hops(&self) -> &[Hop] {
        &self.hops[..usize::from(self.count)]
    }
}

/// How telemetry is rounded and how many bits its fields have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TelemetryFormat {
    /// Picoseconds per unit of time.
    pub time_unit: u64,
    /// Bytes per unit of the sent counter.
    pub byte_unit: u64,
    /// Bytes per unit of the queue length.
    pub queue_unit: u64,
    /// The largest time value; larger ones wrap.
    pub time_mask: u64,
    /// The largest counter value; larger ones wrap.
    pub byte_mask: u64,
    /// The largest queue value; larger ones wrap.
    pub queue_mask: u32,
}

impl TelemetryFormat {
    /// Picoseconds and bytes that don't wrap.
    pub const EXACT: Self = Self {
        time_unit: 1,
        byte_unit: 1,
        queue_unit: 1,
        time_mask: u64::MAX,
        byte_mask: u64::MAX,
        queue_mask: u32::MAX,
    };

    /// How many hops fit into HPCC's 42-byte header.
    pub const HEADER_HOPS: usize = 5;

    /// HPCC's header: 24-bit nanoseconds, 20-bit counter of 128 B x `multiplier`, 17-bit queue of
    /// 80 B x `multiplier`.
    pub const fn hpcc_header(multiplier: u64) -> Self {
        Self {
            time_unit: 1000,
            byte_unit: 128 * multiplier,
            queue_unit: 80 * multiplier,
            time_mask: (1 << 24) - 1,
            byte_mask: (1 << 20) - 1,
            queue_mask: (1 << 17) - 1,
        }
    }

    /// Rounds a port's state to this format.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the fields wrap by definition"
    )]
    pub fn hop(&self, now: Time, sent: Bytes, queue: Bytes, rate: Rate) -> Hop {
        Hop {
            time: whole(now.as_ps(), self.time_unit) & self.time_mask,
            sent: whole(sent.get(), self.byte_unit) & self.byte_mask,
            queue: whole(queue.get(), self.queue_unit) as u32 & self.queue_mask,
            rate_mbps: (rate.as_bps() / 1_000_000) as u32,
        }
    }

    /// Time from `earlier` to `later`, over at most one wrap; none if acknowledgements have passed each other and
    /// `later` is the older one, as far as times that don't wrap tell.
    #[inline]
    pub fn time_between(&self, earlier: &Hop, later: &Hop) -> Duration {
        let units = later.time.wrapping_sub(earlier.time) & self.time_mask;
        match i64::try_from(units) {
            Ok(_) => Duration::from_ps(units * self.time_unit),
            Err(_) => Duration::ZERO,
        }
    }

    /// Bytes sent between `earlier` and `later`, over at most one wrap.
    #[inline]
    pub fn sent_between(&self, earlier: &Hop, later: &Hop) -> Bytes {
        let units = later.sent.wrapping_sub(earlier.sent) & self.byte_mask;
        Bytes::new(units * self.byte_unit)
    }

    /// The queue length of a hop in bytes.
    #[inline]
    pub fn queue(&self, hop: &Hop) -> Bytes {
        Bytes::new(u64::from(hop.queue) * self.queue_unit)
    }
}

/// The whole units in `value`. The exact format counts in ones, and division is slow.
#[inline]
const fn whole(value: u64, unit: u64) -> u64 {
    if unit == 1 { value } else { value / unit }
}
