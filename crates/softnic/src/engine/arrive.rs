//! Packets that have come.

use std::net::{IpAddr, SocketAddr};

use fairlane_nic::{Arrival, Meta, PairId, Reception, Role};
use fairlane_transport::{Extension, Packet, Placement, Service, Status};
use fairlane_units::{Bytes, Time};
use fairlane_wire::{
    self as wire, Hello, Ipv4, NakCode, Network, Opcode, Operation as Kind, Syndrome, Udp,
};

use super::in_band::Told;
use super::{Engine, figures};
use crate::counters::Counters;
use crate::event::AsyncEvent;
use crate::icrc::{self, Outer};
use crate::keys::Reach;
use crate::receives::SharedQueue;
use crate::tenants;
use crate::work::PartId;

/// Bytes in front of a datagram's data in its receive (A17.4.5.1).
pub(crate) const GLOBAL_HEADER: usize = Network::GRH_LENGTH;
/// Ethernet header, IP as far as both versions have it, UDP and frame check sequence.
const AROUND: usize = 14 + Ipv4::LENGTH + Udp::LENGTH + 4;

/// A packet that has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming<'a> {
    pub(crate) source: SocketAddr,
    pub(crate) bytes: &'a [u8],
    pub(crate) marked: bool,
}

impl Engine {
    /// Takes a packet; `guess` is the IP identification that it probably has.
    pub(crate) fn on_packet(&mut self, now: Time, incoming: &Incoming<'_>, guess: &mut u16) {
        let outer = match &mut self.outer {
            Some((source, outer)) if *source == incoming.source => outer,
            other => {
                let source = (incoming.source.ip(), incoming.source.port());
                let own = (self.settings.address, Udp::ROCE_PORT);
                let Some(outer) = Outer::new(source, own) else {
                    self.counters.rx_dropped += 1;
                    return;
                };
                &mut other.insert((incoming.source, outer)).1
            }
        };
        if !icrc::accept(self.settings.icrc, outer, incoming.bytes, guess) {
            self.counters.rx_icrc_encapsulated += 1;
            return;
        }
        match wire::Packet::parse(incoming.bytes) {
            Ok((packet, _)) => self.on_right(now, incoming, &packet),
            Err(_) => self.counters.rx_dropped += 1,
        }
    }

    /// Takes a packet whose ICRC is right.
    fn on_right(&mut self, now: Time, incoming: &Incoming<'_>, packet: &wire::Packet<'_>) {
        let bth = packet.bth();
        if let Some(hello) = hello(packet) {
            let (from, nic) = (incoming.source.ip(), &mut self.nic);
            return (self.in_band).on_hello(now, from, hello, &mut self.pairs, nic);
        }
        let slot = self.slot(bth.destination).ok();
        let place = slot.and_then(|slot| Some((slot, self.belongs(slot, incoming, packet)?)));
        let Some((slot, id)) = place else {
            self.counters.rx_dropped += 1;
            return;
        };
        let told = self.pairs.get_mut(slot).and_then(|pair| pair.establish());
        if let Some(event) = told {
            self.events.push(event);
        }
        let words = (incoming.bytes.len() / 4) as u64;
        figures::count_at(self, slot, |counters| {
            counters.port_rcv_data += words;
            counters.rcvd_pkts += 1;
            counters.np_ecn_marked_roce_packets += u64::from(incoming.marked);
        });
        let role = match bth.opcode {
            Opcode::Cnp => Role::Cnp,
            Opcode::RcReadFeedback => Role::Feedback,
            opcode if opcode.is_response() => Role::Response,
            _ => Role::Request,
        };
        let Ok(transport) = transport_headers(role, packet) else {
            self.counters.rx_dropped += 1;
            return;
        };
        self.count((slot, id), role, &transport);
        let own = self.nic.pair(id).opening();
        let mut meta = Meta {
            wire: (incoming.bytes.len() + AROUND) as u16,
            marked: incoming.marked,
            ..Meta::new(own.flow, own.tenant, role, own.class)
        };
        let told = Told::read(&packet.traffic, self.clock, &mut meta, &mut self.in_band);
        let Some(pair) = self.pairs.get_mut(slot) else {
            return;
        };
        let measured = told.measured(pair, &transport, self.clock);
        if replies(role, &transport) {
            // Who has been told that marks are wanted so sends no CNPs, whatever is known of it since.
            let wanted = self.needs.marks && !self.needs.hears_cnps;
            meta.marked = std::mem::take(&mut pair.pending_mark) || bth.becn && wanted;
        }
        if measured.round_trip.is_some() || told.share.is_some() {
            figures::count_at(self, slot, |counters| told.count(&measured, counters));
        }
        let arrival = Arrival {
            packet: &transport,
            meta,
            measured,
        };
        let heard = self.hand_over(now, slot, id, &arrival);
        if !heard.echoed {
            self.in_band.forget(&meta);
        }
        if let Some(placement) = heard.placement {
            self.place(now, (slot, id), placement, (incoming, packet));
        }
        self.hear_events(now, Some(incoming.source.ip()));
        self.follow(slot, now);
    }

