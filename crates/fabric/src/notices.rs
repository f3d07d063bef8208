//! What hosts tell each other out of band: what applications and connection managers would send, without
//! packets, after a stated time.
//!
//! An application that waits for a message at a third host hears of it half a base round trip later. A
//! connection is forgotten at its other end a base round trip (the largest of the fabric) after it was
//! closed: time enough for what is under way on an idle fabric.

use std::collections::BTreeSet;

use fairlane_units::{NodeId, Time};

use crate::connections::Side;
use crate::nic::arrives_at_source;
use crate::world::{World, control};

/// Something that a host hears out of band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Notice {
    /// A message that this one waits for has arrived.
    Arrived(u32),
    /// The requester has closed a flow; whether all of it had arrived.
    Closed(u32, bool),
}

/// Notices under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notices {
    due: BTreeSet<(Time, Notice)>,
}

impl Notices {
    pub(crate) fn insert(&mut self, at: Time, notice: Notice) {
        self.due.insert((at, notice));
    }

    /// Whether one is under way that may set off a message.
    pub(crate) fn are_pending(&self) -> bool {
        self.due
            .iter()
            .any(|(_, notice)| matches!(notice, Notice::Arrived(_)))
    }
}

impl World {
    /// Has `node` hear of something at a time.
    fn send_notice(&mut self, node: NodeId, at: Time, notice: Notice) {
        let part = self.place.part_of[node.index()];
        if part == self.place.part {
            self.notices.insert(at, notice);
            self.schedule_control(at, control::NOTICE);
        } else {
            self.notify_across(part, at, notice);
        }
    }

    pub(crate) fn on_notices(&mut self) {
        while let Some(&(due, notice)) = self.notices.due.first() {
            if due > self.now() {
                break;
            }
            self.notices.due.pop_first();
            match notice {
                Notice::Arrived(successor) => self.on_predecessor(successor),
                Notice::Closed(flow, settled) => self.close_end(flow, Side::Responder, settled),
            }
        }
    }

    /// The requester of a flow has closed it.
    pub(crate) fn disconnect(&mut self, flow: u32, settled: bool) {
        let at = self.now().saturating_add(self.baseline.largest.rtt);
        let node = self.specs[flow as usize].destination;
        self.send_notice(node, at, Notice::Closed(flow, settled));
    }

    /// A message has arrived completely at the host `here`: messages that wait for it are posted here at
    /// once, at its own host when that hears of its completion, elsewhere when a notice has come.
    pub(crate) fn on_message_received(&mut self, message: u32) {
        let spec = self.specs[message as usize];
        let here = match arrives_at_source(spec.verb) {
            true => spec.source,
            false => spec.destination,
        };
        for successor in self.waiting_for(message) {
            let source = self.specs[successor as usize].source;
            if source == here {
                self.on_predecessor(successor);
            } else if source != spec.source {
                let at = self
                    .now()
                    .saturating_add(self.half_round_trip(here, source));
                self.send_notice(source, at, Notice::Arrived(successor));
            }
        }
    }

    /// The host of a message has heard that it has been carried out.
    pub(crate) fn on_message_completed(&mut self, message: u32) {
        let spec = self.specs[message as usize];
        if arrives_at_source(spec.verb) {
            self.on_message_received(message);
            return;
        }
        for successor in self.waiting_for(message) {
            if self.specs[successor as usize].source == spec.source {
                self.on_predecessor(successor);
            }
        }
    }

    fn half_round_trip(&self, from: NodeId, to: NodeId) -> fairlane_units::Duration {
        self.baseline.pair(&self.graph, from, to).rtt / 2
    }
}
