//! The messages of a scenario's workloads.
//!
//! Every random number belongs to a workload or to one host in one workload, so that adding a host
//! or a workload leaves the draws of the others as they were.

use fairlane_network::topology::Topology;
use fairlane_scenario::traffic::{MessageSpec, Messages, Steps};
use fairlane_scenario::{Error, Inputs, Scenario, Tenant, Workload, tenant_of, validate};
use fairlane_units::TenantId;

use crate::load;
use crate::surroundings::context;

/// Generates the messages of a scenario's workloads in order of start; of equal start, in order of generation.
///
/// `inputs` holds the distributions and flow files of the workloads. [`MessageSpec::after`] always names an earlier message.
///
/// # Errors
/// If the scenario isn't sound, or asks for more messages than a run can hold.
pub fn generate(
    scenario: &Scenario,
    inputs: &Inputs,
    topology: &Topology,
) -> Result<Vec<MessageSpec>, Error> {
    validate(scenario, inputs)?;
    Ok(traffic(scenario, inputs, topology)?.messages)
}

/// Messages in order of start, and what programs do beside sending them.
#[derive(Debug, Default)]
pub(crate) struct Generated {
    pub(crate) messages: Vec<MessageSpec>,
    pub(crate) steps: Steps,
}

/// As [`generate`] of a scenario that has been validated, with what programs do beside sending.
pub(crate) fn traffic(
    scenario: &Scenario,
    inputs: &Inputs,
    topology: &Topology,
) -> Result<Generated, Error> {
    let hosts: Vec<_> = topology.hosts().collect();
    let mut messages = Messages::default();
    for (index, workload) in (0u32..).zip(&scenario.workload) {
        let mut context = context(scenario, inputs, topology, &hosts, index);
        context.tenant = number_of(&scenario.tenant, index, workload)?;
        if let Some(arrivals) = workload.arrivals(&context)? {
            context.load = load::of_sources(&arrivals, &context, topology)?;
        }
        workload.generate(&context, &mut messages)?;
    }
    let (messages, steps) = messages.sorted();
    Ok(Generated { messages, steps })
}

/// The number of the tenant of a workload.
pub(crate) fn number_of(
    tenants: &[Tenant],
    index: u32,
    workload: &Workload,
) -> Result<TenantId, Error> {
    tenant_of(tenants, workload).ok_or_else(|| {
        let name = workload.tenant().unwrap_or_default();
        let message = format!("no tenant is called \"{name}\", expected one of the scenario's");
        let place = format!("workload[{index}].tenant");
        Error::new(place, message, "add a [[tenant]] with that name")
    })
}
