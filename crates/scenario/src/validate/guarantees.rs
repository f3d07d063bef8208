//! Guarantees: what is promised must fit the links that it is promised on.
//!
//! A guarantee is what a tenant may send from each of its hosts, and what it may send to each receiver. Looked at
//! are links of hosts and, from switches with hosts, the links to other switches together. Those deeper in a
//! fabric aren't: which tenants meet there depends on the paths that messages take.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_units::{NodeId, Rate};

use super::tenants::hosts;
use super::workload::context;
use super::{Check, Subject};
use crate::error::{Error, ensure};
use crate::tenant::called;
use crate::types::{Attack, AttackKind, HostSet, Workload};
use crate::workload::{self, Traffic};

/// A tenant with a guarantee.
struct Promise {
    /// Its number.
    tenant: usize,
    guarantee: Rate,
    /// Its hosts.
    own: BTreeSet<NodeId>,
    traffic: Vec<Traffic>,
}

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let promises = promises(subject)?;
    if promises.is_empty() {
        return Ok(());
    }
    at_hosts(subject, &promises)?;
    at_switches(subject, &promises)
}

fn promises(subject: &Subject<'_>) -> Result<Vec<Promise>, Error> {
    let mut promises = Vec::new();
    for (number, tenant) in subject.scenario.tenant.iter().enumerate() {
        let Some(guarantee) = tenant.guarantee else {
            continue;
        };
        ensure!(!guarantee.is_zero(), place(number),
            "is 0, expected a rate above 0"; "leave it out to promise nothing");
        promises.push(Promise {
            tenant: number,
            guarantee,
            own: hosts(subject, number)?.into_iter().collect(),
            traffic: traffic(subject, number),
        });
    }
    Ok(promises)
}

fn place(tenant: usize) -> String {
    format!("tenant[{tenant}].guarantee")
}

/// Adds up what is promised at one link, or at several together.
fn add(sum: &mut Rate, rate: Rate, count: usize) -> Rate {
    let more = rate.as_bps().saturating_mul(count as u64);
    *sum = Rate::from_bps(sum.as_bps().saturating_add(more));
    *sum
}

/// What is promised to those who send from a host, or to it, must fit its link. A host that is read from sends
/// for the tenant that reads; a receiver divides its link by tenant.
fn at_hosts(subject: &Subject<'_>, promises: &[Promise]) -> Check {
    let mut slowest = vec![Rate::from_bps(u64::MAX); subject.fabric.nodes as usize];
    for (node, _, rate) in subject.ends() {
        slowest[node] = rate.min(slowest[node]);
    }
    for host in &subject.hosts {
        let link = slowest[host.index()];
        let (mut sent, mut received) = (Rate::ZERO, Rate::ZERO);
        for promise in promises {
            let mut traffic = promise.traffic.iter();
            let receives = traffic.clone().any(|it| it.receivers.contains(host));
            let sends = promise.own.contains(host) || traffic.any(|it| it.senders.contains(host));
            let sum = add(&mut sent, promise.guarantee, usize::from(sends));
            ensure!(sum <= link, place(promise.tenant),
                "with it {sum} are promised at host {host}, \
                expected at most the {link} of its link";
                "lower it, or name fewer hosts");
            let sum = add(&mut received, promise.guarantee, usize::from(receives));
            ensure!(sum <= link, place(promise.tenant),
                "with it {sum} are promised to those who send to host {host}, \
                expected at most the {link} of its link";
                "lower it, or let the tenant send to other hosts");
        }
    }
    Ok(())
}

/// What is promised from the hosts at a switch to all others, or the other way, must fit the switch's links to
/// other switches.
fn at_switches(subject: &Subject<'_>, promises: &[Promise]) -> Check {
    let is_switch = subject.switch_flags();
    // By host the switches that it is linked to, one in each plane; by switch its hosts, and the rates of its other links.
    let mut homes = vec![Vec::new(); is_switch.len()];
    let mut hosts: BTreeMap<usize, Vec<NodeId>> = BTreeMap::new();
    let mut links = vec![Rate::ZERO; is_switch.len()];
    for (node, other, rate) in subject.ends().filter(|(_, other, _)| is_switch[*other]) {
        if is_switch[node] {
            add(&mut links[node], rate, 1);
        } else {
            let host = NodeId::new(node as u32);
            homes[node].push(other);
            hosts.entry(other).or_default().push(host);
        }
    }
    for (switch, here) in &hosts {
        let link = links[*switch];
        let elsewhere = |host: &&NodeId| {
            // A number that no node has is refused where workloads and attacks are checked.
            let homes = homes.get(host.index());
            homes.is_some_and(|homes| !homes.is_empty() && !homes.contains(switch))
        };
        let (mut from, mut to) = (Rate::ZERO, Rate::ZERO);
        for promise in promises {
            let ends = promise.traffic.iter();
            let out = ends.clone().map(|it| (&it.senders, &it.receivers));
            let back = ends.map(|it| (&it.receivers, &it.senders));
            let out = crossing(out, here, elsewhere);
            let back = crossing(back, here, elsewhere);
            for (way, sum, count) in [("from", &mut from, out), ("to", &mut to, back)] {
                let sum = add(sum, promise.guarantee, count);
                ensure!(count == 0 || sum <= link, place(promise.tenant),
                    "with it {sum} are promised {way} the hosts at switch {switch}, \
                    expected at most the {link} of its links to other switches";
                    "lower it, name fewer hosts, or widen the links between switches");
            }
        }
    }
    Ok(())
}

