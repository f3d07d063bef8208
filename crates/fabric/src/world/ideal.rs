//! Completion times alone on the fabric.

use fairlane_units::{Duration, FlowId, MessageId, QpId};

use super::subflows;
use crate::baseline::Work;
use crate::ideal::{KnownPaths, bound, bound_divided, least};
use crate::world::World;
use crate::{MessageRecord, MessageSpec};

impl World {
    /// Notes the completion time of a message alone on the fabric under the present routes. `before` are the paths under
    /// the routes before them.
    ///
    /// Data and acknowledgements may be on old and new paths at once, so the ideal time is what no
    /// distribution over them can beat.
    pub(crate) fn note_message_paths(&mut self, message: MessageId, before: KnownPaths) {
        let mut paths = before;
        paths.extend(subflows::paths(self, message));
        let MessageSpec { verb, size, .. } = *self.traffic.message(message);
        let flow = self.traffic.flow_of(message);
        let (work, rules) = (Work::message(verb, size), self.traffic.rules_of(flow));
        let ideal = match subflows::keeps_packets(self, message, size) {
            // Links between switches may be slower than those of the hosts: together they aren't.
            Some(true) => bound(&paths.known, &work, rules),
            Some(false) => bound_divided(&paths.known, &work, rules),
            None => least(&paths.known, &work, self.net.plan(), rules),
        };
        let moved = bound(&paths.any, &work, rules);
        if let Some(posted) = self.hosts.connections.posted.get_mut(&message) {
            posted.ideal = [posted.ideal, ideal].into_iter().flatten().min();
            posted.moved = [posted.moved, moved].into_iter().flatten().min();
        }
    }

    /// Notes the paths of an application's queue pair under the present routes, beside those `before`.
    pub(crate) fn note_qp_paths(&mut self, qp: QpId, flow: FlowId, before: KnownPaths) {
        let mut paths = before;
        paths.extend(self.profiles.known_paths(&self.net, flow));
        if let Some(endpoints) = &mut self.endpoints {
            endpoints.note_paths(qp, paths);
        }
    }
}

/// Adds the record of something that has ended, with its flow and the least that its ideal time can be if
/// that was moved under way: only in the end it is known whether it was, as other parts may have done it.
pub(crate) fn push_record(
    world: &mut World,
    record: MessageRecord,
    moved: (FlowId, Option<Duration>),
) {
    let event = world.net.engine.latest();
    world.records.push(event, record);
    if world.net.plan().forks {
        world.moved.push(event, moved);
    }
}

/// Lowers the ideal times of what was moved under way.
pub(crate) fn lower_ideals(world: &mut World) {
    let Some(deflection) = world.net.deflection() else {
        return;
    };
    let records = world.records.entries.iter_mut();
    for (record, &(flow, least)) in records.zip(&world.moved.entries) {
        let least = least.filter(|_| deflection.has_moved(flow));
        record.ideal = least.map_or(record.ideal, |least| record.ideal.min(least));
    }
}
