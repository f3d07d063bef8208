//! What programs do beside sending: computations, and waiting for several things at once.
//!
//! Messages and local steps are the nodes of one graph, in which [`Precedence`](crate::precedence::Precedence) says who waits for whom.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use fairlane_program::Instance;
use fairlane_scenario::Error;
use fairlane_units::{Duration, MessageId, NodeId, Time};

/// Added to the index of a step where nodes are named before it is known how many messages there are.
pub(crate) const STEP: u32 = 1 << 31;

/// The local steps of a run's programs, and who waits for whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    pub(crate) all: Vec<Step>,
    /// A message by its index, or a step by [`STEP`] and its index; then the node that waits for it.
    pub(crate) edges: Vec<(u32, u32)>,
    pub(crate) collectives: Vec<Planned>,
    /// Workloads whose steps are more than one collective, and have records of their own.
    pub(crate) recorded: Vec<u32>,
    /// The hosts by rank, for each workload that is a program.
    pub(crate) ranks: Vec<(u32, Vec<NodeId>)>,
    pub(crate) streams: u32,
}

/// Something that a host does without a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) rank: u32,
    pub(crate) host: NodeId,
    pub(crate) workload: u32,
    /// The step of training that it belongs to.
    pub(crate) iteration: u32,
    /// The earliest time.
    pub(crate) start: Time,
    pub(crate) time: Duration,
    /// The stream that it belongs to: only one step of a stream goes at a time.
    pub(crate) stream: Option<u32>,
    /// The step that ends as this one begins, by index.
    pub(crate) begins: Option<u32>,
}

/// A collective of a workload; its members' steps count among those of the run.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) workload: u32,
    pub(crate) instance: Instance,
    /// The rank of each member.
    pub(crate) ranks: Vec<u32>,
}

impl Steps {
    /// For messages that are elsewhere: `origins` has for each the place that it had. A message that nobody waits for, and that waits for nobody, may be missing.
    ///
    /// # Errors
    /// If another is missing, or is there more than once.
    pub(crate) fn moved(mut self, origins: &[Option<MessageId>]) -> Result<Self, Error> {
        let mut places: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (place, origin) in (0u32..).zip(origins) {
            if let Some(origin) = origin {
                places.entry(origin.get()).or_default().push(place);
            }
        }
        let find = |node: &mut u32| -> Result<(), Error> {
            if *node < STEP {
                let found = places.get(node).map(Vec::as_slice);
                let Some([place]) = found else {
                    let text = "changes messages that a workload's ranks wait for, expected to leave collectives and programs alone";
                    let hint = "give the attack a tenant with other workloads";
                    return Err(Error::new("attack.tenant", text, hint));
                };
                *node = *place;
            }
            Ok(())
        };
        for (before, after) in &mut self.edges {
            find(before)?;
            find(after)?;
        }
        Ok(self)
    }
}

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
