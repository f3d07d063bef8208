//! All connections of a manager, found by what messages and timers name.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::net::IpAddr;

use fairlane_units::{QpNumber, Time};

use crate::connection::Connection;
use crate::event::ConnectionId;
use crate::format::ServiceId;

/// A peer's name of a connection, or of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RemoteName {
    pub(crate) address: IpAddr,
    /// 0 for questions, which don't say it.
    pub(crate) guid: u64,
    pub(crate) id: u32,
    pub(crate) is_question: bool,
}

/// A peer's queue pair.
type RemotePair = (IpAddr, u64, QpNumber);

/// Connections by their own names.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    connections: BTreeMap<ConnectionId, Connection>,
    by_name: BTreeMap<RemoteName, ConnectionId>,
    by_pair: BTreeMap<RemotePair, ConnectionId>,
    deadlines: BTreeSet<(Time, ConnectionId)>,
    /// Connections that nobody misses, the oldest first; some of them are gone.
    dispensable: VecDeque<ConnectionId>,
    next: u32,
    most: usize,
}

impl Table {
    pub(crate) const fn new(first: u32, most: usize) -> Self {
        Self {
            connections: BTreeMap::new(),
            by_name: BTreeMap::new(),
            by_pair: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            dispensable: VecDeque::new(),
            next: first,
            most,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.connections.len()
    }

    /// A name that no connection has; `None` if there are too many of them.
    pub(crate) fn name(&mut self) -> Option<ConnectionId> {
        while self.connections.len() >= self.most {
            let oldest = self.dispensable.pop_front()?;
            let is_dispensable = |connection: &Connection| connection.is_dispensable();
            if self.get(oldest).is_some_and(is_dispensable) {
                self.remove(oldest);
            }
        }
        loop {
            let id = ConnectionId(self.next);
            self.next = self.next.wrapping_add(1);
            // 0 stands for a name that isn't known.
            if id.0 != 0 && !self.connections.contains_key(&id) {
                return Some(id);
            }
        }
    }

    pub(crate) fn insert(&mut self, id: ConnectionId, connection: Connection) {
        let at = connection.deadline;
        self.connections.insert(id, connection);
        if at != Time::MAX {
            self.deadlines.insert((at, id));
        }
    }

    pub(crate) fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(&id)
    }

    pub(crate) fn named(&self, name: &RemoteName) -> Option<ConnectionId> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn of_pair(&self, pair: &RemotePair) -> Option<ConnectionId> {
        self.by_pair.get(pair).copied()
    }

    pub(crate) fn index_name(&mut self, id: ConnectionId, is_question: bool) {
        if let Some(connection) = self.connections.get(&id) {
            let name = name_of(connection, is_question);
            self.by_name.insert(name, id);
        }
    }

    pub(crate) fn index_pair(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get(&id) {
            self.by_pair.insert(pair_of(connection), id);
        }
    }

    /// Sets a connection's timer, [`Time::MAX`] for none.
    pub(crate) fn arm(&mut self, id: ConnectionId, at: Time) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        self.deadlines.remove(&(connection.deadline, id));
        connection.deadline = at;
        if at != Time::MAX {
            self.deadlines.insert((at, id));
        }
        if connection.is_dispensable() {
            self.dispensable.push_back(id);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Connections with a peer.
    pub(crate) fn with(&self, peer: IpAddr) -> Vec<ConnectionId> {
        let all = self.connections.iter();
        all.filter(|(_, connection)| connection.peer.address == peer)
            .map(|(id, _)| *id)
            .collect()
    }

    /// Requests for a service are in nobody's backlog any more.
    pub(crate) fn leave(&mut self, service: ServiceId) {
        for connection in self.connections.values_mut() {
            connection.listener.take_if(|of| *of == service);
        }
    }

    /// The connection whose timer has fired.
    pub(crate) fn due(&self, now: Time) -> Option<ConnectionId> {
        let (at, id) = self.deadlines.first()?;
        (*at <= now).then_some(*id)
    }

    pub(crate) fn remove(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.remove(&id) else {
            return;
        };
        self.deadlines.remove(&(connection.deadline, id));
        for is_question in [false, true] {
            let name = name_of(&connection, is_question);
            if self.by_name.get(&name) == Some(&id) {
                self.by_name.remove(&name);
            }
        }
        let pair = pair_of(&connection);
        if self.by_pair.get(&pair) == Some(&id) {
            self.by_pair.remove(&pair);
        }
        // Names of those that are gone are dropped once they are the most.
        if self.dispensable.len() > 2 * self.connections.len() + 16 {
            let connections = &self.connections;
            let is_there = |id: &ConnectionId| connections.contains_key(id);
            self.dispensable.retain(is_there);
        }
    }
}

const fn name_of(connection: &Connection, is_question: bool) -> RemoteName {
    RemoteName {
        address: connection.peer.address,
        guid: connection.remote_guid,
        id: connection.remote_id,
        is_question,
    }
}

const fn pair_of(connection: &Connection) -> RemotePair {
    (
        connection.peer.address,
        connection.remote_guid,
        connection.remote_pair,
    )
}
