//! REP, the reply to a request for a connection (IBTA 12.6.8, table 110).
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 3, 4 to 7 | local and remote communication id |
//! | 8 to 11 | queue key |
//! | 12 to 14 | queue pair |
//! | 16 to 18 | EE context |
//! | 20 to 22 | starting PSN |
//! | 24, 25 | responder resources, initiator depth |
//! | 26 | target acknowledgement delay (5 bits), failover accepted (2), end-to-end flow control (1) |
//! | 27 | RNR retries (3 bits), shared receive queue (1) |
//! | 28 to 35 | GUID of the channel adapter |
//! | 36 to 231 | private data |

use fairlane_units::{Psn, QpNumber};

use crate::format::bytes::{Reader, Writer};
use crate::format::error::{Malformed, fits};
use crate::format::header::BODY;
use crate::format::req::Req;
use crate::format::wait::Wait;

/// A reply, as the passive side sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rep {
    /// The sender's name of the connection.
    pub local_id: u32,
    /// The receiver's name of it.
    pub remote_id: u32,
    /// The key of the sender's queue pair, for datagrams.
    pub queue_key: u32,
    /// The sender's queue pair.
    pub queue_pair: QpNumber,
    /// The sequence number that the *receiver* of this message begins to send with: the sender expects it.
    pub starting_psn: Psn,
    /// How many READs and atomics it can answer at a time.
    pub responder_resources: u8,
    /// How many READs and atomics it may ask for at a time.
    pub initiator_depth: u8,
    /// How long it may take to acknowledge a packet.
    pub ack_delay: Wait,
    /// What became of the alternate path: 0 accepted, 1 not supported, 2 refused.
    pub failover: u8,
    /// Whether the sender knows credits of its peer.
    pub flow_control: bool,
    /// How often the receiver may repeat packets after an RNR NAK, below 8; 7 is for ever.
    pub rnr_retries: u8,
    /// Whether the sender's queue pair shares its receives with others.
    pub shared_queue: bool,
    /// The GUID of the sender's channel adapter.
    pub guid: u64,
    /// What the application says.
    pub private_data: [u8; Self::PRIVATE_DATA],
}

impl Rep {
    /// Bytes of private data.
    pub const PRIVATE_DATA: usize = 196;

    /// A reply that takes over what a request asks for: the peer's depths of READs, crosswise, and its RNR retries.
    pub fn to(req: &Req) -> Self {
        Self {
            local_id: 0,
            remote_id: req.local_id,
            queue_key: 0,
            queue_pair: QpNumber::new(0),
            starting_psn: Psn::new(0),
            responder_resources: req.initiator_depth,
            initiator_depth: req.responder_resources,
            ack_delay: Wait::default(),
            failover: 1,
            flow_control: req.flow_control,
            rnr_retries: req.rnr_retries,
            shared_queue: false,
            guid: 0,
            private_data: [0; Self::PRIVATE_DATA],
        }
    }

    pub(crate) fn parse(body: &[u8; BODY]) -> Self {
        let mut from = Reader::new(body);
        let [local_id, remote_id, queue_key] = [from.u32(), from.u32(), from.u32()];
        let queue_pair = QpNumber::new(from.u24());
        from.u8();
        from.u32();
        let starting_psn = Psn::new(from.u24());
        from.u8();
        let [responder_resources, initiator_depth, kinds, limits] = from.array();
        Self {
            local_id,
            remote_id,
            queue_key,
            queue_pair,
            starting_psn,
            responder_resources,
            initiator_depth,
            ack_delay: Wait::of_bits(kinds >> 3),
            failover: kinds >> 1 & 3,
            flow_control: kinds & 1 != 0,
            rnr_retries: limits >> 5,
            shared_queue: limits & 0x10 != 0,
            guid: from.u64(),
            private_data: from.array(),
        }
    }

    pub(crate) fn emit(&self, to: &mut Writer<'_>) -> Result<(), Malformed> {
        fits("REP queue pair", self.queue_pair.get(), 24)?;
        fits("REP failover", self.failover.into(), 2)?;
        fits("REP RNR retries", self.rnr_retries.into(), 3)?;
        to.u32(self.local_id);
        to.u32(self.remote_id);
        to.u32(self.queue_key);
        to.u24(self.queue_pair.get());
        to.u8(0);
        to.u32(0);
        to.u24(self.starting_psn.get());
        to.u8(0);
        to.u8(self.responder_resources);
        to.u8(self.initiator_depth);
        let kinds = self.ack_delay.bits() << 3 | self.failover << 1;
        to.u8(kinds | u8::from(self.flow_control));
        to.u8(self.rnr_retries << 5 | u8::from(self.shared_queue) << 4);
        to.u64(self.guid);
        to.bytes(&self.private_data);
        Ok(())
    }
}
