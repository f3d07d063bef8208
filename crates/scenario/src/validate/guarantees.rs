//! Guarantees: what is promised must fit the links that it is promised on.
//!
//! A guarantee is what a tenant may send from each of its hosts, and what it may send to each receiver. Looked at
//! are links of hosts and, from switches with hosts, the links to other switches together. Those deeper in a
//! fabric aren't: which tenants meet there depends on the paths that messages take.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_units::{NodeId, Rate};

use super::limits::fail;
use super::tenants::hosts;
use super::{Check, Subject};
use crate::tenant::tenant_of;
use crate::types::{Attack, AttackKind, HostSet, Verb, Workload};

/// Hosts that put data on the fabric, and hosts that it goes to: any of these to any of those.
struct Traffic {
    senders: BTreeSet<NodeId>,
    receivers: BTreeSet<NodeId>,
}

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

fn promises(subject: &Subject<'_>) -> Result<Vec<Promise>, crate::Error> {
    let mut promises = Vec::new();
    for (number, tenant) in subject.scenario.tenant.iter().enumerate() {
        let Some(guarantee) = tenant.guarantee else {
            continue;
        };
        if guarantee == Rate::ZERO {
            let message = "is 0, expected a rate above 0";
            let hint = "leave it out to promise nothing";
            return Err(crate::Error::new(place(number), message, hint));
        }
        promises.push(Promise {
            tenant: number,
            guarantee,
            own: hosts(subject, number, tenant)?.into_iter().collect(),
            traffic: traffic(subject, number),
        });
    }
    Ok(promises)
}

fn place(tenant: usize) -> String {
    format!("tenant[{tenant}].guarantee")
}

/// Adds promises up at one link, or at several together.
struct Sum(Rate);

impl Sum {
    fn add(&mut self, guarantee: Rate, count: usize) -> Rate {
        let more = guarantee.as_bps().saturating_mul(count as u64);
        self.0 = Rate::from_bps(self.0.as_bps().saturating_add(more));
        self.0
    }
}

/// What is promised to those who send from a host, or to it, must fit its link. A host that is read from sends
/// for the tenant that reads; a receiver divides its link by tenant.
fn at_hosts(subject: &Subject<'_>, promises: &[Promise]) -> Check {
    let links = link_rates(subject);
    for host in &subject.hosts {
        let Some(link) = links.get(host.index()).copied() else {
            continue;
        };
        let (mut sent, mut received) = (Sum(Rate::ZERO), Sum(Rate::ZERO));
        for promise in promises {
            let guarantee = promise.guarantee;
            let any = |pick: fn(&Traffic) -> &BTreeSet<NodeId>| {
                let mut traffic = promise.traffic.iter();
                traffic.any(|traffic| pick(traffic).contains(host))
            };
            let sends = promise.own.contains(host) || any(|it| &it.senders);
            let sum = sent.add(guarantee, usize::from(sends));
            if sum > link {
                let message = format!(
                    "with it {sum} are promised at host {host}, expected at most the {link} of its link"
                );
                let hint = "lower it, or name fewer hosts";
                return fail(place(promise.tenant), message, hint);
            }
            let sum = received.add(guarantee, usize::from(any(|it| &it.receivers)));
            if sum > link {
                let message = format!(
                    "with it {sum} are promised to those who send to host {host}, expected at most the \
                     {link} of its link"
                );
                let hint = "lower it, or let the tenant send to other hosts";
                return fail(place(promise.tenant), message, hint);
            }
        }
    }
    Ok(())
}

