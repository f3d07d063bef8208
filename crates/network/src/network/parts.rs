//! Parts of a network that different threads have, each of which has all nodes and knows which are its own.

use std::sync::Arc;

use crate::network::Network;
use crate::place::{Outbox, Place};

impl Network {
    /// Makes this one part of several, of which `part_of` says where each node is. Nothing has happened yet.
    pub fn make_part(&mut self, part: u16, parts: usize, part_of: &Arc<[u16]>) {
        self.place = Place {
            part,
            part_of: part_of.clone(),
            outboxes: vec![Outbox::default(); parts],
        };
        for (number, port) in (0..).zip(&mut self.ports) {
            let there = part_of[self.graph.peer(number) as usize];
            port.crosses = part_of[port.node as usize] != there;
        }
        self.recorder.keep_places();
    }

    /// Takes in another part: its nodes, and what it has counted and recorded.
    pub fn absorb(&mut self, mut other: Self) {
        let (part, part_of) = (other.place.part, &self.place.part_of);
        let theirs = |node: u32| part_of[node as usize] == part;
        for (own, port) in self.ports.iter_mut().zip(&mut other.ports) {
            if theirs(own.node) {
                std::mem::swap(own, port);
            }
        }
        let switches = (0..).zip(&self.graph.is_switch);
        let switches = switches.filter_map(|(node, is_switch)| is_switch.then_some(node));
        let switches: Vec<bool> = switches.map(theirs).collect();
        let forwarders = self.forwarders.iter_mut().zip(&mut other.forwarders);
        for ((own, forwarder), _) in forwarders.zip(&switches).filter(|(_, theirs)| **theirs) {
            std::mem::swap(own, forwarder);
        }
        if let (Some(own), Some(deflection)) = (&mut self.deflection, other.deflection) {
            own.absorb(*deflection, |switch| switches[switch as usize]);
        }
        self.counters.absorb(&other.counters);
        self.watchdog.bites += other.watchdog.bites;
        self.recorder.absorb(other.recorder);
    }
}
