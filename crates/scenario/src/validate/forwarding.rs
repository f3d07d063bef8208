//! How switches choose among equally short paths.

use super::Check;
use super::limits::fail;
use crate::types::{Arbitration, Forwarding, Switch};

pub(super) fn check(switch: &Switch) -> Check {
    let iofd = &switch.iofd;
    // Or a flow would come back as soon as it has moved.
    if iofd.target > iofd.trigger / 2 {
        let (target, most) = (iofd.target, iofd.trigger / 2);
        let message = format!("is {target}, expected at most {most}, half of trigger");
        let hint = "lower target, or raise trigger: flows must not move to and fro";
        return fail("switch.iofd.target", message, hint);
    }
    if switch.forwarding == Forwarding::Iofd {
        one_queue(switch)?;
    }
    Ok(())
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
