//! All hosts send to the same destination, and have moved on when its queue has grown.
//!
//! Each pair of hosts is used once in a circle of destinations, so feedback on it is stale; each round puts
//! (hosts x piece) into one queue. The rotation of S2, section III.C, with the destinations aligned.

use fairlane_fabric::MessageSpec;
use fairlane_scenario::Error;
use fairlane_units::{MessageId, NodeId};

use crate::plan::Draft;
use crate::rotation::Rotation;
use crate::scene::{SHARED, Scene, Window};

/// Rounds under way: all hosts wait for each other before they move on.
const OUTSTANDING: u32 = 1;

pub(crate) fn add(scene: &Scene<'_>, window: Window, draft: &mut Draft) -> Result<(), Error> {
    // A source without other destinations would never send.
    scene.partners()?;
    let outstanding = scene.attack.outstanding.unwrap_or(OUTSTANDING).max(1) as usize;
    let stream = scene.stream(SHARED);
    let Some(mut rotation) = Rotation::new(&scene.destinations, None, stream) else {
        return Ok(());
    };
    if scene.attack.honest {
        let at_once = outstanding.min(rotation.len());
        let fixed: Vec<NodeId> = (0..at_once).map(|_| rotation.next()).collect();
        draft.add_bulk(scene, window, &pairs(scene, &fixed));
        return Ok(());
    }
    let count = rounds(scene, window, outstanding)?;
    let period = scene.attack.period.unwrap_or_default();
    // Of each round, what others wait for.
    let mut ends: Vec<MessageId> = Vec::new();
    for round in 0..count {
        let start = window.start.saturating_add(period.saturating_mul(round));
        if start >= window.end {
            break;
        }
        let after = ends
            .len()
            .checked_sub(outstanding)
            .map(|before| ends[before]);
        let members = pairs(scene, &[rotation.next()]);
        let mut end = None;
        for (source, destination) in members {
            // The first is the one to wait for; the others join it.
            let number = draft.push(MessageSpec {
                source,
                destination,
                after,
                joins: end,
                ..scene.template(start)
            });
            end.get_or_insert(number);
        }
        ends.extend(end);
    }
    Ok(())
}

/// Every source with each of some destinations but itself.
fn pairs(scene: &Scene<'_>, destinations: &[NodeId]) -> Vec<(NodeId, NodeId)> {
    let to = |source: NodeId| {
        let others = destinations.iter().filter(move |host| **host != source);
        others.map(move |host| (source, *host))
    };
    scene.sources.iter().copied().flat_map(to).collect()
}

/// A number of rounds that is more than destinations can receive in a window.
fn rounds(scene: &Scene<'_>, window: Window, outstanding: usize) -> Result<u64, Error> {
    let fastest = scene
        .destinations
        .iter()
        .map(|host| scene.rate(*host))
        .max();
    let bytes = fastest.unwrap_or_default().bytes_in(window.span()).get();
    let senders = (scene.sources.len() as u64).saturating_sub(1).max(1);
    let in_turn = bytes.div_ceil(scene.piece().get().saturating_mul(senders));
    let outstanding = outstanding as u64;
    let count = in_turn.saturating_add(1).saturating_mul(outstanding);
    scene.check_count("duration", count)?;
    Ok(count)
}
