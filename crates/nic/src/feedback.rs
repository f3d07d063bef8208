//! What controllers hear, or the enforcer in their place.

use fairlane_congestion::{Ack, Loss, Reading};
use fairlane_units::{Bytes, Rate, Time};
use fairlane_wire::Syndrome;

use crate::apportion;
use crate::nic::Nic;
use crate::packet::{Arrival, PairId, Role};
use crate::pair::Stream;
use crate::settings::Settings;

impl Nic {
    /// Fires a timer of a controller, for a driver that [does so](crate::Timers::Driven).
    pub fn on_timer(&mut self, now: Time, id: PairId, timer: usize) {
        let sending = &mut self.pairs[id.index()].sending;
        sending.controller.on_timer(now, timer);
        if sending.is_window_limited() {
            sending.update_window();
            self.refresh(now, id);
        }
    }

    /// Passes on what a reply says; it confirms a stream up to the first of `positions`, the second is that of the
    /// next byte to send. `lost` says that it reports a loss. Returns whether a packet that is paced has moved.
    ///
    /// A controller of its own hears of both streams of a queue pair as of one: in that, a position is the sum of
    /// theirs.
    #[inline]
    pub(crate) fn hear(
        &mut self,
        now: Time,
        id: PairId,
        arrival: &Arrival<'_>,
        (stream, (acknowledged, next_to_send)): (Stream, (Bytes, Bytes)),
        lost: bool,
    ) -> bool {
        let pair = &mut self.pairs[id.index()];
        pair.marks = pair.marks.wrapping_add(u32::from(arrival.meta.marked));
        let mut ack = Ack {
            acknowledged,
            next_to_send,
            congestion_notified: arrival.meta.marked,
            round_trip: arrival.measured.round_trip,
            endpoint_delay: None,
            hops: arrival.measured.hops,
            telemetry: of_the_core(&self.settings, arrival),
        };
        if self.ports[usize::from(self.pairs[id.index()].port)].arbitrated {
            let said = (arrival.meta.share, acknowledges(arrival), lost);
            apportion::hear(self, now, id, said);
            if self.pass_on(now, id, stream, &ack, lost) {
                return false;
            }
        }
        let pair = &mut self.pairs[id.index()];
        pair.sending.advance(&self.settings, now, false);
        let (beside, next_beside) = pair.positions(stream.other());
        ack.acknowledged += beside;
        ack.next_to_send += next_beside;
        if let Some(part) = &mut pair.sending.part {
            (ack.acknowledged, ack.next_to_send) =
                part.positions(ack.acknowledged, ack.next_to_send);
        }
        let controller = &mut pair.sending.controller;
        let before = controller.rate();
        if lost {
            controller.on_loss(now, Loss::Nak);
        }
        let shifts = controller.on_ack(now, &ack);
        pair.sending.on_rate(&self.settings, before, shifts)
    }

    /// Passes on what a reply says to the enforcer, if there is one, which is returned.
    #[cold]
    fn pass_on(
        &mut self,
        now: Time,
        id: PairId,
        stream: Stream,
        ack: &Ack<'_>,
        lost: bool,
    ) -> bool {
        let pair = &self.pairs[id.index()];
        let (sender, port) = (
            pair.sending.sender(stream),
            &mut self.ports[usize::from(pair.port)],
        );
        let Some(scoped) = port.scoped.as_deref_mut() else {
            return false;
        };
        let Some(sender) = sender else {
            return true;
        };
        if lost {
            scoped.enforcer.on_loss(now, sender, Loss::Nak);
        }
        scoped.enforcer.on_ack(now, sender, ack);
        true
    }

    /// Passes on that packets of a stream were lost.
    pub(crate) fn on_loss(&mut self, now: Time, id: PairId, stream: Stream, loss: Loss) {
        if self.ports[usize::from(self.pairs[id.index()].port)]
            .apportion
            .is_some()
        {
            apportion::hear(self, now, id, (0, false, true));
        }
        let pair = &self.pairs[id.index()];
        if let Some(scoped) = self.ports[usize::from(pair.port)].scoped.as_deref_mut() {
            if let Some(sender) = pair.sending.sender(stream) {
                scoped.enforcer.on_loss(now, sender, loss);
            }
            return;
        }
        let sending = &mut self.pairs[id.index()].sending;
        sending.advance(&self.settings, now, false);
        sending.controller.on_loss(now, loss);
        sending.on_rate(&self.settings, Rate::ZERO, false);
    }

    /// Passes on a CNP. It doesn't say of which stream, and both have the same controller.
    pub(crate) fn on_cnp(&mut self, now: Time, id: PairId) {
        let pair = &mut self.pairs[id.index()];
        pair.marks = pair.marks.wrapping_add(1);
        if let Some(scoped) = self.ports[usize::from(pair.port)].scoped.as_deref_mut() {
            let mut senders = Stream::BOTH
                .iter()
                .filter_map(|&of| pair.sending.sender(of));
            if let Some(sender) = senders.next() {
                scoped.enforcer.on_cnp(now, sender);
            }
        } else {
            let sending = &mut self.pairs[id.index()].sending;
            sending.advance(&self.settings, now, false);
            sending.controller.on_cnp(now);
            sending.on_rate(&self.settings, Rate::ZERO, false);
        }
        self.refresh(now, id);
    }

    /// Nothing has been acknowledged for too long.
    #[cold]
    pub(crate) fn on_ack_timeout(&mut self, now: Time, id: PairId) {
        let pair = &mut self.pairs[id.index()];
        // Of a READ, the responder's host hears when it is asked again.
        let asked = pair.requester.awaits_data();
        pair.requester.on_timeout(&pair.config, now);
        pair.timeouts = pair.timeouts.wrapping_add(1);
        self.ledger.all.timeouts += 1;
        if !asked {
            self.on_loss(now, id, Stream::Requests, Loss::Timeout);
        }
        self.complete(id);
    }
}

/// Whether a reply says up to where data has arrived, and nothing else.
fn acknowledges(arrival: &Arrival<'_>) -> bool {
    use fairlane_transport::Extension;
    match arrival.packet.extension {
        Extension::Acknowledge(aeth) => {
            arrival.meta.role == Role::Feedback || matches!(aeth.syndrome, Syndrome::Ack { .. })
        }
        _ => true,
    }
}

/// The telemetry that controllers hear: of a link that its receiver divides shares speak, not its telemetry.
#[inline]
fn of_the_core<'a>(settings: &Settings, arrival: &Arrival<'a>) -> Option<Reading<'a>> {
    let reading = Reading {
        core_only: settings.dasr.mode.divides(),
        ..arrival.measured.telemetry?
    };
    (reading.hops() > 0).then_some(reading)
}
