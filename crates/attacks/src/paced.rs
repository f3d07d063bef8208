//! No attack: an honest tenant that talks to many, at a rate below its share.
//!
//! What it does to others shows how much of the harm of a rotating attack comes from rotating, and how
//! much from taking more than a share.

use fairlane_fabric::MessageSpec;
use fairlane_scenario::Error;
use fairlane_units::{Duration, Rate};

use crate::plan::Draft;
use crate::rotation::Rotation;
use crate::scene::{Scene, Window, error_at};

pub(crate) fn add(scene: &Scene<'_>, window: Window, draft: &mut Draft) -> Result<(), Error> {
    let rate = scene.attack.rate.unwrap_or(Rate::ZERO);
    if rate.is_zero() {
        return Err(error_at(
            "rate",
            "is missing",
            "write the payload rate of each host",
        ));
    }
    let gap = scene.piece().serialization(rate).max(Duration::from_ps(1));
    scene.check_count("rate", window.span().as_ps().div_ceil(gap.as_ps()))?;
    for source in &scene.sources {
        let mut stream = scene.stream(source.get());
        // Hosts aren't in step with each other.
        let phase = Duration::from_ps(stream.below(gap.as_ps().max(1)));
        let rotation = Rotation::new(&scene.destinations, Some(*source), stream);
        let mut rotation = rotation.ok_or_else(|| scene.nobody(*source))?;
        let mut start = window.start.saturating_add(phase);
        while start < window.end {
            draft.push(MessageSpec {
                source: *source,
                destination: rotation.next(),
                ..scene.template(start)
            });
            start = start.saturating_add(gap);
        }
    }
    Ok(())
}
