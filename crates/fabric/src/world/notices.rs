//! What hosts hear out of band: what applications and connection managers would send, without
//! packets, after a stated time.
//!
//! An application that waits for a message at a third host hears of it half a base round trip later. A
//! connection is forgotten at its other end a base round trip (the largest of the fabric) after it was
//! closed: time enough for what is under way on an idle fabric.

use fairlane_network::packet::Side;
use fairlane_units::{FlowId, MessageId, NodeId, Time};

use super::subflows;
use crate::events::control;
use crate::notice::Notice;
use crate::schedule::arrives_at_source;
use crate::world::World;

impl World {
    /// Has `node` hear of something at a time.
    pub(super) fn send_notice(&mut self, node: NodeId, at: Time, notice: Notice) {
        let part = self.net.place().part_of[node.index()];
        if part == self.net.place().part {
            self.notices.insert(at, notice);
            self.net.schedule_control(at, control::NOTICE);
        } else {
            self.hosts.mail.notify(part, at, notice);
        }
    }

    pub(crate) fn on_notices(&mut self) {
        while let Some(&(due, notice)) = self.notices.due.first() {
            if due > self.net.now() {
                break;
            }
            self.notices.due.pop_first();
            match notice {
                Notice::Arrived(successor, message) => {
                    self.net.recorder.set_order(successor);
                    self.on_predecessor(successor, message);
                    self.net.recorder.set_order(0);
                }
                Notice::Closed(flow, settled) => {
                    self.hosts
                        .close_end(&self.net, flow, Side::Responder, settled);
                    if self.traffic.rules.dasr.is_on() {
                        // One less may be good news for others, behind those that hear of arrivals.
                        let flows = self.traffic.flow_count() as u32;
                        self.net.recorder.set_order(flows + flow.get());
                        let node = self.traffic.connection(flow).destination;
                        let host = self.hosts.host(node);
                        let port = self.net.port_at(flow, Side::Responder);
                        self.send_from_plane(host, port);
                        self.net.recorder.set_order(0);
                    }
                    if let (Some(all), true) = (&mut self.multipath, self.traffic.is_path(flow)) {
                        all.forget_receiver(flow);
                    }
                }
                notice => subflows::on_notice(self, notice),
            }
        }
    }

    /// The requester of a flow has closed it.
    pub(crate) fn disconnect(&mut self, flow: FlowId, settled: bool) {
        let at = self
            .net
            .now()
            .saturating_add(self.hosts.baseline.largest.rtt);
        let node = self.traffic.connection(flow).destination;
        self.send_notice(node, at, Notice::Closed(flow, settled));
    }

    /// The messages and steps that wait for a message.
    pub(super) fn waiting_for(&self, message: MessageId) -> Vec<u32> {
        let messages = self.traffic.messages();
        self.schedule.waiting_for(messages, message.get())
    }

    /// A message has arrived completely at the host `here`: messages that wait for it are posted here at
    /// once, at its own host when that hears of its completion, elsewhere when a notice has come.
    pub(crate) fn on_message_received(&mut self, message: MessageId) {
        let spec = *self.traffic.message(message);
        let here = match arrives_at_source(spec.verb) {
            true => spec.source,
            false => spec.destination,
        };
        let [asks, answers] = self.net.ports_of(self.traffic.flow_of(message));
        for successor in self.waiting_for(message) {
            let source = self.schedule.host_of(self.traffic.messages(), successor);
            if source == here {
                self.on_predecessor(successor, message);
            } else if source != spec.source {
                let ends = [here, source];
                // In the plane of the message, if there are planes.
                let ports = match asks == answers && self.net.graph().planes > 1 {
                    true => [asks; 2],
                    false => self.net.graph().port_pairs(ends)[0],
                };
                let half = self.hosts.half_round_trip(&self.net, ports, (here, source));
                let at = self.net.now().saturating_add(half);
                self.send_notice(source, at, Notice::Arrived(successor, message));
            }
        }
    }

    /// The host of a message has heard that it has been carried out.
    pub(crate) fn on_message_completed(&mut self, message: MessageId) {
        let spec = *self.traffic.message(message);
        if arrives_at_source(spec.verb) {
            self.on_message_received(message);
            return;
        }
        for successor in self.waiting_for(message) {
            if self.schedule.host_of(self.traffic.messages(), successor) == spec.source {
                self.on_predecessor(successor, message);
            }
        }
    }
}
