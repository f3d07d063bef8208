//! DREQ, the end of a connection (IBTA 12.6.10, table 112).
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 3, 4 to 7 | local and remote communication id |
//! | 8 to 10 | queue pair of the receiver |
//! | 12 to 231 | private data |

use fairlane_units::QpNumber;

use crate::format::bytes::{Reader, Writer};
use crate::format::error::{Malformed, fits};
use crate::format::header::BODY;

/// Word that a connection ends, from either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dreq {
    /// The sender's name of the connection.
    pub local_id: u32,
    /// The receiver's name of it.
    pub remote_id: u32,
    /// The receiver's queue pair.
    pub remote_pair: QpNumber,
    /// What the application says.
    pub private_data: [u8; Self::PRIVATE_DATA],
}

impl Dreq {
    /// Bytes of private data.
    pub const PRIVATE_DATA: usize = 220;

    pub(crate) fn parse(body: &[u8; BODY]) -> Self {
        let mut from = Reader::new(body);
        let [local_id, remote_id] = [from.u32(), from.u32()];
        let remote_pair = QpNumber::new(from.u24());
        from.u8();
        Self {
            local_id,
            remote_id,
            remote_pair,
            private_data: from.array(),
        }
    }

    pub(crate) fn emit(&self, to: &mut Writer<'_>) -> Result<(), Malformed> {
        fits("DREQ queue pair", self.remote_pair.get(), 24)?;
        to.u32(self.local_id);
        to.u32(self.remote_id);
        to.u24(self.remote_pair.get());
        to.u8(0);
        to.bytes(&self.private_data);
        Ok(())
    }
}
