//! How far what programs do beside sending has come.

use std::collections::VecDeque;
use std::sync::Arc;

use fairlane_scenario::traffic::{Step, Steps};
use fairlane_units::{NodeId, Time};

/// Where a stream of computations is.
#[derive(Clone, Debug, Default)]
struct Stream {
    busy: bool,
    waiting: VecDeque<u32>,
}

/// How far the steps of a run have come.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub(crate) plan: Arc<Steps>,
    streams: Vec<Stream>,
    /// By step, when it ended.
    pub(crate) ended: Vec<Option<Time>>,
    /// By step, the node that it waited for last.
    pub(crate) last: Vec<Option<u32>>,
    /// Steps here that haven't ended.
    pub(crate) left: usize,
}

impl Local {
    pub(crate) fn new(plan: Arc<Steps>) -> Self {
        let count = plan.all.len();
        Self {
            streams: vec![Stream::default(); plan.streams as usize],
            ended: vec![None; count],
            last: vec![None; count],
            left: count,
            plan,
        }
    }

    pub(crate) fn step(&self, step: u32) -> &Step {
        &self.plan.all[step as usize]
    }

    /// Leaves only what happens `here`; returns how many steps that are.
    pub(crate) fn keep(&mut self, here: impl Fn(NodeId) -> bool) -> usize {
        self.left = self.plan.all.iter().filter(|step| here(step.host)).count();
        self.left
    }

    /// A step has all that it waits for: whether it begins, or waits for its stream.
    pub(crate) fn claim(&mut self, step: u32) -> bool {
        let Some(stream) = self.step(step).stream else {
            return true;
        };
        let stream = &mut self.streams[stream as usize];
        if stream.busy {
            stream.waiting.push_back(step);
            return false;
        }
        stream.busy = true;
        true
    }

    /// A step ends; returns the one that has waited longest for its stream, which has it next.
    pub(crate) fn end(&mut self, step: u32, now: Time) -> Option<u32> {
        self.ended[step as usize] = Some(now);
        self.left -= 1;
        let stream = self.step(step).stream?;
        let stream = &mut self.streams[stream as usize];
        stream.busy = false;
        stream.waiting.pop_front()
    }

    /// Takes in what another part knows.
    pub(crate) fn absorb(&mut self, other: &Self) {
        for at in 0..self.ended.len() {
            self.ended[at] = self.ended[at].or(other.ended[at]);
            self.last[at] = self.last[at].or(other.last[at]);
        }
        self.left += other.left;
    }
}
