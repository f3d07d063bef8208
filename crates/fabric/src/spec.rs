//! The traffic of a run, as the simulator consumes it.

use fairlane_scenario::{Verb, Workload};
use fairlane_units::{Bytes, Duration, MessageId, NodeId, TenantId, Time};

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

/// The two ends of a connection, and what all of its packets have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionSpec {
    /// Index of its workload in the scenario.
    pub(crate) workload: u32,
    /// The host that posts.
    pub(crate) source: NodeId,
    pub(crate) destination: NodeId,
    pub(crate) class: u8,
    pub(crate) verb: Verb,
    pub(crate) destination_port: u16,
    pub(crate) tenant: TenantId,
    /// The plane that it takes, if that is stated; else that of its workload, or any.
    pub(crate) plane: Option<u8>,
    /// The number that paths of the same messages have in common.
    pub(crate) group: Option<u32>,
}

impl ConnectionSpec {
    /// The connection of a message that has it for itself.
    pub(crate) const fn of(message: &MessageSpec) -> Self {
        Self {
            workload: message.workload,
            source: message.source,
            destination: message.destination,
            class: message.class,
            verb: message.verb,
            destination_port: message.destination_port,
            tenant: message.tenant,
            plane: message.plane,
            group: None,
        }
    }

    /// The plane among `planes` that the connection or its workload names.
    pub(crate) fn stated_plane(&self, workloads: &[Workload], planes: u8) -> Option<u8> {
        let workload = workloads.get(self.workload as usize);
        let stated = self.plane.or_else(|| workload.and_then(Workload::plane));
        stated.filter(|plane| *plane < planes)
    }
}
