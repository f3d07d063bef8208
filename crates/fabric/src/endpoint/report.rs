//! What is reported of applications and NICs.

use fairlane_network::packet::{PacketPool, PacketRecord};
use fairlane_scenario::Policy;
use fairlane_units::Time;

use super::Endpoints;
use super::agent::Agent;
use super::pacer::Pacer;
use crate::nic::AttachedNic;
use crate::{ApplicationRecord, NicRecord};

impl Endpoints {
    /// Applications in order of workload, host and number.
    pub(crate) fn application_records(&self, now: Time) -> Vec<ApplicationRecord> {
        let mut records: Vec<ApplicationRecord> = self
            .applications
            .iter()
            .map(|application| ApplicationRecord {
                workload: application.workload,
                host: application.node,
                number: application.number,
                operations: application.operations,
                bytes: fairlane_units::Bytes::new(application.bytes),
                longest_wait: application.longest_wait,
                longest_wait_epochs: None,
                wait_bound_epochs: None,
            })
            .collect();
        // Who still waits has waited, too.
        for operation in self.channels.iter().flat_map(|channel| &channel.batch) {
            let operation = &self.operations[*operation as usize];
            if !operation.begun {
                let application = self.channels[operation.channel as usize].application;
                let record = &mut records[application as usize];
                record.longest_wait = record.longest_wait.max(now - operation.start);
            }
        }
        if self.policy != Policy::Drum {
            return records;
        }
        for channel in &self.channels {
            let record = &mut records[channel.application as usize];
            let host = self.pairs[channel.pair.index()].host;
            let (wait, bound) = self.agents[host.index()].arbiter.waited(channel.member);
            let before = (record.longest_wait_epochs, record.wait_bound_epochs);
            // The channel that comes nearest to its bound.
            let nearer = match before {
                (Some(so_far), Some(its)) => {
                    u128::from(wait) * u128::from(its) > u128::from(so_far) * u128::from(bound)
                }
                _ => true,
            };
            if nearer {
                record.longest_wait_epochs = Some(wait);
                record.wait_bound_epochs = Some(bound);
            }
        }
        records
    }

    /// The NICs of hosts, in order.
    pub(crate) fn nic_records(&self, nics: &[AttachedNic]) -> Vec<NicRecord> {
        let mut records: Vec<NicRecord> = nics
            .iter()
            .zip(&self.pipelines)
            .map(|(nic, pipeline)| NicRecord {
                host: nic.node,
                doorbells: pipeline.counters.doorbells,
                work_requests: pipeline.counters.work_requests,
                lookups: pipeline.counters.lookups,
                misses: pipeline.counters.misses,
                lock_waits: 0,
                lock_waited: fairlane_units::Duration::ZERO,
                most_active: (self.policy == Policy::Drum)
                    .then(|| self.agents[nic.number.index()].arbiter.most_active()),
            })
            .collect();
        for pair in &self.pairs {
            let record = &mut records[pair.host.index()];
            record.lock_waits += pair.lock.waits;
            record.lock_waited += pair.lock.waited;
        }
        records
    }

    /// Operations that haven't ended.
    pub(crate) fn unfinished(&self) -> Vec<u32> {
        let batches = self.channels.iter().flat_map(|channel| &channel.batch);
        batches.copied().collect()
    }

    /// Packets that wait at NICs.
    pub(crate) fn held<'a>(
        &'a self,
        packets: &'a PacketPool,
    ) -> impl Iterator<Item = &'a PacketRecord> {
        let pipelines = self.pipelines.iter();
        pipelines.flat_map(|pipeline| pipeline.received.iter(packets))
    }

    /// Whether a thread, an agent or a NIC will do something of its own accord.
    pub(crate) fn will_act(&self) -> bool {
        let mut pipelines = self.pipelines.iter();
        self.applications.iter().any(|one| one.wake.is_armed())
            || pipelines.any(|pipeline| pipeline.wake.is_armed() || pipeline.receiving.is_armed())
            || self.agents.iter().any(Agent::will_act)
            || self.pacers.iter().any(Pacer::will_act)
    }
}
