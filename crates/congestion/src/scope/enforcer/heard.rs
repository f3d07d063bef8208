//! What comes back, and who hears of it.

use fairlane_units::{Bytes, Rate, Time};

use super::{Enforcer, SenderId};
use crate::scope::Scope;
use crate::scope::lane::Lane;
use crate::{Ack, Loss, Reading, Telemetry};

impl Enforcer {
    /// An acknowledgement for a queue pair has come, with the share of the receiver if it is busy.
    pub fn on_ack(&mut self, now: Time, id: SenderId, ack: &Ack<'_>, share: Option<Rate>) {
        let member = &mut self.members.all[id.0 as usize];
        let at = member.lane;
        let delivered = ack.acknowledged.saturating_sub(member.acknowledged);
        member.acknowledged = member.acknowledged.max(ack.acknowledged);
        self.set_in_flight(id, ack.next_to_send.saturating_sub(ack.acknowledged));
        let lane = &mut self.lanes.all[at as usize];
        lane.delivered += delivered;
        let pair = lane.pair;
        let own = self.controller(pair);
        self.controllers.catch_up(own, now);
        let earlier = ack
            .telemetry
            .and_then(|reading| self.history.follow(reading));
        let blind = ack.telemetry.is_some() && earlier.is_none();
        if self.setting.scope == Scope::Tenant {
            self.teach(now, at, ack, (delivered, earlier.as_ref()));
        }
        let lane = &self.lanes.all[at as usize];
        let heard = Ack {
            acknowledged: lane.delivered,
            next_to_send: lane.delivered + lane.in_flight,
            telemetry: with(ack.telemetry, earlier.as_ref()),
            ..*ack
        };
        let adjusted = !blind && self.controllers.on_ack(own, now, &heard);
        let state = &mut self.pairs[pair as usize];
        state.note_feedback(now, delivered);
        state.set_cap(share.filter(|_| self.setting.config.shares));
        if ack.congestion_notified {
            state.note_mark(now);
        }
        self.count_limited(now, at);
        if adjusted {
            self.shift(at);
        }
        self.schedule(now, at);
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
        self.controllers.catch_up(tenant, now);
        if self.pairs[pair as usize].heard < self.horizon() {
            let state = &mut self.tenants[tenant];
            state.delivered += delivered;
            state.sent = state.sent.max(state.delivered);
            let heard = Ack {
                acknowledged: state.delivered,
                next_to_send: state.sent,
                telemetry: with(ack.telemetry, earlier),
                ..*ack
            };
            if ack.telemetry.is_none() || earlier.is_some() {
                self.controllers.on_ack(tenant, now, &heard);
            }
        }
        let own = self.controller(pair);
        let state = &mut self.pairs[pair as usize];
        if !core::mem::take(&mut state.young) || state.paid || !self.setting.config.inheritance {
            return;
        }
        if self.controllers.rate(tenant) < self.controllers.rate(own) {
            self.controllers.inherit(own, tenant);
        }
    }

    /// The packet sent last is charged at the rate of now.
    pub(super) fn shift(&mut self, at: u32) {
        let rate = self.rate(at);
        let rounding = self.setting.rounding;
        let lane = &mut self.lanes.all[at as usize];
        let was = rounding.serialization(lane.last_size, lane.last_rate);
        let is = rounding.serialization(lane.last_size, rate);
        let later = (lane.available + is).as_ps().saturating_sub(was.as_ps());
        (lane.available, lane.last_rate) = (Time::from_ps(later), rate);
    }

    /// A notification for a queue pair has come apart from acknowledgements.
    pub fn on_cnp(&mut self, now: Time, id: SenderId) {
        let at = self.members.all[id.0 as usize].lane;
        let Lane { pair, tenant, .. } = self.lanes.all[at as usize];
        let own = self.controller(pair);
        self.controllers.catch_up(own, now);
        self.controllers.on_cnp(own, now);
        if self.setting.scope == Scope::Tenant && self.pairs[pair as usize].heard < self.horizon() {
            self.controllers.catch_up(tenant as usize, now);
            self.controllers.on_cnp(tenant as usize, now);
        }
        self.pairs[pair as usize].note_mark(now);
        self.count_limited(now, at);
        self.schedule(now, at);
    }

    /// Packets of a queue pair were lost.
    pub fn on_loss(&mut self, now: Time, id: SenderId, loss: Loss) {
        let at = self.members.all[id.0 as usize].lane;
        let own = self.controller(self.lanes.all[at as usize].pair);
        self.controllers.catch_up(own, now);
        self.controllers.on_loss(own, now, loss);
        self.schedule(now, at);
    }
}

/// A reading with what was seen earlier.
fn with<'a>(reading: Option<Reading<'a>>, earlier: Option<&'a Telemetry>) -> Option<Reading<'a>> {
    reading.map(|reading| Reading { earlier, ..reading })
}
