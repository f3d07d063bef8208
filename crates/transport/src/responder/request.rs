//! WRITE, SEND and datagrams at the responder (IBTA 9.4.1, 9.4.3, 9.7.4.1).

use fairlane_units::Bytes;
use fairlane_wire::{NakCode, Operation as Kind, Position};

use super::{Phase, Received, Refusal, Responder};
use crate::config::Config;
use crate::memory::{Access, Memory, Receives};
use crate::out_of_order::{Range, packets};
use crate::packet::{Extension, Packet, Placement};
use crate::work::{Receive, ReceiveCompletion, Status};

const INVALID: Refusal = Refusal::Nak(NakCode::InvalidRequest);

impl Responder {
    /// Carries out a packet of a WRITE; returns how many PSNs it takes.
    #[inline]
    pub(super) fn on_write(
        &mut self,
        config: &Config,
        packet: &Packet,
        memory: &impl Memory,
        receives: &mut impl Receives,
        received: &mut Received,
    ) -> Result<u32, Refusal> {
        let position = packet.opcode.position();
        let range = match position {
            Position::First | Position::Only => self.begin_write(config, packet, memory)?,
            Position::Middle if self.phase == Phase::Write && self.left > 1 => {
                if packet.payload != config.mtu {
                    return Err(INVALID);
                }
                self.current
            }
            Position::Last if self.phase == Phase::Write && self.left == 1 => self.current,
            Position::Middle | Position::Last => return Err(INVALID),
        };
        let left = if position.begins() {
            range.packets
        } else {
            self.left
        };
        let offset = Bytes::new(u64::from(range.packets - left) * config.mtu.get());
        if position.ends() {
            if packet.payload != range.length - offset {
                return Err(INVALID);
            }
            if packet.opcode.has_immediate() {
                let receive = self.receive.take().or_else(|| receives.take());
                let receive = receive.ok_or(Refusal::NotReady)?;
                let end = completion(packet, receive, range.length);
                received.completion = Some(end);
            }
            received.messages = 1;
            self.phase = Phase::Idle;
        } else if position.begins() {
            (self.phase, self.current) = (Phase::Write, range);
        }
        self.left = left - 1;
        received.placement = Some(Placement::Memory(range.remote.behind(offset)));
        received.placed = packet.payload;
        Ok(1)
    }

    /// The message that a packet begins.
    #[inline]
    fn begin_write(
        &self,
        config: &Config,
        packet: &Packet,
        memory: &impl Memory,
    ) -> Result<Range, Refusal> {
        let Extension::Remote { remote, length, .. } = packet.extension else {
            return Err(INVALID);
        };
        let range = Range {
            first: packet.psn,
            packets: packets(length, config.mtu),
            remote,
            length,
        };
        let only = packet.opcode.position().ends();
        let whole = packet.payload == length.min(config.mtu);
        if self.phase != Phase::Idle || only != (range.packets == 1) || !whole {
            return Err(INVALID);
        }
        if !length.is_zero() && !memory.permits(Access::Write, remote, length) {
            return Err(Refusal::Nak(NakCode::RemoteAccess));
        }
        Ok(range)
    }

    /// Carries out a packet of a SEND; returns how many PSNs it takes.
    pub(super) fn on_send(
        &mut self,
        config: &Config,
        packet: &Packet,
        memory: &mut impl Memory,
        receives: &mut impl Receives,
        received: &mut Received,
    ) -> Result<u32, Refusal> {
        let position = packet.opcode.position();
        let expected = if position.begins() {
            Phase::Idle
        } else {
            Phase::Send
        };
        let whole = position.ends() || packet.payload == config.mtu;
        if self.phase != expected || !whole || packet.payload > config.mtu {
            return Err(INVALID);
        }
        if position.begins() {
            // On an unreliable connection the receive of a message that got lost is used again.
            let receive = self.receive.take().or_else(|| receives.take());
            self.receive = Some(receive.ok_or(Refusal::NotReady)?);
            self.left = u32::MAX;
        }
        let receive = self.receive.ok_or(INVALID)?;
        if receive.closed {
            return Err(Refusal::Closed);
        }
        let offset = Bytes::new(u64::from(u32::MAX - self.left) * config.mtu.get());
        let length = offset + packet.payload;
        if length > receive.length || self.left == 0 {
            return Err(Refusal::TooLong);
        }
        let mut end = completion(packet, receive, length);
        if let Extension::Invalidate(key) = packet.extension {
            if !memory.invalidate(key) {
                return Err(Refusal::Nak(NakCode::RemoteAccess));
            }
            end.invalidated = Some(key);
        }
        self.left -= 1;
        self.phase = Phase::Send;
        let id = receive.id;
        received.placement = Some(Placement::Receive { id, offset });
        received.placed = packet.payload;
        if position.ends() {
            self.phase = Phase::Idle;
            self.receive = None;
            received.messages = 1;
            received.completion = Some(end);
        }
        Ok(1)
    }

    /// Takes a datagram; without a receive, or too long for it, it is lost.
    pub(super) fn on_datagram(
        &self,
        packet: &Packet,
        receives: &mut impl Receives,
        received: &mut Received,
    ) {
        let Extension::Datagram { source, .. } = packet.extension else {
            return;
        };
        let Some(receive) = receives.take() else {
            return;
        };
        let mut end = completion(packet, receive, packet.payload);
        end.source = Some(source);
        if receive.closed {
            end = ReceiveCompletion::failed(receive.id, Status::LocalProtection);
        } else if packet.payload > receive.length {
            end = ReceiveCompletion::failed(receive.id, Status::LocalLength);
        } else {
            let (id, offset) = (receive.id, Bytes::ZERO);
            received.placement = Some(Placement::Receive { id, offset });
            received.placed = packet.payload;
            received.messages = 1;
        }
        received.completion = Some(end);
    }
}

fn completion(packet: &Packet, receive: Receive, length: Bytes) -> ReceiveCompletion {
    let immediate = match packet.extension {
        Extension::Immediate(immediate) => Some(immediate),
        Extension::Remote { immediate, .. } | Extension::Datagram { immediate, .. } => immediate,
        _ => None,
    };
    ReceiveCompletion {
        id: receive.id,
        status: Status::Success,
        length,
        written: packet.opcode.operation() == Kind::Write,
        immediate,
        invalidated: None,
        solicited: packet.solicited,
        source: None,
    }
}
