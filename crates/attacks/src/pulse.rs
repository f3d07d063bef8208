//! Bursts at line rate, timed against the control loop: victims cut their rates at each burst and have
//! taken one step of recovery when the next one comes.
//!
//! The low-rate attack on TCP (Kuzmanovic and Knightly, SIGCOMM 2003) with the rate-increase timer in the
//! role of the retransmission timeout. It needs little bandwidth: it harms rather than gains. Every burst is
//! a message of its own, whose queue pair begins at line rate.

use fairlane_congestion::Rule;
use fairlane_fabric::MessageSpec;
use fairlane_scenario::Error;
use fairlane_units::{Bytes, Duration};

use crate::plan::Draft;
use crate::scene::{Scene, Window};

/// Parts in which an honest host sends what a burst holds, evenly over the period.
const PARTS: u32 = 8;

pub(crate) fn add(scene: &Scene<'_>, window: Window, draft: &mut Draft) -> Result<(), Error> {
    let period = scene
        .attack
        .period
        .unwrap_or_else(|| increase_interval(scene));
    let (size, period) = match scene.attack.honest {
        true => spread(scene.piece(), period),
        false => (scene.piece(), period),
    };
    for (source, destination) in scene.partners()? {
        let mut start = window.start;
        while start < window.end {
            draft.push(MessageSpec {
                source,
                destination,
                size,
                ..scene.template(start)
            });
            start = start.saturating_add(period);
        }
    }
    Ok(())
}

/// The same bytes in smaller parts, more often.
fn spread(size: Bytes, period: Duration) -> (Bytes, Duration) {
    let parts = u64::from(PARTS);
    let part = Bytes::new(size.get().div_ceil(parts));
    (part, Duration::from_ps((period.as_ps() / parts).max(1)))
}

/// The time after which the algorithm raises a rate again: the longest period among its parameters, else a
/// round trip.
fn increase_interval(scene: &Scene<'_>) -> Duration {
    let limits = scene.scenario.congestion.params().limits().into_iter();
    let periods = limits.filter_map(|limit| match limit.rule {
        Rule::Period(period) => Some(period),
        _ => None,
    });
    periods.max().unwrap_or(scene.trip.time)
}
