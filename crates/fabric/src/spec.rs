//! What the packets of a connection have in common.

use fairlane_scenario::traffic::MessageSpec;
use fairlane_scenario::{Verb, Workload};
use fairlane_units::{NodeId, TenantId};

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
