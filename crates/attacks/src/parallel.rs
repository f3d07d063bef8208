//! Many queue pairs at once: the bottleneck is shared by queue pair, so who has more gets more.
//!
//! S2, section III.A: a fair share is a fair share for each QP. Long messages are cut into pieces that are
//! posted at the same time, each on a queue pair of its own. Exploits scope `qp`, and `destination-unsplit`,
//! under which each queue pair sends at the shared rate.

use fairlane_fabric::MessageSpec;
use fairlane_scenario::Error;

use crate::plan::Draft;
use crate::scene::Scene;
use crate::split::{Cut, replace_long};

pub(crate) fn cut(scene: &Scene<'_>, draft: &mut Draft) -> Result<(), Error> {
    let how = match scene.attack.qps {
        Some(parts) => Cut::Parts(parts),
        None => Cut::Pieces(scene.piece()),
    };
    replace_long(scene, draft, how, |_, message, sizes| {
        let piece = |size| MessageSpec {
            size,
            after: None,
            ..*message
        };
        sizes.into_iter().map(piece).collect()
    })
}
