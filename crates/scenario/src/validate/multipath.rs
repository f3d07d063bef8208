//! Messages over several paths.

use std::collections::BTreeSet;

use fairlane_units::Rate;

use super::limits::fail;
use super::{Check, Subject};
use crate::error::Error;
use crate::types::{Connections, Flow, Multipath, Plan, Twins, Workload};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let scenario = subject.scenario;
    let Some(multipath) = &scenario.multipath else {
        return unstated(&scenario.workload);
    };
    if scenario.output.rate_interval.is_some() {
        let message = "is stated, but messages with several paths have no rate of their own";
        return fail(
            "output.rate_interval",
            message,
            "leave it out, or [multipath]",
        );
    }
    if multipath.twins == Twins::Probe && multipath.connections == Connections::Message {
        let message = "is \"probe\", but connections of one message have no time for that";
        let hint = "use multipath.connections = \"pair\", or twins = \"route\"";
        return fail("multipath.twins", message, hint);
    }
    let settings = multipath.settings(scenario.packet.mtu, Rate::ZERO);
    let valid = |paths: u32| settings.validate(paths as usize).map_err(said);
    valid(multipath.paths)?;
    ports(&multipath.plan, multipath.paths, "multipath.paths".into())?;
    for (index, workload) in scenario.workload.iter().enumerate() {
        if let Some(paths) = workload.paths() {
            valid(paths)?;
            let place = format!("workload[{index}].paths");
            ports(&multipath.plan, paths, place)?;
        }
        subflows(multipath, subject, index)?;
    }
    Ok(())
}

/// Without the section no workload has paths.
fn unstated(workloads: &[Workload]) -> Check {
    let index = workloads.iter().position(|one| one.paths().is_some());
    let Some(index) = index else {
        return Ok(());
    };
    let message = "is stated, but there is no section [multipath]";
    let hint = "add [multipath], or leave it out";
    fail(format!("workload[{index}].paths"), message, hint)
}

/// A mistake of the crate in the keys of a scenario.
fn said(mistake: Error) -> Error {
    let (place, hint) = match mistake.place.as_str() {
        "multipath.holes" => ("multipath.depth", "lower it or the number of paths"),
        "multipath.mtu" => (
            "packet.mtu",
            "a packet is at most `multipath.message_limit`",
        ),
        _ => return mistake,
    };
    Error::new(place, mistake.message, hint)
}

/// Whether a list has ports for so many paths.
fn ports(plan: &Plan, paths: u32, place: String) -> Check {
    let Plan::List(list) = plan else {
        return Ok(());
    };
    let mut seen = BTreeSet::new();
    for port in list {
        if *port == 0 {
            let message = "names port 0, expected 1 to 65535";
            return fail("multipath.plan", message, "RoCE uses 49152 to 65535");
        }
        if !seen.insert(port) {
            let message = format!("names port {port} twice");
            let hint = "name each once: packets with the same headers take the same way";
            return fail("multipath.plan", message, hint);
        }
    }
    if paths as usize > list.len() {
        let message = format!("is {paths}, but multipath.plan has {} ports", list.len());
        return fail(place, message, "ask for fewer, or name more ports");
    }
    Ok(())
}

/// A message is divided into parts or into chunks, not both.
fn subflows(multipath: &Multipath, subject: &Subject<'_>, index: usize) -> Check {
    let workload = &subject.scenario.workload[index];
    let flows = subject.inputs.flows.get(index).and_then(Option::as_ref);
    let several = workload.paths().unwrap_or(multipath.paths) > 1;
    let divided = |flow: &Flow| flow.subflows > 1;
    let at = flows.and_then(|flows| flows.iter().position(divided));
    match at.filter(|_| several) {
        None => Ok(()),
        Some(at) => {
            let message = "is above 1 although the message has several paths";
            let place = format!("workload[{index}].flow[{at}].subflows");
            fail(place, message, "set `paths = 1` for the workload")
        }
    }
}