/// What is promised from the hosts at a switch to all others, or the other way, must fit the switch's links to
/// other switches.
fn at_switches(subject: &Subject<'_>, promises: &[Promise]) -> Check {
    let homes = homes(subject);
    let uplinks = uplinks(subject);
    let mut switches: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
    for host in &subject.hosts {
        for &switch in homes.get(host.index()).into_iter().flatten() {
            switches.entry(switch).or_default().push(*host);
        }
    }
    for (&switch, here) in &switches {
        let link = uplinks[switch as usize];
        let elsewhere = |host: &&NodeId| {
            let own = homes.get(host.index());
            own.is_some_and(|own| !own.is_empty() && !own.contains(&switch))
        };
        let (mut from, mut to) = (Sum(Rate::ZERO), Sum(Rate::ZERO));
        for promise in promises {
            let ends = promise.traffic.iter();
            let out = crossing(
                ends.clone().map(|it| (&it.senders, &it.receivers)),
                here,
                elsewhere,
            );
            let back = crossing(ends.map(|it| (&it.receivers, &it.senders)), here, elsewhere);
            let [out, back] = [(&mut from, out), (&mut to, back)]
                .map(|(sum, count)| (count, sum.add(promise.guarantee, count)));
            for ((count, sum), way) in [(out, "from"), (back, "to")] {
                if count > 0 && sum > link {
                    let message = format!(
                        "with it {sum} are promised {way} the hosts at switch {switch}, expected at most the \
                         {link} of its links to other switches"
                    );
                    let hint = "lower it, name fewer hosts, or widen the links between switches";
                    return fail(place(promise.tenant), message, hint);
                }
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
    let mut traffic = Vec::new();
    for (index, workload) in scenario.workload.iter().enumerate() {
        let of = tenant_of(&scenario.tenant, workload);
        if of.is_some_and(|number| number.index() == tenant) {
            traffic.extend(of_workload(subject, index, workload));
        }
    }
    if let Some(attack) = &scenario.attack {
        let name = attack.tenant.as_ref();
        let mut tenants = scenario.tenant.iter();
        if tenants.position(|one| name.is_none_or(|name| one.name == *name)) == Some(tenant) {
            traffic.extend(of_attack(subject, attack, &scenario.tenant[tenant].hosts));
        }
    }
    traffic
}

/// What a set says wrongly is refused where workloads and attacks are checked.
fn resolved(subject: &Subject<'_>, set: &HostSet) -> BTreeSet<NodeId> {
    let hosts = set.resolve(&subject.hosts).unwrap_or_default();
    hosts.into_iter().collect()
}

fn of_workload(subject: &Subject<'_>, index: usize, workload: &Workload) -> Vec<Traffic> {
    let hosts = |set: &HostSet| resolved(subject, set);
    let reads = workload.verb() == Verb::Read;
    let between = |posting: BTreeSet<NodeId>, asked: BTreeSet<NodeId>| {
        let (senders, receivers) = match reads {
            true => (asked, posting),
            false => (posting, asked),
        };
        Traffic { senders, receivers }
    };
    match workload {
        Workload::Poisson(it) => vec![between(hosts(&it.sources), hosts(&it.destinations))],
        Workload::KeyValue(it) => vec![between(hosts(&it.clients), hosts(&it.servers))],
        // Data flows to the receiver, whoever posts.
        Workload::Incast(it) => {
            let named = it.receiver.map(|host| [NodeId::new(host)].into());
            vec![Traffic {
                senders: hosts(&it.hosts),
                receivers: named.unwrap_or_else(|| hosts(&it.hosts)),
            }]
        }
        Workload::Flows(it) => {
            let read = subject.inputs.flows.get(index).and_then(Option::as_ref);
            let mut flows: Vec<_> = read.unwrap_or(&it.flow).iter().collect();
            flows.sort_by_key(|flow| flow.source);
            let of_source = flows.chunk_by(|one, other| one.source == other.source);
            let traffic = of_source.map(|flows| {
                let asked = flows.iter().map(|flow| NodeId::new(flow.destination));
                between([NodeId::new(flows[0].source)].into(), asked.collect())
            });
            traffic.collect()
        }
        _ => {
            let set = workload.hosts().map(|(_, set)| hosts(set));
            let set = set.unwrap_or_default();
            vec![between(set.clone(), set)]
        }
    }
}

/// Traffic of an attack's own. One that cuts messages has none, unless it sends the pieces elsewhere.
fn of_attack(subject: &Subject<'_>, attack: &Attack, own: &HostSet) -> Option<Traffic> {
    let own = resolved(subject, own);
    if attack.is_transform() {
        return (attack.kind == AttackKind::ShuffledOverlay).then(|| Traffic {
            senders: own.clone(),
            receivers: own,
        });
    }
    let or_own = |set: &Option<HostSet>| match set {
        Some(set) => resolved(subject, set),
        None => own.clone(),
    };
    let sources = or_own(&attack.sources);
    let (senders, receivers) = match attack.kind {
        // It reads, by default from all others.
        AttackKind::CacheFlood => {
            let all = subject.hosts.iter().copied();
            let others = all.filter(|host| !sources.contains(host));
            let asked = match &attack.destinations {
                Some(set) => resolved(subject, set),
                None => others.collect(),
            };
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

/// By node, the rate of its slowest link.
fn link_rates(subject: &Subject<'_>) -> Vec<Rate> {
    let mut rates = vec![Rate::from_bps(u64::MAX); subject.fabric.nodes as usize];
    for link in &subject.fabric.links {
        for node in [link.a, link.b] {
            let rate = &mut rates[node as usize];
            *rate = link.rate.min(*rate);
        }
    }
    rates
}

/// By node, the switches that a host is linked to, one in each plane.
fn homes(subject: &Subject<'_>) -> Vec<Vec<u32>> {
    let switches = subject.switch_flags();
    let mut homes = vec![Vec::new(); switches.len()];
    for link in &subject.fabric.links {
        for (node, other) in [(link.a, link.b), (link.b, link.a)] {
            if !switches[node as usize] && switches[other as usize] {
                homes[node as usize].push(other);
            }
        }
    }
    homes
}

/// By node, the rates of its links to switches, added up.
fn uplinks(subject: &Subject<'_>) -> Vec<Rate> {
    let switches = subject.switch_flags();
    let mut rates = vec![Rate::ZERO; switches.len()];
    for link in &subject.fabric.links {
        for (node, other) in [(link.a, link.b), (link.b, link.a)] {
            if switches[other as usize] {
                let rate = &mut rates[node as usize];
                *rate = Rate::from_bps(rate.as_bps().saturating_add(link.rate.as_bps()));
            }
        }
    }
    rates
}