    /// The NIC's number of the queue pair in a slot, if a packet may be for it: by state, service, partition, key
    /// and sender (IBTA 9.6.1).
    fn belongs(
        &self,
        slot: u32,
        incoming: &Incoming<'_>,
        packet: &wire::Packet<'_>,
    ) -> Option<PairId> {
        let (pair, bth) = (self.pairs.get(slot)?, packet.bth());
        let id = pair.id.filter(|_| pair.state.hears())?;
        if !tenants::keys_match(pair.options.partition, bth.partition_key) {
            return None;
        }
        let service = bth.opcode.service();
        let fits = match pair.options.service {
            Service::UnreliableDatagram => {
                let key = packet.headers.extension.deth().map(|deth| deth.queue_key);
                return (key == Some(pair.options.queue_key)).then_some(id);
            }
            Service::ReliableConnection => service == wire::Service::Rc,
            Service::UnreliableConnection => service == wire::Service::Uc,
        };
        let fits = fits || bth.opcode == Opcode::Cnp;
        (fits && incoming.source.ip() == pair.peer.address).then_some(id)
    }

    /// Counts what most packets aren't.
    fn count(&mut self, (slot, id): (u32, PairId), role: Role, packet: &Packet) {
        match role {
            Role::Cnp => {
                figures::count_at(self, slot, |counters| counters.rp_cnp_handled += 1);
                if let Some(pair) = self.pairs.get_mut(slot) {
                    // A controller that hears marks in replies only, of an end that doesn't know that.
                    pair.pending_mark = self.needs.marks && !self.needs.hears_cnps;
                }
            }
            // Datagrams have no order.
            Role::Request if matches!(packet.extension, Extension::Datagram { .. }) => {}
            Role::Request => {
                let ahead = packet
                    .psn
                    .distance(self.nic.pair(id).responder().expected());
                if ahead != 0 {
                    figures::count_at(self, slot, |counters| {
                        counters.duplicate_request += u64::from(ahead < 0);
                        counters.out_of_seq_request += u64::from(ahead > 0);
                    });
                }
            }
            _ => {
                if let Extension::Acknowledge(aeth) = packet.extension {
                    let counts: fn(&mut Counters) = match aeth.syndrome {
                        Syndrome::RnrNak { .. } => |own| own.rcvd_rnr_err += 1,
                        Syndrome::Nak(NakCode::SequenceError) => |own| own.rcvd_seq_err += 1,
                        Syndrome::Nak(NakCode::RemoteAccess) => {
                            |own| own.req_remote_access_errors += 1
                        }
                        Syndrome::Nak(NakCode::InvalidRequest) => {
                            |own| own.req_remote_invalid_request += 1
                        }
                        _ => return,
                    };
                    figures::count_at(self, slot, counts);
                }
            }
        }
    }

    /// Hands a packet to the NIC with what it may act on.
    fn hand_over(&mut self, now: Time, slot: u32, id: PairId, arrival: &Arrival<'_>) -> Reception {
        let Some(pair) = self.pairs.get(slot) else {
            return Reception::default();
        };
        let Some(receives) = self.receives.get_mut(pair.receives) else {
            return Reception::default();
        };
        let opcode = arrival.packet.opcode;
        if opcode.operation() == Kind::Send && opcode.position().begins() {
            receives.look_ahead(&self.keys);
        }
        receives.reserved = if pair.is_datagram() {
            GLOBAL_HEADER as u64
        } else {
            0
        };
        let mut memory = Reach {
            keys: &mut self.keys,
            pair: slot,
            domain: pair.options.domain,
            rights: pair.rights,
        };
        let heard = self.nic.on_packet(now, id, arrival, &mut memory, receives);
        if receives.reached_limit() {
            let queue = SharedQueue(pair.receives);
            self.events.push(AsyncEvent::LimitReached(queue));
        }
        heard
    }

