//! More connections than NICs keep, all in use: every packet of anybody on the same NIC needs a fetch of
//! its connection's state.
//!
//! NICs are known to fall off beyond their cache (Kalia et al., ATC 2016; DRUM (S0), figure 2c); here a tenant
//! does it to those whom it shares a NIC with. No congestion control is in its way.

use fairlane_scenario::{Error, HostSet, KeyValue, Loaded, Verb, Workload};
use fairlane_units::{Bytes, Duration, NodeId, Time};

use crate::scene::{Scene, Window, error_at};

/// S2 has no figure; beyond four times its size a cache with random use keeps nothing of value.
const CACHES: u32 = 4;
const VALUE: Bytes = Bytes::new(64);

pub(crate) fn add(scene: &Scene<'_>, window: Window, loaded: &mut Loaded) -> Result<(), Error> {
    let costs = scene.scenario.nic.costs.as_ref();
    let kept = costs.map_or(1, |costs| costs.cache_entries);
    let many = kept.saturating_mul(CACHES);
    let flood = scene.attack.qps.unwrap_or(many);
    let connections = match scene.attack.honest {
        true => flood.min((kept / CACHES).max(1)),
        false => flood,
    };
    let servers = servers(scene)?;
    loaded.scenario.workload.push(Workload::KeyValue(KeyValue {
        clients: set(&scene.sources),
        servers: set(&servers),
        applications: 1,
        connections,
        size: Some(scene.attack.value.unwrap_or(VALUE)),
        range: None,
        sizes: None,
        batch: 1,
        count: None,
        duration: Some(window.span()),
        poll_interval: Duration::ZERO,
        weight: 1.0,
        start: window.start - Time::ZERO,
        class: scene.class(),
        verb: Verb::Read,
        tenant: Some(scene.name.clone()),
        plane: None,
        congestion: None,
    }));
    Ok(())
}

fn servers(scene: &Scene<'_>) -> Result<Vec<NodeId>, Error> {
    let servers = match scene.attack.destinations {
        Some(_) => scene.destinations.clone(),
        None => scene.others(),
    };
    if servers.is_empty() {
        let hint = "name some of the tenant's hosts as sources; the others are asked";
        return Err(error_at(
            "sources",
            "leaves no host that could be asked",
            hint,
        ));
    }
    Ok(servers)
}

fn set(hosts: &[NodeId]) -> HostSet {
    let numbers: Vec<String> = hosts.iter().map(NodeId::to_string).collect();
    HostSet(numbers.join(","))
}
