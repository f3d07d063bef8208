//! Workloads of connections that stay open.

use super::Check;
use super::limits::fail;
use super::traffic::Scope;
use super::verbs::sizes as sizes_of;
use crate::types::{KeyValue, Profile, Service, Workload};

/// Connections of one workload; each has a state of some kilobytes.
const MOST_CONNECTIONS: u64 = 1 << 16;

pub(super) fn check(scope: &Scope<'_>, it: &KeyValue) -> Check {
    let profile = scope.subject.scenario.profile;
    if profile == Profile::HpccNs3 {
        let place = format!("workload[{}].kind", scope.index);
        let message = "is \"key-value\", which profile \"hpcc-ns3\" doesn't have";
        return fail(place, message, "use profile \"exact\"");
    }
    connections(scope, it)?;
    sizes(scope, it)?;
    endless(scope)
}

/// Hosts and the number of connections.
fn connections(scope: &Scope<'_>, it: &KeyValue) -> Check {
    let from = scope.hosts("clients", &it.clients)?;
    let to = scope.hosts("servers", &it.servers)?;
    if let Some(both) = from.iter().find(|host| to.contains(host)) {
        let message = format!("host {both} is a client too");
        return fail(scope.key("servers"), message, "name other hosts");
    }
    let all = (from.len() as u64)
        .saturating_mul(u64::from(it.applications))
        .saturating_mul(u64::from(it.connections));
    if all > MOST_CONNECTIONS {
        let message =
            format!("asks for {all} connections in all, expected at most {MOST_CONNECTIONS}");
        return fail(
            scope.key("connections"),
            message,
            "lower it, or name fewer clients",
        );
    }
    Ok(())
}

fn sizes(scope: &Scope<'_>, it: &KeyValue) -> Check {
    let given = [it.size.is_some(), it.range.is_some(), it.sizes.is_some()];
    if given.iter().filter(|given| **given).count() != 1 {
        let place = format!("workload[{}]", scope.index);
        let message = "expected one of `size`, `range` and `sizes`";
        return fail(place, message, "add `size = \"32B\"`");
    }
    if let Some(range) = it.range.filter(|range| range.low > range.high) {
        let message = format!("is {}, above high, {}", range.low, range.high);
        return fail(scope.key("range.low"), message, "swap the two");
    }
    datagram(scope)
}

/// A datagram is one packet.
fn datagram(scope: &Scope<'_>) -> Check {
    let scenario = scope.subject.scenario;
    if scenario.transport.service != Service::Ud {
        return Ok(());
    }
    let mtu = scenario.packet.mtu;
    let workload = &scenario.workload[scope.index];
    let sizes = sizes_of(scope.subject, scope.index, workload);
    if let Some((key, _, largest)) = sizes
        && largest > mtu
    {
        let message = format!("has more than a packet, expected at most {mtu} for datagrams");
        return fail(
            scope.key(key),
            message,
            "raise packet.mtu, or use service \"rc\"",
        );
    }
    Ok(())
}

/// A workload without end needs another that ends, or a run that stops.
fn endless(scope: &Scope<'_>) -> Check {
    let scenario = scope.subject.scenario;
    let ends = |workload: &Workload| match workload {
        Workload::KeyValue(it) => it.count.is_some() || it.duration.is_some(),
        _ => false,
    };
    if scenario.stop.is_some() || scenario.workload.iter().any(ends) {
        return Ok(());
    }
    let message = "has neither `count` nor `duration`, and no other key-value workload ends";
    fail(
        format!("workload[{}]", scope.index),
        message,
        "add `duration = \"1ms\"`",
    )
}
