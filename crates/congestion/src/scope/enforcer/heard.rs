//! What comes back, and who hears of it.

use fairlane_units::{Bytes, Rate, Time};

use super::{Enforcer, SenderId};
use crate::scope::lane::{Lane, Limited};
use crate::scope::pair::Payer;
use crate::scope::{Grant, Scope};
use crate::{Ack, Leveling, Loss, Reading, Telemetry};

impl Enforcer {
    /// An acknowledgement for a queue pair has come, with the share of the receiver if it is busy.
    pub fn on_ack(&mut self, now: Time, id: SenderId, ack: &Ack<'_>, grant: Grant) {
        let member = &mut self.members.all[id.0 as usize];
        let (at, history) = (member.lane, member.history);
        let delivered = ack.acknowledged.saturating_sub(member.acknowledged);
        member.acknowledged = member.acknowledged.max(ack.acknowledged);
        self.set_in_flight(id, ack.next_to_send.saturating_sub(ack.acknowledged));
        let lane = &mut self.lanes.all[at as usize];
        lane.delivered += delivered;
        let pair = lane.pair;
        let own = self.controller(pair);
        self.controllers.advance(own, now);
        let earlier = ack
            .telemetry
            .and_then(|reading| self.histories[history as usize].1.follow(reading));
        let blind = ack.telemetry.is_some() && earlier.is_none();
        if self.setting.scope == Scope::Tenant {
            self.teach(now, at, ack, (delivered, earlier.as_ref()));
        }
        let surplus = self.surplus(pair, own);
        let reading = with(ack.telemetry, earlier.as_ref());
        let cap = self.pairs[pair as usize].cap(self.environment.line_rate);
        let divided = cap.is_some() || matches!(grant, Grant::Share(_));
        let elsewhere = divided && reading.is_some_and(Reading::is_held_before_the_last_hop);
        if let Grant::Share(share) = grant
            && self.controllers.rate(own) < self.aim(at, share.of(self.environment.line_rate))
            && !elsewhere
        {
            // Room is kept for it: it needn't be cautious.
            self.controllers.hasten(own);
        }
        if self.is_silent(now, pair) {
            self.controllers.hasten(own);
        }
        let lane = &self.lanes.all[at as usize];
        let heard = Ack {
            acknowledged: lane.delivered,
            next_to_send: lane.delivered + lane.in_flight,
            telemetry: reading.map(|reading| Reading {
                surplus,
                leveling: self.leveling(),
                ..reading
            }),
            ..*ack
        };
        let adjusted = !blind && self.controllers.on_ack(own, now, &heard);
        self.follow_share(now, at, elsewhere);
        let state = &mut self.pairs[pair as usize];
        state.note_feedback(now, delivered, self.environment.bdp);
        match grant {
            Grant::Unsaid => {}
            Grant::Free => state.set_cap(None),
            Grant::Share(share) => state.set_cap(Some(share)),
        }
        if ack.congestion_notified {
            state.note_mark(now);
        }
        self.await_heard(at);
        self.count_limited(now, at);
        if ack.congestion_notified {
            self.note_limited_mark(now, at);
        }
        if adjusted {
            self.shift(at);
        }
        self.schedule(now, at);
    }

    /// How much faster than a controller allows packets of a pair go: those that the bucket pays for go at
    /// line rate.
    fn surplus(&self, pair: u32, controller: usize) -> Rate {
        let allowed = self.controllers.rate(controller);
        match self.pairs[pair as usize].payer {
            Payer::Credit => self.environment.line_rate.saturating_sub(allowed),
            Payer::Budget | Payer::Nobody => Rate::ZERO,
        }
    }

    /// How pairs come to what others have.
    fn leveling(&self) -> Leveling {
        let config = &self.setting.config;
        match self.setting.scope {
            Scope::Tenant => Leveling {
                lean: config.lean,
                increase: config.increase,
            },
            _ => Leveling::NONE,
        }
    }

    /// Whether a pair sends so rarely that it hears next to nothing.
    fn is_silent(&self, now: Time, pair: u32) -> bool {
        let idle = self.pairs[pair as usize].idle(now);
        self.setting.scope == Scope::Tenant
            && idle.is_some_and(|span| span >= self.setting.config.young_after)
    }

    /// What limited pairs have in common hears the marks of each.
    fn note_limited_mark(&mut self, now: Time, at: u32) {
        let lane = &self.lanes.all[at as usize];
        if lane.limited == Limited::No || !self.pooled {
            return;
        }
        let pool = self.second(lane.tenant as usize);
        self.controllers.advance(pool, now);
        self.controllers.on_cnp(pool, now);
    }

