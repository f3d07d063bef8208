//! Between hosts and what stands behind their queue pairs: applications, agents, NICs with costs.

use fairlane_engine::Event;
use fairlane_network::Network;
use fairlane_network::packet::Side;
use fairlane_transport::Status;
use fairlane_units::{FlowId, HostId, QpId, Time};

use super::ideal::push_record;
use super::subflows;
use crate::MessageRecord;
use crate::endpoint::{Endpoints, Output};
use crate::events::THREAD;
use crate::world::World;

impl World {
    /// Opens the queue pairs of applications, and schedules their start.
    pub(crate) fn start_applications(&mut self) {
        let Some(endpoints) = &mut self.endpoints else {
            return;
        };
        let base_rtt = self.hosts.baseline.largest.rtt;
        for agent in &mut endpoints.agents {
            agent.set_base_rtt(&endpoints.costs, base_rtt);
        }
        let own = |&(_, flow): &(QpId, FlowId)| {
            let source = self.traffic.connection(flow).source;
            self.net.place().owns(source)
        };
        let open: Vec<(QpId, FlowId)> = self.traffic.applications().filter(own).collect();
        for application in 0..endpoints.applications.len() as u32 {
            let one = &endpoints.applications[application as usize];
            if self.net.place().owns(one.node) {
                let start = one.start;
                endpoints.wake_application(&mut self.net.engine, application, start);
            }
        }
        for (qp, flow) in open {
            self.hosts.connect(&self.net, flow);
            self.note_qp_paths(qp, flow, Default::default());
        }
    }

    /// Lets applications and what they use do something, then does what follows.
    #[inline]
    pub(super) fn drive(&mut self, act: impl FnOnce(&mut Endpoints, &mut Network)) {
        if let Some(endpoints) = self.endpoints.as_deref_mut() {
            act(endpoints, &mut self.net);
            self.follow();
        }
    }

    /// Does what endpoints have others do, each thing with all that follows from it.
    fn follow(&mut self) {
        let Some(endpoints) = self.endpoints.as_deref_mut() else {
            return;
        };
        self.owed += std::mem::take(&mut endpoints.begun);
        self.owed -= std::mem::take(&mut endpoints.ended);
        let mut outputs = std::mem::take(&mut endpoints.outputs);
        for output in outputs.drain(..) {
            match output {
                Output::Post {
                    flow,
                    host,
                    request,
                } => {
                    let now = self.net.now();
                    if let Some(pair) = self.hosts.connections.pair(flow, Side::Requester) {
                        self.hosts.nic_mut(host).core.post(now, pair, request);
                    }
                    let port = self.net.port_at(flow, Side::Requester);
                    self.send_from_plane(host, port);
                }
                Output::Begin(flow) => subflows::begin(self, flow),
                Output::Advance(host) => {
                    self.drive(|all, net| all.advance(&mut net.engine, host));
                }
                Output::Pause { host, class, pause } => {
                    let nic = &mut self.hosts.nics[host.index()];
                    nic.push_frames(&mut self.net, class, pause);
                    self.send_from_host(host);
                }
                Output::Ended(operation) => {
                    let Some(endpoints) = self.endpoints.as_deref_mut() else {
                        continue;
                    };
                    let moved = match self.net.plan().forks {
                        true => endpoints.moved_ideal(&self.traffic, operation),
                        false => Default::default(),
                    };
                    let baseline = &self.hosts.baseline;
                    let (net, traffic) = (&self.net, &self.traffic);
                    let record =
                        endpoints.operation_record(net, traffic, baseline, operation, true);
                    endpoints.free_operations.push(operation);
                    push_record(self, record, moved);
                }
            }
        }
        // Its memory is used again.
        if let Some(endpoints) = self.endpoints.as_deref_mut() {
            endpoints.outputs = outputs;
        }
    }

    /// Operations that haven't ended, in order of start.
    pub(crate) fn unfinished_operations(&mut self) -> Vec<MessageRecord> {
        let Some(endpoints) = self.endpoints.as_deref_mut() else {
            return Vec::new();
        };
        let (net, traffic, baseline) = (&self.net, &self.traffic, &self.hosts.baseline);
        let open = endpoints.unfinished().into_iter();
        let mut records: Vec<MessageRecord> = open
            .map(|operation| endpoints.operation_record(net, traffic, baseline, operation, false))
            .collect();
        records.sort_by_key(|record| record.id);
        records
    }

    #[cold]
    pub(super) fn on_application(&mut self, application: u32, event: Event) {
        if application & THREAD != 0 {
            return subflows::on_thread(self, HostId::new(application & !THREAD), event);
        }
        self.drive(|all, net| all.on_application(&mut net.engine, application, event));
    }

    #[cold]
    pub(super) fn on_agent(&mut self, host: u32, event: Event) {
        let host = HostId::new(host);
        self.drive(|all, net| all.on_agent(&mut net.engine, host, event));
    }

    /// A work request of a queue pair that stays open ended at `at`.
    pub(super) fn on_wqe_end(&mut self, pair: QpId, status: Status, at: Time) {
        self.drive(|all, net| all.on_wqe_end(&mut net.engine, pair, status, at));
    }

    /// All packets of a work request have been sent for the first time.
    pub(super) fn on_wqe_sent(&mut self, pair: QpId) {
        self.drive(|all, net| all.on_wqe_sent(&mut net.engine, pair));
    }

    /// A NIC has something to do with work requests, or with packets that wait for the state of a connection.
    #[cold]
    pub(super) fn on_nic_unit(&mut self, number: u32, event: Event) {
        let mut receives = None;
        self.drive(|all, net| receives = all.on_unit(&mut net.engine, number, event));
        if let Some(host) = receives {
            self.receive_in_turn(host);
        }
    }

    /// The first packet that waits at a NIC is handled, and those behind it whose connection is kept.
    fn receive_in_turn(&mut self, host: HostId) {
        let mut next = true;
        while next {
            let mut released = None;
            self.drive(|all, net| released = all.release(net, host));
            let Some(at) = released else {
                return;
            };
            self.on_packet(host, at);
            let traffic = self.traffic.clone();
            self.drive(|all, net| next = all.may_go_on(net, &traffic, host));
        }
    }

    /// Whether a packet that has arrived at a host waits there.
    #[cold]
    pub(super) fn is_held(&mut self, host: HostId, at: u32) -> bool {
        let flow = self.net.packets.get(at).flow;
        let Some(pair) = self.traffic.charged_qp(flow) else {
            return false;
        };
        let mut held = false;
        self.drive(|all, net| held = all.is_held(net, host, at, pair));
        held
    }
}
