//! What SENDs of a connection begin with: the transfer header of a chunk, and grants of receives.

use core::fmt;

use crate::{Remote, Segment};

/// The header of a SEND: which message it belongs to, how large that is, where the data goes (S1, section
/// III.B: "data ID, total data size and current chunk offset").
///
/// A header without data whose offset is the total says that everything has been written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// The number of the message among those that consume a receive, from 0.
    pub id: u64,
    /// Bytes of the whole message.
    pub total: u64,
    /// Where the data that follows begins in the message.
    pub offset: u64,
}

/// The offer of a receive: SEND number `id` may come, and goes here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// The number of the receive, which is that of its SEND.
    pub id: u64,
    /// Bytes that the receive has room for.
    pub length: u64,
    /// Where they go.
    pub remote: Remote,
}

impl Grant {
    /// The grant of a receive into one piece of memory.
    pub const fn of(id: u64, memory: &Segment) -> Self {
        Self {
            id,
            length: memory.length,
            remote: Remote {
                address: memory.address,
                key: memory.key,
            },
        }
    }
}

/// What a SEND of a connection begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Data follows, or has been written.
    Transfer(Transfer),
    /// A receive is offered.
    Grant(Grant),
}

/// Why bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// There are fewer bytes than a frame has.
    Short,
    /// The first byte names no kind of frame.
    Unknown(u8),
    /// Offset and data end behind the total, or the memory behind the last address.
    Outside,
    /// A grant with data behind it.
    Trailing,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => write!(f, "a frame has {} bytes", Frame::LENGTH),
            Self::Unknown(kind) => write!(f, "no kind of frame has number {kind}"),
            Self::Outside => f.write_str("the data doesn't end within its message"),
            Self::Trailing => f.write_str("a grant has no data"),
        }
    }
}

impl core::error::Error for FrameError {}

const TRANSFER: u8 = 1;
const GRANT: u8 = 2;

impl Frame {
    /// Bytes of every frame: kind, three of padding, key, and three numbers of 64 bits, big-endian.
    pub const LENGTH: usize = 32;

    /// The bytes of the frame.
    pub fn encode(&self) -> [u8; Self::LENGTH] {
        let (kind, key, numbers) = match *self {
            Self::Transfer(it) => (TRANSFER, 0, [it.id, it.total, it.offset]),
            Self::Grant(it) => (GRANT, it.remote.key, [it.id, it.length, it.remote.address]),
        };
        let mut bytes = [0; Self::LENGTH];
        bytes[0] = kind;
        bytes[4..8].copy_from_slice(&key.to_be_bytes());
        for (place, number) in bytes[8..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// Reads the frame that a received SEND begins with, and the data behind it.
    ///
    /// # Errors
    /// If the bytes are no frame, or speak of data outside of its message.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), FrameError> {
        let (head, data) = bytes
            .split_first_chunk::<{ Self::LENGTH }>()
            .ok_or(FrameError::Short)?;
        let number = |at: usize| {
            let bytes = head[at..at + 8].try_into().unwrap_or_default();
            u64::from_be_bytes(bytes)
        };
        let [first, second, third] = [number(8), number(16), number(24)];
        match head[0] {
            TRANSFER => {
                let transfer = Transfer {
                    id: first,
                    total: second,
                    offset: third,
                };
                transfer.holds(data.len() as u64)?;
                Ok((Self::Transfer(transfer), data))
            }
            GRANT if !data.is_empty() => Err(FrameError::Trailing),
            GRANT => {
                let key = head[4..8].try_into().unwrap_or_default();
                let remote = Remote {
                    address: third,
                    key: u32::from_be_bytes(key),
                };
                remote
                    .address
                    .checked_add(second)
                    .ok_or(FrameError::Outside)?;
                let (id, length) = (first, second);
                Ok((Self::Grant(Grant { id, length, remote }), data))
            }
            kind => Err(FrameError::Unknown(kind)),
        }
    }
}

impl Transfer {
    /// Whether so many bytes of data from the offset on lie within the message.
    pub(crate) fn holds(&self, data: u64) -> Result<(), FrameError> {
        let end = self.offset.checked_add(data).ok_or(FrameError::Outside)?;
        if end > self.total {
            return Err(FrameError::Outside);
        }
        Ok(())
    }

    /// Whether the header says that all data has been written.
    pub const fn is_notice(&self, data: u64) -> bool {
        data == 0 && self.offset == self.total
    }
}
