//! One world again of the parts of a fabric, for its results.

use fairlane_engine::Event;
use fairlane_network::packet::Side;
use fairlane_units::{HostId, MessageId, NodeId};

use super::account::Account;
use crate::world::World;

/// Makes one world of all parts, which have ended at the same time.
pub(crate) fn merge(mut worlds: Vec<World>) -> World {
    number_operations(&mut worlds);
    let mut worlds = worlds.into_iter();
    let mut whole = worlds.next().expect("there is a part");
    whole.settle();
    for mut part in worlds {
        part.settle();
        whole.absorb(part);
    }
    whole
}

/// Numbers the operations of applications in the order in which they began, as if in one world.
fn number_operations(worlds: &mut [World]) {
    let mut births: Vec<(Event, u32, usize)> = Vec::new();
    for (part, world) in worlds.iter().enumerate() {
        let Some(endpoints) = &world.endpoints else {
            return;
        };
        let numbered = (0..).zip(&endpoints.births);
        births.extend(numbered.map(|(number, &event)| (event, number, part)));
    }
    births.sort_unstable();
    let messages = worlds[0].traffic.messages().len() as u32;
    let mut numbers: Vec<Vec<u32>> = vec![Vec::new(); worlds.len()];
    for (id, (_, _, part)) in (messages..).zip(births) {
        numbers[part].push(id);
    }
    for (world, numbers) in worlds.iter_mut().zip(&numbers) {
        let renumber = |id: &mut MessageId| {
            if let Some(known) = id.get().checked_sub(messages) {
                *id = MessageId::new(numbers[known as usize]);
            }
        };
        let records = world.records.entries.iter_mut();
        records.for_each(|record| renumber(&mut record.id));
        if let Some(endpoints) = &mut world.endpoints {
            let operations = endpoints.operations.iter_mut();
            operations.for_each(|operation| renumber(&mut operation.id));
        }
    }
}

impl World {
    /// Counts what can't be counted any more once parts have been merged.
    fn settle(&mut self) {
        self.left = Some(Account { world: self }.in_flight());
        if let Some(chosen) = &mut self.chosen {
            chosen.close(&mut self.net);
        }
        let series = self.take_series();
        self.sampler.set(series);
    }

    /// Takes in another part.
    fn absorb(&mut self, mut other: Self) {
        let (part, part_of) = (other.net.place().part, self.net.place().part_of.clone());
        let owns = |node: NodeId| part_of[node.index()] == part;
        let nics = self.hosts.nics.iter_mut().zip(&mut other.hosts.nics);
        for (own, nic) in nics.filter(|(own, _)| owns(own.node)) {
            std::mem::swap(own, nic);
        }
        for flow in self.traffic.flows() {
            let spec = self.traffic.connection(flow);
            for (side, node) in [
                (Side::Requester, spec.source),
                (Side::Responder, spec.destination),
            ] {
                if owns(node) {
                    self.hosts
                        .connections
                        .adopt(&other.hosts.connections, flow, side);
                }
            }
        }
        let connections = std::mem::take(&mut other.hosts.connections);
        self.hosts.connections.absorb(connections);
        if let (Some(all), Some(part)) = (&mut self.endpoints, other.endpoints.take()) {
            let nics = &self.hosts.nics;
            all.absorb(*part, |host: HostId| owns(nics[host.index()].node));
        }
        if let (Some(all), Some(part)) = (&mut self.multipath, other.multipath.take()) {
            all.absorb(*part);
        }
        self.absorb_counts(&mut other);
        self.net.absorb(other.net);
    }

    fn absorb_counts(&mut self, other: &mut Self) {
        self.owed += other.owed;
        self.schedule.local.absorb(&other.schedule.local);
        self.handled += other.handled + other.net.engine.handled();
        self.controls += other.controls;
        self.records.absorb(std::mem::take(&mut other.records));
        self.moved.absorb(std::mem::take(&mut other.moved));
        self.sampler.absorb(&other.sampler);
        self.placed.absorb(&other.placed);
        if let (Some(all), Some(part)) = (&mut self.chosen, &other.chosen) {
            all.absorb(part);
        }
        if let (Some(all), Some(part)) = (&mut self.rates, other.rates.take()) {
            all.records.absorb(part.records);
        }
        self.ending = self.ending.take().or_else(|| other.ending.take());
        if let (Some(all), Some(left)) = (&mut self.left, other.left) {
            all.absorb(left);
        }
    }
}
