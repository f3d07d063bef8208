//! What comes back.

use fairlane_units::{Bytes, Rate, Time};

use super::{Enforcer, SenderId};
use crate::{Ack, Loss, Reading};

impl Enforcer {
    /// An acknowledgement for a queue pair has come.
    pub fn on_ack(&mut self, now: Time, id: SenderId, ack: &Ack<'_>) {
        let member = &mut self.members.all[id.0 as usize];
        let (at, history) = (member.lane, member.history);
        let delivered = ack.acknowledged.saturating_sub(member.acknowledged);
        member.acknowledged = member.acknowledged.max(ack.acknowledged);
        self.set_in_flight(id, ack.next_to_send.saturating_sub(ack.acknowledged));
        let (own, in_flight) = {
            let lane = &self.lanes.all[at as usize];
            (lane.pair as usize, lane.in_flight)
        };
        self.pairs[own].note_feedback(now, delivered);
        self.controllers.advance(own, now);
        let follow = |reading| self.histories[history as usize].1.follow(reading);
        let earlier = ack.telemetry.and_then(follow);
        // Without an earlier record of its ports one says nothing.
        let deaf = ack.telemetry.is_some() && earlier.is_none();
        let earlier = earlier.as_ref();
        let acknowledged = self.pairs[own].delivered;
        let heard = Ack {
            acknowledged,
            next_to_send: acknowledged + in_flight,
            telemetry: ack.telemetry.map(|reading| Reading { earlier, ..reading }),
            ..*ack
        };
        if !deaf && self.controllers.on_ack(own, now, &heard) {
            self.shift(at);
        }
        self.schedule(at);
    }

    /// The packet sent last is charged at the rate of now.
    fn shift(&mut self, at: u32) {
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
        let own = self.lanes.all[at as usize].pair as usize;
        self.controllers.advance(own, now);
        self.controllers.on_cnp(own, now);
        self.schedule(at);
    }

    /// Packets of a queue pair were lost.
    pub fn on_loss(&mut self, now: Time, id: SenderId, loss: Loss) {
        let at = self.members.all[id.0 as usize].lane;
        let own = self.lanes.all[at as usize].pair as usize;
        self.controllers.advance(own, now);
        self.controllers.on_loss(own, now, loss);
        self.schedule(at);
    }

    /// Bytes will never be acknowledged because their queue pair has gone. Whatever they met, nobody would hear of
    /// it; so they count as lost to congestion, and as marked.
    pub(super) fn disown(&mut self, now: Time, at: u32) {
        let own = self.lanes.all[at as usize].pair as usize;
        self.controllers.advance(own, now);
        self.controllers.on_cnp(own, now);
        self.controllers.on_loss(own, now, Loss::Timeout);
    }

    /// The rate at which the pacer of a lane goes.
    pub(super) fn rate(&self, at: u32) -> Rate {
        let own = self.lanes.all[at as usize].pair as usize;
        match self.setting.paced {
            true => self.controllers.rate(own).max(LEAST_RATE),
            false => self.environment.line_rate,
        }
    }

    /// Bytes that a lane may have in flight.
    pub(super) fn window(&self, at: u32) -> Bytes {
        let lane = &self.lanes.all[at as usize];
        let own = lane.pair as usize;
        let limit = lane.window.limit(self.controllers.rate(own));
        let window = self.controllers.window(own);
        window.map_or(limit, |window| window.min(limit))
    }
}

/// No pacer waits for longer than at this rate.
const LEAST_RATE: Rate = Rate::from_mbps(1);
