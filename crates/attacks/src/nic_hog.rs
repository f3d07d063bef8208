//! Many backlogged queue pairs on a host that others use, too: a NIC serves queue pairs in turn, so who
//! has more of them gets more turns.
//!
//! Stated as a danger of shared NICs by S2, section III.A, for links; the NIC's own transmitter is one.

use fairlane_fabric::MessageSpec;
use fairlane_scenario::Error;

use crate::plan::Draft;
use crate::scene::{Scene, Window};

/// As many as perftest is commonly run with to fill a NIC.
const QPS: u32 = 64;

pub(crate) fn add(scene: &Scene<'_>, window: Window, draft: &mut Draft) -> Result<(), Error> {
    let partners = scene.partners()?;
    if scene.attack.honest {
        draft.add_bulk(scene, window, &partners);
        return Ok(());
    }
    let qps = scene.attack.qps.unwrap_or(QPS) as usize;
    for (source, partner) in partners {
        let mut others = scene.destinations.clone();
        others.retain(|host| *host != source);
        let first = others.iter().position(|host| *host == partner).unwrap_or(0);
        for number in 0..qps {
            draft.push(MessageSpec {
                source,
                destination: others[(first + number) % others.len()],
                size: scene.backlog(source, window),
                ..scene.template(window.start)
            });
        }
    }
    Ok(())
}
