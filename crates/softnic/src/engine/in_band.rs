//! Headers of traffic management, on packets of connections whose other end knows them (`docs/wire.md`).

use std::net::IpAddr;

use fairlane_congestion::{Hop, Needs, Reading, Telemetry as Collected, TelemetryFormat, dasr};
use fairlane_nic::{Departure, Extensions, Measured, Meta, NO_ECHO, Nic, Pair, Role};
use fairlane_transport::Packet;
use fairlane_units::{Bytes, Duration, Time};
use fairlane_wire::{Feth, Hello, Hop as Record, Operation, Telemetry, Teth, TimeStamp, Traffic};

use super::echoes::{Echo, Echoes};
use super::peers::Peers;
use crate::batch::{AllHeaders, Batches, Way};
use crate::counters::Counters;
use crate::number;
use crate::queue_pair::QueuePair;
use crate::settings::Settings;
use crate::slots::Slots;

/// Ports that data has room for the records of: those on the longest path through three tiers of switches.
const HOPS: u8 = 5;
/// Bytes of the header of data that collects telemetry: with a demand and records.
pub(crate) const TELEMETRY: Bytes = Bytes::new(4 + 4 + HOPS as u64 * Record::LENGTH as u64);
/// What records count in, and where that wraps (`docs/wire.md`).
const FORMAT: TelemetryFormat = TelemetryFormat {
    time_unit: 1000,
    byte_unit: 1,
    queue_unit: 1,
    time_mask: u32::MAX as u64,
    byte_mask: Record::SENT_WRAP - 1,
    queue_mask: u32::MAX,
};

/// Records as congestion control reads them.
fn collected(telemetry: &Telemetry<'_>) -> Collected {
    let mut collected = Collected::EMPTY;
    for hop in telemetry.hops() {
        let state = Hop {
            time: hop.time.ns().into(),
            sent: hop.sent,
            queue: hop.queue,
            rate_mbps: hop.rate,
        };
        collected.push(hop.port, state);
    }
    collected
}

type Pairs = Slots<Box<QueuePair>>;

/// What a device writes into headers of traffic management, and for whom.
#[derive(Debug)]
pub(crate) struct InBand {
    pub(crate) peers: Peers,
    /// Whether congestion control needs round trips.
    stamps: bool,
    /// Whether congestion control needs telemetry.
    collects: bool,
    /// What answers take back.
    echoes: Echoes,
    /// Whether the device divides its link among senders.
    divides: bool,
}

impl InBand {
    pub(super) fn new(settings: &Settings, needs: Needs, dasr: &dasr::Params) -> Self {
        Self {
            peers: Peers::new(settings, needs, dasr),
            stamps: needs.round_trip,
            collects: needs.telemetry,
            echoes: Echoes::default(),
            divides: dasr.mode.divides(),
        }
    }

    /// What the device tells of itself where nobody has asked.
    pub(crate) const fn hello(&self) -> Hello {
        let asks = false;
        Hello {
            asks,
            ..self.peers.own
        }
    }

    /// A device tells of itself.
    pub(crate) fn on_hello(
        &mut self,
        now: Time,
        from: IpAddr,
        hello: Hello,
        pairs: &mut Pairs,
        nic: &mut Nic,
    ) {
        if self.peers.on_hello(now, from, hello) {
            self.extend(now, from, pairs, nic);
        }
    }

    /// Puts a hello that is due into a batch, by the first of those `ports`; whether that has failed. No more than one at a time:
    /// whoever asks from many addresses takes a part of the batches only.
    pub(super) fn greet(&mut self, ports: &[u16], batches: &mut Batches) -> bool {
        let Some((peer, hello)) = self.peers.next_hello() else {
            return false;
        };
        let headers = AllHeaders {
            transport: Hello::headers(),
            traffic: Traffic::None,
        };
        let fill = |into: &mut [u8]| hello.emit(into).is_ok();
        let way = Way {
            pair: number::MANAGEMENT,
            class: 0,
            socket: 0,
            port: ports[0],
            peer,
        };
        batches.push(&way, &headers, Hello::LENGTH, fill) != Ok(true)
    }

    /// Asks devices whose time has come; what others have told may not hold any longer.
    pub(super) fn on_deadline(&mut self, now: Time, pairs: &mut Pairs, nic: &mut Nic) {
        for address in self.peers.on_deadline(now) {
            self.extend(now, address, pairs, nic);
        }
    }

    /// Looks for queue pairs that have heard nothing for too long: if no connection to that device has had a header of traffic
    /// management in that time, they are left out until the device has told again that it knows them.
    pub(super) fn on_timeouts(&mut self, now: Time, pairs: &mut Pairs, nic: &mut Nic) {
        let mut silent = Vec::new();
        for (_, pair) in pairs.iter_mut() {
            let Some(id) = pair.id else { continue };
            let own = nic.pair(id);
            let before = std::mem::replace(&mut pair.timeouts, own.timeouts());
            let extended = own.opening().extensions.read_feedback;
            let timeout = pair.config.ack_timeout.unwrap_or(Duration::ZERO);
            if before != own.timeouts() && extended {
                silent.push((pair.peer.address, timeout));
            }
        }
        for (address, timeout) in silent {
            let there = pairs
                .iter()
                .filter(|(_, pair)| pair.peer.address == address);
            let heard = there
                .map(|(_, pair)| pair.heard)
                .max()
                .unwrap_or(Time::ZERO);
            if heard.saturating_add(timeout) > now {
                continue;
            }
            self.peers.doubt(now, address);
            self.extend(now, address, pairs, nic);
        }
    }

