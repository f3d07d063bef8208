//! Which queue pair sends next, and what a packet that leaves costs.

use core::cmp::Reverse;

use fairlane_units::{Bytes, Time};

use super::{Enforcer, SenderId, Sent};
use crate::scope::lane::{Allowed, Member};
use crate::scope::tenant::pace;

impl Enforcer {
    /// Enters a lane where it waits.
    pub(super) fn schedule(&mut self, at: u32) {
        let lane = &self.lanes.all[at as usize];
        let due = match (lane.small.is_empty(), lane.large.is_empty()) {
            (true, true) => Time::MAX,
            (true, false) => self.at_pace(at),
            (false, _) => self.at_pace(at).min(self.ahead_of_pace(at)),
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

    /// When a lane may send at its pace.
    fn at_pace(&self, at: u32) -> Time {
        let lane = &self.lanes.all[at as usize];
        match lane.in_flight < lane.allowed.window {
            true => lane.pacer.available(),
            false => Time::MAX,
        }
    }

    /// When a lane may send ahead of its pace, [`Time::MAX`] if it must hear something before.
    pub(super) fn ahead_of_pace(&self, at: u32) -> Time {
        let lane = &self.lanes.all[at as usize];
        let in_flight = lane.in_flight.saturating_sub(self.ahead);
        if self.ahead.is_zero() || in_flight >= lane.allowed.window {
            return Time::MAX;
        }
        let depth = self.ahead.saturating_sub(self.environment.mtu);
        lane.debt.allows(depth.serialization(lane.allowed.carried))
    }

    /// The queue pair that sends next: of the tenants that may send, the one that is furthest behind its part; of its pairs,
    /// the one that has waited longest; of the queue pairs of that, the next one in turn, or ahead of its pace the next one
    /// with a small message.
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
        self.next_of(now, lane).map(SenderId)
    }

    /// The queue pair of a lane whose turn it is.
    fn next_of(&self, now: Time, at: u32) -> Option<u32> {
        let lane = &self.lanes.all[at as usize];
        let (small, large) = (lane.small.first(), lane.large.first());
        let (Some(one), Some(other)) = (small, large) else {
            return small.or(large);
        };
        let turn = |id: u32| self.members.all[id as usize].turn;
        match turn(other) < turn(one) && self.at_pace(at) <= now {
            true => large,
            false => small,
        }
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

    /// From when on the next packet of a queue pair may be sent, as far as its lane is concerned; `None` if it has none, or its
    /// window is closed.
    pub fn available(&self, id: SenderId) -> Option<Time> {
        let member = &self.members.all[id.0 as usize];
        let at = match member.small {
            true => self
                .at_pace(member.lane)
                .min(self.ahead_of_pace(member.lane)),
            false => self.at_pace(member.lane),
        };
        Some(at).filter(|&at| member.ready && at != Time::MAX)
    }

    /// A packet of a queue pair is being sent. Its lane has no turn until the next packet of the queue pair is
    /// [offered](Self::offer), or the queue pair [withdrawn](Self::withdraw).
    pub fn on_sent(&mut self, now: Time, id: SenderId, sent: Sent) {
        let at = self.members.all[id.0 as usize].lane;
        let lane = &self.lanes.all[at as usize];
        let (own, tenant) = (lane.pair as usize, lane.tenant as usize);
        if self.controllers.advance(own, now) {
            self.follow(now, at);
        }
        let (ahead, rounding) = (self.ahead, self.setting.rounding);
        let lane = &mut self.lanes.all[at as usize];
        let Allowed { rate, carried, .. } = lane.allowed;
        lane.pacer.on_sent(now, sent.size, rate, rounding);
        lane.charged = rate;
        if !ahead.is_zero() {
            let spans = [sent.size, ahead].map(|size| size.serialization(carried));
            lane.debt.on_sent(now, spans.into());
        }
        self.set_in_flight(id, sent.in_flight);
        self.sent += 1;
        self.members.all[id.0 as usize].on_sent(now, self.sent);
        self.turn_around(at, id.0);
        self.pass(tenant, sent.size);
    }

    /// The queue pair that has sent, and its lane, go behind the others.
    fn turn_around(&mut self, at: u32, id: u32) {
        let lane = &mut self.lanes.all[at as usize];
        let Member { ready, small, .. } = self.members.all[id as usize];
        if ready {
            let ring = lane.ring(small);
            ring.remove(&mut self.members.all, id);
            ring.push(&mut self.members.all, id);
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
