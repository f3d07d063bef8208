//! Links that go down and come back.

use super::subflows;
use crate::network::fault::Again;
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
        let pairs = self.net.messages as u32..self.net.subflows as u32;
        let live: Vec<u32> = messages.chain(pairs).collect();
        let before: Vec<_> = live
            .iter()
            .map(|&flow| subflows::ways(self, flow))
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
        let ports = self.net.ports.len() as u32;
        for port in ends.into_iter().filter(|_| change.up) {
            self.net.set_order(2 * ports + port);
            self.pause_again(port);
        }
        for port in ends {
            self.net.set_order(3 * ports + port);
            self.send_from(port);
        }
        self.net.set_order(0);
        self.start_faults();
    }

    /// What pauses a port whose link has come up pauses it again.
    fn pause_again(&mut self, port: u32) {
        match self.net.pause_again(port) {
            Again::ByHost(host) => self.drive(|all, _| all.pause_again(host)),
            Again::BySwitch(true) if !self.net.ports[port as usize].on_switch => {
                let host = self.net.ports[port as usize].owner;
                let nic = &mut self.hosts.nics[host as usize];
                nic.on_pause(&self.net, nic.plane_of(port));
            }
            Again::BySwitch(_) | Again::Elsewhere => {}
        }
    }
}
