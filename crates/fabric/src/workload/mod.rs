//! Turns the workloads of a scenario into messages.
//!
//! Every random number belongs to a workload or to one host in one workload, so that adding a host
//! or a workload leaves the draws of the others as they were.

mod all_reduce;
mod check;
mod collective;
mod context;
mod exchange;
mod flows;
mod incast;
mod offered;
mod order;
mod poisson;
mod program;
mod trace;
mod training;

use fairlane_network::topology::Topology;
use fairlane_scenario::{Error, Inputs, Tenant, Workload, tenant_of};

pub(crate) use check::check;
pub use offered::{Offered, offered};
pub(crate) use order::by_start;

use fairlane_units::{Duration, TenantId};

use crate::MessageSpec;
use crate::steps::Steps;
use context::{Context, Messages};

/// Generates the messages of `workloads` in order of start; of equal start, in order of generation.
///
/// `tenants` are those that the scenario lists, perhaps none; `inputs` holds the distributions and flow files of the workloads. [`MessageSpec::after`] always
/// names an earlier message.
///
/// # Errors
/// If a workload names a node that isn't a host or a tenant that isn't there, has too few hosts, sends from a host to itself, has
/// a figure outside its range, or asks for more messages than a run can hold.
pub fn generate(
    workloads: &[Workload],
    tenants: &[Tenant],
    inputs: &Inputs,
    topology: &Topology,
    seed: u64,
) -> Result<Vec<MessageSpec>, Error> {
    Ok(traffic(workloads, tenants, inputs, topology, seed)?.messages)
}

/// Messages in order of start, and what programs do beside sending them.
#[derive(Debug, Default)]
pub(crate) struct Generated {
    pub(crate) messages: Vec<MessageSpec>,
    pub(crate) steps: Steps,
}

/// As [`generate`], with what programs do beside sending.
pub(crate) fn traffic(
    workloads: &[Workload],
    tenants: &[Tenant],
    inputs: &Inputs,
    topology: &Topology,
    seed: u64,
) -> Result<Generated, Error> {
    let hosts: Vec<_> = topology.hosts().collect();
    let rates = topology.host_rates();
    let planes = topology.planes().map_or(1, |planes| planes.count);
    let mut messages = Messages::default();
    for (index, workload) in (0u32..).zip(workloads) {
        let (channels, send_latency) = workload.sends().unwrap_or((1, Duration::ZERO));
        let context = Context {
            index,
            seed,
            verb: workload.verb(),
            tenant: number_of(tenants, index, workload)?,
            channels,
            send_latency,
            inputs,
            hosts: &hosts,
            topology,
            planes,
            plane: workload.plane(),
            rates: match workload.plane() {
                Some(plane) => topology.plane_rates(plane),
                None => rates.clone(),
            },
        };
        add(&context, workload, &mut messages)?;
    }
    let (messages, mut steps) = messages.into_inner();
    Ok(Generated {
        messages: order::sorted(messages, &mut steps),
        steps,
    })
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

fn add(context: &Context<'_>, workload: &Workload, messages: &mut Messages) -> Result<(), Error> {
    match workload {
        Workload::Poisson(it) => poisson::generate(context, it, messages),
        Workload::Incast(it) => incast::generate(context, it, messages),
        Workload::Permutation(it) => {
            let template = context.template(it.size, it.start, it.class)?;
            let hosts = context.members(&it.hosts, "hosts")?;
            exchange::permutation(context, &template, &hosts, messages)
        }
        Workload::AllToAll(it) => {
            let template = context.template(it.size, it.start, it.class)?;
            let hosts = context.members(&it.hosts, "hosts")?;
            exchange::all_to_all(context, &template, &hosts, messages)
        }
        Workload::RingAllReduce(it) => all_reduce::generate(context, it, messages),
        // Its operations come into being as the run goes.
        Workload::KeyValue(_) => Ok(()),
        Workload::Collective(it) => collective::generate(context, it, messages),
        Workload::Training(it) => training::generate(context, it, messages),
        Workload::Program(it) => trace::generate(context, it, messages),
        Workload::Flows(it) => flows::flows(context, context.flows().unwrap_or(&it.flow), messages),
    }
}
