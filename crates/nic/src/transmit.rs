//! The next packet to send.

use fairlane_transport::{Outgoing, Source};
use fairlane_units::{Bytes, Time};
use fairlane_wire::Opcode;

use crate::admission::{Admission, InTurn};
use crate::apportion::{self, Declaration};
use crate::nic::Nic;
use crate::packet::{Departure, Meta, PairId, Role};
use crate::pair::{Pair, Stream};
use crate::service::Service;
use crate::settings::Sizes;

impl Nic {
    /// The next packet of a port, now that its transmitter is free: answers first, then queue pairs in turn.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time, port: u8) -> Option<Departure> {
        self.poll_admitted(now, port, &mut InTurn).ok().flatten()
    }

    /// As [`poll_transmit`](Self::poll_transmit), of queue pairs that somebody admits.
    ///
    /// # Errors
    /// If a queue pair may send and isn't admitted: the time at which to ask again.
    #[inline(always)]
    pub fn poll_admitted(
        &mut self,
        now: Time,
        port: u8,
        admission: &mut impl Admission,
    ) -> Result<Option<Departure>, Time> {
        if let Some(answer) = self.poll_answer(port) {
            return Ok(Some(answer));
        }
        let (pairs, own) = (&mut self.pairs, &mut self.ports[usize::from(port)]);
        let chosen = match (own.serves(pairs), own.arbitrated) {
            // Or the port waits for it.
            (Some((id, at)), _) => Some(id).filter(|_| at <= now),
            (None, true) => apportion::turn(self, now, port),
            (None, false) => {
                let moved = |pair: u32, position| pairs[pair as usize].position = position;
                own.rounds.choose(now, moved).map(PairId)
            }
        };
        let Some(chosen) = chosen else {
            return Ok(None);
        };
        let id = admission.admit(now, self, chosen)?;
        Ok(Some(self.transmit(now, id)))
    }

    /// The next answer of a port, if one may be sent.
    #[inline(always)]
    pub fn poll_answer(&mut self, port: u8) -> Option<Departure> {
        let port = &mut self.ports[usize::from(port)];
        if !port.replies.may_leave(&self.settings, port.paused) {
            return None;
        }
        self.source = Source::Nothing;
        port.replies.pop(&self.settings)
    }

    /// Where the payload of the packet that was polled last is.
    #[inline]
    pub const fn source(&self) -> Source {
        self.source
    }

    /// The answers that wait at a port behind so many of each kind, for a driver that wants to see them come.
    pub fn answers_behind(
        &self,
        port: u8,
        known: [usize; 2],
    ) -> impl Iterator<Item = Departure> + '_ {
        let replies = &self.ports[usize::from(port)].replies;
        replies.behind(&self.settings, known)
    }

    /// Whether a queue pair may send now.
    pub fn may_send(&self, now: Time, id: PairId) -> bool {
        let pair = &self.pairs[id.index()];
        let at = self.ports[usize::from(pair.port)].available(id, pair);
        pair.live && at.is_some_and(|at| at <= now)
    }

    /// The next packet of a queue pair whose turn it is.
    ///
    /// # Panics
    /// If it may not send.
    #[inline(always)]
    pub fn transmit(&mut self, now: Time, id: PairId) -> Departure {
        match self.pairs[id.index()].reading {
            None => self.send(now, id, false),
            Some(_) => self.send_either(now, id),
        }
    }

    /// The next packet of a queue pair that has been asked for data.
    #[inline(never)]
    fn send_either(&mut self, now: Time, id: PairId) -> Departure {
        let pair = &self.pairs[id.index()];
        let port = &self.ports[usize::from(pair.port)];
        let stream = match &port.scoped {
            // Requests for data wait with those that nobody enforces.
            Some(_) if port.in_round(now, pair) => Stream::Requests,
            Some(scoped) => scoped.stream_of(now, pair),
            None if port.apportion.is_some() && port.asks_for_data(pair) => Stream::Requests,
            None => {
                let paused = port.paused & 1 << pair.class != 0;
                self.pairs[id.index()].choose(now, paused)
            }
        };
        self.send(now, id, stream == Stream::Responses)
    }

    #[inline]
    fn send(&mut self, now: Time, id: PairId, responds: bool) -> Departure {
        let pair = &mut self.pairs[id.index()];
        self.ports[usize::from(pair.port)]
            .rounds
            .of_mut(pair.class)
            .serve(pair.position);
        let config = &pair.config;
        let outgoing = if responds {
            pair.responder.poll_transmit(config)
        } else {
            pair.requester.poll_transmit(config, now)
        };
        let mut outgoing = outgoing.expect("a queue pair in turn has a packet");
        if responds {
            let fed_back = pair.has_read_feedback(&self.settings);
            if let Some(reading) = &mut pair.reading {
                reading.on_sent(now, outgoing.packet.payload);
                if !fed_back {
                    // Nobody will say that it has arrived.
                    reading.settle();
                }
            }
            if outgoing.ends {
                self.answer_behind(id);
            }
        } else {
            let shares = self.ports[usize::from(pair.port)].arbitrated;
            pair.ask_if_closed(shares, &mut outgoing);
        }
        self.source = outgoing.source;
        let pair = &self.pairs[id.index()];
        let mut departure = depart(
            self.settings.sizes_of(pair.control),
            id,
            pair,
            &outgoing,
            responds,
        );
        self.ledger
            .on_packet(departure.meta.tenant, departure.meta.retransmitted);
        self.ports[usize::from(pair.port)]
            .rounds
            .on_sent(departure.meta.class, departure.meta.wire);
        if let Some(says) = self.charge(now, id, &departure) {
            (departure.meta.demand, departure.meta.backlog) = says;
        }
        if !self.pairs[id.index()].config.service.is_reliable() {
            self.complete(id);
        }
        self.refresh(now, id);
        if self.settings.quantum.packets > 1 {
            let port = &mut self.ports[usize::from(self.pairs[id.index()].port)];
            let free = departure.packet.opcode == Opcode::RcReadRequest;
            port.service.on_sent(now, id, self.settings.quantum, free);
            departure.ends_quantum = port.serves(&self.pairs).is_none();
            if departure.ends_quantum {
                port.service = Service::NONE;
            }
        }
        departure
    }

    /// Charges a packet to the pacer of its queue pair, or to the enforcer; returns what it says of its sender, where
    /// receivers apportion. Requests for data are free: the rate is that of the data.
    #[inline]
    fn charge(&mut self, now: Time, id: PairId, departure: &Departure) -> Option<Declaration> {
        if departure.packet.opcode == Opcode::RcReadRequest {
            return None;
        }
        let size = Bytes::new(u64::from(departure.meta.wire));
        let pair = &self.pairs[id.index()];
        let mut says = None;
        if self.ports[usize::from(pair.port)].arbitrated {
            let enforced;
            (enforced, says) = apportion::charge(self, now, id, departure);
            if enforced {
                return says;
            }
        }
        let pair = &mut self.pairs[id.index()];
        let sending = &mut pair.sending;
        sending.advance(&self.settings, now, false);
        let rate = match self.settings.paced {
            true => sending.rate(),
            false => self.ports[usize::from(pair.port)].rate,
        };
        let rounding = self.settings.rounding;
        sending.pacer.on_sent(now, size, rate, rounding);
        says
    }
}

/// A packet as it leaves.
#[inline]
fn depart(
    sizes: &Sizes,
    id: PairId,
    pair: &Pair,
    outgoing: &Outgoing,
    responds: bool,
) -> Departure {
    let retransmitted = outgoing.retransmitted;
    let packet = outgoing.packet;
    let role = match responds {
        true => Role::Response,
        false => Role::Request,
    };
    Departure {
        pair: id,
        packet,
        meta: Meta {
            wire: sizes.data(packet.opcode, packet.payload.get() as u16),
            retransmitted,
            ..pair.meta(role)
        },
        from_responder: responds,
        ends: outgoing.ends && !retransmitted && !responds,
        ends_quantum: false,
    }
}
