//! Congestion controls of tenants and workloads beside that of the fabric.

use fairlane_congestion::{Rule, Scope, WindowMode};

use super::{Check, Subject, policies};
use crate::error::{bail, ensure};
use crate::nic::Policy;
use crate::types::{CongestionOverride, Notification, Profile, Scenario};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    for (place, own) in stated(subject.scenario) {
        beside(subject.scenario, &place)?;
        parameters(subject, &place, own)?;
        needs(subject.scenario, &place, own)?;
    }
    Ok(())
}

/// The controls that tenants and workloads state, with their places.
pub(super) fn stated(scenario: &Scenario) -> impl Iterator<Item = (String, &CongestionOverride)> {
    let tenants = scenario.tenant.iter().enumerate();
    let tenants = tenants.map(|(i, it)| (format!("tenant[{i}]"), it.congestion.as_deref()));
    let workloads = scenario.workload.iter().enumerate();
    let workloads = workloads.map(|(i, it)| (format!("workload[{i}]"), it.congestion()));
    let all = tenants.chain(workloads);
    all.filter_map(|(place, own)| Some((format!("{place}.congestion"), own?)))
}

/// What can't be where there are several.
fn beside(scenario: &Scenario, place: &str) -> Check {
    ensure!(scenario.profile != Profile::HpccNs3, place,
        "is stated under profile \"hpcc-ns3\"";
        "that simulator has one congestion control; use profile \"exact\"");
    let scope = scenario.congestion.scope;
    ensure!(matches!(scope, Scope::Qp | Scope::None), place,
        "is stated, but under scope \"{scope}\" queue pairs share a controller, which has one algorithm";
        "use congestion.scope \"qp\" or \"none\"");
    ensure!(scenario.nic.policy != Policy::Share, place,
        "is stated, but under nic.policy \"share\" connections share queue pairs, which have one algorithm";
        "use another policy");
    Ok(())
}

fn parameters(subject: &Subject<'_>, place: &str, own: &CongestionOverride) -> Check {
    let algorithm = own.algorithm;
    if let Some(other) = own.stated().find(|other| *other != algorithm) {
        bail!(format!("{place}.{other}"),
            "are parameters of {other}, but the algorithm is {algorithm}";
            "remove them, or write algorithm = \"{other}\"");
    }
    for limit in subject.scenario.congestion.with(own).params().limits() {
        if let Rule::Floor(least) = limit.rule {
            let place = format!("{place}.{algorithm}.{}", limit.key);
            policies::floor(subject, &place, least)?;
        }
    }
    Ok(())
}

/// What the algorithm can't do without.
fn needs(scenario: &Scenario, place: &str, own: &CongestionOverride) -> Check {
    let congestion = scenario.congestion.with(own);
    let (algorithm, needs) = (own.algorithm, own.algorithm.needs());
    ensure!(!needs.window || congestion.window_mode() != WindowMode::None, format!("{place}.window"),
        "is \"none\", expected \"fixed\" or \"scaled\" for {}", algorithm.title();
        "leave it out for \"scaled\"");
    let place = format!("{place}.algorithm");
    ensure!(!needs.marks || scenario.switch.ecn.enabled, place,
        "is {algorithm}, which needs marks, but switch.ecn.enabled is false";
        "let switches mark, or use another algorithm");
    let by_cnp = congestion.notification == Notification::Cnp;
    ensure!(!needs.marks || !by_cnp || needs.hears_cnps, place,
        "is {algorithm}, which hears no CNPs, but congestion.notification is \"cnp\"";
        "use congestion.notification \"ack\", or another algorithm");
    Ok(())
}
