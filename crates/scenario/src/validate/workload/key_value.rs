//! Workloads of connections that stay open.

use super::{Kind, Scope, Stated};
use crate::error::{bail, ensure};
use crate::types::{KeyValue, Profile, Service, Workload};
use crate::validate::guarantees::Traffic;
use crate::validate::{Check, Subject};

/// Connections of one workload; each has a state of some kilobytes.
const MOST_CONNECTIONS: u64 = 1 << 16;

impl Kind for KeyValue {
    fn check(&self, scope: &Scope<'_>) -> Check {
        check(scope, self)
    }

    fn sizes(&self, subject: &Subject<'_>, index: usize) -> Option<Stated> {
        match (self.size, self.range) {
            (Some(size), _) => Some(Stated::one(size)),
            (_, Some(range)) => Some(Stated {
                key: "range",
                smallest: range.low,
                largest: range.high,
            }),
            _ => Stated::distribution(subject, index),
        }
    }

    fn traffic(&self, subject: &Subject<'_>, _: usize) -> Option<Vec<Traffic>> {
        let ends = [&self.clients, &self.servers];
        Some(vec![Traffic::between(subject, self.verb, ends)])
    }
}

fn check(scope: &Scope<'_>, it: &KeyValue) -> Check {
    ensure!(scope.subject.scenario.profile != Profile::HpccNs3, scope.key("kind"),
        "is \"key-value\", which profile \"hpcc-ns3\" doesn't have"; "use profile \"exact\"");
    connections(scope, it)?;
    sizes(scope, it)?;
    endless(scope)
}

/// Hosts and the number of connections.
fn connections(scope: &Scope<'_>, it: &KeyValue) -> Check {
    let from = scope.hosts("clients", &it.clients)?;
    let to = scope.hosts("servers", &it.servers)?;
    if let Some(both) = from.iter().find(|host| to.contains(host)) {
        bail!(scope.key("servers"), "host {both} is a client too"; "name other hosts");
    }
    let all = (from.len() as u64)
        .saturating_mul(u64::from(it.applications))
        .saturating_mul(u64::from(it.connections));
    ensure!(all <= MOST_CONNECTIONS, scope.key("connections"),
        "asks for {all} connections in all, expected at most {MOST_CONNECTIONS}";
        "lower it, or name fewer clients");
    Ok(())
}

fn sizes(scope: &Scope<'_>, it: &KeyValue) -> Check {
    let given = [it.size.is_some(), it.range.is_some(), it.sizes.is_some()];
    ensure!(given.iter().filter(|given| **given).count() == 1, scope.place(),
        "expected one of `size`, `range` and `sizes`"; "add `size = \"32B\"`");
    if let Some(range) = it.range {
        ensure!(range.low <= range.high, scope.key("range.low"),
            "is {}, above high, {}", range.low, range.high; "swap the two");
    }
    let scenario = scope.subject.scenario;
    let mtu = scenario.packet.mtu;
    let datagrams = scenario.transport.service == Service::Ud;
    if let Some(Stated { key, largest, .. }) = it.sizes(scope.subject, scope.index) {
        ensure!(!datagrams || largest <= mtu, scope.key(key),
            "has more than a packet, expected at most {mtu} for datagrams";
            "raise packet.mtu, or use service \"rc\"");
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
    ensure!(scenario.stop.is_some() || scenario.workload.iter().any(ends), scope.place(),
        "has neither `count` nor `duration`, and no other key-value workload ends";
        "add `duration = \"1ms\"`");
    Ok(())
}
