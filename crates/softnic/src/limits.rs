//! What a device can hold.

use crate::error::Error;
use crate::number;
use crate::queue_pair::QueuePairOptions;

/// How much of each resource a device has. A request for more is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Queue pairs.
    pub queue_pairs: u32,
    /// Requests of a queue pair that are posted and haven't completed.
    pub requests: u32,
    /// Receives of a queue pair, or shared queue, that are posted and haven't been taken.
    pub receives: u32,
    /// Pieces of a request or receive.
    pub pieces: u32,
    /// Bytes of inline data.
    pub inline: u32,
    /// READs and atomics of a queue pair that may be under way, in each direction.
    pub reads: u8,
    /// Completion queues.
    pub completion_queues: u32,
    /// Completions of a queue.
    pub completions: u32,
    /// Shared queues of receives.
    pub shared_queues: u32,
    /// Protection domains.
    pub domains: u32,
    /// Memory regions and windows together.
    pub regions: u32,
    /// Bytes of a message.
    pub message: u32,
    /// Partition keys in the table of the port.
    pub partitions: u16,
}

impl Limits {
    /// The limits of every device.
    pub const ALL: Self = Self {
        queue_pairs: number::MOST as u32,
        requests: 1 << 15,
        receives: 1 << 15,
        pieces: 32,
        inline: 1024,
        reads: 128,
        completion_queues: MOST as u32,
        completions: 1 << 22,
        shared_queues: MOST as u32,
        domains: MOST as u32,
        regions: MOST as u32,
        message: 1 << 31,
        partitions: 128,
    };
}

/// Objects of a kind at most.
pub(crate) const MOST: usize = 1 << 24;

/// Refuses what is above a limit.
pub(crate) fn check(what: &'static str, wanted: u32, most: u32) -> Result<(), Error> {
    match wanted <= most {
        true => Ok(()),
        false => Err(Error::Limit { what, wanted, most }),
    }
}

/// Refuses a queue pair that is larger than there are.
pub(crate) fn check_pair(options: &QueuePairOptions) -> Result<(), Error> {
    let all = Limits::ALL;
    check("requests", options.most_requests, all.requests)?;
    if options.shared.is_none() {
        check("receives", options.most_receives, all.receives)?;
    }
    check("pieces", options.most_pieces, all.pieces)?;
    check("bytes of inline data", options.most_inline, all.inline)
}
