//! How switches choose among equally short paths.

use fairlane_units::Duration;

use super::Check;
use super::limits::{fail, within};
use crate::types::{Forwarding, Profile, Switch};

/// Flows that have been silent for longer have ended.
const LONGEST_GAP: Duration = Duration::from_ms(1000);
/// As much as 16 MiB of table in each switch.
const MOST_ENTRIES: u32 = 1 << 20;

pub(super) fn check(profile: Profile, switch: &Switch) -> Check {
    let flowlet = &switch.flowlet;
    within(
        "switch.flowlet.gap",
        flowlet.gap,
        Duration::from_ns(1),
        LONGEST_GAP,
    )?;
    within("switch.flowlet.entries", flowlet.entries, 1, MOST_ENTRIES)?;
    let (forwarding, plain) = (switch.forwarding, Forwarding::default());
    if profile != Profile::HpccNs3 || forwarding == plain {
        return Ok(());
    }
    let message = format!("is \"{forwarding}\", expected \"{plain}\" under profile \"hpcc-ns3\"");
    let hint = "that simulator has nothing else; use profile \"exact\"";
    fail("switch.forwarding", message, hint)
}
