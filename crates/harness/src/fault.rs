//! Deliberate faults: what the model must notice.

use fairlane_transport::{
    Completion, Extension, Memory, Packet, Placement, ReceiveCompletion, Remote, Status,
    WorkRequest,
};
use fairlane_units::Bytes;
use fairlane_wire::{Aeth, Opcode, Syndrome};

/// A deliberate fault that a [`Pair`](super::Pair) puts between the hosts and the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Completions get lost.
    LosesCompletions,
    /// Completions come twice.
    CompletesTwice,
    /// A flushed request is reported as done.
    HidesFailures,
    /// Acknowledgements reach one packet too far.
    AcknowledgesTooFar,
    /// Data is placed one byte behind its place.
    PlacesTooFar,
    /// The last byte of a packet is not placed.
    PlacesTooLittle,
    /// Data that came a second time is placed a second time.
    PlacesDuplicates,
    /// Duplicates of atomics are carried out again.
    RepeatsAtomics,
    /// Atomics are answered with another value.
    AnswersWrongValue,
    /// Fences are ignored.
    IgnoresFences,
    /// More READs are under way than allowed.
    ReadsTooMany,
    /// Frames with a wrong ICRC are heard.
    HearsCorrupted,
    /// Immediate data gets lost.
    ForgetsImmediate,
    /// Receives complete twice.
    ReceivesTwice,
    /// The timer never fires.
    NeverTimesOut,
    /// The first timeout is the last.
    GivesUpEarly,
    /// NAKs get lost.
    SwallowsNaks,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 17] = [
        Self::LosesCompletions,
        Self::CompletesTwice,
        Self::HidesFailures,
        Self::AcknowledgesTooFar,
        Self::PlacesTooFar,
        Self::PlacesTooLittle,
        Self::PlacesDuplicates,
        Self::RepeatsAtomics,
        Self::AnswersWrongValue,
        Self::IgnoresFences,
        Self::ReadsTooMany,
        Self::HearsCorrupted,
        Self::ForgetsImmediate,
        Self::ReceivesTwice,
        Self::NeverTimesOut,
        Self::GivesUpEarly,
        Self::SwallowsNaks,
    ];

    /// What the queue pair is told instead of a request that is posted.
    pub(super) fn request(this: Option<Self>, request: WorkRequest) -> WorkRequest {
        let fence = request.fence && this != Some(Self::IgnoresFences);
        WorkRequest { fence, ..request }
    }

    /// What the application sees instead of a completion, and how often.
    pub(super) fn completion(this: Option<Self>, completion: Completion) -> (Completion, usize) {
        match this {
            Some(Self::LosesCompletions) => (completion, 0),
            Some(Self::CompletesTwice) => (completion, 2),
            Some(Self::HidesFailures) => {
                let status = Status::Success;
                (
                    Completion {
                        status,
                        ..completion
                    },
                    1,
                )
            }
            _ => (completion, 1),
        }
    }

    /// What the application sees instead of the end of a receive, and how often.
    pub(super) fn receive_completion(
        this: Option<Self>,
        completion: ReceiveCompletion,
    ) -> (ReceiveCompletion, usize) {
        match this {
            Some(Self::ForgetsImmediate) => {
                let immediate = None;
                (
                    ReceiveCompletion {
                        immediate,
                        ..completion
                    },
                    1,
                )
            }
            Some(Self::ReceivesTwice) => (completion, 2),
            _ => (completion, 1),
        }
    }

    /// What becomes of where a packet is to be placed.
    pub(super) fn placement(
        this: Option<Self>,
        packet: &Packet,
        placement: Option<Placement>,
        memory: &mut impl Memory,
    ) -> Option<Placement> {
        match (this, packet.extension) {
            (Some(Self::PlacesTooFar), _) => placement.map(too_far),
            (Some(Self::PlacesDuplicates), Extension::Remote { remote, .. })
                if packet.opcode.has_payload() =>
            {
                placement.or(Some(Placement::Memory(remote)))
            }
            (Some(Self::RepeatsAtomics), Extension::Atomic(operation)) => {
                memory.execute(&operation);
                placement
            }
            _ => placement,
        }
    }

    /// What a host says instead of a reply, if anything.
    pub(super) fn reply(this: Option<Self>, packet: Packet) -> Option<Packet> {
        match this {
            Some(Self::AcknowledgesTooFar) => Some(further(packet)),
            Some(Self::SwallowsNaks) => Some(packet).filter(|packet| !is_nak(packet)),
            _ => Some(packet),
        }
    }

    /// What leaves instead of a response.
    pub(super) fn response(this: Option<Self>, packet: Packet) -> Packet {
        match (this, packet.extension) {
            (Some(Self::AnswersWrongValue), Extension::AtomicResult { aeth, original }) => Packet {
                extension: Extension::AtomicResult {
                    aeth,
                    original: original ^ 1,
                },
                ..packet
            },
            _ => packet,
        }
    }
}

fn too_far(placement: Placement) -> Placement {
    match placement {
        Placement::Memory(remote) => Placement::Memory(Remote {
            address: remote.address + 1,
            ..remote
        }),
        Placement::Receive { id, offset } => {
            let offset = offset + Bytes::new(1);
            Placement::Receive { id, offset }
        }
        other => other,
    }
}

fn further(reply: Packet) -> Packet {
    match reply.extension {
        Extension::Acknowledge(Aeth {
            syndrome: Syndrome::Ack { .. },
            ..
        }) if reply.opcode == Opcode::RcAcknowledge => Packet {
            psn: reply.psn.advance(1),
            ..reply
        },
        _ => reply,
    }
}

const fn is_nak(reply: &Packet) -> bool {
    matches!(
        reply.extension,
        Extension::Acknowledge(Aeth {
            syndrome: Syndrome::Nak(_),
            ..
        })
    )
}
