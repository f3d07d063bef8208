//! Parts of a network that different threads have, each of which has all nodes and knows which are its own.

use std::mem;
use std::sync::Arc;

use fairlane_units::NodeId;

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

    /// Takes in another part: all that its nodes have, and what it has counted and recorded.
    pub fn absorb(&mut self, mut other: Self) {
        for node in 0..self.graph.edges.len() {
            if !other.place.owns(NodeId::new(node as u32)) {
                continue;
            }
            let mut number = None;
            for edge in &self.graph.edges[node] {
                let port = edge.port as usize;
                mem::swap(&mut self.ports[port], &mut other.ports[port]);
                let own = &self.ports[port];
                number = own.on_switch.then_some(own.owner as usize);
            }
            let Some(switch) = number else { continue };
            mem::swap(&mut self.buffers[switch], &mut other.buffers[switch]);
            let forwarder = &mut other.forwarders[switch];
            mem::swap(&mut self.forwarders[switch], forwarder);
            if let (Some(own), Some(theirs)) = (&mut self.deflection, &mut other.deflection) {
                mem::swap(&mut own.holds[switch], &mut theirs.holds[switch]);
            }
        }
        if let (Some(own), Some(deflection)) = (&mut self.deflection, other.deflection) {
            own.absorb(&deflection);
        }
        self.counters.absorb(&other.counters);
        self.watchdog.bites += other.watchdog.bites;
        self.recorder.absorb(other.recorder);
    }
}
