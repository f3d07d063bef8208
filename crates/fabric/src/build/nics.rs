//! NICs of a scenario, and what each knows of tenants.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairlane_congestion::Environment;
use fairlane_congestion::scope::Weight;
use fairlane_network::routing::Graph;
use fairlane_nic::{Nic, Settings, Tenants};
use fairlane_scenario::{Scenario, Verb};
use fairlane_units::{Bytes, HostId, NodeId, TenantId};

use crate::baseline::Baseline;
use crate::nic::AttachedNic;
use crate::rules::Rules;
use crate::traffic::Traffic;

/// The NICs of `hosts`, by number.
pub(super) fn nics(
    (scenario, settings): (&Scenario, Settings),
    (graph, baseline, rules): (&Graph, &Baseline, &Rules),
    hosts: &[NodeId],
    traffic: &Traffic,
    host_of: &[HostId],
) -> Vec<AttachedNic> {
    let members = tenant_hosts(scenario, hosts);
    let senders = senders(traffic, members, |node| host_of[node.index()]);
    let settings = Arc::new(settings);
    let nics = (0..).map(HostId::new).zip(hosts).map(|(host, &node)| {
        let ports = graph.edges[node.index()].iter().map(|edge| edge.port);
        let environments = ports.clone().map(|port| Environment {
            line_rate: graph.rates[port as usize / 2],
            base_rtt: baseline.largest.rtt,
            bdp: baseline.largest.bdp,
            mtu: Bytes::new(u64::from(rules.net.mtu)),
        });
        let environments: Vec<Environment> = environments.collect();
        let tenants = tenants_at(scenario, host, &senders);
        let nic = Nic::new(settings.clone(), &environments, &tenants);
        let rules = traffic.rules.clone();
        AttachedNic::new(host, hosts.len() as u32, node, ports, nic, rules)
    });
    nics.collect()
}

/// The hosts and tenants that data is sent by.
fn senders(
    traffic: &Traffic,
    tenants: impl Iterator<Item = (HostId, TenantId)>,
    host: impl Fn(NodeId) -> HostId,
) -> BTreeSet<(HostId, TenantId)> {
    let sending = traffic.flows().map(|flow| {
        let spec = traffic.connection(flow);
        let node = match spec.verb {
            Verb::Read => spec.destination,
            _ => spec.source,
        };
        (host(node), spec.tenant)
    });
    sending.chain(tenants).collect()
}

/// What the NIC of a host knows of tenants.
fn tenants_at(
    scenario: &Scenario,
    host: HostId,
    senders: &BTreeSet<(HostId, TenantId)>,
) -> Tenants {
    let weight = |(number, tenant): (u32, fairlane_scenario::Tenant)| Weight {
        tenant: TenantId::new(number),
        weight: tenant.weight,
        guarantee: tenant.guarantee,
    };
    let all: Vec<Weight> = (0..).zip(scenario.tenants()).map(weight).collect();
    let sends = |one: &&Weight| senders.contains(&(host, one.tenant));
    Tenants {
        here: all.iter().filter(sends).copied().collect(),
        all,
    }
}

/// The hosts of every tenant.
fn tenant_hosts<'a>(
    scenario: &'a Scenario,
    hosts: &'a [NodeId],
) -> impl Iterator<Item = (HostId, TenantId)> + 'a {
    let numbered = (0..).map(TenantId::new).zip(&scenario.tenant);
    numbered.flat_map(move |(number, tenant)| {
        // Validated: a set that can't be resolved doesn't come here.
        let here = tenant.hosts.resolve(hosts).unwrap_or_default();
        let host = |node: NodeId| {
            let at = hosts.binary_search(&node).unwrap_or_default();
            HostId::new(at as u32)
        };
        here.into_iter()
            .map(move |node| (host(node), number))
            .collect::<Vec<_>>()
    })
}
