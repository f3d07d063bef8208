//! What the application asks for.

use fairlane_units::{QpNumber, Time};

use crate::connection::{Connection, State};
use crate::error::Error;
use crate::event::{ConnectionId, EventKind, Peer};
use crate::format::{Message, Mra, Reason, Rej, Rep, Req, Rtu, ServiceId, Wait};
use crate::manager::{Listener, Manager, OPENING, blank, transaction};

impl Manager {
    /// Waits for requests for a service. Of those that the application hasn't decided yet, at most `backlog` are kept; others are
    /// refused.
    ///
    /// # Errors
    /// If somebody waits for it already.
    pub fn listen(&mut self, service: ServiceId, backlog: u32) -> Result<(), Error> {
        if self.listeners.contains_key(&service) {
            return Err(Error::InUse);
        }
        let waiting = 0;
        self.listeners
            .insert(service, Listener { backlog, waiting });
        Ok(())
    }

    /// Waits no more. Requests that have been told of stay.
    pub fn unlisten(&mut self, service: ServiceId) {
        self.listeners.remove(&service);
        // They aren't in the backlog of a listener to come.
        self.table.leave(service);
    }

    /// Asks a peer for a connection. Names, GUID, timeouts and repetitions of connection management in `req` are filled in.
    ///
    /// # Errors
    /// If a value doesn't fit its field, or there are too many connections.
    pub fn connect(&mut self, to: Peer, mut req: Req, now: Time) -> Result<ConnectionId, Error> {
        let id = self.table.name().ok_or(Error::Full)?;
        let timeout = self.settings.response_timeout;
        req.local_id = id.0;
        req.guid = self.settings.guid;
        (req.remote_timeout, req.local_timeout) = (timeout, timeout);
        req.cm_retries = self.settings.retries;
        let wait = self.settings.answer_in(timeout);
        let own_pair = req.queue_pair;
        let transaction = transaction(id, OPENING);
        let mad = Message::Req(req).emit(transaction)?;
        let connection = Connection {
            own_pair,
            transaction,
            left: self.settings.retries,
            wait,
            patience: self.settings.patience(timeout, self.settings.retries),
            ..blank(State::ReqSent, to, true)
        };
        self.table.insert(id, connection);
        self.table.arm(id, now.saturating_add(wait));
        self.say(id, mad);
        Ok(id)
    }

    /// Accepts a request. Names and GUID in `rep` are filled in.
    ///
    /// # Errors
    /// If there is no request to be accepted, or a value doesn't fit its field.
    pub fn accept(&mut self, id: ConnectionId, mut rep: Rep, now: Time) -> Result<(), Error> {
        let guid = self.settings.guid;
        let connection = self.owned(id, &[State::ReqRcvd])?;
        (rep.local_id, rep.remote_id, rep.guid) = (id.0, connection.remote_id, guid);
        let own_pair = rep.queue_pair;
        let mad = Message::Rep(rep).emit(connection.transaction)?;
        connection.own_pair = own_pair;
        let deadline = now.saturating_add(connection.wait);
        self.leave_backlog(id);
        self.enter(id, State::RepSent, deadline);
        self.say(id, mad);
        Ok(())
    }

    /// Confirms a reply: from now on the active side may send.
    ///
    /// # Errors
    /// If there is no reply to be confirmed.
    pub fn confirm(
        &mut self,
        id: ConnectionId,
        private_data: [u8; Rtu::PRIVATE_DATA],
    ) -> Result<(), Error> {
        let connection = self.owned(id, &[State::RepRcvd])?;
        let (local_id, remote_id) = (id.0, connection.remote_id);
        let rtu = Rtu {
            local_id,
            remote_id,
            private_data,
        };
        let mad = Message::Rtu(rtu).emit(connection.transaction)?;
        self.enter(id, State::Established, Time::MAX);
        self.say(id, mad);
        Ok(())
    }

    /// Packets of the active side have come ahead of its word that it is ready (IBTA 12.9.6: "communication established").
    ///
    /// # Errors
    /// If the connection isn't known, or doesn't wait for that word.
    pub fn communication_established(&mut self, id: ConnectionId) -> Result<(), Error> {
        self.owned(id, &[State::RepSent])?;
        self.enter(id, State::Established, Time::MAX);
        self.tell(id, EventKind::Established);
        Ok(())
    }

    /// Asks the peer for more time to decide about a request or a reply.
    ///
    /// # Errors
    /// If nothing is to be decided.
    pub fn extend(&mut self, id: ConnectionId, timeout: Wait) -> Result<(), Error> {
        let message = self.rej_of(id, Reason::CONSUMER).message;
        let connection = self.owned(id, &[State::ReqRcvd, State::RepRcvd])?;
        let mra = Mra {
            local_id: id.0,
            remote_id: connection.remote_id,
            message,
            timeout,
            private_data: [0; Mra::PRIVATE_DATA],
        };
        let mad = Message::Mra(mra).emit(connection.transaction)?;
        self.say(id, mad);
        Ok(())
    }

    /// Refuses a request or a reply. The application hears no more of the connection.
    ///
    /// # Errors
    /// If there is nothing to be refused.
    pub fn reject(
        &mut self,
        id: ConnectionId,
        reason: Reason,
        private_data: [u8; Rej::PRIVATE_DATA],
        now: Time,
    ) -> Result<(), Error> {
        self.owned(id, &[State::ReqRcvd, State::RepRcvd])?;
        let rej = Rej {
            private_data,
            ..self.rej_of(id, reason)
        };
        self.close_refusing(id, rej, now);
        Ok(())
    }

    /// Who a connection is with, and their queue pair as far as it is known.
    pub fn peer(&self, id: ConnectionId) -> Option<(Peer, QpNumber)> {
        let connection = self.table.get(id)?;
        Some((connection.peer, connection.remote_pair))
    }
}
