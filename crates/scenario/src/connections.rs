//! Which messages share a connection.

use crate::types::{Connections, Profile, Scenario, Workload};

impl Scenario {
    /// Which messages of a workload share a connection: as it states, or the section `[multipath]`, else as is usual for
    /// its kind. Ranks of parallel programs set up one queue pair to each peer and keep it, as NCCL and MPI do; HPCC's
    /// simulator has one for each message.
    pub fn connections_of(&self, workload: &Workload) -> Connections {
        if self.profile == Profile::HpccNs3 {
            return Connections::Message;
        }
        let section = self.multipath.as_ref();
        let stated = workload.connections();
        let stated = stated.or_else(|| section.and_then(|section| section.connections));
        stated.unwrap_or_else(|| match workload.sends() {
            Some(_) => Connections::Pair,
            None => Connections::Message,
        })
    }
}
