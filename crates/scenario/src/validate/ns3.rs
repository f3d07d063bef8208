//! What HPCC's simulator doesn't have, which profile `hpcc-ns3` follows.

use fairlane_congestion::Scope;

use super::Check;
use super::limits::fail;
use crate::types::{AttackKind, Forwarding, Notification, Profile, Scenario};

pub(super) fn check(scenario: &Scenario) -> Check {
    if scenario.profile != Profile::HpccNs3 {
        return Ok(());
    }
    let (output, switch, congestion) = (&scenario.output, &scenario.switch, &scenario.congestion);
    let (forwarding, scope, mode) = (switch.forwarding, congestion.scope, congestion.dasr.mode);
    let attack = scenario.attack.as_ref().map(|attack| attack.kind);
    let stated = |but: &str| format!("is stated, but {but}");
    let rules = [
        (
            "output.deadlock_interval",
            output.deadlock_interval.is_none(),
            stated("the watch has its own times"),
        ),
        (
            "output.rate_interval",
            output.rate_interval.is_none(),
            stated("no rates are recorded"),
        ),
        (
            "multipath",
            scenario.multipath.is_none(),
            stated("each message has one queue pair"),
        ),
        (
            "faults.slow[0]",
            scenario.faults.slow.is_empty(),
            stated("links have the rates of the topology"),
        ),
        (
            "switch.pfc.xoff",
            switch.pfc.xoff.is_none(),
            stated("thresholds are shares of the free buffer"),
        ),
        (
            "switch.forwarding",
            forwarding == Forwarding::Ecmp,
            format!("is \"{forwarding}\", expected \"ecmp\""),
        ),
        (
            "congestion.scope",
            scope == Scope::Qp,
            format!("is \"{scope}\", expected \"qp\""),
        ),
        (
            "congestion.notification",
            congestion.notification == Notification::Ack,
            "is \"cnp\", expected \"ack\"".to_owned(),
        ),
        (
            "congestion.dasr.mode",
            !mode.is_on(),
            format!("is \"{mode}\", expected \"off\""),
        ),
        (
            "switch.ecn.host_ports",
            scenario.host_ports_mark(),
            "is false, expected true".to_owned(),
        ),
        (
            "attack.kind",
            attack != Some(AttackKind::CacheFlood),
            "is \"cache-flood\", expected another".to_owned(),
        ),
    ];
    let broken = rules.into_iter().find(|(_, fits, _)| !fits);
    broken.map_or(Ok(()), |(place, _, found)| refuse(place, &found))
}

/// Refuses what was found, and says what was expected, under this profile.
pub(super) fn refuse(place: impl Into<String>, found: &str) -> Check {
    let message = format!("{found} under profile \"hpcc-ns3\"");
    let hint = "that simulator has nothing else; use profile \"exact\"";
    fail(place, message, hint)
}
