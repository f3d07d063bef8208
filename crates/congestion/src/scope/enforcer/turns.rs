//! Whose turn it is, and what a packet that leaves costs.

use core::cmp::Reverse;

use fairlane_units::{Bytes, Time};

use super::{Enforcer, SenderId, Sent};
use crate::scope::tenant::pace;

impl Enforcer {
    /// Enters a lane where it waits.
    pub(super) fn schedule(&mut self, at: u32) {
        let lane = &self.lanes.all[at as usize];
        let closed = lane.ready.is_empty() || lane.in_flight >= self.window(at);
        let due = match closed {
            true => Time::MAX,
            false => lane.available,
        };
        let lane = &mut self.lanes.all[at as usize];
        if due == lane.entry_at {
            return;
        }
        self.entries += 1;
        (lane.entry, lane.entry_at) = (self.entries, due);
        if due != Time::MAX {
            let tenant = &mut self.tenants[lane.tenant as usize];
            tenant.waiting.push(Reverse((due, self.entries, at)));
        }
    }

    /// Whose turn it is: of the tenants that may send, the one that is furthest behind its part; of its pairs, the one
    /// that has waited longest; of the queue pairs of that, the next one in turn.
    pub fn next(&mut self, now: Time) -> Option<SenderId> {
        let mut best: Option<(u128, u32)> = None;
        for at in 0..self.tenants.len() {
            let Some(Reverse((due, entry, lane))) = self.first_waiting(at) else {
                continue;
            };
            if due > now {
                continue;
            }
            let turn = match self.setting.config.turns {
                true => self.turn(at),
                false => u128::from(due.as_ps()) << 64 | u128::from(entry),
            };
            if best.is_none_or(|(least, _)| turn < least) {
                best = Some((turn, lane));
            }
        }
        let (_, lane) = best?;
        self.lanes.all[lane as usize].ready.first().map(SenderId)
    }

    /// The lane of a tenant that may send first, and when.
    fn first_waiting(&mut self, tenant: usize) -> Option<Reverse<(Time, u64, u32)>> {
        let waiting = &mut self.tenants[tenant].waiting;
        while let Some(&first) = waiting.peek() {
            let Reverse((_, entry, lane)) = first;
            if self.lanes.all[lane as usize].entry == entry {
                return Some(first);
            }
            waiting.pop();
        }
        None
    }

    /// When to ask again whose turn it is, if nothing else happens.
    pub fn earliest(&mut self) -> Option<Time> {
        let tenants = 0..self.tenants.len();
        let due = tenants.filter_map(|at| self.first_waiting(at).map(|Reverse((due, ..))| due));
        due.min()
    }

    /// A packet of a queue pair is being sent. Its lane has no turn until the next packet of the queue pair is
    /// [offered](Self::offer), or the queue pair [withdrawn](Self::withdraw).
    pub fn on_sent(&mut self, now: Time, id: SenderId, sent: Sent) {
        let at = self.members.all[id.0 as usize].lane;
        let lane = &self.lanes.all[at as usize];
        let (own, tenant) = (lane.pair as usize, lane.tenant as usize);
        self.controllers.advance(own, now);
        let rate = self.rate(at);
        let span = self.setting.rounding.serialization(sent.size, rate);
        let lane = &mut self.lanes.all[at as usize];
        (lane.last_size, lane.last_rate) = (sent.size, rate);
        lane.available = lane.available.max(now) + span;
        self.set_in_flight(id, sent.in_flight);
        self.turn_around(at, id.0);
        self.pass(tenant, sent.size);
    }

    /// The queue pair that has sent, and its lane, go behind the others.
    fn turn_around(&mut self, at: u32, id: u32) {
        let lane = &mut self.lanes.all[at as usize];
        if self.members.all[id as usize].ready {
            lane.ready.remove(&mut self.members.all, id);
            lane.ready.push(&mut self.members.all, id);
        }
        // What was entered for the packet that has gone is out of date.
        lane.entry_at = Time::MAX;
        lane.entry = 0;
    }

    /// The turn of a tenant that has sent `size` comes later.
    fn pass(&mut self, at: usize, size: Bytes) {
        let start = self.turn(at);
        self.virtual_time = self.virtual_time.max(start);
        let tenant = &mut self.tenants[at];
        tenant.turn = start + u128::from(size.get()) * u128::from(tenant.pace);
    }

    /// When a tenant's turn comes, in virtual time. Whoever hasn't sent for long isn't owed that; but a pacer or a receiver
    /// that lets a packet go a little late takes no turn away: the next packet of somebody else may be worth many of its own.
    fn turn(&self, at: usize) -> u128 {
        let owed = u128::from(self.environment.bdp.get()) * u128::from(pace(1.0));
        let least = self.virtual_time.saturating_sub(owed);
        self.tenants[at].turn.max(least)
    }
}
