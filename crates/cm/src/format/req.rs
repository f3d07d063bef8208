//! REQ, the request for a connection (IBTA 12.6.5, table 106).
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 3 | local communication id |
//! | 8 to 15 | service id |
//! | 16 to 23 | GUID of the channel adapter |
//! | 28 to 31 | queue key |
//! | 32 to 34, 35 | queue pair, responder resources |
//! | 36 to 38, 39 | EE context, initiator depth |
//! | 40 to 42 | remote EE context |
//! | 43 | remote CM response timeout (5 bits), service (2), end-to-end flow control (1) |
//! | 44 to 46 | starting PSN |
//! | 47 | local CM response timeout (5), retries (3) |
//! | 48, 49 | partition key |
//! | 50 | path MTU (4), RDC exists (1), RNR retries (3) |
//! | 51 | CM retries (4), shared receive queue (1), extended service (3) |
//! | 52 to 95, 96 to 139 | primary and alternate path |
//! | 140 to 231 | private data |

use fairlane_units::{Psn, QpNumber};

use crate::format::bytes::{Reader, Writer};
use crate::format::error::{Malformed, fits};
use crate::format::header::BODY;
use crate::format::path::Path;
use crate::format::service::{Service, ServiceId};
use crate::format::wait::Wait;

/// A request for a connection, as the active side sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Req {
    /// The sender's name of the connection.
    pub local_id: u32,
    /// What it wants to be connected to.
    pub service_id: ServiceId,
    /// The GUID of the sender's channel adapter.
    pub guid: u64,
    /// The key of the sender's queue pair, for datagrams.
    pub queue_key: u32,
    /// The sender's queue pair.
    pub queue_pair: QpNumber,
    /// How many READs and atomics it can answer at a time.
    pub responder_resources: u8,
    /// How many READs and atomics it may ask for at a time.
    pub initiator_depth: u8,
    /// How long the receiver may take to answer.
    pub remote_timeout: Wait,
    /// The kind of service of the connection.
    pub service: Service,
    /// Whether the sender knows credits of its peer.
    pub flow_control: bool,
    /// The sequence number that the *receiver* of this message begins to send with: the sender expects it.
    pub starting_psn: Psn,
    /// How long the sender takes to answer.
    pub local_timeout: Wait,
    /// How often the receiver may repeat packets, below 8.
    pub retries: u8,
    /// The partition key.
    pub partition_key: u16,
    /// The path MTU: 1 for 256 bytes, to 5 for 4096.
    pub mtu: u8,
    /// How often the receiver may repeat packets after an RNR NAK, below 8; 7 is for ever.
    pub rnr_retries: u8,
    /// How often messages of connection management are repeated, below 16.
    pub cm_retries: u8,
    /// Whether the sender's queue pair shares its receives with others.
    pub shared_queue: bool,
    /// The path from the sender to the receiver.
    pub path: Path,
    /// The path that is used if that one fails, all zero without.
    pub alternate: Path,
    /// What the application says.
    pub private_data: [u8; Self::PRIVATE_DATA],
}

impl Req {
    /// Bytes of private data.
    pub const PRIVATE_DATA: usize = 92;

    /// A request for a service, with everything else at its least: a reliable connection of path MTU 256 in the default
    /// partition.
    pub fn to(service_id: ServiceId) -> Self {
        Self {
            local_id: 0,
            service_id,
            guid: 0,
            queue_key: 0,
            queue_pair: QpNumber::new(0),
            responder_resources: 0,
            initiator_depth: 0,
            remote_timeout: Wait::default(),
            service: Service::Reliable,
            flow_control: false,
            starting_psn: Psn::new(0),
            local_timeout: Wait::default(),
            retries: 0,
            partition_key: 0xffff,
            mtu: 1,
            rnr_retries: 0,
            cm_retries: 0,
            shared_queue: false,
            path: Path::default(),
            alternate: Path::default(),
            private_data: [0; Self::PRIVATE_DATA],
        }
    }

    pub(crate) fn parse(body: &[u8; BODY]) -> Self {
        let mut from = Reader::new(body);
        let local_id = from.u32();
        from.u32();
        let (service_id, guid) = (ServiceId(from.u64()), from.u64());
        from.u32();
        let (queue_key, queue_pair) = (from.u32(), QpNumber::new(from.u24()));
        let responder_resources = from.u8();
        from.u24();
        let initiator_depth = from.u8();
        from.u24();
        let kinds = from.u8();
        let (starting_psn, times) = (Psn::new(from.u24()), from.u8());
        let (partition_key, sizes, limits) = (from.u16(), from.u8(), from.u8());
        Self {
            local_id,
            service_id,
            guid,
            queue_key,
            queue_pair,
            responder_resources,
            initiator_depth,
            remote_timeout: Wait::of_bits(kinds >> 3),
            service: Service::of_bits(kinds >> 1),
            flow_control: kinds & 1 != 0,
            starting_psn,
            local_timeout: Wait::of_bits(times >> 3),
            retries: times & 7,
            partition_key,
            mtu: sizes >> 4,
            rnr_retries: sizes & 7,
            cm_retries: limits >> 4,
            shared_queue: limits & 8 != 0,
            path: Path::parse(&mut from),
            alternate: Path::parse(&mut from),
            private_data: from.array(),
        }
    }

    pub(crate) fn emit(&self, to: &mut Writer<'_>) -> Result<(), Malformed> {
        fits("REQ queue pair", self.queue_pair.get(), 24)?;
        fits("REQ retries", self.retries.into(), 3)?;
        fits("REQ RNR retries", self.rnr_retries.into(), 3)?;
        fits("REQ path MTU", self.mtu.into(), 4)?;
        fits("REQ CM retries", self.cm_retries.into(), 4)?;
        to.u32(self.local_id);
        to.u32(0);
        to.u64(self.service_id.0);
        to.u64(self.guid);
        to.u32(0);
        to.u32(self.queue_key);
        to.u24(self.queue_pair.get());
        to.u8(self.responder_resources);
        to.u24(0);
        to.u8(self.initiator_depth);
        to.u24(0);
        let kinds = self.remote_timeout.bits() << 3 | self.service.bits() << 1;
        to.u8(kinds | u8::from(self.flow_control));
        to.u24(self.starting_psn.get());
        to.u8(self.local_timeout.bits() << 3 | self.retries);
        to.u16(self.partition_key);
        to.u8(self.mtu << 4 | self.rnr_retries);
        to.u8(self.cm_retries << 4 | u8::from(self.shared_queue) << 3);
        self.path.emit(to)?;
        self.alternate.emit(to)?;
        to.bytes(&self.private_data);
        Ok(())
    }
}
