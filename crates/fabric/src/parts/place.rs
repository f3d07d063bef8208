//! Which part of the fabric a world is, and what it therefore does.

use std::sync::Arc;

use fairlane_units::NodeId;

use super::crossing::Outbox;
use crate::world::World;

/// Which part of a fabric this is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) part: u16,
    /// By node.
    pub(crate) part_of: Arc<[u16]>,
    /// By part.
    pub(crate) outboxes: Vec<Outbox>,
}

impl Place {
    /// The whole of a fabric of so many nodes.
    pub(crate) fn whole(nodes: usize) -> Self {
        Self {
            part: 0,
            part_of: vec![0; nodes].into(),
            outboxes: Vec::new(),
        }
    }

    /// Whether a node is in this part.
    #[inline]
    pub(crate) fn owns(&self, node: NodeId) -> bool {
        self.part_of[node.index()] == self.part
    }
}

impl World {
    /// Makes one part of a fabric that hasn't run yet, of which `part_of` says where each node is.
    pub(crate) fn part(&self, part: u16, parts: usize, part_of: &Arc<[u16]>) -> Self {
        let mut world = self.clone();
        world.place = Place {
            part,
            part_of: part_of.clone(),
            outboxes: vec![Outbox::default(); parts],
        };
        for number in 0..world.ports.len() {
            let here = part_of[world.ports[number].node as usize];
            let there = part_of[world.graph.peer(number as u32) as usize];
            world.ports[number].crosses = here != there;
        }
        let (place, specs) = (&world.place, &world.specs);
        world
            .schedule
            .keep(|message| place.owns(specs[message as usize].source));
        let messages = specs[..world.messages].iter();
        world.owed = messages.filter(|spec| place.owns(spec.source)).count();
        world.storms.keep(|node| place.owns(node));
        let own = (0u32..).zip(&world.ports);
        let own = own.filter(|(_, port)| part_of[port.node as usize] == part);
        world.sampler.keep(own.map(|(number, _)| number).collect());
        if let Some(endpoints) = &mut world.endpoints {
            endpoints.keep(|node| place.owns(node));
            world.owed += endpoints.tokens() - usize::from(endpoints.endless && part > 0);
        }
        world.records.keep_places();
        world.pauses.keep_places();
        world.tracer.records.keep_places();
        world.capture.records.keep_places();
        world
    }
}
