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

use fairlane_scenario::{Error, Inputs, Tenant, Workload, tenant_of};

pub(crate) use check::check;
pub use offered::{Offered, offered};
pub(crate) use order::by_start;

use fairlane_units::TenantId;

use crate::MessageSpec;
use crate::steps::Steps;
use crate::topology::Topology;
use all_reduce::RingAllReduce;
use context::{Context, Messages};
use incast::Incast;
use poisson::Poisson;

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
pub(crate) struct Traffic {
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
) -> Result<Traffic, Error> {
    let hosts: Vec<_> = topology.hosts().collect();
    let rates = topology.host_rates();
    let mut messages = Messages::default();
    for (index, workload) in (0u32..).zip(workloads) {
        let context = Context {
            index,
            seed,
            verb: workload.verb(),
            tenant: number_of(tenants, index, workload)?,
            inputs,
            hosts: &hosts,
            rates: match workload.plane() {
                Some(plane) => topology.plane_rates(plane),
                None => rates.clone(),
            },
        };
        add(&context, workload, &mut messages)?;
    }
    let (messages, mut steps) = messages.into_inner();
    Ok(Traffic {
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
        Workload::Poisson { .. } => add_poisson(context, workload, messages),
        Workload::Incast { .. } => add_incast(context, workload, messages),
        Workload::Permutation {
            size,
            start,
            hosts,
            class,
            ..
        } => {
            let template = context.template(*size, *start, *class)?;
            exchange::permutation(
                context,
                &template,
                &context.members(hosts, "hosts")?,
                messages,
            )
        }
        Workload::AllToAll {
            size,
            start,
            hosts,
            class,
            ..
        } => {
            let template = context.template(*size, *start, *class)?;
            exchange::all_to_all(
                context,
                &template,
                &context.members(hosts, "hosts")?,
                messages,
            )
        }
        Workload::RingAllReduce {
            size,
            start,
            rounds,
            hosts,
            class,
            ..
        } => {
            let template = context.template(*size, *start, *class)?;
            let hosts = context.members(hosts, "hosts")?;
            let ring = RingAllReduce {
                size: *size,
                rounds: *rounds,
                hosts,
            };
            ring.generate(context, &template, messages)
        }
        // Its operations come into being as the run goes.
        Workload::KeyValue { .. } => Ok(()),
        Workload::Collective { .. } => collective::generate(context, workload, messages),
        Workload::Training { .. } => training::generate(context, workload, messages),
        Workload::Program { .. } => trace::generate(context, workload, messages),
        Workload::Flows { flow, .. } => {
            flows::flows(context, context.flows().unwrap_or(flow), messages)
        }
    }
}

fn add_poisson(
    context: &Context<'_>,
    workload: &Workload,
    messages: &mut Messages,
) -> Result<(), Error> {
    let Workload::Poisson {
        load,
        start,
        duration,
        sources,
        destinations,
        class,
        ..
    } = workload
    else {
        return Ok(());
    };
    let poisson = Poisson {
        sizes: context.sizes()?,
        load: *load,
        start: *start,
        duration: *duration,
        class: context.class(*class)?,
        sources: context.members(sources, "sources")?,
        destinations: context.members(destinations, "destinations")?,
    };
    poisson.generate(context, messages)
}

fn add_incast(
    context: &Context<'_>,
    workload: &Workload,
    messages: &mut Messages,
) -> Result<(), Error> {
    let Workload::Incast {
        degree,
        size,
        receiver,
        start,
        period,
        rounds,
        jitter,
        hosts,
        class,
        ..
    } = workload
    else {
        return Ok(());
    };
    let incast = Incast {
        degree: *degree,
        size: context.size(*size)?,
        receiver: receiver
            .map(|node| context.host(node, "receiver"))
            .transpose()?,
        start: *start,
        period: *period,
        rounds: *rounds,
        jitter: *jitter,
        hosts: context.members(hosts, "hosts")?,
        class: context.class(*class)?,
    };
    incast.generate(context, messages)
}
