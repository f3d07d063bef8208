//! All hosts send to the same destination, and have moved on when its queue has grown.
//!
//! Each pair of hosts is used once in a circle of destinations, so feedback on it is stale; each round puts
//! (hosts x piece) into one queue. The rotation of S2, section III.C, with the destinations aligned.

use fairlane_fabric::MessageSpec;
use fairlane_scenario::Error;
use fairlane_units::NodeId;

use crate::plan::Draft;
use crate::rotation::{Chain, Rotation};
use crate::scene::{SHARED, Scene, Window};

/// Rounds under way from each host: one arrives while the next is sent.
const OUTSTANDING: u32 = 2;

pub(crate) fn add(scene: &Scene<'_>, window: Window, draft: &mut Draft) -> Result<(), Error> {
    // A source without other destinations would never send.
    scene.partners()?;
    let outstanding = scene.attack.outstanding.unwrap_or(OUTSTANDING);
    let count = scene.pieces(window, scene.piece(), outstanding)?;
    let period = scene.attack.period.unwrap_or_default();
    let stream = scene.stream(SHARED);
    let Some(mut rotation) = Rotation::new(&scene.destinations, None, stream) else {
        return Ok(());
    };
    let rounds: Vec<NodeId> = (0..count).map(|_| rotation.next()).collect();
    for source in &scene.sources {
        let mut chain = Chain::new(outstanding);
        for (round, destination) in (0..).zip(&rounds) {
            let start = window.start.saturating_add(period.saturating_mul(round));
            if destination == source || start >= window.end {
                continue;
            }
            let message = MessageSpec {
                source: *source,
                destination: *destination,
                ..scene.template(start)
            };
            chain.push(draft, message);
        }
    }
    Ok(())
}
