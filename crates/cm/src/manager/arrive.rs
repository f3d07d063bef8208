//! What messages of peers do.

use fairlane_units::{QpNumber, Time};

use crate::connection::{Connection, State};
use crate::event::{ConnectionId, EventKind, Peer};
use crate::format::header::{Header, Method};
use crate::format::{
    Answered, Drep, Dreq, Malformed, Message, Mra, Reason, Rej, Rep, Req, Rtu, Service, port_info,
};
use crate::manager::{Manager, blank};
use crate::table::RemoteName;

pub(super) fn on_mad(
    manager: &mut Manager,
    from: Peer,
    mad: &[u8],
    now: Time,
) -> Result<(), Malformed> {
    let (header, _) = Header::parse(mad)?;
    if header.method == Method::Get && header.attribute == port_info::ATTRIBUTE {
        let time = manager.settings.response_timeout;
        let answer = port_info::answer(header.transaction, time);
        manager.send(from, answer);
        return Ok(());
    }
    let (transaction, message) = Message::parse(mad)?;
    match message {
        Message::Req(req) => manager.on_req(from, transaction, req, now),
        Message::Mra(mra) => manager.on_mra(from, &mra, now),
        Message::Rej(rej) => manager.on_rej(from, rej, now),
        Message::Rep(rep) => manager.on_rep(from, transaction, rep, now),
        Message::Rtu(rtu) => manager.on_rtu(from, transaction, &rtu),
        Message::Dreq(dreq) => manager.on_dreq(from, transaction, &dreq, now),
        Message::Drep(drep) => manager.on_drep(from, &drep, now),
        Message::SidrReq(question) => manager.on_question(from, transaction, question),
        Message::SidrRep(answer) => manager.on_answer(from, answer),
    }
    Ok(())
}

impl Manager {
    /// The connection that a message of a peer names by both of its names.
    fn named(
        &self,
        from: Peer,
        (remote_id, own_id): (u32, u32),
    ) -> Option<(ConnectionId, &Connection)> {
        let id = ConnectionId(own_id);
        let found = self.table.get(id)?;
        let is_it = found.peer.address == from.address && found.remote_id == remote_id;
        is_it.then_some((id, found))
    }

    fn on_req(&mut self, from: Peer, transaction: u64, req: Req, now: Time) {
        let name = RemoteName {
            address: from.address,
            guid: req.guid,
            id: req.local_id,
            is_question: false,
        };
        if let Some(id) = self.table.named(&name) {
            let is_same = |known: &&Connection| {
                known.transaction == transaction && known.remote_pair == req.queue_pair
            };
            if self.table.get(id).filter(is_same).is_some() {
                return self.on_repeated_req(id);
            }
            // The peer has begun anew, with the same names.
            self.close_stale(id, now);
            return self.refuse(from, transaction, refusal(&req, Reason::STALE_CONNECTION));
        }
        if !matches!(req.service, Service::Reliable | Service::Unreliable) {
            let rej = refusal(&req, Reason::INVALID_SERVICE_TYPE);
            return self.refuse(from, transaction, rej);
        }
        let Some(listener) = self.listeners.get(&req.service_id).copied() else {
            let rej = refusal(&req, Reason::INVALID_SERVICE_ID);
            return self.refuse(from, transaction, rej);
        };
        if let Some(stale) = self.connected_to(from, req.guid, req.queue_pair) {
            self.close_stale(stale, now);
            return self.refuse(from, transaction, refusal(&req, Reason::STALE_CONNECTION));
        }
        let has_room = listener.waiting < listener.backlog;
        match self.table.name().filter(|_| has_room) {
            Some(id) => self.open_passive(id, from, transaction, req),
            None => self.refuse(from, transaction, refusal(&req, Reason::NO_RESOURCES)),
        }
    }

    fn open_passive(&mut self, id: ConnectionId, from: Peer, transaction: u64, req: Req) {
        let connection = Connection {
            remote_id: req.local_id,
            remote_guid: req.guid,
            remote_pair: req.queue_pair,
            transaction,
            left: req.cm_retries,
            wait: self.settings.answer_in(req.local_timeout),
            patience: self
                .settings
                .patience(req.local_timeout.max(req.remote_timeout), req.cm_retries),
            listener: Some(req.service_id),
            ..blank(State::ReqRcvd, from, false)
        };
        self.table.insert(id, connection);
        self.table.index_name(id, false);
        self.table.index_pair(id);
        if let Some(listener) = self.listeners.get_mut(&req.service_id) {
            listener.waiting += 1;
        }
        self.tell(id, EventKind::Requested(from, req));
    }

    /// The connection that believes to be connected to a peer's queue pair.
    fn connected_to(&self, from: Peer, guid: u64, pair: QpNumber) -> Option<ConnectionId> {
        // One in time wait doesn't: the new connection has another queue pair at this end.
        let id = self.table.of_pair(&(from.address, guid, pair))?;
        self.table.get(id)?.is_connected().then_some(id)
    }

    fn on_repeated_req(&mut self, id: ConnectionId) {
        // MRA, REP or REJ may have been lost.
        if let Some(State::ReqRcvd | State::RepSent | State::Refused) = self.state(id) {
            self.repeat(id);
        }
    }

    fn on_mra(&mut self, from: Peer, mra: &Mra, now: Time) {
        let id = ConnectionId(mra.remote_id);
        let wait = self.settings.answer_in(mra.timeout);
        let Some(connection) = self.table.get_mut(id) else {
            return;
        };
        let expected = match connection.state {
            State::ReqSent => Answered::Req,
            State::RepSent => Answered::Rep,
            _ => return,
        };
        let is_it = connection.peer.address == from.address && mra.message == expected;
        // Once for each repetition, so that no peer keeps a connection waiting for ever.
        if is_it && !connection.is_extended {
            connection.is_extended = true;
            self.table.arm(id, now.saturating_add(wait));
        }
    }

