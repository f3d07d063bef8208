//! Opcode and extension headers of a requester's packets (IBTA 9.4, 9.2.1).

use fairlane_units::{Bytes, QpNumber};
use fairlane_wire::Opcode;

use crate::config::{Config, Service};
use crate::packet::Extension;
use crate::work::{Operation, Remote, WorkRequest};

/// The part of a message that one packet carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) offset: Bytes,
    pub(crate) payload: Bytes,
    pub(crate) first: bool,
    pub(crate) last: bool,
}

/// Opcodes of one operation by position: first, middle, last, only.
type ByPosition = [Opcode; 4];

impl Part {
    #[inline]
    const fn select(&self, opcodes: ByPosition) -> Opcode {
        match (self.first, self.last) {
            (true, false) => opcodes[0],
            (false, false) => opcodes[1],
            (false, true) => opcodes[2],
            (true, true) => opcodes[3],
        }
    }
}

/// The opcode of a part.
#[inline]
pub(crate) fn opcode(config: &Config, operation: &Operation, part: &Part) -> Opcode {
    match operation {
        Operation::Write(_) if config.direct_placement => one_by_one(config, false),
        Operation::WriteImmediate(..) if config.direct_placement => one_by_one(config, part.last),
        Operation::Read(_) => Opcode::RcReadRequest,
        Operation::FetchAdd { .. } => Opcode::RcFetchAdd,
        Operation::CompareSwap { .. } => Opcode::RcCompareSwap,
        Operation::Datagram { immediate, .. } => match immediate {
            None => Opcode::UdSendOnly,
            Some(_) => Opcode::UdSendOnlyWithImmediate,
        },
        _ if config.service == Service::UnreliableConnection => unreliable(operation, part),
        _ => reliable(operation, part),
    }
}

/// A WRITE of which every packet is a message of its own.
const fn one_by_one(config: &Config, immediate: bool) -> Opcode {
    match (config.service.is_reliable(), immediate) {
        (true, false) => Opcode::RcWriteOnly,
        (true, true) => Opcode::RcWriteOnlyWithImmediate,
        (false, false) => Opcode::UcWriteOnly,
        (false, true) => Opcode::UcWriteOnlyWithImmediate,
    }
}

#[inline]
fn reliable(operation: &Operation, part: &Part) -> Opcode {
    use Opcode::*;
    part.select(match operation {
        Operation::Write(_) => [RcWriteFirst, RcWriteMiddle, RcWriteLast, RcWriteOnly],
        Operation::WriteImmediate(..) => [
            RcWriteFirst,
            RcWriteMiddle,
            RcWriteLastWithImmediate,
            RcWriteOnlyWithImmediate,
        ],
        Operation::SendImmediate(_) => [
            RcSendFirst,
            RcSendMiddle,
            RcSendLastWithImmediate,
            RcSendOnlyWithImmediate,
        ],
        Operation::SendInvalidate(_) => [
            RcSendFirst,
            RcSendMiddle,
            RcSendLastWithInvalidate,
            RcSendOnlyWithInvalidate,
        ],
        _ => [RcSendFirst, RcSendMiddle, RcSendLast, RcSendOnly],
    })
}

fn unreliable(operation: &Operation, part: &Part) -> Opcode {
    use Opcode::*;
    part.select(match operation {
        Operation::Write(_) => [UcWriteFirst, UcWriteMiddle, UcWriteLast, UcWriteOnly],
        Operation::WriteImmediate(..) => [
            UcWriteFirst,
            UcWriteMiddle,
            UcWriteLastWithImmediate,
            UcWriteOnlyWithImmediate,
        ],
        Operation::SendImmediate(_) => [
            UcSendFirst,
            UcSendMiddle,
            UcSendLastWithImmediate,
            UcSendOnlyWithImmediate,
        ],
        _ => [UcSendFirst, UcSendMiddle, UcSendLast, UcSendOnly],
    })
}

/// The extension headers of a part.
#[inline]
pub(crate) fn extension(config: &Config, request: &WorkRequest, part: &Part) -> Extension {
    match request.operation {
        Operation::Write(remote) => write(config, request, part, remote, None),
        Operation::WriteImmediate(remote, immediate) => {
            write(config, request, part, remote, Some(immediate))
        }
        Operation::Read(remote) => Extension::Remote {
            remote: remote.behind(part.offset),
            length: Bytes::new(request.length.get() - part.offset.get()),
            immediate: None,
        },
        Operation::FetchAdd { .. } | Operation::CompareSwap { .. } => {
            Extension::Atomic(request.operation)
        }
        Operation::SendImmediate(immediate) if part.last => Extension::Immediate(immediate),
        Operation::SendInvalidate(key) if part.last => Extension::Invalidate(key),
        Operation::Send | Operation::SendImmediate(_) | Operation::SendInvalidate(_) => {
            Extension::None
        }
        Operation::Datagram {
            destination,
            queue_key,
            immediate,
        } => Extension::Datagram {
            queue_key,
            source: QpNumber::new(0),
            destination,
            immediate,
        },
    }
}

#[inline]
fn write(
    config: &Config,
    request: &WorkRequest,
    part: &Part,
    remote: Remote,
    immediate: Option<u32>,
) -> Extension {
    let immediate = immediate.filter(|_| part.last);
    if config.direct_placement {
        return Extension::Remote {
            remote: remote.behind(part.offset),
            length: part.payload,
            immediate,
        };
    }
    match (part.first, immediate) {
        (true, _) => Extension::Remote {
            remote,
            length: request.length,
            immediate,
        },
        (false, Some(immediate)) => Extension::Immediate(immediate),
        (false, None) => Extension::None,
    }
}
