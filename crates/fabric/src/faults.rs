//! Links that go down and come back.

use fairlane_units::Time;

use crate::counters::Drop;
use crate::packet::PacketList;
use crate::port::{CLASSES, Queue};
use crate::routing::Routes;
use crate::world::{World, control};

/// A link changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change {
    pub(crate) at: Time,
    pub(crate) link: u32,
    pub(crate) up: bool,
}

/// Changes still to come, the next one last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    changes: Vec<Change>,
}

impl Faults {
    pub(crate) fn new(mut changes: Vec<Change>) -> Self {
        changes.sort_unstable_by(|a, b| b.cmp(a));
        Self { changes }
    }

    pub(crate) fn is_pending(&self) -> bool {
        !self.changes.is_empty()
    }
}

impl World {
    /// Schedules the next change of a link.
    pub(crate) fn start_faults(&mut self) {
        if let Some(change) = self.faults.changes.last() {
            self.schedule_control(change.at, control::FAULT);
        }
    }

    pub(crate) fn on_fault(&mut self) {
        let Some(change) = self.faults.changes.pop() else {
            return;
        };
        self.graph.link_up[change.link as usize] = change.up;
        let ends = [change.link * 2, change.link * 2 + 1];
        for port in ends {
            self.ports[port as usize].up = change.up;
            if !change.up {
                self.empty_port(port);
            }
        }
        self.routes = Routes::new(&self.graph);
        self.connections.widen(self.routes.longest);
        self.epoch = self.epoch.wrapping_add(1);
        let live: Vec<u32> = self.connections.live().collect();
        for slot in live {
            self.find_way(slot);
        }
        for port in ends {
            self.send_from(port);
        }
        self.start_faults();
    }

    /// Loses what a port carries and what waits for it, and forgets pauses in both directions.
    fn empty_port(&mut self, number: u32) {
        let now = self.now();
        let mut flight = std::mem::take(&mut self.ports[number as usize].flight).packets();
        while let Some(at) = flight.pop(&self.packets) {
            self.drop_packet(at, number, Drop::LinkDown);
        }
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
        let port = &mut self.ports[number as usize];
        port.pausing = 0;
        if !port.on_switch {
            let host = port.owner;
            let replies = std::mem::take(&mut self.nics[host as usize].replies);
            self.forget_all(replies);
            self.on_host_pause(host);
        }
    }

    /// Acknowledgements that never left their host were never injected, so they aren't lost.
    fn forget_all(&mut self, mut list: PacketList) {
        while let Some(at) = list.pop(&self.packets) {
            self.discard(at);
        }
    }
}
