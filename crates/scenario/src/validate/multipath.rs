//! Messages over several paths.

use std::collections::BTreeSet;

use fairlane_units::Rate;

use super::{Check, Subject};
use crate::error::{Error, bail, ensure};
use crate::types::{Flow, Multipath, Plan};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let scenario = subject.scenario;
    let Some(multipath) = &scenario.multipath else {
        let mut workloads = scenario.workload.iter();
        // Without the section no workload has paths.
        if let Some(index) = workloads.position(|one| one.paths().is_some()) {
            bail!(format!("workload[{index}].paths"),
                "is stated, but there is no section [multipath]";
                "add [multipath], or leave it out");
        }
        return Ok(());
    };
    ensure!(scenario.output.rate_interval.is_none(), "output.rate_interval",
        "is stated, but messages with several paths have no rate of their own";
        "leave it out, or [multipath]");
    let settings = multipath.settings(scenario.packet.mtu, Rate::ZERO);
    let paths = |paths: u32, place: String| {
        settings.validate(paths as usize).map_err(said)?;
        ports(&multipath.plan, paths, place)
    };
    paths(multipath.paths, "multipath.paths".into())?;
    for (index, workload) in scenario.workload.iter().enumerate() {
        if let Some(stated) = workload.paths() {
            paths(stated, format!("workload[{index}].paths"))?;
        }
        subflows(multipath, subject, index)?;
    }
    Ok(())
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
        ensure!(*port > 0, "multipath.plan",
            "names port 0, expected 1 to 65535"; "RoCE uses 49152 to 65535");
        ensure!(seen.insert(port), "multipath.plan", "names port {port} twice";
            "name each once: packets with the same headers take the same way");
    }
    ensure!(paths as usize <= list.len(), place,
        "is {paths}, but multipath.plan has {} ports", list.len();
        "ask for fewer, or name more ports");
    Ok(())
}

/// A message is divided into parts or into chunks, not both.
fn subflows(multipath: &Multipath, subject: &Subject<'_>, index: usize) -> Check {
    let workload = &subject.scenario.workload[index];
    let flows = subject.inputs.flows.get(index).and_then(Option::as_ref);
    let several = workload.paths().unwrap_or(multipath.paths) > 1;
    let divided = |flow: &Flow| flow.subflows > 1;
    let at = flows.and_then(|flows| flows.iter().position(divided));
    if let Some(at) = at.filter(|_| several) {
        bail!(format!("workload[{index}].flow[{at}].subflows"),
            "is above 1 although the message has several paths";
            "set `paths = 1` for the workload");
    }
    Ok(())
}
