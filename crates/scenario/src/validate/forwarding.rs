//! How switches choose among equally short paths.

use fairlane_units::{Bytes, Duration};

use super::Check;
use super::limits::{LARGEST, fail, positive_span, span, within};
use crate::types::{Arbitration, Forwarding, IofdParameters, Profile, Switch};

/// Flows that have been silent for longer have ended.
const LONGEST_GAP: Duration = Duration::from_ms(1000);
/// As much as 16 MiB of table in each switch.
const MOST_ENTRIES: u32 = 1 << 20;
/// As many labels as a packet has room for.
const MOST_LABELS: u32 = 4;
/// As many as labels can tell apart.
const MOST_STREAMS: u32 = 1 << 16;

pub(super) fn check(profile: Profile, switch: &Switch) -> Check {
    let flowlet = &switch.flowlet;
    within(
        "switch.flowlet.gap",
        flowlet.gap,
        Duration::from_ns(1),
        LONGEST_GAP,
    )?;
    within("switch.flowlet.entries", flowlet.entries, 1, MOST_ENTRIES)?;
    iofd(profile, &switch.iofd)?;
    let (forwarding, plain) = (switch.forwarding, Forwarding::default());
    if profile == Profile::HpccNs3 && forwarding != plain {
        let message =
            format!("is \"{forwarding}\", expected \"{plain}\" under profile \"hpcc-ns3\"");
        let hint = "that simulator has nothing else; use profile \"exact\"";
        return fail("switch.forwarding", message, hint);
    }
    if forwarding == Forwarding::Iofd {
        one_queue(switch)?;
    }
    Ok(())
}

fn iofd(profile: Profile, iofd: &IofdParameters) -> Check {
    let byte = Bytes::new(1);
    within("switch.iofd.trigger", iofd.trigger, byte, LARGEST)?;
    within("switch.iofd.target", iofd.target, byte, LARGEST)?;
    // Or a flow would come back as soon as it has moved.
    if iofd.target > iofd.trigger / 2 {
        let (target, most) = (iofd.target, iofd.trigger / 2);
        let message = format!("is {target}, expected at most {most}, half of trigger");
        let hint = "lower target, or raise trigger: flows must not move to and fro";
        return fail("switch.iofd.target", message, hint);
    }
    span(profile, "switch.iofd.interval", iofd.interval)?;
    within("switch.iofd.moved", iofd.moved, Bytes::ZERO, LARGEST)?;
    within("switch.iofd.labels", iofd.labels, 1, MOST_LABELS)?;
    within("switch.iofd.streams", iofd.streams, 1, MOST_STREAMS)?;
    if iofd.hold.is_zero() {
        let message = "is 0, expected room for packets that come too early";
        let hint = "make it three times the longest queue, such as \"4MB\"";
        return fail("switch.iofd.hold", message, hint);
    }
    within("switch.iofd.hold", iofd.hold, byte, LARGEST)?;
    positive_span(profile, "switch.iofd.hold_timeout", iofd.hold_timeout)
}

/// A flow's packets stay in order only in one queue for each port.
fn one_queue(switch: &Switch) -> Check {
    if switch.arbitration == Arbitration::Fifo {
        return Ok(());
    }
    let message = "is \"ingress\", expected \"fifo\" under switch.forwarding = \"iofd\"";
    let hint = "packets of a flow that come in by two ports would overtake each other";
    fail("switch.arbitration", message, hint)
}
