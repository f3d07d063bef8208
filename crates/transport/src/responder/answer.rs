//! READs and atomics at the responder (IBTA 9.4.4, 9.4.5, 9.7.5.1.4).

use alloc::boxed::Box;

use fairlane_units::{Bytes, Psn};
use fairlane_wire::{NakCode, Syndrome};

use super::{Phase, Received, Refusal, Responder};
use crate::config::Config;
use crate::memory::{Access, Memory};
use crate::out_of_order::packets;
use crate::packet::{Extension, Packet, Reply};
use crate::responses::{Response, Responses};
use crate::work::{Operation, Remote};

/// The longest message (IBTA 9.7.7).
pub(crate) const LONGEST: Bytes = Bytes::new(1 << 31);
/// The most packets of a READ: half the circle of PSNs (IBTA 9.7.2).
pub(crate) const WIDEST: u32 = 1 << 23;
/// Bytes that an atomic works on.
const ATOMIC: Bytes = Bytes::new(8);

impl Responder {
    /// Carries out a READ request or an atomic; returns how many PSNs it takes.
    #[cold]
    pub(super) fn on_inquiry(
        &mut self,
        config: &Config,
        packet: &Packet,
        memory: &mut impl Memory,
        received: &mut Received,
    ) -> Result<u32, Refusal> {
        let responses = self
            .responses
            .get_or_insert_with(|| Box::new(Responses::new(config)));
        let busy = responses.pending(false) >= usize::from(config.max_destination_reads);
        if busy || self.phase != Phase::Idle || !packet.payload.is_zero() {
            return Err(Refusal::Nak(NakCode::InvalidRequest));
        }
        let psn = packet.psn;
        let span = match packet.extension {
            Extension::Remote { remote, length, .. } => {
                let span = packets(length, config.mtu);
                if length > LONGEST || span > WIDEST {
                    return Err(Refusal::Nak(NakCode::InvalidRequest));
                }
                if !length.is_zero() && !memory.permits(Access::Read, remote, length) {
                    return Err(Refusal::Nak(NakCode::RemoteAccess));
                }
                responses.push(read(psn, remote, length, false));
                span
            }
            Extension::Atomic(operation) => {
                let remote = target(&operation).ok_or(Refusal::Nak(NakCode::InvalidRequest))?;
                if !remote.address.is_multiple_of(ATOMIC.get()) {
                    return Err(Refusal::Nak(NakCode::InvalidRequest));
                }
                if !memory.permits(Access::Atomic, remote, ATOMIC) {
                    return Err(Refusal::Nak(NakCode::RemoteAccess));
                }
                let original = memory.execute(&operation);
                responses.remember(config, psn, original);
                responses.push(Response::Atomic {
                    psn,
                    original,
                    repeated: false,
                });
                1
            }
            _ => return Err(Refusal::Nak(NakCode::InvalidRequest)),
        };
        received.messages = 1;
        Ok(span)
    }

    /// Reads again what was read before, or a part of it; or refuses that.
    pub(super) fn repeat_read(
        &mut self,
        config: &Config,
        packet: &Packet,
        distance: i32,
        memory: &impl Memory,
    ) -> Option<Reply> {
        let Extension::Remote { remote, length, .. } = packet.extension else {
            return None;
        };
        if packets(length, config.mtu) > distance.unsigned_abs() {
            return None;
        }
        if !length.is_zero() && !memory.permits(Access::Read, remote, length) {
            // Its key has been invalidated since. The responder goes on: perhaps the READ has long been
            // answered, and the requester hears nothing new.
            let denied = Syndrome::Nak(NakCode::RemoteAccess);
            let reply = self.acknowledge(config, packet.psn, denied);
            return self.in_turn(reply);
        }
        let responses = self.responses.as_mut()?;
        responses.discard_from(config, packet.psn);
        if responses.pending(true) < usize::from(config.max_destination_reads) {
            responses.push(read(packet.psn, remote, length, true));
        }
        None
    }

    /// Answers an atomic again without carrying it out again.
    pub(super) fn repeat_atomic(&mut self, config: &Config, psn: Psn) {
        if let Some(responses) = &mut self.responses
            && let Some(original) = responses.recall(psn)
        {
            responses.discard_from(config, psn);
            if responses.pending(true) >= usize::from(config.max_destination_reads) {
                return;
            }
            responses.push(Response::Atomic {
                psn,
                original,
                repeated: true,
            });
        }
    }
}

const fn read(psn: Psn, remote: Remote, length: Bytes, repeated: bool) -> Response {
    Response::Read {
        psn,
        remote,
        rest: length,
        fresh: true,
        repeated,
    }
}

/// The place that an atomic works on.
const fn target(operation: &Operation) -> Option<Remote> {
    match operation {
        Operation::FetchAdd { remote, .. } | Operation::CompareSwap { remote, .. } => Some(*remote),
        _ => None,
    }
}
