//! Headers of traffic management, on packets of connections whose other end knows them (`docs/wire.md`).

use std::net::IpAddr;

use fairlane_congestion::{Needs, dasr};
use fairlane_nic::{Departure, Measured, Meta, NO_ECHO, Nic, Pair, Role};
use fairlane_transport::Packet;
use fairlane_units::{Duration, Time};
use fairlane_wire::{Feth, Hello, Operation, Teth, TimeStamp, Traffic};

use super::peers::Peers;
use crate::batch::{AllHeaders, Batches};
use crate::counters::Counters;
use crate::queue_pair::QueuePair;
use crate::settings::Settings;
use crate::slots::Slots;

type Pairs = Slots<Box<QueuePair>>;

/// What a device writes into headers of traffic management, and for whom.
#[derive(Debug)]
pub(super) struct InBand {
    pub(super) peers: Peers,
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

    /// A device tells of itself.
    pub(super) fn on_hello(
        &mut self,
        now: Time,
        from: IpAddr,
        hello: Hello,
        pairs: &Pairs,
        nic: &mut Nic,
    ) {
        if self.peers.on_hello(now, from, hello) {
            self.extend(now, from, pairs, nic);
        }
    }

    /// Puts hellos that are due into batches, by the first of those `ports`; returns how many couldn't be.
    pub(super) fn greet(&mut self, ports: &[u16], batches: &mut Batches) -> u64 {
        let mut lost = 0;
        while !batches.is_full()
            && let Some((peer, hello)) = self.peers.next_hello()
        {
            let headers = AllHeaders {
                transport: Hello::headers(),
                traffic: Traffic::None,
            };
            let fill = |into: &mut [u8]| hello.emit(into).is_ok();
            let pushed = batches.push((0, ports[0]), peer, &headers, Hello::LENGTH, fill);
            lost += u64::from(pushed != Ok(true));
        }
        lost
    }

    /// Asks devices whose time has come; returns whether connections have lost something by that.
    pub(super) fn on_deadline(&mut self, now: Time, pairs: &Pairs, nic: &mut Nic) -> bool {
        let lapsed = self.peers.on_deadline(now);
        for &address in &lapsed {
            self.extend(now, address, pairs, nic);
        }
        !lapsed.is_empty()
    }

    /// Looks for queue pairs that have heard nothing for too long: if that happens with headers of traffic management, they are left
    /// out until the other end has told again that it knows them.
    pub(super) fn on_timeouts(&mut self, now: Time, pairs: &mut Pairs, nic: &mut Nic) {
        let mut silent = Vec::new();
        for (_, pair) in pairs.iter_mut() {
            let Some(id) = pair.id else { continue };
            let own = nic.pair(id);
            let before = std::mem::replace(&mut pair.timeouts, own.timeouts());
            let extended = own.opening().extensions.read_feedback;
            if before != own.timeouts() && extended && !silent.contains(&pair.peer.address) {
                silent.push(pair.peer.address);
            }
        }
        for address in silent {
            self.peers.doubt(now, address);
            self.extend(now, address, pairs, nic);
        }
    }

    /// Lets connections to a device use what both know.
    fn extend(&self, now: Time, address: IpAddr, pairs: &Pairs, nic: &mut Nic) {
        let extensions = self.peers.extensions(address);
        for (_, pair) in pairs.iter() {
            let reliable = pair.options.service.is_reliable();
            if let Some(id) = pair.id
                && reliable
                && pair.peer.address == address
            {
                nic.set_extensions(now, id, extensions);
            }
        }
    }

    /// The header of a packet of a queue pair that leaves at `clock`.
    pub(super) fn header(
        &self,
        departure: &Departure,
        pair: &Pair,
        clock: Time,
    ) -> Traffic<'static> {
        // Whoever has asked wants feedback; nobody else knows the headers.
        let (meta, extensions) = (&departure.meta, pair.opening().extensions);
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
                Self::default()
            }
            Traffic::Feedback(feth) => {
                meta.share = feth.share.unwrap_or(0);
                Self {
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
