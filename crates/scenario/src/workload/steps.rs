//! What programs do beside sending: computations, and waiting for several things at once.
//!
//! Messages and local steps are the nodes of one graph.

use std::collections::BTreeMap;

use fairlane_program::Instance;
use fairlane_units::{Duration, MessageId, NodeId, Time};

use crate::error::Error;

/// Added to the index of a step where nodes are named before it is known how many messages there are.
pub const STEP: u32 = 1 << 31;

/// The local steps of a run's programs, and who waits for whom.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// The steps, by number.
    pub all: Vec<Step>,
    /// A message by its index, or a step by [`STEP`] and its index; then the node that waits for it.
    pub edges: Vec<(u32, u32)>,
    /// The collectives that they belong to.
    pub collectives: Vec<Planned>,
    /// Workloads whose steps are more than one collective, and have records of their own.
    pub recorded: Vec<u32>,
    /// The hosts by rank, for each workload that is a program.
    pub ranks: Vec<(u32, Vec<NodeId>)>,
    /// How many streams of computations there are.
    pub streams: u32,
}

/// Something that a host does without a packet.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The rank that does it.
    pub rank: u32,
    /// The rank's host.
    pub host: NodeId,
    /// Index of its workload in the scenario.
    pub workload: u32,
    /// The step of training that it belongs to.
    pub iteration: u32,
    /// The earliest time.
    pub start: Time,
    /// How long it takes.
    pub time: Duration,
    /// The stream that it belongs to: only one step of a stream goes at a time.
    pub stream: Option<u32>,
    /// The step that ends as this one begins, by index.
    pub begins: Option<u32>,
}

/// A collective of a workload; its members' steps count among those of the run.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Index of its workload in the scenario.
    pub workload: u32,
    /// Its members and messages.
    pub instance: Instance,
    /// The rank of each member.
    pub ranks: Vec<u32>,
}

impl Steps {
    /// For messages that are elsewhere: `origins` has for each the place that it had. A message that nobody waits for, and that waits for nobody, may be missing.
    ///
    /// # Errors
    /// If another is missing, or is there more than once.
    pub fn moved(mut self, origins: &[Option<MessageId>]) -> Result<Self, Error> {
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
