//! Links that go down and come back.

use fairlane_units::Time;

use crate::counters::Drop;
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

    /// When links change.
    pub(crate) fn times(&self) -> impl Iterator<Item = Time> + '_ {
        self.changes.iter().map(|change| change.at)
    }

    pub(crate) fn is_pending(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Whether a link is still to come back.
    pub(crate) fn comes_back(&self, link: u32) -> bool {
        let mut changes = self.changes.iter();
        changes.any(|change| change.link == link && change.up)
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
        let live: Vec<u32> = self.flows_under_way();
        let before: Vec<_> = live.iter().map(|&flow| self.known_paths(flow)).collect();
        self.graph.link_up[change.link as usize] = change.up;
        let ends = [change.link * 2, change.link * 2 + 1];
        for port in ends {
            self.ports[port as usize].up = change.up;
            if !change.up {
                self.empty_port(port);
            }
            self.tell_host(port, change.up);
        }
        self.routes = Routes::new(&self.graph);
        self.epoch = self.epoch.wrapping_add(1);
        self.shapes.clear();
        self.foresee_flows();
        for (flow, before) in live.into_iter().zip(before) {
            self.note_ideal(flow, before);
        }
        for port in ends.into_iter().filter(|_| change.up) {
            self.pause_again(port);
        }
        for port in ends {
            self.send_from(port);
        }
        self.start_faults();
    }

    /// Messages that have been posted and haven't ended, and queue pairs that stay open.
    fn flows_under_way(&self) -> Vec<u32> {
        let messages = self.connections.posted.keys().copied();
        let pairs = self.messages as u32..self.specs.len() as u32;
        messages.chain(pairs).collect()
    }

    /// Loses what a port carries and what waits for it, and forgets pauses in both directions: their frames
    /// may have been lost. What the port had sent to a switch stays in its buffer.
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
                } else if self.packets.get(at).kind.is_pause_frame() {
                    self.counters.pause_transmissions -= 1;
                }
                self.drop_packet(at, number, Drop::LinkDown);
            }
            self.ports[number as usize].queues[usize::from(class)] = Queue::default();
            self.ports[number as usize].set_paused(now, class, false);
        }
        self.tracer.records.order = 0;
        self.watchdog.forget_pauses(number);
        let port = &mut self.ports[number as usize];
        port.pausing = 0;
        if !port.on_switch {
            let host = port.owner;
            let mut frames = std::mem::take(&mut self.nics[host as usize].frames);
            while let Some(at) = frames.pop(&self.packets) {
                self.counters.pause_transmissions -= 1;
                self.discard(at);
            }
        }
    }

    /// The other end of a port that has come up pauses it again if what the port sent before still fills its
    /// buffer. A pause that began only with its frame would find headroom in use, so the port obeys at once, as
    /// if both ends had agreed on it when the link came up.
    fn pause_again(&mut self, number: u32) {
        let port = &self.ports[number as usize];
        let (peer, owner) = (port.peer, port.peer_owner);
        if !self.place.owns(self.node_of(peer)) {
            return;
        }
        if !port.peer_on_switch {
            self.stop_again(owner);
            return;
        }
        for class in 1..CLASSES as u8 {
            let port = &mut self.ports[number as usize];
            let ingress = port.ingress[usize::from(class)];
            let charged = ingress.bytes + ingress.headroom > 0;
            if charged && self.buffers[owner as usize].should_pause(port, class) {
                port.pausing |= 1 << class;
                self.obey(number, class, true);
                self.send_pause(peer, class, true);
            }
        }
    }

    /// The link of a host has come up or gone down. Acknowledgements that never left were never injected, so
    /// they aren't lost.
    fn tell_host(&mut self, number: u32, up: bool) {
        let port = &self.ports[number as usize];
        if port.on_switch {
            return;
        }
        let (now, packets) = (self.engine.now(), &mut self.packets);
        let host = &mut self.nics[port.owner as usize].host;
        host.on_link(now, up, |record| packets.release_record(record));
    }
}
