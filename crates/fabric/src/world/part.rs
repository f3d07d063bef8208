//! Making parts of a fabric, and what crosses between them.

use std::sync::Arc;

use crate::events::control;
use crate::mail::{Mail, Mailboxes};
use crate::world::World;

impl World {
    /// Makes one part of a fabric that hasn't run yet, of which `part_of` says where each node is.
    pub(crate) fn part(&self, part: u16, parts: usize, part_of: &Arc<[u16]>) -> Self {
        let mut world = self.clone();
        world.net.make_part(part, parts, part_of);
        world.hosts.mail = Mailboxes::new(parts);
        let (place, messages) = (world.net.place(), world.traffic.messages());
        let steps = world.schedule.keep(messages, |node| place.owns(node));
        let messages = messages.iter();
        world.owed = messages.filter(|spec| place.owns(spec.source)).count() + steps;
        world.storms.keep(|node| place.owns(node));
        let own = (0u32..).zip(world.net.ports());
        let own = own.filter(|(_, port)| part_of[port.node as usize] == part);
        world.sampler.keep(own.map(|(number, _)| number).collect());
        if let Some(chosen) = &mut world.chosen {
            let ports = world.net.ports();
            chosen.keep(|port| part_of[ports[port as usize].node as usize] == part);
        }
        if let Some(endpoints) = &mut world.endpoints {
            endpoints.keep(|node| place.owns(node));
            world.owed += endpoints.tokens() - usize::from(endpoints.endless && part > 0);
        }
        world.records.keep_places();
        if let Some(rates) = &mut world.rates {
            rates.records.keep_places();
        }
        world.moved.keep_places();
        world
    }

    /// Takes in what hosts of another part had for those here; returns it empty.
    pub(crate) fn receive_mail(&mut self, mut mail: Mail) -> Mail {
        for posted in mail.posted.drain(..) {
            let connections = &mut self.hosts.connections;
            connections.expect(posted.flow, posted.message, posted.packets);
        }
        for (at, notice) in mail.notices.drain(..) {
            self.notices.insert(at, notice);
            self.net.schedule_control(at, control::NOTICE);
        }
        mail
    }
}
