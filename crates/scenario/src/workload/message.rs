//! A message as the simulator has it posted.

use fairlane_units::{Bytes, Duration, MessageId, NodeId, TenantId, Time};

use super::verb::Verb;

/// The number of the connection of messages that belong to no communicator.
pub(super) const PAIR: u32 = 0;

/// One message to be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSpec {
    /// Index of its workload in the scenario.
    pub workload: u32,
    /// The host that posts it.
    pub source: NodeId,
    /// The other host.
    pub destination: NodeId,
    /// Payload, at least one byte.
    pub size: Bytes,
    /// When it is posted; for a message with a predecessor, the earliest time.
    pub start: Time,
    /// Traffic class, 1 to 7.
    pub class: u8,
    /// What it is.
    pub verb: Verb,
    /// Destination port: a label.
    pub destination_port: u16,
    /// A message that must have been received completely before this one is posted; of a
    /// READ or an atomic, the response.
    pub after: Option<MessageId>,
    /// Another message: who waits for that one waits for this one as well.
    pub joins: Option<MessageId>,
    /// The time from when it could be posted until it is.
    pub delay: Duration,
    /// The message that this one is a part of, itself for the first part; parts have queue
    /// pairs of their own and count as one message for scopes.
    pub part_of: Option<MessageId>,
    /// Number of a connection between its two hosts. Where its workload's messages share connections, those with the same
    /// number, workload, ends, class and tenant go over one, in the order of posting. A message without has one of its own.
    pub connection: Option<u32>,
    /// The step of training, or of a trace, that it belongs to; 0 where there is none.
    pub iteration: u32,
    /// Number of the tenant that it belongs to.
    pub tenant: TenantId,
    /// The plane that it takes, if it names one itself; else that of its workload, or any.
    pub plane: Option<u8>,
}