    /// What a connection uses beside plain RoCEv2: nothing if it never times out, and so wouldn't notice that the other end knows
    /// no headers any more.
    pub(super) fn extensions(&self, pair: &QueuePair) -> Extensions {
        let reliable = pair.options.service.is_reliable();
        match reliable && pair.config.ack_timeout.is_some() {
            true => self.peers.extensions(pair.peer.address),
            false => Extensions::NONE,
        }
    }

    /// Lets connections to a device use what both know.
    fn extend(&self, now: Time, address: IpAddr, pairs: &mut Pairs, nic: &mut Nic) {
        for (_, pair) in pairs.iter_mut() {
            if let Some(id) = pair.id
                && pair.peer.address == address
            {
                // Round trips are measured in another way.
                pair.round_trips.clear();
                nic.set_extensions(now, id, self.extensions(pair));
            }
        }
    }

    /// What a packet that leaves takes back.
    #[inline]
    pub(super) fn echo(&mut self, meta: &Meta) -> Option<Echo> {
        match meta.echo {
            NO_ECHO => None,
            number => self.echoes.take(number),
        }
    }

    /// What a packet has brought is taken back by none.
    pub(super) fn forget(&mut self, meta: &Meta) {
        self.echo(meta);
    }

    /// The header of a packet of a queue pair that leaves at `clock` and takes something back, or nothing.
    #[inline]
    pub(super) fn header<'a>(
        &self,
        departure: &Departure,
        pair: &Pair,
        clock: Time,
        echo: Option<&'a Echo>,
    ) -> Traffic<'a> {
        // Whoever has asked wants feedback; nobody else knows the headers.
        let (meta, extensions) = (&departure.meta, &pair.opening().extensions);
        if !extensions.read_feedback && echo.is_none() {
            return Traffic::None;
        }
        let operation = departure.packet.opcode.operation();
        let feth = Feth {
            share: (extensions.shares.filter(|_| self.divides)).map(|_| meta.share),
            ..echo.map_or(Feth::NOTHING, Echo::feth)
        };
        let is_data = match meta.role {
            Role::Cnp => return Traffic::None,
            Role::Feedback => return Traffic::Feedback(feth),
            Role::Request => operation != Operation::ReadRequest,
            Role::Response => operation == Operation::ReadResponse,
        };
        if is_data {
            let teth = Teth {
                demand: meta.demand,
                backlog: meta.backlog,
                time: self.stamps.then(|| TimeStamp::at(clock)),
                telemetry: (self.collects)
                    .then(|| Telemetry::collecting(HOPS))
                    .flatten(),
                ..Teth::NOTHING
            };
            return match extensions.read_feedback && teth != Teth::NOTHING {
                true => Traffic::Data(teth),
                false => Traffic::None,
            };
        }
        match meta.role == Role::Response && feth != Feth::NOTHING {
            true => Traffic::Feedback(feth),
            false => Traffic::None,
        }
    }
}

/// What the header of a packet that has come tells.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// Whether there is a header.
    is_there: bool,
    /// The share of the other end's link, if it divides that.
    pub(super) share: Option<u16>,
    pub(super) round_trip: Option<Duration>,
    pub(super) switches: u8,
    telemetry: Option<Collected>,
}

impl Told {
    /// Reads the header of a packet that has come at `clock`; what answers bring back is kept, and its number put into `meta`.
    pub(super) fn read(
        traffic: &Traffic<'_>,
        clock: Time,
        meta: &mut Meta,
        own: &mut InBand,
    ) -> Self {
        match traffic {
            Traffic::None => Self::default(),
            Traffic::Data(teth) => {
                (meta.demand, meta.backlog) = (teth.demand, teth.backlog);
                meta.echo = own.echoes.keep(teth);
                Self {
                    is_there: true,
                    ..Self::default()
                }
            }
            Traffic::Feedback(feth) => {
                meta.share = feth.share.unwrap_or(0);
                Self {
                    is_there: true,
                    share: feth.share,
                    round_trip: feth.time.map(|time| TimeStamp::at(clock).since(time)),
                    switches: feth.switches,
                    telemetry: feth.telemetry.map(|telemetry| collected(&telemetry)),
                }
            }
        }
    }

    /// What a packet of a queue pair brings back of one that went to the other end: by its header, or without a time stamp by
    /// when that left.
    pub(super) fn measured(
        &self,
        pair: &mut QueuePair,
        packet: &Packet,
        clock: Time,
    ) -> Measured<'_> {
        if self.is_there {
            pair.heard = clock;
        }
        let timed = || pair.round_trips.on_packet(packet, clock);
        Measured {
            round_trip: self.round_trip.or_else(timed),
            hops: self.switches,
            telemetry: (self.telemetry.as_ref()).map(|record| Reading::new(record, &FORMAT)),
        }
    }

    /// Counts what the packet has brought.
    pub(super) fn count(&self, measured: &Measured<'_>, counters: &mut Counters) {
        counters.rtt_measured += u64::from(measured.round_trip.is_some());
        counters.rtt_stamped += u64::from(self.round_trip.is_some());
        counters.shares_heard += u64::from(self.share.is_some());
    }
}
