//! What a requester hears from the responder (IBTA 9.7.5, 9.9.2).

use fairlane_units::{Bytes, Psn, Time};
use fairlane_wire::{NakCode, Opcode, Operation as Kind, RnrTimer, Syndrome};

use super::{Progress, Requester, hold};
use crate::config::Config;
use crate::packet::{Extension, Packet, Placement, Reply};
use crate::selective::Repeat;
use crate::work::{Operation, Status};

impl Requester {
    /// Hears a response; one to packets never sent is ignored. Returns also where its payload, or the
    /// result of an atomic, goes.
    pub fn on_packet(
        &mut self,
        config: &Config,
        now: Time,
        packet: &Packet,
    ) -> (Progress, Option<Placement>) {
        if let (Opcode::RcAcknowledge, Extension::Acknowledge(aeth)) =
            (packet.opcode, packet.extension)
        {
            let reply = Reply {
                psn: packet.psn,
                aeth,
                selective: packet.selective,
            };
            return (self.on_reply(config, now, &reply), None);
        }
        let mut progress = self.no_progress();
        let mut placement = None;
        if self.reads > 0 && !self.has_failed() {
            placement = self.on_data(config, now, packet, &mut progress);
        }
        (progress, placement)
    }

    #[inline]
    const fn no_progress(&self) -> Progress {
        Progress {
            acknowledged: Bytes::new(self.unacked_at),
            advanced: Bytes::ZERO,
            went_back: false,
        }
    }

    /// Hears an acknowledgement or NAK.
    #[inline]
    pub fn on_reply(&mut self, config: &Config, now: Time, reply: &Reply) -> Progress {
        let mut progress = self.no_progress();
        let known = self.number(reply.psn).filter(|&number| number < self.sent);
        let Some(number) = known.filter(|_| !self.has_failed()) else {
            return progress;
        };
        let acknowledges = matches!(reply.aeth.syndrome, Syndrome::Ack { .. });
        let expected = number + u64::from(acknowledges);
        let reached = self.unless_response_missing(expected);
        if reached > self.unacked {
            self.progress_to(config, now, reached, &mut progress);
        }
        progress.acknowledged = Bytes::new(self.position_near(expected, config.mtu.get()));
        if reached < expected {
            // IBTA 9.7.5.1.3: an acknowledgement beyond a READ says that its response was lost. So does
            // a NAK, which will come again if the READ can be repeated.
            self.ask_again(config, &mut progress);
        } else if !acknowledges && number >= self.unacked {
            // A NAK that is older than what is known says nothing.
            self.on_nak(config, now, number, reply, &mut progress);
        }
        progress
    }

    #[cold]
    fn on_nak(
        &mut self,
        config: &Config,
        now: Time,
        number: u64,
        reply: &Reply,
        progress: &mut Progress,
    ) {
        match reply.aeth.syndrome {
            Syndrome::Ack { .. } => {}
            Syndrome::Nak(NakCode::SequenceError) => {
                self.on_sequence_error(config, reply, progress);
            }
            Syndrome::Nak(NakCode::RemoteAccess) => self.fail(number, Status::RemoteAccess),
            Syndrome::Nak(NakCode::RemoteOperational) => {
                self.fail(number, Status::RemoteOperation);
            }
            Syndrome::Nak(_) => self.fail(number, Status::RemoteInvalidRequest),
            Syndrome::RnrNak { timer } => {
                self.on_rnr_nak(config, now, timer);
                progress.went_back = true;
            }
        }
    }

    fn on_sequence_error(&mut self, config: &Config, reply: &Reply, progress: &mut Progress) {
        let arrived = self.number(Psn::new(reply.aeth.msn));
        let arrived = arrived.unwrap_or(self.unacked);
        match &mut self.scoreboard {
            Some(scoreboard) if reply.selective => {
                let messages = &self.messages;
                let begins = |number| messages.packet_start(number);
                match scoreboard.on_nak(self.unacked, arrived, self.sent, begins) {
                    Repeat::Nothing => return,
                    // What lies between is still to be sent again anyway.
                    Repeat::From(number) if number > self.next => return,
                    Repeat::From(number) => self.resume_at(config, number),
                }
            }
            _ => self.go_back(config),
        }
        progress.went_back = true;
    }

