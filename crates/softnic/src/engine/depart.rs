//! Packets that leave.

use std::net::IpAddr;

use fairlane_nic::{Departure, Meta, Role};
use fairlane_transport::{Ends, Extension, Packet, Source};
use fairlane_units::Time;
use fairlane_wire::{
    Cnp, Error, Extension as Wire, Feth, Headers, Icrc, NakCode, Syndrome, Traffic,
};

use super::{Engine, PORT, figures};
use crate::batch::{AllHeaders, Batches, Way};
use crate::counters::Counters;
use crate::keys::Reach;
use crate::queue_pair::QueuePair;
use crate::work::PartId;

impl Engine {
    /// Puts packets that may leave now, by sockets of those `ports`, into batches, until those are full; returns whether there may be more.
    pub(crate) fn transmit(&mut self, clock: Time, ports: &[u16], batches: &mut Batches) -> bool {
        let horizon = clock.saturating_add(self.settings.burst);
        self.at(clock);
        self.counters.send_err += u64::from(self.in_band.greet(ports, batches));
        while !batches.is_full() {
            let Some(departure) = self.next_departure(horizon) else {
                return false;
            };
            self.depart(departure, ports, batches);
        }
        true
    }

    /// The next packet that may leave until `horizon`.
    fn next_departure(&mut self, horizon: Time) -> Option<Departure> {
        let at = self.nic.sends_at(PORT)?.max(self.link.free_at);
        self.now = self.now.max(Some(at).filter(|&at| at <= horizon)?);
        let now = self.now;
        let polled = self.nic.poll_admitted(now, PORT, &mut self.window);
        let departure = polled.ok().flatten()?;
        self.link.carry(now, departure.meta.wire);
        Some(departure)
    }

    fn depart(&mut self, departure: Departure, ports: &[u16], batches: &mut Batches) {
        let (now, source, clock) = (self.now, self.nic.source(), self.clock);
        let slot = departure.meta.flow.get();
        let echo = self.in_band.echo(&departure.meta);
        // An answer may have waited longer than its queue pair has been there.
        let known = self.pairs.get(slot);
        if known.is_none_or(|pair| pair.id != Some(departure.pair)) {
            return;
        }
        self.account(slot, departure.pair);
        if confirms(&departure) && self.nic.pair(departure.pair).has_failed() {
            // What it confirms may not have come to its place.
            return;
        }
        // The window of all queue pairs may close before this one is served again.
        let last = self.batches && (departure.ends_quantum || !self.window.is_open());
        let last = last && departure.meta.role == Role::Request;
        let Some(pair) = self.pairs.get_mut(slot) else {
            return;
        };
        let mut packet = departure.packet;
        let reliable = pair.config.service.is_reliable();
        packet.ack_request |= reliable && last;
        let own = self.nic.pair(departure.pair);
        let measures = self.needs.round_trip && departure.meta.role == Role::Request;
        if measures && !own.opening().extensions.read_feedback {
            pair.round_trips
                .on_departure(&departure, &packet, self.clock);
        }
        let peer = match packet.extension {
            Extension::Datagram { .. } => pair.addresses.pop_front(),
            _ => Some(pair.peer.address),
        };
        let ends = Ends {
            source: pair.number,
            destination: pair.peer.number,
            partition_key: pair.options.partition,
        };
        let traffic = match reliable {
            true => (self.in_band).header(&departure, own, clock, echo.as_ref()),
            false => Traffic::None,
        };
        if departure.meta.role == Role::Feedback && traffic == Traffic::None {
            // The other end knows it no longer.
            return;
        }
        let headers = headers(&departure.meta, &packet, &ends, traffic);
        let (Some(peer), Ok(headers)) = (peer, headers) else {
            self.counters.send_err += 1;
            return;
        };
        let way = way(pair, departure.meta.class, ports, peer);
        let length = packet.payload.get() as usize;
        let octets = headers.length() + length.next_multiple_of(4) + Icrc::LENGTH;
        let fill = |engine: &mut Self, into: &mut [u8]| engine.payload(slot, source, into);
        let pushed = batches.push(&way, &headers, length, |into| fill(self, into));
        match pushed {
            Ok(true) => self.count_departure(&departure, octets / 4),
            Ok(false) => self.on_unreadable(now, &departure, source),
            Err(_) => self.counters.send_err += 1,
        }
        if !reliable {
            self.hear_events(now, None);
            self.follow(slot, now);
        }
    }

