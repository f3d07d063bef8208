//! Completion times alone on the fabric.

use crate::MessageSpec;
use crate::baseline::Work;
use crate::ideal::{Paths, least};
use crate::world::World;

impl World {
    /// Notes the completion time of a message alone on the fabric, and the paths of a queue
    /// pair that stays open, under the present routes. `before` are those under the routes before them.
    ///
    /// Data and acknowledgements may be on old and new paths at once, so the ideal time is what no
    /// distribution over them can beat.
    pub(crate) fn note_ideal(&mut self, flow: u32, before: Paths) {
        let [mut there, mut back] = before;
        let [new_there, new_back] = self.net.known_paths(flow);
        there.extend(new_there);
        back.extend(new_back);
        let paths = [there, back];
        if self.net.stays_open(flow) {
            let pair = self.net.pair_of(flow);
            if let Some(endpoints) = &mut self.endpoints {
                endpoints.note_paths(pair, paths);
            }
            return;
        }
        let MessageSpec { verb, size, .. } = self.net.specs[flow as usize];
        let ideal = least(
            &paths,
            &Work::message(verb, size),
            &self.net.plan,
            &self.net.rules,
        );
        if let Some(posted) = self.hosts.connections.posted.get_mut(&flow) {
            posted.ideal = [posted.ideal, ideal].into_iter().flatten().min();
        }
    }
}
