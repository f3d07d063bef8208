//! The attack: who, what, and its keys.

use fairlane_units::NodeId;

use super::{Check, Subject};
use crate::error::{Error, bail, ensure, mistake, suggestion};
use crate::tenant::called;
use crate::types::{Attack, AttackKind, Tenant};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let Some(attack) = &subject.scenario.attack else {
        return Ok(());
    };
    keys(attack)?;
    let tenants = subject.scenario.tenants();
    let attacker = attacker(attack, &tenants)?;
    let own = subject.members(&attacker.hosts, place("tenant"))?;
    hosts(subject, attack, (attacker, &own))?;
    needs(subject, attack)
}

fn place(key: &str) -> String {
    format!("attack.{key}")
}

/// Keys must be those of the kind, and no two of them mean the same.
fn keys(attack: &Attack) -> Check {
    let keys = attack.kind.keys();
    if let Some(key) = attack.stated().find(|key| !keys.contains(key)) {
        bail!(place(key), "doesn't belong to kind \"{}\"", attack.kind;
            "its keys are {}", keys.join(", "));
    }
    let (other, hint) = match (attack.piece, attack.qps, attack.bdps) {
        (Some(_), Some(_), _) => ("qps", "qps means equal parts, piece their size"),
        (Some(_), None, Some(_)) => ("bdps", "bdps and piece both mean a size"),
        _ => return Ok(()),
    };
    bail!(place("piece"), "stands beside {other}, expected one of the two"; "{hint}")
}

fn attacker<'a>(attack: &Attack, tenants: &'a [Tenant]) -> Result<&'a Tenant, Error> {
    let stated = attack.tenant.as_deref();
    let found = called(tenants, stated).map(|number| &tenants[number.index()]);
    found.ok_or_else(|| {
        let name = stated.unwrap_or_default();
        let names: Vec<&str> = tenants.iter().map(|tenant| tenant.name.as_str()).collect();
        let otherwise = format!("the tenants are {}", names.join(", "));
        let hint = suggestion(name, names, '"', otherwise);
        mistake!(place("tenant"), "no tenant is called \"{name}\""; "{hint}")
    })
}

fn hosts(subject: &Subject<'_>, attack: &Attack, (of, own): (&Tenant, &[NodeId])) -> Check {
    let is_own = |host: NodeId, key: &str| {
        ensure!(own.binary_search(&host).is_ok(), place(key),
            "host {host} isn't one of tenant \"{}\"", of.name; "its hosts are {}", of.hosts.0);
        Ok(())
    };
    if let Some(sources) = &attack.sources {
        let mut sources = subject.members(sources, place("sources"))?.into_iter();
        sources.try_for_each(|host| is_own(host, "sources"))?;
    }
    if let Some(destinations) = &attack.destinations {
        subject.members(destinations, place("destinations"))?;
    }
    if let Some(host) = attack.host {
        is_own(NodeId::new(host), "host")?;
    }
    let among_itself = !attack.is_transform() && attack.kind != AttackKind::CacheFlood;
    let alone = own.len() < 2 && attack.destinations.is_none();
    ensure!(!among_itself || !alone, place("tenant"),
        "tenant \"{}\" has one host, expected two or more", of.name;
        "give it more hosts, or name destinations");
    Ok(())
}

/// What a kind can't do without.
fn needs(subject: &Subject<'_>, attack: &Attack) -> Check {
    let (kind, scenario) = (attack.kind, subject.scenario);
    let costs = scenario.nic.costs.is_some();
    ensure!(kind != AttackKind::Paced || attack.rate.is_some(), place("rate"),
        "is missing"; "write the goodput of each host, such as \"20Gbps\"");
    ensure!(kind != AttackKind::PfcStorm || scenario.switch.pfc.enabled, place("kind"),
        "is \"pfc-storm\", which needs switch.pfc.enabled = true";
        "switches obey pauses only with priority flow control");
    ensure!(kind != AttackKind::CacheFlood || costs, place("kind"),
        "is \"cache-flood\", which needs a NIC with costs";
        "add [nic.costs]: without, a NIC remembers every connection");
    ensure!(kind == AttackKind::CacheFlood || !costs, place("kind"),
        "is \"{kind}\", but only connections that stay open meet [nic.costs]";
        "remove [nic.costs], or try kind \"cache-flood\"");
    Ok(())
}