    /// Copies a packet's payload from where it is; `false` if that isn't allowed.
    fn payload(&mut self, slot: u32, source: Source, into: &mut [u8]) -> bool {
        let Some(pair) = self.pairs.get(slot) else {
            return false;
        };
        let domain = pair.options.domain;
        match source {
            Source::Nothing => into.is_empty(),
            Source::Request { id, offset } => {
                let Some(work) = self.works.get(PartId::from_nic(id).work) else {
                    return false;
                };
                let offset = offset.get();
                match &work.request.inline {
                    None => {
                        let pieces = &work.request.pieces;
                        self.keys.gather(domain, pieces, offset, into)
                    }
                    Some(bytes) => {
                        let start = offset as usize;
                        let part = bytes.get(start..start + into.len());
                        part.map(|part| into.copy_from_slice(part)).is_some()
                    }
                }
            }
            Source::Memory(remote) => {
                let reach = Reach {
                    keys: &mut self.keys,
                    pair: slot,
                    domain,
                    rights: pair.rights,
                };
                into.is_empty() || reach.read(remote, into)
            }
        }
    }

    /// The payload of a packet can't be read: its request fails, or the queue pair that was asked for it.
    fn on_unreadable(&mut self, now: Time, departure: &Departure, source: Source) {
        match source {
            Source::Request { id, .. } => self.nic.on_local_error(now, departure.pair, id),
            _ => self.nic.fail(now, departure.pair),
        }
        self.hear_events(now, None);
        self.follow(departure.meta.flow.get(), now);
    }

    fn count_departure(&mut self, departure: &Departure, words: usize) {
        figures::count_at(self, departure.meta.flow.get(), |counters| {
            counters.port_xmit_data += words as u64;
            counters.sent_pkts += 1;
            counters.completer_retry_err += u64::from(departure.meta.retransmitted);
            counters.np_cnp_sent += u64::from(departure.meta.role == Role::Cnp);
        });
        if let Extension::Acknowledge(aeth) = departure.packet.extension {
            let counts: fn(&mut Counters) = match aeth.syndrome {
                Syndrome::RnrNak { .. } => |own| own.send_rnr_err += 1,
                Syndrome::Nak(NakCode::RemoteAccess) => |own| own.resp_remote_access_errors += 1,
                Syndrome::Nak(NakCode::InvalidRequest) => {
                    |own| own.resp_remote_invalid_request += 1
                }
                _ => return,
            };
            figures::count_at(self, departure.meta.flow.get(), counts);
        }
    }
}

/// The way of a packet of a queue pair.
fn way(pair: &QueuePair, class: u8, ports: &[u16], peer: IpAddr) -> Way {
    Way {
        pair: pair.number,
        class,
        socket: pair.socket,
        port: ports[pair.socket],
        peer,
    }
}

/// The headers of a packet that leaves.
fn headers<'a>(
    meta: &Meta,
    packet: &Packet,
    ends: &Ends,
    traffic: Traffic<'a>,
) -> Result<AllHeaders<'a>, Error> {
    let (there, key) = (ends.destination, ends.partition_key);
    let mut transport = match meta.role {
        Role::Cnp => Headers {
            bth: Cnp::bth(there, key),
            extension: Wire::Cnp(Cnp),
        },
        Role::Feedback => Headers {
            bth: Feth::bth(there, key, packet.psn, meta.marked),
            extension: Wire::None,
        },
        Role::Request | Role::Response => packet.headers(ends)?,
    };
    transport.bth.becn |= meta.marked;
    transport.bth.traffic = traffic != Traffic::None;
    Ok(AllHeaders { transport, traffic })
}

/// Whether it says that a request has been carried out.
const fn confirms(departure: &Departure) -> bool {
    match departure.packet.extension {
        Extension::Acknowledge(aeth) => matches!(aeth.syndrome, Syndrome::Ack { .. }),
        _ => false,
    }
}
