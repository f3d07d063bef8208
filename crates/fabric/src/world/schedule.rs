//! When messages are posted and steps begin, and what their end sets off.

use std::collections::VecDeque;

use fairlane_network::packet::Side;
use fairlane_nic::PairId;
use fairlane_transport::Status;
use fairlane_units::MessageId;

use super::ideal::push_record;
use super::{steps, subflows};
use crate::Outcome;
use crate::connections::Posted;
use crate::events::control;
use crate::outside::Happening;
use crate::schedule::{Node, work_request};
use crate::world::World;

impl World {
    /// Schedules the first messages.
    pub(crate) fn start_schedule(&mut self) {
        if let Some(at) = self.schedule.next_start(self.traffic.messages()) {
            self.net.schedule_control(at, control::DUE);
        }
    }

    /// Messages are due now; they are posted after everything else that happens at this instant.
    pub(crate) fn on_due(&mut self) {
        let now = self.net.now();
        let first = self.schedule.next;
        let due = &self.schedule.due[first..];
        let messages = self.traffic.messages();
        let count = due
            .iter()
            .take_while(|&&node| self.schedule.start_of(messages, node) == now)
            .count();
        self.schedule.next = first + count;
        self.schedule.posting = first;
        self.net.schedule_control(now, control::POST);
        self.start_schedule();
    }

    pub(crate) fn on_post(&mut self) {
        for at in self.schedule.posting..self.schedule.next {
            let node = self.schedule.due[at];
            self.net.recorder.set_order(node);
            match self.schedule.node(node) {
                Node::Message(message) => steps::post_in_time(self, message),
                Node::Step(_) => steps::go_on(self, VecDeque::from([node])),
            }
        }
        self.net.recorder.set_order(0);
    }

    /// The host of a node has heard of `before`, which that waits for. If it was the last, the node has its turn.
    pub(crate) fn on_predecessor(&mut self, node: u32, before: MessageId) {
        let mut ready = VecDeque::new();
        steps::free(self, (node, before.get()), &mut ready);
        steps::go_on(self, ready);
    }

    pub(crate) fn on_delayed(&mut self) {
        while let Some(&(due, node)) = self.schedule.delayed.first() {
            if due > self.net.now() {
                break;
            }
            self.schedule.delayed.pop_first();
            self.net.recorder.set_order(node);
            match self.schedule.node(node) {
                Node::Message(message) => self.post(message),
                Node::Step(step) => {
                    let mut ready = VecDeque::new();
                    steps::end(self, step, &mut ready);
                    steps::go_on(self, ready);
                }
            }
        }
        self.net.recorder.set_order(0);
    }

    /// Posts a message, on a connection of its own or behind others.
    pub(super) fn post(&mut self, message: MessageId) {
        if subflows::has_several(self, message) {
            return subflows::post(self, message);
        }
        let spec = *self.traffic.message(message);
        let (now, source) = (self.net.now(), self.hosts.host(spec.source));
        let posted = &mut self.hosts.connections.posted;
        posted.insert(message, Posted::at(now));
        if let Some(outside) = &mut self.hosts.outside
            && outside.carries(self.traffic.flow_of(message))
        {
            outside.happened.push_back(Happening::Posted(message));
            return self.note_message_paths(message, Default::default());
        }
        let pair = self.hosts.carry(&self.net, message);
        self.note_message_paths(message, Default::default());
        let Some(pair) = pair else {
            return self.finish(message, None, Status::Flushed);
        };
        let request = work_request(message, &spec);
        self.hosts.nic_mut(source).core.post(now, pair, request);
        let flow = self.traffic.flow_of(message);
        let port = self.net.port_at(flow, Side::Requester);
        self.send_from_plane(source, port);
    }

    /// Records the end of a message.
    pub(crate) fn finish(&mut self, message: MessageId, pair: Option<PairId>, status: Status) {
        let outcome = match status {
            Status::Success => Outcome::Completed,
            Status::Flushed => Outcome::Flushed,
            _ => Outcome::RetryExceeded,
        };
        let succeeded = status == Status::Success;
        let ended = (succeeded.then_some(self.net.now()), outcome);
        let record = self.hosts.record(&self.net, (message, pair), ended);
        let posted = self.hosts.connections.posted.remove(&message);
        let flow = self.traffic.flow_of(message);
        let moved = posted.and_then(|posted| posted.moved);
        push_record(self, record, (flow, moved));
    }
}
