//! Links that go down and come back.

use crate::waking::control;
use crate::world::World;

impl World {
    /// Schedules the next change of a link.
    pub(crate) fn start_faults(&mut self) {
        if let Some(at) = self.faults.next() {
            self.net.schedule_control(at, control::FAULT);
        }
    }

    pub(crate) fn on_fault(&mut self) {
        let Some(change) = self.faults.pop() else {
            return;
        };
        // Messages that have been posted and haven't ended, and queue pairs that stay open.
        let messages = self.hosts.connections.posted.keys().copied();
        let pairs = self.net.messages as u32..self.net.specs.len() as u32;
        let live: Vec<u32> = messages.chain(pairs).collect();
        let before: Vec<_> = live
            .iter()
            .map(|&flow| self.net.known_paths(flow))
            .collect();
        self.net.change_link(change.link, change.up);
        let ends = [change.link * 2, change.link * 2 + 1];
        for port in ends {
            let state = &self.net.ports[port as usize];
            if !state.on_switch {
                let nic = &mut self.hosts.nics[state.owner as usize];
                nic.on_link(&mut self.net, nic.plane_of(port), change.up);
            }
        }
        self.net.reroute();
        for (flow, before) in live.into_iter().zip(before) {
            self.note_ideal(flow, before);
        }
        for port in ends {
            self.send_from(port);
        }
        self.start_faults();
    }
}
