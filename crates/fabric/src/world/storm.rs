//! Hosts that misuse pauses.

use crate::events::control;
use crate::world::World;

impl World {
    /// Schedules the next frame of a host that misuses pauses.
    pub(crate) fn start_storms(&mut self) {
        if let Some(at) = self.storms.next() {
            self.net.schedule_control(at, control::STORM);
        }
    }

    pub(crate) fn on_storm(&mut self) {
        let (hosts, ports) = (&self.hosts, self.net.ports());
        // Frames are repeated in time for the fastest of a host's links.
        let rate = |node| {
            let nic_ports = &hosts.nic_at(node).ports;
            let rates = nic_ports.iter().map(|it| ports[it.port as usize].rate);
            rates.max().unwrap_or_default()
        };
        let frames = self.storms.due(self.net.now(), rate);
        for (number, node, class, pause) in frames {
            self.net.recorder.set_order(number);
            let host = self.hosts.host(node);
            let nic = &mut self.hosts.nics[host.index()];
            nic.push_frames(&mut self.net, class, pause);
            self.send_from_host(host);
        }
        self.net.recorder.set_order(0);
        self.start_storms();
    }
}
