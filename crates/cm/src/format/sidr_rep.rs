//! SIDR_REP, the answer which queue pair has a datagram service (IBTA 12.11.2, table 120).
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 3 | request id |
//! | 4, 5 | status, length of the information |
//! | 8 to 10 | queue pair |
//! | 12 to 19 | service id |
//! | 20 to 23 | queue key |
//! | 24 to 95 | information that belongs to the status |
//! | 96 to 231 | private data |

use fairlane_units::QpNumber;

use crate::format::bytes::{Reader, Writer};
use crate::format::error::{Malformed, fits};
use crate::format::header::BODY;
use crate::format::service::ServiceId;

/// What came of a question (IBTA 12.11.2.1, table 121).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SidrStatus(pub u8);

impl SidrStatus {
    /// The queue pair is valid.
    pub const VALID: Self = Self(0);
    /// Nobody has the service.
    pub const UNSUPPORTED: Self = Self(1);
    /// The application refuses.
    pub const REJECTED: Self = Self(2);
    /// There is no queue pair.
    pub const NO_QUEUE_PAIR: Self = Self(3);
}

/// The answer to a question for a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SidrRep {
    /// The name of the question.
    pub request_id: u32,
    /// What came of it.
    pub status: SidrStatus,
    /// The queue pair that has the service.
    pub queue_pair: QpNumber,
    /// What was asked for.
    pub service_id: ServiceId,
    /// The key of the queue pair.
    pub queue_key: u32,
    /// What the application says.
    pub private_data: [u8; Self::PRIVATE_DATA],
}

impl SidrRep {
    /// Bytes of private data.
    pub const PRIVATE_DATA: usize = 136;
    const INFORMATION: usize = 72;

    pub(crate) fn parse(body: &[u8; BODY]) -> Self {
        let mut from = Reader::new(body);
        let (request_id, status) = (from.u32(), SidrStatus(from.u8()));
        from.u24();
        let queue_pair = QpNumber::new(from.u24());
        from.u8();
        let (service_id, queue_key) = (ServiceId(from.u64()), from.u32());
        from.array::<{ Self::INFORMATION }>();
        Self {
            request_id,
            status,
            queue_pair,
            service_id,
            queue_key,
            private_data: from.array(),
        }
    }

    pub(crate) fn emit(&self, to: &mut Writer<'_>) -> Result<(), Malformed> {
        fits("SIDR_REP queue pair", self.queue_pair.get(), 24)?;
        to.u32(self.request_id);
        to.u8(self.status.0);
        to.u24(0);
        to.u24(self.queue_pair.get());
        to.u8(0);
        to.u64(self.service_id.0);
        to.u32(self.queue_key);
        to.bytes(&[0; Self::INFORMATION]);
        to.bytes(&self.private_data);
        Ok(())
    }
}
