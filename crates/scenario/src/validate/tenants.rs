//! Tenants: names, weights and hosts, and which workload uses whose hosts.

use std::collections::BTreeSet;

use fairlane_units::NodeId;

use super::{Check, Subject, guarantees};
use crate::error::{Error, bail, ensure, suggestion};
use crate::tenant::tenant_of;
use crate::types::{Tenant, Workload};
use crate::workload::Context;
use fairlane_hpcc_files::lines::shorten;

/// Tenants of one scenario; each has counters at every port.
const MOST: usize = 1024;
/// Characters of a name, which stands in tables.
const LONGEST_NAME: usize = 40;

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let tenants = &subject.scenario.tenant;
    ensure!(tenants.len() <= MOST, "tenant", "{} tenants, expected at most {MOST}", tenants.len();
        "let several workloads share a tenant");
    let mut names = BTreeSet::new();
    for (i, tenant) in tenants.iter().enumerate() {
        let (place, name) = (format!("tenant[{i}].name"), &tenant.name);
        let plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        let fits = (1..=LONGEST_NAME).contains(&name.chars().count());
        ensure!(fits && name.chars().all(plain), place,
            "is \"{}\", expected 1 to {LONGEST_NAME} letters, digits, `-`, `_` and `.`",
            shorten(name); "write a name such as \"red\"");
        ensure!(names.insert(name), place, "is \"{name}\", the name of an earlier tenant";
            "give every tenant a name of its own");
        hosts(subject, i)?;
    }
    guarantees::check(subject)
}

/// The hosts of a tenant.
pub(super) fn hosts(subject: &Subject<'_>, number: usize) -> Result<Vec<NodeId>, Error> {
    let tenant = &subject.scenario.tenant[number];
    subject.members(&tenant.hosts, format!("tenant[{number}].hosts"))
}

/// The tenant of a workload and its hosts, `None` if the workload may use all.
pub(super) fn tenant<'a>(
    subject: &Subject<'a>,
    index: usize,
) -> Result<Option<(&'a Tenant, Vec<NodeId>)>, Error> {
    let scenario = subject.scenario;
    let workload = &scenario.workload[index];
    let Some(number) = tenant_of(&scenario.tenant, workload) else {
        let found = workload.tenant().unwrap_or_default();
        let known: Vec<String> = scenario.tenants().into_iter().map(|it| it.name).collect();
        let names = known.iter().map(String::as_str);
        let hint = suggestion(found, names, '"', "add a [[tenant]] with that name");
        let known = known[..known.len().min(8)].join("\", \"");
        bail!(format!("workload[{index}].tenant"),
            "no tenant is called \"{}\", expected one of \"{known}\"", shorten(found); "{hint}")
    };
    match scenario.tenant.get(number.index()) {
        Some(tenant) if !tenant.hosts.is_all() => {
            Ok(Some((tenant, hosts(subject, number.index())?)))
        }
        _ => Ok(None),
    }
}

/// The hosts of a workload must be its tenant's; destinations may be anybody's.
pub(super) fn belongs(context: &Context<'_>, workload: &Workload) -> Check {
    let Some((key, set)) = workload.hosts() else {
        return Ok(());
    };
    for host in context.members(key, set)? {
        context.owns(host, || context.key(key))?;
    }
    let beside = workload.kind().posts();
    beside.map_or(Ok(()), |(key, host)| {
        context.owns(host, || context.key(key))
    })
}
