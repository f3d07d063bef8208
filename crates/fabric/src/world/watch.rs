//! Notices runs that can't end.

use fairlane_units::{PortId, Time};

use crate::endpoint::Endpoints;
use crate::waking::control;
use crate::watch::pause_cycle;
use crate::world::World;
use crate::{Ending, MessageSpec, Stall};

impl World {
    pub(crate) fn start_watch(&mut self, after: Time) {
        let at = after.saturating_add(self.watch.interval);
        self.net.schedule_control(at, control::WATCH);
    }

    pub(crate) fn on_watch(&mut self) {
        let placed = self.hosts.heard().placed;
        let progressed = std::mem::replace(&mut self.watch.placed, placed) != placed;
        if !progressed && !self.is_done() {
            let cycle = pause_cycle(&[&self.net]);
            if !cycle.is_empty() || !self.may_recover() {
                self.ending = Some(Ending::Stalled(self.stall(cycle)));
                return;
            }
        }
        if !self.is_done() {
            self.start_watch(self.net.now());
        }
    }

    /// Whether something other than an acknowledgement can still move an unfinished message.
    pub(crate) fn may_recover(&self) -> bool {
        self.schedule.is_pending()
            || self.notices.are_pending()
            || self.faults.is_pending()
            || self.storms.were_on(self.net.now(), self.watch.interval)
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
            format!(
                "{first} waits for packets or acknowledgements that were lost and are not sent again"
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
