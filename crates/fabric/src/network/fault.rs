//! Links that go down and come back.

use crate::counters::Drop;
use crate::network::Network;
use crate::port::{CLASSES, Queue};
use crate::routing::Routes;

impl Network {
    /// A link goes down, with what it carries and what waits for it, or comes back.
    pub(crate) fn change_link(&mut self, link: u32, up: bool) {
        self.graph.link_up[link as usize] = up;
        for port in [link * 2, link * 2 + 1] {
            self.ports[port as usize].up = up;
            if !up {
                self.empty_port(port);
            }
        }
    }

    /// Finds routes anew, once links have changed.
    pub(crate) fn reroute(&mut self) {
        self.routes = Routes::new(&self.graph);
        self.epoch = self.epoch.wrapping_add(1);
        self.shapes.clear();
        self.foresee_flows();
    }

    /// Loses what a port carries and what waits for it, and forgets pauses in both directions.
    fn empty_port(&mut self, number: u32) {
        let now = self.now();
        // What is on the link and what waits for it may belong to different parts of the fabric.
        self.tracer.records.order = 2 * number;
        let mut flight = std::mem::take(&mut self.ports[number as usize].flight).packets();
        while let Some(at) = flight.pop(&self.packets) {
            self.drop_packet(at, number, Drop::LinkDown);
        }
        self.tracer.records.order = 2 * number + 1;
        for class in 0..CLASSES as u8 {
            while let Some(at) = self.ports[number as usize].take(&self.packets, class) {
                if class != 0 {
                    self.evict(class, at);
                }
                self.drop_packet(at, number, Drop::LinkDown);
            }
            self.ports[number as usize].queues[usize::from(class)] = Queue::default();
            self.ports[number as usize].set_paused(now, class, false);
        }
        self.tracer.records.order = 0;
        self.ports[number as usize].pausing = 0;
    }
}
