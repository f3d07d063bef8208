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
const PARTS: u64 = 8;
/// Round trips between bursts, if the algorithm has no longer period: one at a time would be a stream at line
/// rate.
const ROUND_TRIPS: u64 = 8;

pub(crate) fn add(scene: &Scene<'_>, window: Window, draft: &mut Draft) -> Result<(), Error> {
    let period = scene
        .attack
        .period
        .unwrap_or_else(|| increase_interval(scene))
        .max(Duration::from_ps(1));
    // Whole periods, so that the same bytes have as long to arrive as honestly; of one that is longer than the
    // window, the window.
    let period = period.min(window.span());
    let bursts = window.span().as_ps() / period.as_ps();
    let parts = if scene.attack.honest { PARTS } else { 1 };
    scene.check_count("period", bursts.saturating_mul(parts))?;
    let sizes = split(scene.piece(), parts);
    for (source, destination) in scene.partners()? {
        for burst in 0..bursts {
            let begin = window.start.saturating_add(period.saturating_mul(burst));
            for (part, size) in (0..).zip(&sizes).filter(|(_, size)| **size > Bytes::ZERO) {
                let later = Duration::from_ps(period.as_ps() / parts * part);
                draft.push(MessageSpec {
                    source,
                    destination,
                    size: *size,
                    ..scene.template(begin.saturating_add(later))
                });
            }
        }
    }
    Ok(())
}

/// Parts that differ by at most a byte and add up to `size`.
fn split(size: Bytes, parts: u64) -> Vec<Bytes> {
    let (each, more) = (size.get() / parts, size.get() % parts);
    let part = |number| Bytes::new(each + u64::from(number < more));
    (0..parts).map(part).collect()
}

/// The time after which the algorithm raises a rate again: the longest period among its parameters, but some
/// round trips at least.
fn increase_interval(scene: &Scene<'_>) -> Duration {
    let limits = scene.scenario.congestion.params().limits().into_iter();
    let periods = limits.filter_map(|limit| match limit.rule {
        Rule::Period(period) => Some(period),
        _ => None,
    });
    let trips = scene.trip.time.saturating_mul(ROUND_TRIPS);
    periods.max().unwrap_or_default().max(trips)
}
