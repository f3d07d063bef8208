//! Notices runs that can't end.

use fairlane_units::PortId;

use crate::endpoint::Endpoints;
use crate::network::Network;
use crate::network::deflection::Deflection;
use crate::network::deflection::waits::waits;
use crate::waking::control;
use crate::watch::{Watch, pause_cycle};
use crate::world::World;
use crate::{Ending, MessageSpec, Stall};

impl World {
    pub(crate) fn on_watch(&mut self) {
        if self.is_done() {
            return;
        }
        let mut watch = self.watch;
        let stuck = look(&mut watch, &[self]);
        self.watch = watch;
        match stuck {
            Some(cycle) => self.ending = Some(Ending::Stalled(self.stall(cycle))),
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
                .deflection
                .as_deref()
                .is_some_and(Deflection::holds_any)
            || self.hosts.nics.iter().any(|nic| nic.host.will_act())
            || self.endpoints.as_deref().is_some_and(Endpoints::will_act)
    }

    /// Describes a run that can't end; `cycle` is what [`pause_cycle`] found.
    pub(crate) fn stall(&self, cycle: Vec<PortId>) -> Stall {
        let unfinished = (self.owed - self.records.len()) as u32;
        let first = self.hosts.connections.posted.keys().next().map(|&message| {
            let MessageSpec {
                source,
                destination,
                ..
            } = self.net.specs[message as usize];
            format!("message {message} from host {source} to host {destination}")
        });
        let first = first.unwrap_or_else(|| "a message that was never posted".into());
        let reason = if cycle.is_empty() {
            let held = match waits(&[&self.net]).len() {
                0 => String::new(),
                held => format!("; {held} packets are held until tails have passed"),
            };
            format!(
                "{first} waits for packets or acknowledgements that were lost and are not sent again{held}"
            )
        } else {
            let name = |port: &PortId| {
                let (node, peer) = self.net.ends(port.get());
                format!("{node}->{peer}")
            };
            let names: Vec<String> = cycle.iter().map(name).collect();
            format!(
                "a cycle of pauses: links {} wait for each other",
                names.join(", ")
            )
        };
        Stall {
            at: self.net.now(),
            pause_cycle: cycle,
            unfinished,
            reason,
        }
    }
}

/// Looks at the parts of one fabric. If nothing has moved and nothing will, returns the circle of pauses
/// that is to blame, an empty one if it is something else.
pub(crate) fn look(watch: &mut Watch, parts: &[&World]) -> Option<Vec<PortId>> {
    let now = parts[0].net.now();
    let placed = parts.iter().map(|world| world.hosts.heard().placed).sum();
    if std::mem::replace(&mut watch.placed, placed) != placed {
        watch.since = now;
        return None;
    }
    let networks: Vec<&Network> = parts.iter().map(|world| &world.net).collect();
    let cycle = pause_cycle(&networks);
    if !cycle.is_empty() {
        return Some(cycle);
    }
    if parts.iter().any(|world| world.will_act()) {
        watch.since = now;
        return None;
    }
    let frees = |world: &&World| world.storms.may_free(watch.since, now, watch.interval);
    (!parts.iter().any(frees)).then(Vec::new)
}