    /// Puts a packet's payload where it belongs; a queue pair whose own memory doesn't permit that fails.
    fn place(
        &mut self,
        now: Time,
        (slot, id): (u32, PairId),
        placement: Placement,
        (incoming, packet): (&Incoming<'_>, &wire::Packet<'_>),
    ) {
        let Some(pair) = self.pairs.get(slot) else {
            return;
        };
        let (domain, rights) = (pair.options.domain, pair.rights);
        let (keys, payload) = (&mut self.keys, packet.payload);
        let placed = match placement {
            Placement::Memory(remote) => {
                self.written = true;
                let reach = Reach {
                    keys,
                    pair: slot,
                    domain,
                    rights,
                };
                payload.is_empty() || reach.write(remote, payload)
            }
            Placement::Receive { id, offset } => {
                let datagram = pair.is_datagram();
                let Some(own) = self.receives.get_mut(pair.receives) else {
                    return;
                };
                let own_domain = own.domain;
                let Some(posted) = own.get_mut(id) else {
                    return;
                };
                let (pieces, domain) = (&posted.request.pieces, own_domain);
                let (start, header) = match datagram {
                    true => (
                        GLOBAL_HEADER as u64,
                        global_header(incoming, self.settings.address),
                    ),
                    false => (0, [0; GLOBAL_HEADER]),
                };
                let fits = !datagram || keys.scatter(domain, pieces, 0, &header);
                let fits = fits && keys.scatter(domain, pieces, start + offset.get(), payload);
                if !fits {
                    posted.failed = Some(Status::LocalProtection);
                }
                fits
            }
            Placement::Request { id, offset } => {
                let part = PartId::from_nic(id);
                self.place_response(domain, part, part.start() + offset.get(), payload)
            }
            Placement::Result { id, original } => {
                let part = PartId::from_nic(id);
                self.place_response(domain, part, 0, &original.to_ne_bytes())
            }
        };
        if !placed {
            self.nic.fail(now, id);
        }
    }

    fn place_response(
        &mut self,
        domain: crate::keys::Domain,
        part: PartId,
        offset: u64,
        bytes: &[u8],
    ) -> bool {
        let Some(work) = self.works.get_mut(part.work) else {
            return true;
        };
        let pieces = &work.request.pieces;
        let placed = self.keys.scatter(domain, pieces, offset, bytes);
        if !placed {
            work.failed = Some(Status::LocalProtection);
        }
        placed
    }
}

/// What a device tells of itself, if a packet is a hello.
fn hello(packet: &wire::Packet<'_>) -> Option<Hello> {
    let bth = packet.bth();
    let deth = packet.headers.extension.deth()?;
    let suits = bth.destination == Hello::QUEUE_PAIR && deth.queue_key == Hello::QUEUE_KEY;
    Hello::parse(packet.payload).ok().filter(|_| suits)
}

/// What a packet is to the NIC.
fn transport_headers(role: Role, packet: &wire::Packet<'_>) -> Result<Packet, wire::Error> {
    let payload = Bytes::new(packet.payload.len() as u64);
    match role {
        Role::Cnp | Role::Feedback => Ok(without_payload(packet.bth())),
        _ => Packet::from_headers(&packet.headers, payload),
    }
}

/// Whether a packet says what has arrived at the other end.
const fn replies(role: Role, packet: &Packet) -> bool {
    match role {
        Role::Feedback => true,
        Role::Response => !matches!(packet.opcode.operation(), Kind::ReadResponse),
        Role::Request | Role::Cnp => false,
    }
}

/// What a CNP or READ feedback is to the NIC, which looks at its number at most.
const fn without_payload(bth: &wire::Bth) -> Packet {
    Packet {
        opcode: bth.opcode,
        psn: bth.psn,
        payload: Bytes::ZERO,
        ack_request: false,
        solicited: false,
        selective: false,
        extension: Extension::None,
    }
}

/// The first 40 bytes of a datagram's receive: as far as a socket knows the IP header.
fn global_header(incoming: &Incoming<'_>, own: IpAddr) -> [u8; GLOBAL_HEADER] {
    let mut header = [0; GLOBAL_HEADER];
    let payload = Udp::LENGTH + incoming.bytes.len();
    let network = Network::between(incoming.source.ip(), own);
    match network.map(|network| network.emit_grh(payload, &mut header).is_ok()) {
        Some(true) => header,
        _ => [0; GLOBAL_HEADER],
    }
}
