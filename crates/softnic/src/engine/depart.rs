//! Packets that leave.

use fairlane_nic::{Departure, Role};
use fairlane_transport::{Ends, Extension, Source};
use fairlane_units::{Duration, Time};
use fairlane_wire::{Cnp, Extension as Wire, Headers, Icrc, NakCode, Syndrome};

use super::{Engine, PORT, figures};
use crate::batch::Batches;
use crate::counters::Counters;
use crate::keys::Reach;
use crate::work::PartId;

/// Packets that a queue pair sends before it is another's turn: those of a batch at the largest path MTU.
const TURN: u32 = 16;
/// Longer than a packet takes at the rates that queue pairs begin with: who has to wait for longer is paced.
const PACKET: Duration = Duration::from_us(1);

impl Engine {
    /// Puts packets that may leave now, by sockets of those `ports`, into batches, until those are full; returns whether there may be more.
    pub(crate) fn transmit(&mut self, clock: Time, ports: &[u16], batches: &mut Batches) -> bool {
        let horizon = clock.saturating_add(self.settings.burst);
        self.at(clock);
        while !batches.is_full() {
            let Some(departure) = self.next_departure(horizon) else {
                return false;
            };
            self.depart(horizon, departure, ports, batches);
        }
        true
    }

    /// The next packet that may leave until `horizon`: answers first, then more of the queue pair whose turn it was last,
    /// up to a batch, then another's.
    fn next_departure(&mut self, horizon: Time) -> Option<Departure> {
        if let Some(answer) = self.nic.poll_answer(PORT) {
            return Some(answer);
        }
        if self.in_flight >= self.window {
            return None;
        }
        if let Some((id, _)) = self.turn.filter(|_| self.goes_on(horizon)) {
            // Its packets leave one behind the other, as its pacer says.
            let now = self.at(self.nic.pair(id).paced_until());
            if self.nic.may_send(now, id) {
                return Some(self.nic.transmit(now, id));
            }
        }
        if self.goes_on(horizon.saturating_add(PACKET)) {
            // The port is busy with it until the clock comes up.
            return None;
        }
        self.turn = None;
        let next = self.nic.sends_at(PORT);
        let now = next.filter(|&at| at <= horizon)?;
        let now = self.at(now);
        let departure = self.nic.poll_transmit(now, PORT)?;
        self.turn = Some((departure.pair, TURN));
        Some(departure)
    }

    /// Whether the queue pair whose turn it is may send more until `horizon`.
    fn goes_on(&self, horizon: Time) -> bool {
        let Some((id, left)) = self.turn else {
            return false;
        };
        let pair = self.nic.pair(id);
        let open = left > 0 && self.in_flight < self.window;
        open && pair.requester().has_packet() && pair.paced_until() <= horizon
    }

    fn depart(
        &mut self,
        horizon: Time,
        departure: Departure,
        ports: &[u16],
        batches: &mut Batches,
    ) {
        let (now, source) = (self.now, self.nic.source());
        let slot = departure.meta.flow.get();
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
        let requests = departure.meta.role == Role::Request;
        if let Some((_, left)) = self.turn.as_mut().filter(|_| requests) {
            *left -= 1;
        }
        // The window of all queue pairs may close before it is this one's turn again.
        let last = requests && !self.goes_on(horizon);
        let Some(pair) = self.pairs.get_mut(slot) else {
            return;
        };
        let mut packet = departure.packet;
        let reliable = pair.config.service.is_reliable();
        packet.ack_request |= reliable && last;
        let peer = match packet.extension {
            Extension::Datagram { .. } => pair.addresses.pop_front(),
            _ => Some(pair.peer.address),
        };
        let ends = Ends {
            source: pair.number,
            destination: pair.peer.number,
            partition_key: pair.options.partition,
        };
        let headers = match departure.meta.role {
            Role::Cnp => Ok(Headers {
                bth: Cnp::bth(ends.destination, ends.partition_key),
                extension: Wire::Cnp(Cnp),
            }),
            _ => packet.headers(&ends),
        };
        let (Some(peer), Ok(headers)) = (peer, headers) else {
            self.counters.send_err += 1;
            return;
        };
        let socket = (pair.socket, ports[pair.socket]);
        let length = packet.payload.get() as usize;
        let octets = headers.length() + length.next_multiple_of(4) + Icrc::LENGTH;
        let fill = |engine: &mut Self, into: &mut [u8]| engine.payload(slot, source, into);
        let pushed = batches.push(socket, peer, &headers, length, |into| fill(self, into));
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
            counters.completer_retry_err += u64::from(departure.meta.again);
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

/// Whether it says that a request has been carried out.
const fn confirms(departure: &Departure) -> bool {
    match departure.packet.extension {
        Extension::Acknowledge(aeth) => matches!(aeth.syndrome, Syndrome::Ack { .. }),
        _ => false,
    }
}
