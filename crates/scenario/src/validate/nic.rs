//! What NICs have costs and policies for, and what services can do.

use super::limits::fail;
use super::{Check, Subject};
use crate::nic::{Policy, is_default};
use crate::types::{Service, Verb};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    scope(subject)?;
    service(subject)
}

/// Costs and policies are about connections that stay open.
fn scope(subject: &Subject<'_>) -> Check {
    let (scenario, nic) = (subject.scenario, &subject.scenario.nic);
    let key = match (is_default(&nic.policy), nic.costs.is_some()) {
        (false, _) => "nic.policy",
        // Costs are those of the queue pairs of paths, too.
        (true, true) if scenario.multipath.is_none() => "nic.costs",
        _ => return Ok(()),
    };
    let other = scenario
        .workload
        .iter()
        .position(|workload| !workload.is_key_value());
    match other {
        Some(index) => {
            let message =
                format!("applies to key-value workloads, but workload[{index}] is another");
            fail(key, message, "make every workload key-value, or remove it")
        }
        None if scenario.workload.is_empty() => Ok(()),
        None if nic.policy == Policy::Justitia && scenario.transport.service == Service::Ud => {
            let hint = "use service \"rc\" or \"uc\"";
            fail(
                "nic.policy",
                "splits messages, which datagrams don't allow",
                hint,
            )
        }
        None => Ok(()),
    }
}

/// What other services than reliable connections can't do.
fn service(subject: &Subject<'_>) -> Check {
    let scenario = subject.scenario;
    let service = scenario.transport.service;
    if service == Service::Rc {
        return Ok(());
    }
    for (index, workload) in scenario.workload.iter().enumerate() {
        if !workload.is_key_value() {
            let message = format!("serves key-value workloads, but workload[{index}] is another");
            return fail("transport.service", message, "use service \"rc\"");
        }
        let fits = match service {
            Service::Ud => workload.verb() == Verb::Send,
            _ => matches!(workload.verb(), Verb::Send | Verb::Write),
        };
        if !fits {
            let verb = workload.verb().name();
            let message = format!("is \"{verb}\", which the service doesn't have");
            let hint = "unreliable connections have write and send, datagrams send";
            return fail(format!("workload[{index}].verb"), message, hint);
        }
    }
    Ok(())
}
