//! The queue pairs of a connection's paths at its sending end: what they have, and how they are replaced.

use std::collections::VecDeque;

use fairlane_units::FlowId;

use super::report::PathTally;
use super::{Multipath, Output, Posting};

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
}

/// A queue pair.
#[derive(Clone, Debug, Default)]
pub(super) struct Subflow {
    /// Whether it was ever opened, and not closed.
    pub(super) open: bool,
    /// Whether it is being replaced.
    pub(super) renewing: bool,
    pub(super) failed: bool,
    /// Counts how often the path was given up.
    pub(super) generation: u32,
    pub(super) posted: VecDeque<Posted>,
    /// Work requests that wait for the queue pair, and for a NIC with costs.
    pub(super) waiting: Vec<Posting>,
    pub(super) queued: VecDeque<Posting>,
    /// Counts work requests.
    pub(super) number: u32,
    pub(super) retransmitted: u64,
    pub(super) marks: u32,
    pub(super) tally: PathTally,
}

impl Multipath {
    /// A path is given up for now: what its queue pair still has goes elsewhere.
    pub(super) fn give_up(&mut self, flow: FlowId) {
        let (bundle, path) = self.place(flow);
        let Some(sender) = self.senders.get_mut(&bundle) else {
            return;
        };
        let subflow = &mut sender.subflows[path.index()];
        subflow.tally.quarantines += 1;
        subflow.generation += 1;
        subflow.waiting.clear();
        subflow.posted.clear();
        self.renew(flow);
    }

    /// A queue pair is replaced at both ends.
    pub(super) fn renew(&mut self, flow: FlowId) {
        let (bundle, path) = self.place(flow);
        let Some(sender) = self.senders.get_mut(&bundle) else {
            return;
        };
        let subflow = &mut sender.subflows[path.index()];
        if subflow.open && !subflow.renewing {
            subflow.renewing = true;
            self.outputs.push(Output::Renew(flow));
        }
    }

    /// A queue pair that was replaced can be used.
    pub(crate) fn on_renewed(&mut self, flow: FlowId) {
        let (bundle, path) = self.place(flow);
        let Some(sender) = self.senders.get_mut(&bundle) else {
            return;
        };
        let subflow = &mut sender.subflows[path.index()];
        // It is opened with the first work request.
        (subflow.open, subflow.renewing, subflow.failed) = (false, false, false);
        (subflow.retransmitted, subflow.marks) = (0, 0);
        let waiting = std::mem::take(&mut subflow.waiting);
        waiting
            .into_iter()
            .for_each(|posting| self.on_written(posting));
    }

    /// A work request is written: its queue pair takes it, unless that is being replaced.
    pub(super) fn on_written(&mut self, mut posting: Posting) {
        let (bundle, path) = self.place(posting.flow);
        let Some(sender) = self.senders.get_mut(&bundle) else {
            return;
        };
        let subflow = &mut sender.subflows[path.index()];
        if subflow.generation != posting.generation {
            return;
        }
        if subflow.renewing {
            subflow.waiting.push(posting);
            return;
        }
        subflow.open = true;
        if let Some(frame) = &mut posting.frame {
            frame.number = subflow.number;
            subflow.number = subflow.number.wrapping_add(1);
        }
        self.outputs.push(Output::Post(posting));
    }

    /// A NIC with costs has a work request to begin.
    pub(crate) fn queue(&mut self, posting: Posting) {
        let (bundle, path) = self.place(posting.flow);
        if let Some(sender) = self.senders.get_mut(&bundle) {
            sender.subflows[path.index()].queued.push_back(posting);
        }
    }

    /// It is done with it; nothing if that isn't to be sent any more, or not yet.
    pub(crate) fn dequeue(&mut self, flow: FlowId) -> Option<Posting> {
        let (bundle, path) = self.place(flow);
        let subflow = &mut self.senders.get_mut(&bundle)?.subflows[path.index()];
        let posting = subflow.queued.pop_front()?;
        if subflow.renewing {
            self.on_written(posting);
            return None;
        }
        (posting.generation == subflow.generation).then_some(posting)
    }
}
