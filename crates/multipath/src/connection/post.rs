//! Messages come in: what they must wait for, and how they cross.

use core::fmt;

use alloc::format;

use fairlane_units::Time;

use super::Connection;
use super::message::{Message, Notice, Shape};
use crate::{Failure, Mistake, Operation, Request, TwoSided};

/// Why a message isn't taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// As many messages as may be are outstanding: poll events first.
    Full,
    /// The connection has failed.
    Broken(Failure),
    /// The message can't be right.
    Mistake(Mistake),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str(
                "error message: the connection is full\nhint: wait for completions, or raise `messages`",
            ),
            Self::Broken(failure) => write!(f, "the connection has failed: {failure}"),
            Self::Mistake(mistake) => mistake.fmt(f),
        }
    }
}

impl core::error::Error for Refusal {}

impl Connection {
    /// Takes a message and returns its number, from 0 in the order of posting.
    ///
    /// # Errors
    /// If the queue is full, the connection has failed, or the message can't be right; nothing has changed then.
    pub fn post(&mut self, now: Time, request: &Request<'_>) -> Result<u64, Refusal> {
        if let Some(failure) = self.broken {
            return Err(Refusal::Broken(failure));
        }
        if self.messages.len() >= self.settings.messages as usize {
            return Err(Refusal::Full);
        }
        let size = self.size(request).map_err(Refusal::Mistake)?;
        let pieces = self.memory.keep(request.memory);
        let shape = self.shape(request.operation, size, pieces.count());
        let (starts_after, seen_after) = self.barriers(request, size);
        let consumes = shape != Shape::OneSided;
        let notice = match shape {
            Shape::Single | Shape::Written => Notice::Owed,
            Shape::OneSided | Shape::Stream => Notice::None,
        };
        let number = self.messages.push(Message {
            operation: request.operation,
            shape,
            notice,
            started: false,
            id: self.sends,
            size,
            given: 0,
            open: 0,
            // Any chunk of a stream may be the one that makes it seen.
            starts_after: match shape {
                Shape::Stream => starts_after.max(seen_after),
                _ => starts_after,
            },
            seen_after,
            pieces,
            context: request.context,
        });
        self.sends += u64::from(consumes);
        self.settle(now);
        Ok(number)
    }

    fn shape(&self, operation: Operation, size: u64, pieces: usize) -> Shape {
        if operation != Operation::Send {
            return Shape::OneSided;
        }
        let is_small = size <= self.settings.single_send.get();
        // The frame is a piece, too.
        if size == 0 || (is_small && pieces < self.settings.segments) {
            return Shape::Single;
        }
        match self.settings.two_sided {
            TwoSided::WriteThenSend => Shape::Written,
            TwoSided::Stream => Shape::Stream,
        }
    }

    /// The numbers that all messages before must be complete below, for this one to start and to be seen.
    ///
    /// A queue pair executes requests in order (IBTA 10.8.3.3); chunks on several don't, so that order is
    /// made here where somebody could see it: what a WRITE or an atomic has changed is in place before a READ,
    /// an atomic or another WRITE of the same bytes, and before any SEND is seen. SENDs among themselves are put
    /// in order by the other end.
    fn barriers(&self, request: &Request<'_>, size: u64) -> (u64, u64) {
        let (mut starts, mut seen) = (0, 0);
        let pending = (self.messages.first()..).zip(self.messages.iter());
        let is_atomic = matches!(request.operation, Operation::Atomic(..));
        for (number, it) in pending.filter(|(number, _)| *number >= self.done) {
            let collides = match request.operation {
                Operation::Send => false,
                Operation::Write(at) | Operation::Read(at) | Operation::Atomic(at, _) => {
                    // Atomics have one path, which keeps their order.
                    it.changes() && !(is_atomic && it.is_atomic()) && it.touches(at.address, size)
                }
            };
            if collides || (request.fence && it.answers()) {
                starts = number + 1;
            }
            if it.changes() && request.operation == Operation::Send {
                seen = number + 1;
            }
        }
        (starts, seen)
    }

    /// The size of a message that can be right.
    fn size(&self, request: &Request<'_>) -> Result<u64, Mistake> {
        let refuse = |key: &str, message, hint| {
            let place = format!("message {}: {key}", self.messages.end());
            Err(Mistake::new(place, message, hint))
        };
        let (pieces, most) = (request.memory.len(), self.settings.message_segments);
        if pieces > most {
            return refuse(
                "memory",
                format!("{pieces} pieces were given; at most {most} were expected"),
                "raise `message_segments`, or post several messages",
            );
        }
        let mut size = 0u64;
        for segment in request.memory {
            let sum = size.checked_add(segment.length);
            let end = segment.address.checked_add(segment.length);
            let (Some(sum), Some(_)) = (sum, end) else {
                return refuse(
                    "memory",
                    "a piece ends behind the last address".into(),
                    "lengths are in bytes",
                );
            };
            size = sum;
        }
        let remote = match request.operation {
            Operation::Send => return Ok(size),
            Operation::Atomic(..) if size != 8 => {
                let message = format!("{size} bytes were given to an atomic; 8 were expected");
                return refuse("memory", message, "an atomic returns eight bytes");
            }
            Operation::Atomic(..) if pieces > self.settings.segments => {
                let message = format!("an atomic has {pieces} pieces of memory");
                return refuse("memory", message, "give it one of eight bytes");
            }
            Operation::Write(remote) | Operation::Read(remote) | Operation::Atomic(remote, _) => {
                remote
            }
        };
        match remote.address.checked_add(size) {
            Some(_) => Ok(size),
            None => refuse(
                "remote",
                "the place at the other end ends behind the last address".into(),
                "see the address and the size",
            ),
        }
    }
}
