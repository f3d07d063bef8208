//! What time does to rows: silence, and shares that nobody asks for.

use fairlane_units::{Bytes, Duration, Rate, Time};

use super::Receiver;
use crate::dasr::params::{PUSH_AFTER, PUSH_CHANGE, SILENCE, SILENT_PACKETS, spans};
use crate::dasr::rows::Row;

impl Receiver {
    /// Forgets senders that have been silent for too long, and notes whom to [tell](Self::poll_push) of
    /// their share. Before its time it does nothing.
    pub fn on_deadline(&mut self, now: Time) {
        if now < self.deadline {
            return;
        }
        let mut at = 0;
        let before = self.rows.all.len();
        while let Some(row) = self.rows.all.get(at) {
            match leaves_at(row, self.rtt, self.packet) <= now {
                // Another one takes its place.
                true => self.leave(at),
                false => at += 1,
            }
        }
        let drained = self.drains_until != Time::ZERO && self.drains_until <= now;
        if drained {
            self.drains_until = Time::ZERO;
        }
        match drained || self.wants_division || self.rows.all.len() < before {
            true => self.divide(now),
            false => self.look_after_rows(now),
        }
    }
}

/// When a sender that stays silent has left; with the base round-trip time and the size of a packet.
fn leaves_at(row: &Row, rtt: Duration, packet: Bytes) -> Time {
    if row.ended {
        return row.seen.saturating_add(rtt);
    }
    let slow = packet.serialization(row.pace());
    let slow = slow.saturating_mul(SILENT_PACKETS);
    row.seen.saturating_add(spans(rtt, SILENCE).max(slow))
}

/// When a sender that stays silent is to be told of its share, if ever: soon if that has changed; else when a packet of an
/// open message is missing, since the acknowledgement that it waits for may be lost.
pub(super) fn push_due(row: &Row, rtt: Duration, packet: Bytes) -> Option<Time> {
    // Whoever sends a packet in several round trips needs no share more often than that: with hundreds of senders pushes would take the place
    // of data.
    let again = |pace: Rate| spans(rtt, PUSH_AFTER).max(packet.serialization(pace));
    if row.is_out_of_date(PUSH_CHANGE) {
        let told = row.seen.max(row.told_at);
        return Some(told.saturating_add(again(row.pace_at_most())));
    }
    let late = || rtt + spans(packet.serialization(row.pace()), LATE);
    let due = match row.told_at > row.seen {
        true => row.told_at.saturating_add(again(row.pace())),
        false => row.seen.saturating_add(late()),
    };
    (row.open > 0).then_some(due)
}

/// A packet is missing so many packet times and a round trip after the last one: half a packet time for whatever delays
/// the one that is due.
const LATE: f64 = 1.5;

/// When a sender that stays silent is to be looked at.
pub(super) fn due(row: &Row, rtt: Duration, packet: Bytes) -> Time {
    let leaves = leaves_at(row, rtt, packet);
    let push = push_due(row, rtt, packet).filter(|_| !row.unheard);
    push.map_or(leaves, |push| push.min(leaves))
}
