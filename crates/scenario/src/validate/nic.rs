//! What NICs have costs and policies for, and what services can do.

use super::{Check, Subject};
use crate::error::{bail, ensure};
use crate::nic::{Policy, is_default};
use crate::types::{Scenario, Service, Verb};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    policies(subject.scenario)?;
    service(subject.scenario)
}

/// Costs and policies are about connections that stay open.
fn policies(scenario: &Scenario) -> Check {
    let (nic, workloads) = (&scenario.nic, &scenario.workload);
    let key = match (is_default(&nic.policy), nic.costs.is_some()) {
        (false, _) => "nic.policy",
        // Costs are those of the queue pairs of paths, too.
        (true, true) if scenario.multipath.is_none() => "nic.costs",
        _ => return Ok(()),
    };
    if let Some(index) = workloads.iter().position(|one| !one.is_key_value()) {
        bail!(key, "applies to key-value workloads, but workload[{index}] is another";
            "make every workload key-value, or remove it");
    }
    let datagrams = !workloads.is_empty() && scenario.transport.service == Service::Ud;
    ensure!(nic.policy != Policy::Justitia || !datagrams, "nic.policy",
        "splits messages, which datagrams don't allow"; "use service \"rc\" or \"uc\"");
    Ok(())
}

/// What other services than reliable connections can't do.
fn service(scenario: &Scenario) -> Check {
    let has: &[Verb] = match scenario.transport.service {
        Service::Rc => return Ok(()),
        Service::Uc => &[Verb::Send, Verb::Write],
        Service::Ud => &[Verb::Send],
    };
    for (index, workload) in scenario.workload.iter().enumerate() {
        ensure!(workload.is_key_value(), "transport.service",
            "serves key-value workloads, but workload[{index}] is another"; "use service \"rc\"");
        ensure!(has.contains(&workload.verb()), format!("workload[{index}].verb"),
            "is \"{}\", which the service doesn't have", workload.verb();
            "unreliable connections have write and send, datagrams send");
    }
    Ok(())
}
