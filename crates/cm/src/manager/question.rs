//! Questions for the queue pairs of datagram services (IBTA 12.11).

use fairlane_units::{QpNumber, Time};

use crate::connection::{Connection, State};
use crate::error::Error;
use crate::event::{ConnectionId, EventKind, Peer};
use crate::format::{Message, ServiceId, SidrRep, SidrReq, SidrStatus};
use crate::manager::{Manager, OPENING, blank, transaction};
use crate::table::RemoteName;

impl Manager {
    /// Asks a peer for a service. The name in `question` is filled in.
    ///
    /// # Errors
    /// If there are too many connections.
    pub fn ask(
        &mut self,
        to: Peer,
        mut question: SidrReq,
        now: Time,
    ) -> Result<ConnectionId, Error> {
        let id = self.table.name().ok_or(Error::Full)?;
        question.request_id = id.0;
        let wait = self.settings.answer_in(self.settings.response_timeout);
        let transaction = transaction(id, OPENING);
        let mad = Message::SidrReq(question).emit(transaction)?;
        let connection = Connection {
            transaction,
            left: self.settings.retries,
            wait,
            ..blank(State::SidrReqSent, to, true)
        };
        self.table.insert(id, connection);
        self.table.arm(id, now.saturating_add(wait));
        self.say(id, mad);
        Ok(id)
    }

    /// Answers a question. Its name in `answer` is filled in. The application hears no more of it.
    ///
    /// # Errors
    /// If there is no such question, or a value doesn't fit its field.
    pub fn answer(
        &mut self,
        id: ConnectionId,
        mut answer: SidrRep,
        now: Time,
    ) -> Result<(), Error> {
        let connection = self.owned(id, &[State::SidrReqRcvd])?;
        answer.request_id = connection.remote_id;
        let mad = Message::SidrRep(answer).emit(connection.transaction)?;
        connection.is_owned = false;
        // How often the peer repeats its question isn't known; as often as this end would.
        let kept = connection.patience + self.settings.time_wait();
        self.leave_backlog(id);
        self.say(id, mad);
        self.enter(id, State::SidrRepSent, now.saturating_add(kept));
        Ok(())
    }

    pub(super) fn answer_without_pair(&mut self, id: ConnectionId, status: SidrStatus, now: Time) {
        if let Some(connection) = self.table.get_mut(id) {
            connection.is_owned = true;
        }
        let answer = no_pair(status, ServiceId(0));
        // The state has been looked at, and all values fit.
        let _ = self.answer(id, answer, now);
    }

    pub(super) fn on_question(&mut self, from: Peer, transaction: u64, question: SidrReq) {
        let name = RemoteName {
            address: from.address,
            guid: 0,
            id: question.request_id,
            is_question: true,
        };
        if let Some(id) = self.table.named(&name) {
            // An answer is given again; while there is none, there is nothing to say.
            return self.repeat(id);
        }
        let service = question.service_id;
        let listens = self.listeners.get(&service).copied();
        let has_room = listens.is_some_and(|listener| listener.waiting < listener.backlog);
        let id = if has_room { self.table.name() } else { None };
        let Some(id) = id else {
            let status = match listens {
                Some(_) => SidrStatus::NO_QUEUE_PAIR,
                None => SidrStatus::UNSUPPORTED,
            };
            let answer = SidrRep {
                request_id: question.request_id,
                ..no_pair(status, service)
            };
            return self.send_once(from, transaction, &Message::SidrRep(answer));
        };
        let connection = Connection {
            remote_id: question.request_id,
            transaction,
            patience: self
                .settings
                .patience(self.settings.response_timeout, self.settings.retries),
            listener: Some(service),
            ..blank(State::SidrReqRcvd, from, false)
        };
        self.table.insert(id, connection);
        self.table.index_name(id, true);
        if let Some(listener) = self.listeners.get_mut(&service) {
            listener.waiting += 1;
        }
        self.tell(id, EventKind::Asked(from, question));
    }

    pub(super) fn on_answer(&mut self, from: Peer, answer: SidrRep) {
        let id = ConnectionId(answer.request_id);
        let waits = |connection: &&Connection| {
            connection.state == State::SidrReqSent && connection.peer.address == from.address
        };
        if self.table.get(id).filter(waits).is_some() {
            self.tell_last(id, EventKind::Resolved(answer));
            self.table.remove(id);
        }
    }
}

/// An answer that there is no queue pair.
pub(super) const fn no_pair(status: SidrStatus, service_id: ServiceId) -> SidrRep {
    SidrRep {
        request_id: 0,
        status,
        queue_pair: QpNumber::new(0),
        service_id,
        queue_key: 0,
        private_data: [0; SidrRep::PRIVATE_DATA],
    }
}
