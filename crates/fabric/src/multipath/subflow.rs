//! The queue pairs of a connection's paths at its sending end: what they have, and how they are replaced.

use std::collections::VecDeque;

use fairlane_middleware as middleware;
use fairlane_units::FlowId;

use super::report::PathTally;
use super::{Multipath, Output, PostedWork};
use crate::notice::Frame;

/// A work request that its queue pair has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub(super) tag: u64,
    /// The number of the message in its connection.
    pub(super) message: Option<u64>,
    pub(super) length: u64,
    /// Whether it carries data of its message for the first time.
    pub(super) counts: bool,
    pub(super) reads: bool,
    /// What the other end learns of it, if it is to.
    pub(super) frame: Option<Frame>,
}

/// A queue pair.
#[derive(Clone, Debug, Default)]
pub(super) struct Subflow {
    pub(super) posted: VecDeque<Posted>,
    /// Work requests that wait for a NIC with costs.
    pub(super) queued: VecDeque<PostedWork>,
    /// Counts work requests.
    pub(super) number: u32,
    pub(super) retransmitted: u64,
    pub(super) marks: u32,
    pub(super) tally: PathTally,
}

impl Multipath {
    /// A path is given up: what its queue pair still has goes elsewhere.
    pub(super) fn give_up(&mut self, flow: FlowId) {
        let (connection, path) = self.place(flow);
        if let Some(sender) = self.senders.get_mut(&connection) {
            sender.endpoint.give_up(path);
            self.on_given_up(flow);
        }
    }

    /// The sending end has given up a path for now.
    pub(super) fn on_given_up(&mut self, flow: FlowId) {
        let (connection, path) = self.place(flow);
        let Some(sender) = self.senders.get_mut(&connection) else {
            return;
        };
        let subflow = &mut sender.subflows[path.index()];
        subflow.tally.quarantines += 1;
        subflow.posted.clear();
        self.replace(connection);
    }

    /// Queue pairs that have failed are replaced at both ends.
    pub(super) fn replace(&mut self, connection: u32) {
        let one = *self.connection(connection);
        let Some(sender) = self.senders.get_mut(&connection) else {
            return;
        };
        while let Some(path) = sender.endpoint.poll_replacement() {
            self.outputs.push(Output::Renew(one.flow(path)));
        }
    }

    /// A queue pair that was replaced can be used.
    pub(crate) fn on_renewed(&mut self, flow: FlowId) {
        let (connection, path) = self.place(flow);
        let Some(sender) = self.senders.get_mut(&connection) else {
            return;
        };
        let subflow = &mut sender.subflows[path.index()];
        // It is opened with the first work request.
        (subflow.retransmitted, subflow.marks) = (0, 0);
        for posting in sender.endpoint.on_replaced(path) {
            self.on_written(flow, posting);
        }
    }

    /// A work request is written: its queue pair takes it, unless that is being replaced.
    pub(super) fn on_written(&mut self, flow: FlowId, written: middleware::Posting) {
        let (connection, path) = self.place(flow);
        let Some(sender) = self.senders.get_mut(&connection) else {
            return;
        };
        if !sender.endpoint.admits(&written) {
            return;
        }
        let subflow = &mut sender.subflows[path.index()];
        let tag = written.chunk.tag.get();
        let posted = subflow.posted.iter().rev().find(|it| it.tag == tag);
        let mut frame = posted.and_then(|it| it.frame);
        if let Some(frame) = &mut frame {
            frame.number = subflow.number;
            subflow.number = subflow.number.wrapping_add(1);
        }
        self.outputs.push(Output::Post(PostedWork {
            flow,
            frame,
            written,
        }));
    }

    /// A NIC with costs has a work request to begin.
    pub(crate) fn queue(&mut self, posting: PostedWork) {
        let (connection, path) = self.place(posting.flow);
        if let Some(sender) = self.senders.get_mut(&connection) {
            sender.subflows[path.index()].queued.push_back(posting);
        }
    }

    /// The work request that the NIC of a flow is done with; `None` if that isn't to be sent any more, or not yet.
    pub(crate) fn dequeue(&mut self, flow: FlowId) -> Option<PostedWork> {
        let (connection, path) = self.place(flow);
        let sender = self.senders.get_mut(&connection)?;
        let posting = sender.subflows[path.index()].queued.pop_front()?;
        sender.endpoint.admits(&posting.written).then_some(posting)
    }
}
