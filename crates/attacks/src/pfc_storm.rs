//! A receiver that pauses: what is sent to it fills the buffers of one switch after the other, and stops
//! traffic that has nothing to do with it.
//!
//! Broken NICs did so first (Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section
//! 4.3). No congestion control is in its way; the remedy is the watchdog of switches, `switch.pfc.watchdog`.

use fairlane_scenario::{Error, Loaded, PauseFault};
use fairlane_units::{Bytes, Duration, NodeId, Time};

use crate::plan::Draft;
use crate::scene::{Scene, Window, error_at};

/// A pause frame with preamble and gap: IEEE 802.3, 31B.
const FRAME: Bytes = Bytes::new(64 + 8 + 12);

pub(crate) fn add(
    scene: &Scene<'_>,
    window: Window,
    (draft, loaded): (&mut Draft, &mut Loaded),
) -> Result<(), Error> {
    let pause = scene.attack.pause.unwrap_or_else(|| window.span());
    let last = scene.own.last().copied().unwrap_or_default();
    let host = scene.attack.host.map_or(last, NodeId::new);
    check_period(scene, window, host, pause)?;
    let senders = scene.own.iter().filter(|sender| **sender != host);
    let partners: Vec<_> = senders.map(|sender| (*sender, host)).collect();
    draft.add_bulk(scene, window, &partners);
    if !scene.attack.honest {
        loaded.scenario.faults.pause.push(PauseFault {
            host: host.get(),
            class: scene.class(),
            start: window.start - Time::ZERO,
            duration: pause,
            period: scene.attack.period,
        });
    }
    Ok(())
}

/// Pauses must end before the next ones begin, not come faster than the link carries their frames, and not be
/// more than a run can hold.
fn check_period(
    scene: &Scene<'_>,
    window: Window,
    host: NodeId,
    pause: Duration,
) -> Result<(), Error> {
    let Some(period) = scene.attack.period else {
        return Ok(());
    };
    if period <= pause {
        let message = format!("is {period}, expected more than one pause, {pause}");
        let hint = "leave period out for a single pause, or write shorter ones";
        return Err(error_at("period", message, hint));
    }
    // One frame that pauses and one that ends it.
    let frames = (FRAME * 2).serialization(scene.rate(host));
    if period < frames {
        let message = format!(
            "is {period}, expected at least {frames}, in which the host's link carries a pause and its end"
        );
        return Err(error_at("period", message, "pause less often"));
    }
    scene.check_count(
        "period",
        window.span().as_ps().div_ceil(period.as_ps().max(1)),
    )
}
