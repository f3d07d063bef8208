//! What is reported of applications and cards.

use fairlane_scenario::Policy;
use fairlane_units::NodeId;

use super::agent::Agent;
use super::pacer::Pacer;
use crate::world::World;
use crate::{ApplicationRecord, CardRecord, Flux, MessageRecord};

impl World {
    /// Applications in order of workload, host and number.
    pub(crate) fn application_records(&self) -> Vec<ApplicationRecord> {
        let Some(endpoints) = self.endpoints.as_deref() else {
            return Vec::new();
        };
        let mut records: Vec<ApplicationRecord> = endpoints
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
        for operation in endpoints.channels.iter().flat_map(|channel| &channel.batch) {
            let operation = &endpoints.operations[*operation as usize];
            if !operation.begun {
                let application = endpoints.channels[operation.channel as usize].application;
                let record = &mut records[application as usize];
                record.longest_wait = record.longest_wait.max(self.now() - operation.start);
            }
        }
        if endpoints.policy != Policy::Drum {
            return records;
        }
        for channel in &endpoints.channels {
            let record = &mut records[channel.application as usize];
            let host = endpoints.pairs[channel.pair as usize].host;
            let (wait, bound) = (
                endpoints.agents[host as usize].waited(channel),
                channel.turns.bound,
            );
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

    /// The cards of hosts, in order.
    pub(crate) fn card_records(&self) -> Vec<CardRecord> {
        let Some(endpoints) = self.endpoints.as_deref() else {
            return Vec::new();
        };
        let mut records: Vec<CardRecord> = (0..)
            .zip(&endpoints.cards)
            .map(|(host, card)| CardRecord {
                host: self.node_of_host(host),
                doorbells: card.counters.doorbells,
                work_requests: card.counters.work_requests,
                lookups: card.counters.lookups,
                misses: card.counters.misses,
                lock_waits: 0,
                lock_waited: fairlane_units::Duration::ZERO,
                most_active: (endpoints.policy == Policy::Drum)
                    .then(|| endpoints.agents[host as usize].most_active),
            })
            .collect();
        for pair in &endpoints.pairs {
            let record = &mut records[pair.host as usize];
            record.lock_waits += pair.lock.waits;
            record.lock_waited += pair.lock.waited;
        }
        records
    }

    fn node_of_host(&self, host: u32) -> NodeId {
        self.nics[host as usize].node
    }

    /// Operations that haven't ended, in order of start.
    pub(crate) fn unfinished_operations(&mut self) -> Vec<MessageRecord> {
        let Some(endpoints) = self.endpoints.as_deref() else {
            return Vec::new();
        };
        let batches = endpoints.channels.iter().flat_map(|channel| &channel.batch);
        let open: Vec<u32> = batches.copied().collect();
        let record = |operation: u32| self.operation_record(operation, false);
        let mut records: Vec<MessageRecord> = open.into_iter().map(record).collect();
        records.sort_by_key(|record| record.id);
        records
    }

    /// Packets that wait at cards.
    pub(crate) fn held(&self) -> Flux {
        let mut flux = Flux::default();
        let cards = self.endpoints.iter().flat_map(|endpoints| &endpoints.cards);
        for packet in cards.flat_map(|card| card.received.iter(&self.packets)) {
            flux.add(packet.wire);
        }
        flux
    }

    /// Whether a thread, an agent or a card will do something of its own accord.
    pub(crate) fn endpoints_go_on(&self) -> bool {
        self.endpoints.as_deref().is_some_and(|endpoints| {
            let clients = endpoints.applications.iter().any(|one| one.wake.is_armed());
            let cards = || {
                let mut cards = endpoints.cards.iter();
                cards.any(|card| card.wake.is_armed() || card.receiving.is_armed())
            };
            clients
                || cards()
                || endpoints.agents.iter().any(Agent::will_act)
                || endpoints.pacers.iter().any(Pacer::will_act)
        })
    }
}
