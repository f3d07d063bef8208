//! The attack: who, what, and its keys.

use fairlane_units::NodeId;

use super::limits::fail;
use super::{Check, Subject};
use crate::error::{Error, suggestion};
use crate::types::{Attack, AttackKind, HostSet, Tenant};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let Some(attack) = &subject.scenario.attack else {
        return Ok(());
    };
    keys(attack)?;
    doubled(attack)?;
    let tenants = subject.scenario.tenants();
    let attacker = attacker(attack, &tenants)?;
    let own = members(subject, &attacker.hosts, "tenant")?;
    hosts(subject, attack, (attacker, &own))?;
    needs(subject, attack)
}

fn place(key: &str) -> String {
    format!("attack.{key}")
}

/// Keys must be those of the kind.
fn keys(attack: &Attack) -> Check {
    let keys = attack.kind.keys();
    match attack.stated().find(|key| !keys.contains(key)) {
        Some(key) => {
            let message = format!("doesn't belong to kind \"{}\"", attack.kind);
            let hint = format!("its keys are {}", keys.join(", "));
            fail(place(key), message, hint)
        }
        None => Ok(()),
    }
}

fn attacker<'a>(attack: &Attack, tenants: &'a [Tenant]) -> Result<&'a Tenant, Error> {
    let stated = attack.tenant.as_deref();
    let found = tenants
        .iter()
        .find(|tenant| stated.is_none_or(|name| tenant.name == name));
    found.ok_or_else(|| {
        let name = stated.unwrap_or_default();
        let names: Vec<&str> = tenants.iter().map(|tenant| tenant.name.as_str()).collect();
        let otherwise = format!("the tenants are {}", names.join(", "));
        let hint = suggestion(name, names, '"', otherwise);
        let message = format!("no tenant is called \"{name}\"");
        Error::new(place("tenant"), message, hint)
    })
}

/// Keys that mean the same.
fn doubled(attack: &Attack) -> Check {
    let doubled = match (attack.piece, attack.qps, attack.bdps) {
        (Some(_), Some(_), _) => ("qps", "qps means equal parts, piece their size"),
        (Some(_), None, Some(_)) => ("bdps", "bdps and piece both mean a size"),
        _ => return Ok(()),
    };
    let message = format!("stands beside {}, expected one of the two", doubled.0);
    fail(place("piece"), message, doubled.1)
}

/// The hosts of a set, with the place of the key that names it.
fn members(subject: &Subject<'_>, set: &HostSet, key: &str) -> Result<Vec<NodeId>, Error> {
    let resolved = set.resolve(&subject.hosts);
    resolved.map_err(|error| error.at(place(key)))
}

fn hosts(subject: &Subject<'_>, attack: &Attack, (of, own): (&Tenant, &[NodeId])) -> Check {
    let foreign = |host: NodeId, key: &str| {
        let message = format!("host {host} isn't one of tenant \"{}\"", of.name);
        let hint = format!("its hosts are {}", of.hosts.0);
        fail(place(key), message, hint)
    };
    if let Some(sources) = &attack.sources {
        let sources = members(subject, sources, "sources")?;
        if let Some(host) = sources.iter().find(|host| own.binary_search(host).is_err()) {
            return foreign(*host, "sources");
        }
    }
    if let Some(destinations) = &attack.destinations {
        members(subject, destinations, "destinations")?;
    }
    if let Some(host) = attack.host.map(NodeId::new)
        && own.binary_search(&host).is_err()
    {
        return foreign(host, "host");
    }
    let among_itself = !attack.is_transform() && attack.kind != AttackKind::CacheFlood;
    if own.len() < 2 && among_itself && attack.destinations.is_none() {
        let message = format!("tenant \"{}\" has one host, expected two or more", of.name);
        let hint = "give it more hosts, or name destinations";
        return fail(place("tenant"), message, hint);
    }
    Ok(())
}

/// What a kind can't do without.
fn needs(subject: &Subject<'_>, attack: &Attack) -> Check {
    let scenario = subject.scenario;
    match attack.kind {
        AttackKind::Paced if attack.rate.is_none() => {
            let hint = "write the goodput of each host, such as \"20Gbps\"";
            fail(place("rate"), "is missing", hint)
        }
        AttackKind::PfcStorm if !scenario.switch.pfc.enabled => {
            let message = "is \"pfc-storm\", which needs switch.pfc.enabled = true";
            let hint = "switches obey pauses only with priority flow control";
            fail(place("kind"), message, hint)
        }
        AttackKind::CacheFlood if scenario.nic.costs.is_none() => {
            let message = "is \"cache-flood\", which needs a NIC with costs";
            fail(
                place("kind"),
                message,
                "add [nic.costs]: without, a NIC remembers every connection",
            )
        }
        kind if scenario.nic.costs.is_some() && kind != AttackKind::CacheFlood => {
            let message =
                format!("is \"{kind}\", but only connections that stay open meet [nic.costs]");
            fail(
                place("kind"),
                message,
                "remove [nic.costs], or try kind \"cache-flood\"",
            )
        }
        _ => Ok(()),
    }
}
