//! Links that go down and come back.

use fairlane_network::Again;
use fairlane_units::{FlowId, MessageId, QpId};

use super::subflows;
use crate::events::control;
use crate::ideal::KnownPaths;
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
        let posted: Vec<MessageId> = self.hosts.connections.posted.keys().copied().collect();
        let paths = |message: &MessageId| subflows::paths(self, *message);
        let of_messages: Vec<KnownPaths> = posted.iter().map(paths).collect();
        let open: Vec<(QpId, FlowId)> = self.traffic.applications().collect();
        let paths = |&(_, flow): &(QpId, FlowId)| self.profiles.known_paths(&self.net, flow);
        let of_applications: Vec<KnownPaths> = open.iter().map(paths).collect();
        self.net.change_link(change.link, change.up);
        let ends = [change.link * 2, change.link * 2 + 1];
        for port in ends {
            let state = &self.net.ports()[port as usize];
            if !state.on_switch {
                let nic = &mut self.hosts.nics[state.owner as usize];
                nic.on_link(&mut self.net, nic.plane_of(port), change.up);
            }
        }
        self.net.reroute();
        self.profiles.clear();
        for (message, before) in posted.into_iter().zip(of_messages) {
            self.note_message_paths(message, before);
        }
        for ((qp, flow), before) in open.into_iter().zip(of_applications) {
            self.note_qp_paths(qp, flow, before);
        }
        let ports = self.net.ports().len() as u32;
        for port in ends.into_iter().filter(|_| change.up) {
            self.net.recorder.set_order(2 * ports + port);
            self.pause_again(port);
        }
        for port in ends {
            self.net.recorder.set_order(3 * ports + port);
            self.hosts.tell_pauses(&self.net, port);
            self.send_from(port);
        }
        self.net.recorder.set_order(0);
        self.start_faults();
    }

    /// What pauses a port whose link has come up pauses it again.
    fn pause_again(&mut self, port: u32) {
        match self.net.pause_again(port) {
            Again::ByHost(host) => self.drive(|all, _| all.pause_again(host)),
            Again::BySwitch(true) if !self.net.ports()[port as usize].on_switch => {
                let host = self.net.ports()[port as usize].owner;
                let nic = &mut self.hosts.nics[host as usize];
                nic.on_pause(&self.net, nic.plane_of(port));
            }
            Again::BySwitch(_) | Again::Elsewhere => {}
        }
    }
}
