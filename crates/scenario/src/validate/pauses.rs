//! Pauses: fixed thresholds, and hosts that pause their switch.

use super::limits::{class, fail, positive_span, span};
use super::{Check, Subject};
use crate::types::{PauseFault, Pfc, Profile};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let (scenario, pfc) = (subject.scenario, &subject.scenario.switch.pfc);
    fixed(scenario.profile, pfc)?;
    for (index, fault) in scenario.faults.pause.iter().enumerate() {
        pause(subject, &format!("faults.pause[{index}]"), fault)?;
    }
    Ok(())
}

/// A fixed threshold: above where a pause ends, and the only one.
fn fixed(profile: Profile, pfc: &Pfc) -> Check {
    let Some(xoff) = pfc.xoff else { return Ok(()) };
    let place = "switch.pfc.xoff";
    if profile == Profile::HpccNs3 {
        let message = "is a fixed threshold, which profile \"hpcc-ns3\" doesn't have";
        return fail(place, message, "use profile \"exact\" for it");
    }
    if pfc.resume_offset > xoff {
        let message = format!(
            "is {xoff}, expected at least switch.pfc.resume_offset, {}",
            pfc.resume_offset
        );
        let hint = "a pause ends at xoff less resume_offset: raise the one or lower the other";
        return fail(place, message, hint);
    }
    if pfc.threshold_shift != Pfc::default().threshold_shift {
        let message = format!(
            "is {}, but switch.pfc.xoff is a fixed threshold",
            pfc.threshold_shift
        );
        return fail(
            "switch.pfc.threshold_shift",
            message,
            "leave one of the two out",
        );
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
