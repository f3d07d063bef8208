//! How connections end.

use fairlane_units::Time;

use crate::connection::State;
use crate::error::Error;
use crate::event::{ConnectionId, EventKind};
use crate::format::{Dreq, Message, Reason, Rej, SidrStatus};
use crate::manager::{ENDING, Manager, transaction};

impl Manager {
    /// Ends a connection. [`EventKind::Disconnected`] says when the peer knows, or can't be told.
    ///
    /// # Errors
    /// If the connection isn't known or not established.
    pub fn disconnect(
        &mut self,
        id: ConnectionId,
        private_data: [u8; Dreq::PRIVATE_DATA],
        now: Time,
    ) -> Result<(), Error> {
        self.owned(id, &[State::Established])?;
        self.begin_ending(id, private_data, now);
        Ok(())
    }

    /// Gives a connection up, whatever its state. The peer is told, the application hears no more of it.
    pub fn destroy(&mut self, id: ConnectionId, now: Time) {
        let Ok(connection) = self.owned(id, EVERY) else {
            return;
        };
        connection.is_owned = false;
        let state = connection.state;
        self.leave_backlog(id);
        self.events.retain(|event| event.connection != id);
        match state {
            State::ReqSent => self.give_up(id),
            State::ReqRcvd | State::RepRcvd | State::RepSent => {
                let rej = self.rej_of(id, Reason::CONSUMER);
                self.close_refusing(id, rej, now);
            }
            State::Established => self.begin_ending(id, [0; Dreq::PRIVATE_DATA], now),
            State::SidrReqSent => self.table.remove(id),
            State::SidrReqRcvd => self.answer_without_pair(id, SidrStatus::REJECTED, now),
            // They go on alone, and may be forgotten if room is needed.
            State::TimeWait | State::Refused | State::SidrRepSent | State::DreqSent => {
                let deadline = self.table.get(id).map(|connection| connection.deadline);
                self.table.arm(id, deadline.unwrap_or(Time::MAX));
            }
        }
    }

    /// Says that it waits no longer for a reply, and forgets the connection.
    pub(super) fn give_up(&mut self, id: ConnectionId) {
        let rej = self.rej_of(id, Reason::TIMEOUT);
        if let Some(connection) = self.table.get(id) {
            let (to, transaction) = (connection.peer, connection.transaction);
            self.refuse(to, transaction, rej);
        }
        self.table.remove(id);
    }

    /// Refuses, and refuses again whenever the peer repeats itself, for as long as it may.
    pub(super) fn close_refusing(&mut self, id: ConnectionId, rej: Rej, now: Time) {
        let Some(connection) = self.table.get(id) else {
            return;
        };
        let kept = connection.patience + self.settings.time_wait();
        let mad = Message::Rej(rej).emit(connection.transaction);
        if let Ok(mad) = mad {
            self.say(id, mad);
        }
        self.leave_backlog(id);
        if let Some(connection) = self.table.get_mut(id) {
            connection.is_owned = false;
        }
        self.enter(id, State::Refused, now.saturating_add(kept));
    }

    /// A connection that never came to be is over; nothing is said to late messages of it.
    pub(super) fn close_silently(&mut self, id: ConnectionId, now: Time) {
        if let Some(connection) = self.table.get_mut(id) {
            connection.said = None;
        }
        let until = now.saturating_add(self.settings.time_wait());
        self.enter(id, State::Refused, until);
    }

    pub(super) fn begin_ending(
        &mut self,
        id: ConnectionId,
        private_data: [u8; Dreq::PRIVATE_DATA],
        now: Time,
    ) {
        let wait = self.settings.answer_in(self.settings.response_timeout);
        let retries = self.settings.retries;
        let Some(connection) = self.table.get_mut(id) else {
            return;
        };
        (connection.wait, connection.left) = (wait, retries);
        let dreq = Dreq {
            local_id: id.0,
            remote_id: connection.remote_id,
            remote_pair: connection.remote_pair,
            private_data,
        };
        let mad = Message::Dreq(dreq).emit(transaction(id, ENDING));
        self.enter(id, State::DreqSent, now.saturating_add(wait));
        if let Ok(mad) = mad {
            self.say(id, mad);
        }
    }

    /// The connection is over; its packets may still be under way.
    pub(super) fn enter_time_wait(&mut self, id: ConnectionId, now: Time) {
        self.tell(id, EventKind::Disconnected);
        self.leave_backlog(id);
        let until = now.saturating_add(self.settings.time_wait());
        self.enter(id, State::TimeWait, until);
    }

    /// The peer begins a new connection with a queue pair that this one believes to be connected to, so it is over.
    /// One DREQ says so, in case that the peer has it too (IBTA 12.9.8.3).
    pub(super) fn close_stale(&mut self, id: ConnectionId, now: Time) {
        let is_connected = |state| matches!(state, State::Established | State::DreqSent);
        match self.state(id) {
            Some(state) if is_connected(state) => {
                if state == State::Established {
                    self.begin_ending(id, [0; Dreq::PRIVATE_DATA], now);
                }
                self.enter_time_wait(id, now);
            }
            Some(State::ReqRcvd | State::RepSent | State::RepRcvd) => {
                let rej = self.rej_of(id, Reason::STALE_CONNECTION);
                self.tell_last(id, EventKind::Rejected(rej));
                self.close_silently(id, now);
            }
            _ => {}
        }
    }
}

/// Every state.
const EVERY: &[State] = &[
    State::ReqSent,
    State::RepRcvd,
    State::ReqRcvd,
    State::RepSent,
    State::Established,
    State::DreqSent,
    State::TimeWait,
    State::Refused,
    State::SidrReqSent,
    State::SidrReqRcvd,
    State::SidrRepSent,
];
