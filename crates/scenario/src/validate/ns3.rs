//! What HPCC's simulator doesn't have, which profile `hpcc-ns3` follows.

use fairlane_congestion::Scope;

use super::Check;
use crate::types::{AttackKind, Forwarding, Notification, Profile, Scenario};

/// As [`ensure!`](ensure) with what was found and what was expected, under this profile.
macro_rules! ensure_ns3 {
    ($holds:expr, $place:expr; $found:literal) => {
        $crate::error::ensure!($holds, $place,
            "{} under profile \"hpcc-ns3\"", format_args!($found);
            "that simulator has nothing else; use profile \"exact\"");
    };
}
pub(super) use ensure_ns3;

pub(super) fn check(scenario: &Scenario) -> Check {
    if scenario.profile != Profile::HpccNs3 {
        return Ok(());
    }
    let (output, switch, congestion) = (&scenario.output, &scenario.switch, &scenario.congestion);
    let (forwarding, scope, mode) = (switch.forwarding, congestion.scope, congestion.dasr.mode);
    let attack = scenario.attack.as_ref().map(|attack| attack.kind);
    ensure_ns3!(output.deadlock_interval.is_none(), "output.deadlock_interval";
        "is stated, but the watch has its own times");
    ensure_ns3!(output.rate_interval.is_none(), "output.rate_interval";
        "is stated, but no rates are recorded");
    ensure_ns3!(scenario.multipath.is_none(), "multipath";
        "is stated, but each message has one queue pair");
    ensure_ns3!(scenario.faults.slow.is_empty(), "faults.slow[0]";
        "is stated, but links have the rates of the topology");
    ensure_ns3!(switch.pfc.xoff.is_none(), "switch.pfc.xoff";
        "is stated, but thresholds are shares of the free buffer");
    ensure_ns3!(switch.class.is_empty(), "switch.class";
        "is stated, but classes take turns");
    ensure_ns3!(scenario.nic.class.is_empty(), "nic.class";
        "is stated, but queue pairs take turns");
    ensure_ns3!(forwarding == Forwarding::Ecmp, "switch.forwarding";
        "is \"{forwarding}\", expected \"ecmp\"");
    ensure_ns3!(scope == Scope::Qp, "congestion.scope";
        "is \"{scope}\", expected \"qp\"");
    ensure_ns3!(congestion.notification == Notification::Ack, "congestion.notification";
        "is \"cnp\", expected \"ack\"");
    ensure_ns3!(!mode.is_on(), "congestion.dasr.mode";
        "is \"{mode}\", expected \"off\"");
    ensure_ns3!(scenario.host_ports_mark(), "switch.ecn.host_ports";
        "is false, expected true");
    ensure_ns3!(attack != Some(AttackKind::CacheFlood), "attack.kind";
        "is \"cache-flood\", expected another");
    Ok(())
}