    fn on_rep(&mut self, from: Peer, transaction: u64, rep: Rep, now: Time) {
        let id = ConnectionId(rep.remote_id);
        let connection = self.table.get(id);
        let is_it = |found: &&Connection| {
            let is_known = found.remote_id == 0 || found.remote_id == rep.local_id;
            found.is_active && is_known && found.peer.address == from.address
        };
        let Some(connection) = connection.filter(is_it) else {
            let ids = (0, rep.local_id);
            let rej = Rej::new(ids, Answered::Rep, Reason::INVALID_ID);
            return self.refuse(from, transaction, rej);
        };
        match connection.state {
            State::ReqSent => self.on_first_rep(id, rep, now),
            // MRA, RTU or REJ may have been lost.
            State::RepRcvd | State::Established | State::Refused => self.repeat(id),
            _ => {}
        }
    }

    fn on_first_rep(&mut self, id: ConnectionId, rep: Rep, now: Time) {
        let Some(connection) = self.table.get_mut(id) else {
            return;
        };
        let peer = connection.peer;
        connection.remote_id = rep.local_id;
        connection.remote_guid = rep.guid;
        connection.remote_pair = rep.queue_pair;
        connection.said = None;
        if let Some(stale) = self.connected_to(peer, rep.guid, rep.queue_pair) {
            self.close_stale(stale, now);
            self.enter(id, State::RepRcvd, Time::MAX);
            let rej = self.rej_of(id, Reason::STALE_CONNECTION);
            self.tell_last(id, EventKind::Rejected(rej.clone()));
            return self.close_refusing(id, rej, now);
        }
        self.table.index_pair(id);
        self.enter(id, State::RepRcvd, Time::MAX);
        self.tell(id, EventKind::Replied(rep));
    }

    fn on_rtu(&mut self, from: Peer, transaction: u64, rtu: &Rtu) {
        let named = self.named(from, (rtu.local_id, rtu.remote_id));
        match named.map(|(id, found)| (id, found.state)) {
            Some((id, State::RepSent)) => {
                self.enter(id, State::Established, Time::MAX);
                self.tell(id, EventKind::Established);
            }
            // The peer believes in a connection that isn't there.
            Some((id, State::Refused)) => self.repeat(id),
            None => {
                let rej = Rej::new((0, rtu.local_id), Answered::Other, Reason::INVALID_ID);
                self.refuse(from, transaction, rej);
            }
            _ => {}
        }
    }

    fn on_rej(&mut self, from: Peer, rej: Rej, now: Time) {
        let Some(id) = self.rejected(from, &rej) else {
            return;
        };
        let Some(connection) = self.table.get(id) else {
            return;
        };
        match (connection.state, connection.is_active) {
            // A refusal of one copy of a request says nothing if another one has been accepted.
            (State::RepRcvd | State::Established | State::DreqSent, true)
                if rej.message == Answered::Req => {}
            (State::ReqSent | State::RepRcvd, _) => {
                self.tell_last(id, EventKind::Rejected(rej));
                self.table.remove(id);
            }
            (State::ReqRcvd | State::RepSent, _) => {
                self.tell_last(id, EventKind::Rejected(rej));
                self.close_silently(id, now);
            }
            // The passive side has waited for RTU in vain, or knows the connection no more.
            (State::Established, true) | (State::DreqSent, _) => self.enter_time_wait(id, now),
            _ => {}
        }
    }

    /// The connection that a REJ is about.
    fn rejected(&self, from: Peer, rej: &Rej) -> Option<ConnectionId> {
        if rej.remote_id == 0 {
            // From an active side that has never had a reply (IBTA 12.6.7.2: timeout).
            let name = RemoteName {
                address: from.address,
                guid: rej.guid()?,
                id: rej.local_id,
                is_question: false,
            };
            return self.table.named(&name);
        }
        let id = ConnectionId(rej.remote_id);
        let connection = self.table.get(id)?;
        let [known, said] = [connection.remote_id, rej.local_id];
        let is_it = known == 0 || said == 0 || known == said;
        (is_it && connection.peer.address == from.address).then_some(id)
    }

    fn on_dreq(&mut self, from: Peer, transaction: u64, dreq: &Dreq, now: Time) {
        let named = self.named(from, (dreq.local_id, dreq.remote_id));
        if let Some((id, connection)) = named {
            if connection.own_pair != dreq.remote_pair {
                return;
            }
            match connection.state {
                // The peer may not have heard that it is over, or never came to be.
                State::TimeWait | State::Refused => {}
                State::RepSent | State::RepRcvd | State::Established | State::DreqSent => {
                    self.enter_time_wait(id, now);
                }
                _ => return,
            }
        }
        // Also where nothing is known of it: the first reply may have been lost.
        let drep = Drep {
            local_id: dreq.remote_id,
            remote_id: dreq.local_id,
            private_data: [0; Drep::PRIVATE_DATA],
        };
        self.send_once(from, transaction, &Message::Drep(drep));
    }

    fn on_drep(&mut self, from: Peer, drep: &Drep, now: Time) {
        let named = self.named(from, (drep.local_id, drep.remote_id));
        if let Some((id, State::DreqSent)) = named.map(|(id, found)| (id, found.state)) {
            self.enter_time_wait(id, now);
        }
    }
}

/// A refusal of a request that there is no connection for.
fn refusal(req: &Req, reason: Reason) -> Rej {
    Rej::new((0, req.local_id), Answered::Req, reason)
}
