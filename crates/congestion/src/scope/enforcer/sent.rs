//! What a packet that leaves costs.

use fairlane_units::{Bytes, Rate, Time};

use super::{Enforcer, SenderId, Sent};
use crate::scope::Scope;
use crate::scope::lane::{Lane, Member, Place};
use crate::scope::pair::Payer;

impl Enforcer {
    /// A packet of a queue pair is being sent.
    pub fn on_sent(&mut self, now: Time, id: SenderId, sent: Sent) {
        let size = sent.size;
        let Member {
            lane: at, place, ..
        } = self.members.all[id.0 as usize];
        let Lane { tenant, pair, .. } = self.lanes.all[at as usize];
        let index = tenant as usize;
        let controller = self.controller(pair);
        self.controllers.advance(controller, now);
        self.controllers.advance(index, now);
        let second = self.second(index);
        self.controllers.advance(second, now);
        self.rescale(now, at);
        let owes = self.is_in_debt(now, at);
        let paid = place == Place::Early && !owes && self.pay(now, index, size);
        let payer = match paid {
            true => Payer::Credit,
            false => self.budget(now, pair, (index, size)),
        };
        let state = &mut self.pairs[pair as usize];
        let begins = payer == Payer::Nobody || payer > state.payer;
        let knows = !state.young;
        state.payer = state.payer.max(payer);
        self.count_limited(now, at);
        if begins && knows && self.setting.scope == Scope::Tenant {
            self.take_over(now, at);
        }
        let rate = self.rate(at);
        match paid {
            true => self.borrow(now, at, (size, rate)),
            false => self.charge(now, at, (size, rate)),
        }
        self.set_in_flight(id, sent.in_flight);
        self.turn_around(at, id.0);
        self.pass(index, size);
        self.schedule(now, at);
    }

    /// Lets the bucket of a tenant pay.
    pub(super) fn pay(&mut self, now: Time, tenant: usize, size: Bytes) -> bool {
        if !self.setting.config.express {
            return false;
        }
        let refill = self.refill(tenant);
        let bucket = &mut self.tenants[tenant].bucket;
        bucket.fill(now, refill);
        bucket.take(size)
    }

    /// What allows a packet that the bucket doesn't pay for. A pair that has delivered enough needs no budget: it has a
    /// rate of its own. Nor does anyone where beginners meet no marks: whoever began slowly there would need
    /// long to come back.
    fn budget(&mut self, now: Time, pair: u32, (tenant, size): (usize, Bytes)) -> Payer {
        let config = &self.setting.config;
        let heard = self.pairs[pair as usize].heard;
        let begun = heard >= self.beginning;
        let marked = || self.tenants[tenant].is_marked(now, config.restrained_for);
        let holds = self.cautious || self.restrained && marked();
        if begun || !holds || self.setting.scope != Scope::Tenant {
            return Payer::Budget;
        }
        let share = config.beginnings_refill * self.tenants[tenant].share;
        let refill = self.environment.line_rate.scale(share);
        let reserve = match u64::from(heard) < self.environment.bdp.get() {
            true => Bytes::ZERO,
            false => self.reserve,
        };
        let budget = &mut self.tenants[tenant].beginnings;
        budget.fill(now, refill);
        match budget.take_above(reserve, size) {
            true => Payer::Budget,
            false => Payer::Nobody,
        }
    }

    /// Charges the pacer of a lane for a packet that didn't wait for it. At low rates a debt would last for longer
    /// than what was learnt of the path holds, or what its receiver said.
    pub(super) fn borrow(&mut self, now: Time, at: u32, packet: (Bytes, Rate)) {
        let config = &self.setting.config;
        let lane = &self.lanes.all[at as usize];
        let cap = self.pairs[lane.pair as usize].cap(self.environment.line_rate);
        let span = match cap {
            None => config.debt_span,
            Some(_) => config.debt_span.max(config.share_memory),
        };
        let most = lane.available.max(now + span);
        self.charge(now, at, packet);
        let lane = &mut self.lanes.all[at as usize];
        lane.available = lane.available.min(most);
    }

    /// Charges the pacer of a lane.
    pub(super) fn charge(&mut self, now: Time, at: u32, (size, rate): (Bytes, Rate)) {
        let span = self.setting.rounding.serialization(size, rate);
        let lane = &mut self.lanes.all[at as usize];
        (lane.last_size, lane.last_rate) = (size, rate);
        lane.available = lane.available.max(now) + span;
    }

    /// The queue pair that has sent, and its lane, go behind the others.
    pub(super) fn turn_around(&mut self, at: u32, id: u32) {
        let place = self.members.all[id as usize].place;
        let lane = &mut self.lanes.all[at as usize];
        if let Some(ring) = lane.ring_mut(place) {
            ring.remove(&mut self.members.all, id);
            ring.push(&mut self.members.all, id);
        }
        let express = &mut self.tenants[lane.tenant as usize].express;
        if express.front() == Some(&at) {
            express.rotate_left(1);
        }
        // What was entered for the packet that has gone is out of date.
        lane.entry_at = Time::MAX;
        lane.entry = 0;
    }

    /// The turn of a tenant that has sent `size` comes later.
    pub(super) fn pass(&mut self, at: usize, size: Bytes) {
        let tenant = &mut self.tenants[at];
        let start = tenant.turn.max(self.virtual_time);
        self.virtual_time = start;
        tenant.turn = start + u128::from(size.get()) * u128::from(tenant.pace);
    }
}
