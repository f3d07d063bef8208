//! What a workload knows of a fabric.

use fairlane_network::topology::Topology;
use fairlane_scenario::traffic::{Context, RunRules};
use fairlane_scenario::{Inputs, Planes, Scenario, Service};
use fairlane_units::{NodeId, TenantId};

/// What a workload of a scenario knows of a fabric with these hosts.
pub(crate) fn context<'a>(
    scenario: &Scenario,
    inputs: &'a Inputs,
    topology: &Topology,
    hosts: &'a [NodeId],
    index: u32,
) -> Context<'a> {
    let plane = scenario.workload[index as usize].plane();
    Context {
        index,
        inputs,
        hosts,
        planes: topology.planes().unwrap_or(Planes { count: 1, ports: 1 }),
        plane,
        rates: match plane {
            Some(plane) => topology.plane_rates(plane).into(),
            None => topology.host_rates().into(),
        },
        owner: None,
        tenant: TenantId::new(0),
        run: RunRules {
            profile: scenario.profile,
            seed: scenario.seed,
            mtu: scenario.packet.mtu,
            datagrams: scenario.transport.service == Service::Ud,
            ends: true,
        },
        load: 0.0,
    }
}
