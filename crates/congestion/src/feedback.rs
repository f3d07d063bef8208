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
    /// Whether the last port is left out: it is the receiver's, which divides it itself.
    pub core_only: bool,
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

impl<'a> Reading<'a> {
    /// A record of a stream that goes one path at the rate of its controller.
    #[inline]
    pub const fn new(record: &'a Telemetry, format: &'a TelemetryFormat) -> Self {
        Self {
            record,
            earlier: None,
            format,
            core_only: false,
        }
    }

    /// Hop by hop what happened since `earlier`, which the record must [follow](Self::follows); hops whose
    /// clock is too coarse to tell the two packets apart are left out, and those that state no rate.
    #[inline]
    pub fn since(self, earlier: &'a Telemetry) -> impl Iterator<Item = Interval> + 'a {
        let format = self.format;
        let pairs = self.record.hops().iter().zip(earlier.hops());
        let intervals = pairs.take(self.hops()).map(move |(hop, before)| Interval {
            span: format.time_between(before, hop),
            sent: format.sent_between(before, hop),
            queue_before: format.queue(before),
            queue: format.queue(hop),
            rate: hop.rate(),
        });
        intervals.filter(|interval| !interval.span.is_zero() && !interval.rate.is_zero())
    }

    /// Whether the record can be compared with `earlier`: both passed the same ports, and at none of them a
    /// counter went back, as it seems to where acknowledgements overtake each other.
    #[inline]
    pub fn follows(self, earlier: &Telemetry) -> bool {
        let mut hops = earlier.hops().iter().zip(self.record.hops());
        self.record.same_path(earlier) && hops.all(|(before, hop)| self.format.follows(before, hop))
    }

    /// Ports that it speaks of.
    #[inline]
    pub const fn hops(self) -> usize {
        let all = self.record.count as usize;
        match self.core_only {
            true => all.saturating_sub(1),
            false => all,
        }
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

    /// Whether no counter went back from `earlier` to `later`; of counters that wrap nobody can tell.
    #[inline]
    pub const fn follows(&self, earlier: &Hop, later: &Hop) -> bool {
        (self.time_mask != u64::MAX || earlier.time <= later.time)
            && (self.byte_mask != u64::MAX || earlier.sent <= later.sent)
    }

    /// Time from `earlier` to `later`, over at most one wrap.
    #[inline]
    pub fn time_between(&self, earlier: &Hop, later: &Hop) -> Duration {
        let units = later.time.wrapping_sub(earlier.time) & self.time_mask;
        Duration::from_ps(units * self.time_unit)
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