    /// Leaves the responder alone for a while (IBTA 9.7.5.2.8).
    fn on_rnr_nak(&mut self, config: &Config, now: Time, timer: RnrTimer) {
        if self.hold & hold::RNR != 0 {
            return;
        }
        if self.rnr_retries >= config.rnr_retry_limit {
            self.fail(self.unacked, Status::RnrRetryExceeded);
            return;
        }
        self.rnr_retries = self.rnr_retries.saturating_add(1);
        self.retries = 0;
        self.go_back(config);
        self.hold |= hold::RNR;
        self.deadline = Some(now.saturating_add(timer.duration()));
    }

    /// Hears a packet with the data of a READ or the result of an atomic.
    fn on_data(
        &mut self,
        config: &Config,
        now: Time,
        packet: &Packet,
        progress: &mut Progress,
    ) -> Option<Placement> {
        let first = self.oldest_awaiting(self.sent)?;
        let wanted = first.max(self.unacked);
        let number = self
            .number(packet.psn)
            .filter(|number| (wanted..self.sent).contains(number))?;
        if number > wanted {
            // Everything before the READ has been carried out; the response has a gap.
            if first > self.unacked {
                self.progress_to(config, now, first, progress);
            }
            self.ask_again(config, progress);
            return None;
        }
        match self.placement(config, number, packet) {
            Ok(placement) => {
                self.progress_to(config, now, number + 1, progress);
                Some(placement)
            }
            Err(status) => {
                self.fail(number, status);
                None
            }
        }
    }

    /// Where the data of response `number` goes.
    fn placement(
        &self,
        config: &Config,
        number: u64,
        packet: &Packet,
    ) -> Result<Placement, Status> {
        let mtu = config.mtu.get();
        let index = self.messages.locate(number);
        let message = self.messages.get(index).ok_or(Status::BadResponse)?;
        let id = message.request.id;
        match (message.request.operation, packet.opcode.operation()) {
            (Operation::Read(_), Kind::ReadResponse) => {
                let offset = message.offset(number, mtu);
                let expected = (message.request.length.get() - offset).min(mtu);
                let ends = packet.opcode.position().ends();
                if packet.payload.get() != expected || ends != (number + 1 == message.end()) {
                    return Err(Status::LocalLength);
                }
                let offset = Bytes::new(offset);
                Ok(Placement::Request { id, offset })
            }
            (
                Operation::FetchAdd { .. } | Operation::CompareSwap { .. },
                Kind::AtomicAcknowledge,
            ) => match packet.extension {
                Extension::AtomicResult { original, .. } => Ok(Placement::Result { id, original }),
                _ => Err(Status::BadResponse),
            },
            _ => Err(Status::BadResponse),
        }
    }

    #[inline]
    fn progress_to(&mut self, config: &Config, now: Time, expected: u64, progress: &mut Progress) {
        let advanced = self.acknowledge(config, expected);
        progress.advanced = Bytes::new(progress.advanced.get() + advanced);
        progress.acknowledged = Bytes::new(self.unacked_at);
        self.retries = 0;
        self.rnr_retries = 0;
        if self.hold & hold::RNR == 0 {
            self.restart_timer(config, now);
        }
    }

    /// Goes back because a response is missing, once for each packet that is the oldest one.
    fn ask_again(&mut self, config: &Config, progress: &mut Progress) {
        if self.implied_nak != self.unacked {
            self.implied_nak = self.unacked;
            self.go_back(config);
            progress.went_back = true;
        }
    }

    /// How far an acknowledgement of everything before `expected` reaches: not beyond a READ or
    /// atomic whose response hasn't come.
    #[inline]
    fn unless_response_missing(&self, expected: u64) -> u64 {
        if self.reads == 0 {
            return expected;
        }
        match self.oldest_awaiting(expected) {
            Some(first) => first.max(self.unacked),
            None => expected,
        }
    }

    /// First packet of the oldest READ or atomic that begins before `limit` and isn't finished.
    fn oldest_awaiting(&self, limit: u64) -> Option<u64> {
        (self.completed..)
            .map_while(|index| self.messages.get(index))
            .take_while(|message| message.first < limit)
            .find(|message| message.request.operation.awaits_response())
            .map(|message| message.first)
    }
}
