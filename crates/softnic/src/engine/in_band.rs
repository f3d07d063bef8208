//! Headers of traffic management, on packets of connections whose other end knows them (`docs/wire.md`).

use std::net::IpAddr;

use fairlane_congestion::{Needs, dasr};
use fairlane_nic::{Departure, Extensions, Measured, Meta, NO_ECHO, Nic, Pair, Role};
use fairlane_transport::Packet;
use fairlane_units::{Duration, Time};
use fairlane_wire::{Feth, Hello, Operation, Teth, TimeStamp, Traffic};

use super::peers::Peers;
use crate::batch::{AllHeaders, Batches, Way};
use crate::counters::Counters;
use crate::number;
use crate::queue_pair::QueuePair;
use crate::settings::Settings;
use crate::slots::Slots;

type Pairs = Slots<Box<QueuePair>>;

/// What a device writes into headers of traffic management, and for whom.
#[derive(Debug)]
pub(crate) struct InBand {
    pub(crate) peers: Peers,
    /// Whether congestion control needs round trips.
    stamps: bool,
    /// Whether the device divides its link among senders.
    divides: bool,
}

impl InBand {
    pub(super) fn new(settings: &Settings, needs: Needs, dasr: &dasr::Params) -> Self {
        Self {
            peers: Peers::new(settings, needs, dasr),
            stamps: needs.round_trip,
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

    /// The header of a packet of a queue pair that leaves at `clock`.
    #[inline]
    pub(super) fn header(
        &self,
        departure: &Departure,
        pair: &Pair,
        clock: Time,
    ) -> Traffic<'static> {
        // Whoever has asked wants feedback; nobody else knows the headers.
        let (meta, extensions) = (&departure.meta, &pair.opening().extensions);
        if !extensions.read_feedback && meta.echo == NO_ECHO {
            return Traffic::None;
        }
        let operation = departure.packet.opcode.operation();
        let echo = (meta.echo != NO_ECHO).then(|| TimeStamp::new(meta.echo));
        let feth = Feth {
            share: (extensions.shares.filter(|_| self.divides)).map(|_| meta.share),
            time: echo,
            ..Feth::NOTHING
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
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    /// Whether there is a header.
    is_there: bool,
    /// The share of the other end's link, if it divides that.
    pub(super) share: Option<u16>,
    pub(super) round_trip: Option<Duration>,
    pub(super) switches: u8,
}

impl Told {
    /// Reads the header of a packet that has come at `clock`; what answers bring back is put into `meta`.
    pub(super) fn read(traffic: &Traffic<'_>, clock: Time, meta: &mut Meta) -> Self {
        match traffic {
            Traffic::None => Self::default(),
            Traffic::Data(teth) => {
                (meta.demand, meta.backlog) = (teth.demand, teth.backlog);
                // A nanosecond less where the stamp is the one that says that there is none.
                meta.echo = teth.time.map_or(NO_ECHO, |time| time.ns().min(NO_ECHO - 1));
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
    ) -> Measured<'static> {
        if self.is_there {
            pair.heard = clock;
        }
        let timed = || pair.round_trips.on_packet(packet, clock);
        Measured {
            round_trip: self.round_trip.or_else(timed),
            hops: self.switches,
            telemetry: None,
        }
    }

    /// Counts what the packet has brought.
    pub(super) fn count(&self, measured: &Measured<'_>, counters: &mut Counters) {
        counters.rtt_measured += u64::from(measured.round_trip.is_some());
        counters.rtt_stamped += u64::from(self.round_trip.is_some());
        counters.shares_heard += u64::from(self.share.is_some());
    }
}
