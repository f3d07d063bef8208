//! Notices runs that can't end.

use fairlane_network::Network;
use fairlane_network::deflection::Deflection;

use super::account::Account;
use crate::endpoint::Endpoints;
use crate::events::control;
use crate::multipath::Multipath;
use crate::waits::{self, Circle, Waiter};
use crate::watch::Watch;
use crate::world::World;
use crate::{Ending, MessageSpec, Stall};

impl World {
    pub(crate) fn on_watch(&mut self) {
        if self.is_done() {
            return;
        }
        let mut watch = self.watch.clone();
        let stuck = look(&mut watch, &[self]);
        self.watch = watch;
        match stuck {
            Some(circle) => {
                self.ending = Some(Ending::Stalled(Account { world: self }.stall(&circle)))
            }
            None => {
                let at = self.net.now().saturating_add(self.watch.interval);
                self.net.schedule_control(at, control::WATCH);
            }
        }
    }

    /// Whether something other than an acknowledgement, or the end of a pause, can still move an unfinished
    /// message.
    fn will_act(&self) -> bool {
        self.schedule.is_pending()
            || self.notices.are_pending()
            || self.faults.is_pending()
            || self
                .net
                .deflection()
                .is_some_and(|deflection| deflection.held() > 0)
            || self.hosts.outside.as_ref().is_some_and(|it| it.will_act)
            || self.hosts.nics.iter().any(|nic| nic.core.will_act())
            || self.endpoints.as_deref().is_some_and(Endpoints::will_act)
            || self.multipath.as_deref().is_some_and(Multipath::will_act)
    }
}

impl Account<'_> {
    /// Describes a run that can't end; `circle` is what is to blame, if anything that waits is.
    pub(crate) fn stall(&self, circle: &[Waiter]) -> Stall {
        let unfinished =
            (self.world.owed - self.world.schedule.local.left - self.world.records.len()) as u32;
        let first = self
            .world
            .hosts
            .connections
            .posted
            .keys()
            .next()
            .map(|&message| {
                let MessageSpec {
                    source,
                    destination,
                    ..
                } = *self.world.traffic.message(message);
                format!("message {message} from host {source} to host {destination}")
            });
        let first = first.unwrap_or_else(|| "a message that was never posted".into());
        let reason = match circle {
            [] => {
                let deflection = self.world.net.deflection();
                let held = match deflection.map_or(0, Deflection::held) {
                    0 => String::new(),
                    held => format!("; {held} packets are held until tails have passed"),
                };
                format!(
                    "{first} waits for packets or acknowledgements that were lost and are not sent again{held}"
                )
            }
            circle => waits::describe(&self.world.net, circle),
        };
        Stall {
            at: self.world.net.now(),
            pause_cycle: waits::ports(circle),
            unfinished,
            reason,
        }
    }
}

/// Looks at the parts of one fabric. Returns the circle of waits that stands, or if nothing has moved and nothing will, the
/// one that is to blame, an empty one if it is something else.
pub(crate) fn look(watch: &mut Watch, parts: &[&World]) -> Option<Circle> {
    let now = parts[0].net.now();
    let networks: Vec<&Network> = parts.iter().map(|world| &world.net).collect();
    let circle = waits::circle(&networks);
    if watch.stands(now, &circle) {
        return Some(circle);
    }
    if !watch.judges(now) {
        return None;
    }
    let placed = parts.iter().map(|world| world.hosts.heard().placed).sum();
    if std::mem::replace(&mut watch.placed, placed) != placed {
        watch.since = now;
        return None;
    }
    if !circle.is_empty() {
        return Some(circle);
    }
    if parts.iter().any(|world| world.will_act()) {
        watch.since = now;
        return None;
    }
    let frees = |world: &&World| world.storms.may_free(watch.since, now, watch.interval);
    (!parts.iter().any(frees)).then(Circle::new)
}
