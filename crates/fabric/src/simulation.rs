//! A run, from scenario to results.

use fairlane_network::forwarding::iofd::Misrule;
use fairlane_network::topology::Topology;
use fairlane_scenario::{Error, Loaded, Workload};
use fairlane_units::{MessageId, Time};

use crate::build;
use crate::check::check;
use crate::workload::Generated;
use crate::world::World;
use crate::{MessageSpec, workload};
use fairlane_scenario::traffic::{Steps, by_start};

/// A simulation that is ready to run.
pub struct Simulation {
    pub(crate) world: World,
    pub(crate) stop: Option<Time>,
}

impl Simulation {
    /// Builds the fabric and the traffic of a scenario. An attack that it has isn't carried out: that is
    /// the work of `fairlane-attacks`.
    ///
    /// # Errors
    /// If topology, workloads or buffers don't fit together.
    pub fn new(loaded: &Loaded) -> Result<Self, Error> {
        let topology = build_topology(loaded)?;
        let generated = generate(loaded, &topology)?;
        Self::build(loaded, &topology, generated)
    }

    /// Builds the fabric of a scenario with `messages` instead of those that its workloads generate.
    /// Operations of `key-value` workloads come into being as the run goes, as ever.
    ///
    /// Messages are sorted by start; of equal start, they stay in order. [`MessageSpec::after`] names a
    /// message by its place in `messages`, [`MessageRecord::id`](crate::MessageRecord::id) by that in
    /// the sorted list.
    ///
    /// # Errors
    /// As [`Simulation::new`]; and for a message with ends that aren't two hosts, with a size, class,
    /// start or verb that the scenario can't have, with a tenant that it doesn't have, or with a
    /// predecessor that isn't there or waits for the message itself.
    pub fn with_messages(loaded: &Loaded, messages: Vec<MessageSpec>) -> Result<Self, Error> {
        let topology = build_topology(loaded)?;
        check(&messages, &loaded.scenario, &topology)?;
        let messages = by_start(messages);
        let steps = Steps::default();
        Self::build(loaded, &topology, Generated { messages, steps })
    }

    /// As [`Simulation::with_messages`], of messages in order of start of which some are those of the workloads: `origins` has their places among
    /// [`messages`], by message. Programs of workloads go on as they would.
    ///
    /// # Errors
    /// As [`Simulation::with_messages`]; and if a message of a program is missing or divided.
    pub fn with_changes(
        loaded: &Loaded,
        messages: Vec<MessageSpec>,
        origins: &[Option<MessageId>],
    ) -> Result<Self, Error> {
        let topology = build_topology(loaded)?;
        check(&messages, &loaded.scenario, &topology)?;
        let steps = match loaded.scenario.workload.iter().any(Workload::is_program) {
            true => generate(loaded, &topology)?.steps.moved(origins)?,
            false => Steps::default(),
        };
        Self::build(loaded, &topology, Generated { messages, steps })
    }

    /// Has switches that move flows in order break a rule: only tests may want that.
    #[doc(hidden)]
    pub fn break_rule(&mut self, misrule: Misrule) {
        self.world.net.break_rule(misrule);
    }

    fn build(loaded: &Loaded, topology: &Topology, generated: Generated) -> Result<Self, Error> {
        let stop = loaded.scenario.stop.map(|span| Time::ZERO + span);
        let world = build::world(loaded, topology, generated)?;
        Ok(Self { world, stop })
    }
}

/// The messages that the workloads of a scenario generate, in order of start; those of `key-value`
/// workloads aren't known before a run.
///
/// # Errors
/// If topology and workloads don't fit together.
pub fn messages(loaded: &Loaded) -> Result<Vec<MessageSpec>, Error> {
    Ok(generate(loaded, &build_topology(loaded)?)?.messages)
}

fn generate(loaded: &Loaded, topology: &Topology) -> Result<Generated, Error> {
    workload::traffic(&loaded.scenario, &loaded.inputs, topology)
}

pub(crate) fn build_topology(loaded: &Loaded) -> Result<Topology, Error> {
    let scenario = &loaded.scenario;
    let file = loaded.inputs.topology.as_ref();
    let built = Topology::build(&scenario.topology, file, scenario.faults.loss_rate);
    let built = built.map(|topology| topology.slowed(&scenario.faults));
    built.map_err(|error| Error::new("topology", error.message(), error.hint()))
}
