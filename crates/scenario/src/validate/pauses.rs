//! Hosts that pause their switch, and the watchdog of switches against them.

use super::limits::{class, fail, positive_span, span};
use super::{Check, Subject};
use crate::types::PauseFault;

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let (scenario, pfc) = (subject.scenario, &subject.scenario.switch.pfc);
    if let Some(watchdog) = pfc.watchdog {
        positive_span(scenario.profile, "switch.pfc.watchdog", watchdog)?;
    }
    let restore = pfc.watchdog_restore;
    positive_span(scenario.profile, "switch.pfc.watchdog_restore", restore)?;
    for (index, fault) in scenario.faults.pause.iter().enumerate() {
        pause(subject, &format!("faults.pause[{index}]"), fault)?;
    }
    Ok(())
}

fn pause(subject: &Subject<'_>, place: &str, fault: &PauseFault) -> Check {
    let profile = subject.scenario.profile;
    let key = |key: &str| format!("{place}.{key}");
    if !subject.scenario.switch.pfc.enabled {
        let message = "pauses, expected switch.pfc.enabled = true";
        let hint = "switches obey pauses only with priority flow control: turn it on";
        return fail(key("host"), message, hint);
    }
    if !subject.is_host(fault.host) {
        let message = format!("node {} isn't a host", fault.host);
        return fail(key("host"), message, "`fairlane topology` lists the hosts");
    }
    class(&key("class"), fault.class)?;
    span(profile, &key("start"), fault.start)?;
    positive_span(profile, &key("duration"), fault.duration)?;
    let Some(period) = fault.period else {
        return Ok(());
    };
    span(profile, &key("period"), period)?;
    if period <= fault.duration {
        let message = format!(
            "is {period}, expected more than the duration, {}",
            fault.duration
        );
        let hint = "leave period out for a single pause, or lengthen it";
        return fail(key("period"), message, hint);
    }
    Ok(())
}