    /// The aggregate hears what young pairs hear; the first acknowledgement of one ends its youth.
    pub(super) fn teach(
        &mut self,
        now: Time,
        at: u32,
        ack: &Ack<'_>,
        (delivered, earlier): (Bytes, Option<&Telemetry>),
    ) {
        let Lane { pair, tenant, .. } = self.lanes.all[at as usize];
        let tenant = tenant as usize;
        self.controllers.advance(tenant, now);
        if self.pairs[pair as usize].heard < self.horizon() {
            let surplus = self.surplus(pair, tenant);
            let state = &mut self.tenants[tenant];
            state.delivered += delivered;
            // A round of beginners is at least a bandwidth-delay product of them: what a few short ones
            // met says little of the rest.
            let round = state.awaited.max(self.environment.bdp);
            let weight = (delivered.as_f64() / round.as_f64()).min(1.0);
            if ack.congestion_notified {
                state.note_mark(now);
            }
            let reading = with(ack.telemetry, earlier);
            let next_to_send = state.delivered + round;
            let (delivered, config) = (state.delivered, &self.setting.config);
            // What beginners meet has no rate to compare with those of others; only the cautious one gives way.
            let caution = self
                .cautious
                .then_some((self.second(tenant), config.caution));
            let increase = config.aggregate_increase;
            for (aggregate, lean) in core::iter::once((tenant, 0.0)).chain(caution) {
                let heard = Ack {
                    acknowledged: delivered,
                    next_to_send,
                    telemetry: reading.map(|reading| Reading {
                        weight,
                        surplus,
                        leveling: Leveling { lean, increase },
                        ..reading
                    }),
                    ..*ack
                };
                if ack.telemetry.is_none() || earlier.is_some() {
                    self.controllers.hasten(aggregate);
                    self.controllers.on_ack(aggregate, now, &heard);
                }
            }
        }
        let state = &mut self.pairs[pair as usize];
        if core::mem::take(&mut state.young) && state.payer != Payer::Credit {
            self.take_over(now, at);
        }
    }

    /// A pair that sends what nobody paid for goes on from what its tenant has learnt, if it hasn't
    /// learnt worse itself.
    pub(super) fn take_over(&mut self, now: Time, at: u32) {
        let Lane { pair, tenant, .. } = self.lanes.all[at as usize];
        if !self.setting.config.inheritance {
            return;
        }
        let aggregate = self.begins_with(pair, tenant as usize);
        let own = self.controller(pair);
        if self.allowed(aggregate) < self.allowed(own) {
            self.controllers.inherit(own, aggregate);
            self.controllers.hasten(own);
        }
        let begins_at = self.begins_at(pair, tenant as usize);
        if self.restrained && begins_at < self.controllers.rate(own) {
            self.controllers.approach(own, now, begins_at, 1.0);
        }
    }

    /// A pair comes closer to its share. Above it, so that it doesn't take back what it had before when the
    /// receiver is less busy for a moment, before others have come up to theirs; below it, because room is
    /// kept for it that some algorithms would need very long to find.
    fn follow_share(&mut self, now: Time, at: u32, elsewhere: bool) {
        let config = &self.setting.config;
        let pair = self.lanes.all[at as usize].pair;
        let state = &self.pairs[pair as usize];
        let cap = state.cap(self.environment.line_rate);
        let (Some(cap), Some(since)) = (cap, state.idle(now)) else {
            return;
        };
        if config.share_memory.is_zero() {
            return;
        }
        let share = since.min(config.young_after).as_ns_f64() / config.share_memory.as_ns_f64();
        let (own, aim) = (self.controller(pair), self.aim(at, cap));
        if elsewhere && self.controllers.rate(own) < aim {
            return;
        }
        self.controllers.approach(own, now, aim, share.min(1.0));
    }

    /// What the controller of a lane has to allow for the lane to send at `share`: of k limited pairs each sends at a
    /// k-th of that.
    fn aim(&self, at: u32, share: Rate) -> Rate {
        let (part, all) = self.part(at);
        (share * all / part).min(self.environment.line_rate)
    }

    /// The packet sent last is charged at the rate of now.
    pub(super) fn shift(&mut self, at: u32) {
        let rate = self.rate(at);
        let rounding = self.setting.rounding;
        let lane = &mut self.lanes.all[at as usize];
        let was = rounding.serialization(lane.last_size, lane.last_rate);
        let is = rounding.serialization(lane.last_size, rate);
        let later = (lane.available.saturating_add(is))
            .as_ps()
            .saturating_sub(was.as_ps());
        (lane.available, lane.last_rate) = (Time::from_ps(later), rate);
    }

    /// A notification for a queue pair has come apart from acknowledgements.
    pub fn on_cnp(&mut self, now: Time, id: SenderId) {
        let at = self.members.all[id.0 as usize].lane;
        let Lane { pair, tenant, .. } = self.lanes.all[at as usize];
        let own = self.controller(pair);
        self.controllers.advance(own, now);
        self.controllers.on_cnp(own, now);
        if self.setting.scope == Scope::Tenant && self.pairs[pair as usize].heard < self.horizon() {
            self.controllers.advance(tenant as usize, now);
            self.controllers.on_cnp(tenant as usize, now);
            self.tenants[tenant as usize].note_mark(now);
        }
        self.pairs[pair as usize].note_mark(now);
        self.count_limited(now, at);
        self.note_limited_mark(now, at);
        self.schedule(now, at);
    }

    /// Packets of a queue pair were lost.
    pub fn on_loss(&mut self, now: Time, id: SenderId, loss: Loss) {
        let at = self.members.all[id.0 as usize].lane;
        let own = self.controller(self.lanes.all[at as usize].pair);
        self.controllers.advance(own, now);
        self.controllers.on_loss(own, now, loss);
        self.schedule(now, at);
    }
}

/// A reading with what was seen earlier.
fn with<'a>(reading: Option<Reading<'a>>, earlier: Option<&'a Telemetry>) -> Option<Reading<'a>> {
    reading.map(|reading| Reading { earlier, ..reading })
}
