//! Connections that messages share.

use super::{Check, Subject};
use crate::error::{bail, ensure};
use crate::types::{Connections, Profile, Twins};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let scenario = subject.scenario;
    for (index, workload) in scenario.workload.iter().enumerate() {
        let shared = scenario.connections_of(workload) == Connections::Pair;
        let place = |key: &str| format!("workload[{index}].{key}");
        if scenario.profile == Profile::HpccNs3 {
            ensure!(workload.connections() != Some(Connections::Pair), place("connections"),
                "is \"pair\" under profile \"hpcc-ns3\", whose simulator opens a queue pair for each message";
                "leave it out, or use profile \"exact\"");
        }
        let channels = workload.sends().map_or(1, |(channels, _)| channels);
        ensure!(channels == 1 || shared, place("channels"),
            "is {channels}, but each message has a connection of its own";
            "use connections = \"pair\" under profile \"exact\", or leave it out");
        let Some(section) = &scenario.multipath else {
            continue;
        };
        let several = workload.paths().unwrap_or(section.paths) > 1;
        if several && !shared && !workload.is_key_value() && section.twins == Twins::Probe {
            bail!("multipath.twins",
                "is \"probe\", but connections of one message have no time for that";
                "use multipath.connections = \"pair\", or twins = \"route\"");
        }
    }
    Ok(())
}
