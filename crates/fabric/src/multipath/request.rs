//! Chunks as work requests of the transport, and how these end.

use fairlane_multipath::{Atomic, Chunk, Frame as Said, Outcome, Remote, Work};
use fairlane_scenario::Verb;
use fairlane_transport::{self as transport, Status, WorkRequest};
use fairlane_units::Bytes;

use super::sender::UnderWay;
use crate::notice::Frame;

/// What the other end learns of a chunk.
pub(super) fn describe((message, epoch): (&UnderWay, u32), chunk: &Chunk) -> Option<Frame> {
    let (is_send, id, total, offset) = match (chunk.work, message.verb) {
        (Work::Send(Said::Transfer(it)), _) => (true, it.id, it.total, it.offset),
        (Work::Write(_), Verb::Write) => (false, message.write?, message.size, chunk.offset.get()),
        _ => return None,
    };
    Some(Frame {
        number: 0,
        end: 0,
        message: message.message,
        epoch,
        is_send,
        id,
        total,
        offset,
        length: chunk.length.get(),
    })
}

/// The work request of a chunk.
pub(super) fn request(chunk: &Chunk) -> WorkRequest {
    let there = |remote: Remote| transport::Remote {
        address: remote.address,
        key: remote.key,
    };
    let (operation, header) = match chunk.work {
        Work::Write(remote) => (transport::Operation::Write(there(remote)), 0),
        Work::Read(remote) => (transport::Operation::Read(there(remote)), 0),
        Work::Send(_) => (transport::Operation::Send, Said::LENGTH as u64),
        Work::Atomic(remote, Atomic::FetchAdd(add)) => {
            let remote = there(remote);
            (transport::Operation::FetchAdd { remote, add }, 0)
        }
        Work::Atomic(remote, Atomic::CompareSwap(compare, swap)) => {
            let operation = transport::Operation::CompareSwap {
                remote: there(remote),
                compare,
                swap,
            };
            (operation, 0)
        }
    };
    let length = Bytes::new(chunk.length.get() + header);
    WorkRequest::new(chunk.tag.get(), operation, length)
}

/// How a work request has ended, for its connection.
pub(super) const fn outcome(status: Status) -> Outcome {
    match status {
        Status::Success => Outcome::Delivered,
        Status::RetryExceeded | Status::RnrRetryExceeded => Outcome::RetryExceeded,
        Status::Flushed => Outcome::Flushed,
        _ => Outcome::Rejected,
    }
}
