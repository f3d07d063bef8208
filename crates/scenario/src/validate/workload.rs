//! Workloads: what all kinds must obey. What only one must, its own file has.

use fairlane_units::TenantId;

use super::{Check, Subject, tenants};
use crate::error::{Error, ensure};
use crate::planes::Planes;
use crate::tenant::tenant_of;
use crate::types::{Service, Workload};
use crate::workload::{Context, Owner, RunRules};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    for (index, workload) in subject.scenario.workload.iter().enumerate() {
        let context = Context {
            owner: owner(subject, index)?,
            ..context(subject, index)
        };
        workload.kind().check(&context)?;
        plane(&context)?;
        tenants::belongs(&context, workload)?;
    }
    Ok(())
}

/// A workload of which nothing is known to be right.
pub(super) fn context<'a>(subject: &'a Subject<'_>, index: usize) -> Context<'a> {
    let scenario = subject.scenario;
    let workload = &scenario.workload[index];
    let ends = |workload: &Workload| workload.kind().ends();
    Context {
        index: index as u32,
        inputs: subject.inputs,
        hosts: &subject.hosts,
        planes: subject.planes(),
        plane: workload.plane(),
        rates: subject.rates(workload.plane()).into(),
        owner: None,
        tenant: tenant_of(&scenario.tenant, workload).unwrap_or(TenantId::new(0)),
        run: RunRules {
            profile: scenario.profile,
            seed: scenario.seed,
            mtu: scenario.packet.mtu,
            datagrams: scenario.transport.service == Service::Ud,
            ends: scenario.stop.is_some() || scenario.workload.iter().any(ends),
        },
        load: 0.0,
    }
}

fn owner<'a>(subject: &Subject<'a>, index: usize) -> Result<Option<Owner<'a>>, Error> {
    let tenant = tenants::tenant(subject, index)?;
    Ok(tenant.map(|(tenant, hosts)| Owner {
        name: &tenant.name,
        set: &tenant.hosts,
        hosts,
    }))
}

/// Messages take a plane that there is.
fn plane(context: &Context<'_>) -> Check {
    let Some(plane) = context.plane else {
        return Ok(());
    };
    let Planes { count, ports } = context.planes;
    ensure!(plane == 0 || ports > 1, context.key("plane"),
        "is {plane}, expected 0: hosts have one port";
        "leave it out, or build a star, leaf-spine or fat-tree with `planes`");
    ensure!(count > 1 || ports == 1, context.key("plane"),
        "is {plane}, but the ports of hosts make no planes";
        "leave it out: messages take the ports with the best path");
    let last = count - 1;
    ensure!(plane <= last, context.key("plane"),
        "is {plane}, expected 0 to {last}, a plane of the topology";
        "write a plane from 0 to {last}");
    Ok(())
}
