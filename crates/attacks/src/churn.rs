//! A few bandwidth-delay products to one destination, or less than one, then on to the next.
//!
//! The attack that remains where a pair of hosts is a unit of control, and where a new pair is held back
//! for its first round trips only: `bdps` says how long a pair is used. With a `piece` below a product a pair is left
//! before it has heard anything. Not published; S2 rotates by one product.

use fairlane_fabric::MessageSpec;
use fairlane_scenario::{Attack, Error};
use fairlane_units::Bytes;

use crate::plan::Draft;
use crate::rotation::{Chain, Rotation};
use crate::scene::{Scene, Window};

/// Messages under way from each host: one arrives while the next is sent.
const OUTSTANDING: u32 = 2;

/// What goes to one destination before the next.
pub(crate) fn size(attack: &Attack, bdp: Bytes) -> Bytes {
    let products = attack.bdps.unwrap_or(1);
    attack.piece.unwrap_or_else(|| bdp * u64::from(products))
}

pub(crate) fn add(scene: &Scene<'_>, window: Window, draft: &mut Draft) -> Result<(), Error> {
    let size = size(scene.attack, scene.trip.bdp);
    let outstanding = scene.attack.outstanding.unwrap_or(OUTSTANDING);
    let count = scene.pieces(window, size, outstanding)?;
    for source in &scene.sources {
        let stream = scene.stream(source.get());
        let rotation = Rotation::new(&scene.destinations, Some(*source), stream);
        let mut rotation = rotation.ok_or_else(|| scene.nobody(*source))?;
        let mut chain = Chain::new(outstanding);
        for _ in 0..count {
            let message = MessageSpec {
                source: *source,
                destination: rotation.next(),
                size,
                ..scene.template(window.start)
            };
            chain.push(draft, message);
        }
    }
    Ok(())
}
