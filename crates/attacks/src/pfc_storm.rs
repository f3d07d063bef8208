//! A receiver that pauses: what is sent to it fills the buffers of one switch after the other, and stops
//! traffic that has nothing to do with it.
//!
//! Broken cards did so first (Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section
//! 4.3). No congestion control is in its way; the remedy is the watchdog of switches, `switch.pfc.watchdog`.

use fairlane_scenario::{Error, Loaded, PauseFault};
use fairlane_units::{NodeId, Time};

use crate::plan::Draft;
use crate::scene::{Scene, Window, error_at};

pub(crate) fn add(
    scene: &Scene<'_>,
    window: Window,
    (draft, loaded): (&mut Draft, &mut Loaded),
) -> Result<(), Error> {
    let pause = scene.attack.pause.unwrap_or_else(|| window.span());
    if let Some(period) = scene.attack.period.filter(|period| *period <= pause) {
        let message = format!("is {period}, expected more than one pause, {pause}");
        let hint = "leave period out for a single pause, or write shorter ones";
        return Err(error_at("period", message, hint));
    }
    let last = scene.own.last().copied().unwrap_or_default();
    let host = scene.attack.host.map_or(last, NodeId::new);
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
