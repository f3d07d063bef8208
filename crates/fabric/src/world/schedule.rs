//! When messages are posted and steps begin, and what their end sets off.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fairlane_host::PairId;
use fairlane_transport::Status;

use super::ideal::push_record;
use super::{steps, subflows};
use crate::connections::{Posted, Side};
use crate::schedule::work_request;
use crate::waking::control;
use crate::world::World;
use crate::{MessageRecord, Outcome};

impl World {
    /// Schedules the first messages.
    pub(crate) fn start_schedule(&mut self) {
        if let Some(at) = self.schedule.next_start(&self.net.specs) {
            self.net.schedule_control(at, control::DUE);
        }
    }

    /// Messages are due now; they are posted after everything else that happens at this instant.
    pub(crate) fn on_due(&mut self) {
        let now = self.net.now();
        let first = self.schedule.next;
        let due = &self.schedule.due[first..];
        let count = due
            .iter()
            .take_while(|&&node| self.schedule.start_of(&self.net.specs, node) == now)
            .count();
        self.schedule.next = first + count;
        self.schedule.posting = first;
        self.net.schedule_control(now, control::POST);
        self.start_schedule();
    }

    pub(crate) fn on_post(&mut self) {
        for at in self.schedule.posting..self.schedule.next {
            let node = self.schedule.due[at];
            self.net.set_order(node);
            match self.schedule.step_of(node) {
                None => steps::post_in_time(self, node),
                Some(_) => steps::go_on(self, VecDeque::from([node])),
            }
        }
        self.net.set_order(0);
    }

    /// The host of a node has heard of `before`, which that waits for. If it was the last, the node has its turn.
    pub(crate) fn on_predecessor(&mut self, node: u32, before: u32) {
        let mut ready = VecDeque::new();
        steps::free(self, (node, before), &mut ready);
        steps::go_on(self, ready);
    }

    pub(crate) fn on_delayed(&mut self) {
        while let Some(&(due, node)) = self.schedule.delayed.first() {
            if due > self.net.now() {
                break;
            }
            self.schedule.delayed.pop_first();
            self.net.set_order(node);
            match self.schedule.step_of(node) {
                None => self.post(node),
                Some(step) => {
                    let mut ready = VecDeque::new();
                    steps::end(self, step, &mut ready);
                    steps::go_on(self, ready);
                }
            }
        }
        self.net.set_order(0);
    }

    /// Posts a message, on a connection of its own or behind others.
    pub(super) fn post(&mut self, message: u32) {
        if subflows::has_several(self, message) {
            return subflows::post(self, message);
        }
        let spec = self.net.specs[message as usize];
        let (now, source) = (self.net.now(), self.hosts.host(spec.source));
        let posted = &mut self.hosts.connections.posted;
        posted.insert(message, Posted::at(now));
        let pair = self.hosts.carry(&mut self.net, message);
        self.note_ideal(message, Default::default());
        let Some(pair) = pair else {
            return self.finish(message, None, Status::Flushed);
        };
        let request = work_request(message, &spec);
        self.hosts.nics[source as usize]
            .host
            .post(now, pair, request);
        let port = self.net.port_at(message, Side::Requester);
        self.send_from_plane(source, port);
    }

    /// Records the end of a message.
    pub(crate) fn finish(&mut self, message: u32, pair: Option<PairId>, status: Status) {
        let outcome = match status {
            Status::Success => Outcome::Completed,
            Status::Flushed => Outcome::Flushed,
            _ => Outcome::RetryExceeded,
        };
        let succeeded = status == Status::Success;
        self.net.counters.failed += u32::from(!succeeded);
        let ended = (succeeded.then_some(self.net.now()), outcome);
        let record = self.hosts.record(&self.net, (message, pair), ended);
        let posted = self.hosts.connections.posted.remove(&message);
        let flow = self.net.carriers.flow_of(message);
        let moved = posted.and_then(|posted| posted.moved);
        push_record(self, record, (flow, moved));
    }

    /// Records of messages that have not ended, in order of start.
    pub(crate) fn unfinished(&self) -> Vec<MessageRecord> {
        let posted = self.hosts.connections.posted.keys().map(|&message| {
            if subflows::has_several(self, message) {
                return (message, subflows::record(self, message));
            }
            let flow = self.net.carriers.flow_of(message);
            let pair = self.hosts.connections.pair(flow, Side::Requester);
            let ended = (None, Outcome::Unfinished);
            let record = self.hosts.record(&self.net, (message, pair), ended);
            let placed = self.hosts.placed_of(&self.net, &record);
            (message, MessageRecord { placed, ..record })
        });
        let mut open: BTreeMap<u32, MessageRecord> = posted.collect();
        let ended: BTreeSet<u32> = self
            .records
            .entries
            .iter()
            .map(|record| record.id)
            .collect();
        for id in 0..self.net.messages as u32 {
            if !ended.contains(&id) && !open.contains_key(&id) {
                open.insert(id, self.hosts.never_posted(&self.net, id));
            }
        }
        open.into_values().collect()
    }
}
