//! SIDR_REQ, the question for the queue pair of a datagram service (IBTA 12.11.1, table 119).
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 3 | request id |
//! | 4, 5 | partition key |
//! | 8 to 15 | service id |
//! | 16 to 231 | private data |

use crate::format::bytes::{Reader, Writer};
use crate::format::header::BODY;
use crate::format::service::ServiceId;

/// A question for a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SidrReq {
    /// The sender's name of the question.
    pub request_id: u32,
    /// The partition key.
    pub partition_key: u16,
    /// What is asked for.
    pub service_id: ServiceId,
    /// What the application says.
    pub private_data: [u8; Self::PRIVATE_DATA],
}

impl SidrReq {
    /// Bytes of private data.
    pub const PRIVATE_DATA: usize = 216;

    pub(crate) fn parse(body: &[u8; BODY]) -> Self {
        let mut from = Reader::new(body);
        let (request_id, partition_key) = (from.u32(), from.u16());
        from.u16();
        Self {
            request_id,
            partition_key,
            service_id: ServiceId(from.u64()),
            private_data: from.array(),
        }
    }

    pub(crate) fn emit(&self, to: &mut Writer<'_>) {
        to.u32(self.request_id);
        to.u16(self.partition_key);
        to.u16(0);
        to.u64(self.service_id.0);
        to.bytes(&self.private_data);
    }
}