/// How often a tenant's guarantee is promised between these hosts and others: by its near ends here and
/// its far ends elsewhere, whichever are fewer.
fn crossing<'a>(
    ends: impl Iterator<Item = (&'a BTreeSet<NodeId>, &'a BTreeSet<NodeId>)>,
    here: &[NodeId],
    elsewhere: impl Fn(&&NodeId) -> bool,
) -> usize {
    let mut near: BTreeSet<&NodeId> = BTreeSet::new();
    let mut far = Vec::new();
    for (those, others) in ends {
        let mut others = others.iter().filter(|host| elsewhere(host)).peekable();
        let inside: Vec<&NodeId> = here.iter().filter(|host| those.contains(host)).collect();
        if others.peek().is_some() && !inside.is_empty() {
            near.extend(inside);
            far.push(others);
        }
    }
    // There may be very many elsewhere: more than here needn't be counted.
    let mut ends = BTreeSet::new();
    for host in far.into_iter().flatten() {
        if ends.len() >= near.len() {
            break;
        }
        ends.insert(host);
    }
    near.len().min(ends.len())
}

/// By workload, or by sender of a list of messages, between whom a tenant's data flows.
fn traffic(subject: &Subject<'_>, tenant: usize) -> Vec<Traffic> {
    let scenario = subject.scenario;
    let is_its = |name: Option<&str>| {
        let found = called(&scenario.tenant, name);
        found.is_some_and(|number| number.index() == tenant)
    };
    let mut traffic = Vec::new();
    for (index, workload) in scenario.workload.iter().enumerate() {
        if is_its(workload.tenant()) {
            traffic.extend(of_workload(subject, index, workload));
        }
    }
    let attack = scenario.attack.as_ref();
    if let Some(attack) = attack.filter(|attack| is_its(attack.tenant.as_deref())) {
        traffic.extend(of_attack(subject, attack, &scenario.tenant[tenant].hosts));
    }
    traffic
}

fn resolved(subject: &Subject<'_>, set: &HostSet) -> BTreeSet<NodeId> {
    workload::resolved(&subject.hosts, set)
}

fn of_workload(subject: &Subject<'_>, index: usize, workload: &Workload) -> Vec<Traffic> {
    let own = workload.kind().traffic(&context(subject, index));
    own.unwrap_or_else(|| {
        let set = workload.hosts().map(|(_, set)| resolved(subject, set));
        let hosts = set.unwrap_or_default();
        vec![Traffic::of(workload.verb(), hosts.clone(), hosts)]
    })
}

/// Traffic of an attack's own. One that cuts messages has none, unless it sends the pieces elsewhere.
fn of_attack(subject: &Subject<'_>, attack: &Attack, own: &HostSet) -> Option<Traffic> {
    let own = resolved(subject, own);
    let stated = |set: &Option<HostSet>| set.as_ref().map(|set| resolved(subject, set));
    let or_own = |set| stated(set).unwrap_or_else(|| own.clone());
    let sources = or_own(&attack.sources);
    let (senders, receivers) = match attack.kind {
        AttackKind::ShuffledOverlay if attack.is_transform() => (own.clone(), own),
        _ if attack.is_transform() => return None,
        // It reads, by default from all others.
        AttackKind::CacheFlood => {
            let all = subject.hosts.iter().copied();
            let others = all.filter(|host| !sources.contains(host));
            let asked = stated(&attack.destinations).unwrap_or_else(|| others.collect());
            (asked, sources)
        }
        AttackKind::PfcStorm => {
            let stated = attack.host.map(NodeId::new);
            let host = stated.or_else(|| own.last().copied());
            (own.clone(), host.into_iter().collect())
        }
        _ => (sources, or_own(&attack.destinations)),
    };
    Some(Traffic { senders, receivers })
}
