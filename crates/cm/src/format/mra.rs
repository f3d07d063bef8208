//! MRA, "message received, the answer takes its time" (IBTA 12.6.6, table 107).
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 3, 4 to 7 | local and remote communication id |
//! | 8 | message (2 bits) |
//! | 9 | service timeout (5 bits) |
//! | 10 to 231 | private data |

use crate::format::bytes::{Reader, Writer};
use crate::format::header::BODY;
use crate::format::rej::Answered;
use crate::format::wait::Wait;

/// An acknowledgement of a message whose answer takes time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mra {
    /// The sender's name of the connection.
    pub local_id: u32,
    /// The receiver's name of it.
    pub remote_id: u32,
    /// What has been received.
    pub message: Answered,
    /// How long the answer may take.
    pub timeout: Wait,
    /// What the application says.
    pub private_data: [u8; Self::PRIVATE_DATA],
}

impl Mra {
    /// Bytes of private data.
    pub const PRIVATE_DATA: usize = 222;

    pub(crate) fn parse(body: &[u8; BODY]) -> Self {
        let mut from = Reader::new(body);
        Self {
            local_id: from.u32(),
            remote_id: from.u32(),
            message: Answered::of_bits(from.u8() >> 6),
            timeout: Wait::of_bits(from.u8() >> 3),
            private_data: from.array(),
        }
    }

    pub(crate) fn emit(&self, to: &mut Writer<'_>) {
        to.u32(self.local_id);
        to.u32(self.remote_id);
        to.u8(self.message.bits() << 6);
        to.u8(self.timeout.bits() << 3);
        to.bytes(&self.private_data);
    }
}
