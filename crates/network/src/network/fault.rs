//! Links that go down and come back.

use fairlane_units::HostId;

use crate::counters::Drop;
use crate::network::Network;
use crate::network::deflection;
use crate::port::{CLASSES, Queue};
use crate::routing::Routes;

/// Who pauses a port again whose link has come up.
pub enum Again {
    /// Nobody here.
    Elsewhere,
    /// This host, if it has reason to.
    ByHost(HostId),
    /// A switch, which did so if this says so.
    BySwitch(bool),
}

impl Network {
    /// A link goes down, with what it carries and what waits for it, or comes back.
    pub fn change_link(&mut self, link: u32, up: bool) {
        self.graph.link_up[link as usize] = up;
        for port in [link * 2, link * 2 + 1] {
            self.ports[port as usize].up = up;
            if !up {
                self.empty_port(port);
            }
        }
    }

    /// Finds routes anew, once links have changed.
    pub fn reroute(&mut self) {
        let before = std::mem::replace(&mut self.routes, Routes::new(&self.graph));
        self.epoch = self.epoch.wrapping_add(1);
        self.foresee_flows();
        deflection::on_reroute(self, &before);
    }

    /// The switch at the other end of a port that has come up pauses it again if what the port sent before
    /// still fills its buffer; returns whether there is such a switch, in this part of the fabric. A pause that
    /// began only with its frame would find headroom in use, so the port obeys at once, as if both ends had
    /// agreed on it when the link came up.
    pub fn pause_again(&mut self, number: u32) -> Again {
        let port = &self.ports[number as usize];
        let (peer, owner) = (port.peer, port.peer_owner);
        if !self.place.owns(self.ports[peer as usize].node()) {
            return Again::Elsewhere;
        }
        if !port.peer_on_switch {
            return Again::ByHost(HostId::new(owner));
        }
        let mut obeys = false;
        for class in 1..CLASSES as u8 {
            let port = &mut self.ports[number as usize];
            let ingress = port.ingress[usize::from(class)];
            let charged = ingress.bytes + ingress.headroom > 0;
            if charged && self.buffers[owner as usize].should_pause(port, class) {
                port.pausing |= 1 << class;
                obeys |= self.obey(number, class, true);
                self.send_pause(peer, class, true);
            }
        }
        Again::BySwitch(obeys)
    }

    /// Loses what a port carries and what waits for it, and forgets pauses in both directions: their frames
    /// may have been lost. What the port had sent to a switch stays in its buffer.
    fn empty_port(&mut self, number: u32) {
        let now = self.now();
        // What waits for the link and what is on it may belong to different parts of the fabric; the first goes
        // first, so that traces of the second don't tell of it.
        self.recorder.set_order(2 * number);
        for class in 0..CLASSES as u8 {
            while let Some(at) = self.ports[number as usize].take(&self.packets, class) {
                if class != 0 && self.ports[number as usize].on_switch {
                    self.evict(at);
                } else if self.packets.get(at).kind.is_pause_frame() {
                    self.counters.pause_transmissions -= 1;
                }
                self.drop_packet(at, number, Drop::LinkDown);
            }
            self.ports[number as usize].queues[usize::from(class)] = Queue::default();
            self.ports[number as usize].set_paused(now, class, false);
        }
        self.recorder.set_order(2 * number + 1);
        let mut flight = std::mem::take(&mut self.ports[number as usize].flight).packets();
        while let Some(at) = flight.pop(&self.packets) {
            self.drop_packet(at, number, Drop::LinkDown);
        }
        self.recorder.set_order(0);
        self.watchdog.forget_pauses(number);
        self.ports[number as usize].pausing = 0;
    }
}
