//! Feedback (ACK, CNP, loss) to the shared controllers.

use fairlane_units::{Bytes, Rate, Time};

use super::{Enforcer, SenderId};
use crate::scope::lane::Allowed;
use crate::{Ack, Loss, Reading};

impl Enforcer {
    /// An acknowledgement for a queue pair has come.
    pub fn on_ack(&mut self, now: Time, id: SenderId, ack: &Ack<'_>) {
        let member = &mut self.members.all[id.0 as usize];
        let (at, history) = (member.lane, member.history);
        let delivered = ack.acknowledged.saturating_sub(member.acknowledged);
        member.acknowledged = member.acknowledged.max(ack.acknowledged);
        let round_trip = member.time(now);
        self.set_in_flight(id, ack.next_to_send.saturating_sub(ack.acknowledged));
        let (own, in_flight) = {
            let lane = &self.lanes.all[at as usize];
            (lane.pair as usize, lane.in_flight)
        };
        let pair = &mut self.pairs[own];
        pair.note_feedback(now, delivered);
        if let Some(round_trip) = round_trip {
            pair.set_rtt(round_trip);
        }
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
        let shifts = !deaf && self.controllers.on_ack(own, now, &heard);
        self.follow(now, at);
        if shifts {
            self.shift(at);
        }
        self.schedule(at);
    }

    /// Brings up to date what a lane has of its controller.
    pub(super) fn follow(&mut self, now: Time, at: u32) {
        let allowed = self.allowed(at);
        let lane = &mut self.lanes.all[at as usize];
        let before = core::mem::replace(&mut lane.allowed, allowed);
        if allowed.carried != before.carried {
            lane.debt.on_change(now, (before.carried, allowed.carried));
        }
    }

    /// The packet sent last is charged at the rate of now.
    fn shift(&mut self, at: u32) {
        let rounding = self.setting.rounding;
        let lane = &mut self.lanes.all[at as usize];
        let rate = lane.allowed.rate;
        let before = core::mem::replace(&mut lane.charged, rate);
        lane.pacer.on_rate_change(before, rate, rounding);
    }

    /// A notification for a queue pair has come apart from acknowledgements.
    pub fn on_cnp(&mut self, now: Time, id: SenderId) {
        let at = self.members.all[id.0 as usize].lane;
        let own = self.lanes.all[at as usize].pair as usize;
        self.controllers.advance(own, now);
        self.controllers.on_cnp(own, now);
        self.follow(now, at);
        self.schedule(at);
    }

    /// Packets of a queue pair were lost.
    pub fn on_loss(&mut self, now: Time, id: SenderId, loss: Loss) {
        let member = &mut self.members.all[id.0 as usize];
        member.timed = None;
        let at = member.lane;
        let own = self.lanes.all[at as usize].pair as usize;
        self.controllers.advance(own, now);
        self.controllers.on_loss(own, now, loss);
        self.follow(now, at);
        self.schedule(at);
    }

    /// Bytes will never be acknowledged because their queue pair has gone. Whatever they met, nobody would hear of
    /// it; so they count as lost to congestion, and as marked.
    pub(super) fn disown(&mut self, now: Time, at: u32) {
        let own = self.lanes.all[at as usize].pair as usize;
        self.controllers.advance(own, now);
        self.controllers.on_cnp(own, now);
        self.controllers.on_loss(own, now, Loss::Timeout);
        self.follow(now, at);
    }

    /// What the controller of a lane allows. By the round trip without queues a tenant that cuts its messages would have more
    /// carried than one that doesn't, which its window stops.
    pub(super) fn allowed(&self, at: u32) -> Allowed {
        let (rate, window) = (self.rate(at), self.window(at));
        let carried = if self.ahead.is_zero() || window == Bytes::new(u64::MAX) {
            rate
        } else {
            let pair = &self.pairs[self.lanes.all[at as usize].pair as usize];
            let rtt = pair.rtt().max(self.environment.base_rtt);
            // A packet may leave while fewer bytes than the window are in flight.
            let most = window + self.environment.mtu;
            rate.min(most.rate_over(rtt)).max(LEAST_RATE)
        };
        Allowed {
            rate,
            window,
            carried,
        }
    }

    /// The rate of the controller of a lane.
    fn rate(&self, at: u32) -> Rate {
        let own = self.lanes.all[at as usize].pair as usize;
        match self.setting.paced {
            true => self.controllers.rate(own).max(LEAST_RATE),
            false => self.environment.line_rate,
        }
    }

    /// Bytes that a lane may have in flight.
    fn window(&self, at: u32) -> Bytes {
        let lane = &self.lanes.all[at as usize];
        let own = lane.pair as usize;
        let limit = lane.window.limit(self.controllers.rate(own));
        let window = self.controllers.window(own);
        window.map_or(limit, |window| window.min(limit))
    }
}

/// No pacer waits for longer than at this rate.
const LEAST_RATE: Rate = Rate::from_mbps(1);
