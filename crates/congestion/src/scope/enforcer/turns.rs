//! Whose turn it is.

use core::cmp::Reverse;

use fairlane_units::{Bytes, Time};

use super::{Enforcer, SenderId};
use crate::scope::pair::NONE;

impl Enforcer {
    /// Enters a lane where it waits.
    pub(super) fn schedule(&mut self, now: Time, at: u32) {
        self.rescale(now, at);
        let lane = &self.lanes.all[at as usize];
        let closed = !lane.has_packet() || lane.in_flight >= self.window(at);
        // The rate may rise while nothing happens to the lane: it is looked at again now and then.
        let often = self
            .setting
            .config
            .young_after
            .max(self.environment.base_rtt);
        let again = now.saturating_add(often);
        let due = match closed {
            true => Time::MAX,
            false => lane.available.min(again),
        };
        let early = self.setting.config.express && !lane.early.is_empty();
        let express = early && !lane.in_express && !self.is_in_debt(now, at);
        let lane = &mut self.lanes.all[at as usize];
        let tenant = &mut self.tenants[lane.tenant as usize];
        if express {
            lane.in_express = true;
            tenant.express.push_back(at);
        }
        if due != lane.entry_at {
            self.entries += 1;
            (lane.entry, lane.entry_at) = (self.entries, due);
            if due != Time::MAX {
                tenant.waiting.push(Reverse((due, self.entries, at)));
            }
        }
    }

    /// Whose turn it is.
    pub fn next(&mut self, now: Time) -> Option<SenderId> {
        let mut best: Option<(u128, SenderId)> = None;
        for at in 0..self.tenants.len() {
            let paid = self.next_paid(now, at);
            if paid.is_some() && self.setting.config.express_first {
                return paid;
            }
            let Some(id) = paid.or_else(|| self.next_waiting(now, at)) else {
                continue;
            };
            let turn = match self.setting.config.arbitration {
                true => self.tenants[at].turn.max(self.virtual_time),
                false => self.since(at),
            };
            if best.is_none_or(|(least, _)| turn < least) {
                best = Some((turn, id));
            }
        }
        best.map(|(_, id)| id)
    }

    /// For how long the first lane of a tenant has waited: the time from which it could send.
    pub(super) fn since(&self, tenant: usize) -> u128 {
        let first = self.tenants[tenant].waiting.peek();
        first.map_or(0, |Reverse((at, entry, _))| {
            u128::from(at.as_ps()) << 64 | u128::from(*entry)
        })
    }

    /// The queue pair whose packet the bucket of a tenant pays for.
    pub(super) fn next_paid(&mut self, now: Time, tenant: usize) -> Option<SenderId> {
        let (id, size) = self.first_express(now, tenant)?;
        let refill = self.refill(tenant);
        let bucket = &mut self.tenants[tenant].bucket;
        bucket.fill(now, refill);
        (bucket.level() >= size).then_some(SenderId(id))
    }

    /// The first queue pair with an early packet, and the packet's size.
    pub(super) fn first_express(&mut self, now: Time, tenant: usize) -> Option<(u32, Bytes)> {
        while let Some(&at) = self.tenants[tenant].express.front() {
            let id = self.lanes.all[at as usize].early.head;
            if id != NONE && !self.is_in_debt(now, at) {
                return Some((id, self.members.all[id as usize].wire));
            }
            self.lanes.all[at as usize].in_express = false;
            self.tenants[tenant].express.pop_front();
        }
        None
    }

    /// The first lane of a tenant that its pacer lets go.
    pub(super) fn next_waiting(&mut self, now: Time, tenant: usize) -> Option<SenderId> {
        while let Some((due, at)) = self.first_waiting(tenant) {
            if due > now {
                return None;
            }
            let lane = &self.lanes.all[at as usize];
            if lane.available <= now {
                return lane.first().map(SenderId);
            }
            let own = self.controller(lane.pair);
            self.controllers.advance(own, now);
            self.schedule(now, at);
        }
        None
    }

    /// The lane of a tenant that may send first, and when.
    pub(super) fn first_waiting(&mut self, tenant: usize) -> Option<(Time, u32)> {
        let waiting = &mut self.tenants[tenant].waiting;
        while let Some(&Reverse((at, entry, lane))) = waiting.peek() {
            if self.lanes.all[lane as usize].entry == entry {
                return Some((at, lane));
            }
            waiting.pop();
        }
        None
    }

    /// When to ask again whose turn it is, if nothing else happens.
    pub fn earliest(&mut self, now: Time) -> Option<Time> {
        let mut earliest = None;
        for at in 0..self.tenants.len() {
            let waiting = self.first_waiting(at).map(|(at, _)| at);
            let paid = self
                .first_express(now, at)
                .and_then(|(_, size)| self.tenants[at].bucket.ready(size, self.refill(at)));
            for time in [waiting, paid].into_iter().flatten() {
                earliest = Some(earliest.map_or(time, |least: Time| least.min(time)));
            }
        }
        earliest
    }
}
