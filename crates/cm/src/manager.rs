//! The manager: calls of its owner go in, and MADs and events come out.

mod arrive;
mod calls;
mod close;
mod gone;
mod question;
mod timers;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};

use fairlane_units::{Duration, QpNumber, Time};

use crate::connection::{Connection, State};
use crate::error::Error;
use crate::event::{ConnectionId, Event, EventKind, Peer, Transmit};
use crate::format::{Answered, Mad, Malformed, Message, Reason, Rej, ServiceId};
use crate::settings::Settings;
use crate::table::Table;

/// Connection management of one port: it opens, holds and ends connections by exchanging MADs with managers of other
/// ports.
///
/// A manager reads no clock and does no IO. Whoever drives it gives it MADs that come ([`on_mad`](Self::on_mad)) and says when
/// the [`deadline`](Self::deadline) has passed ([`on_timeout`](Self::on_timeout)); after each call it takes what is to be sent
/// ([`poll_transmit`](Self::poll_transmit)) and what has happened ([`poll_event`](Self::poll_event)) until there is no more.
#[derive(Clone, Debug)]
pub struct Manager {
    settings: Settings,
    table: Table,
    listeners: BTreeMap<ServiceId, Listener>,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
}

/// Somebody who waits for requests.
#[derive(Clone, Copy, Debug)]
struct Listener {
    /// How many requests may wait for its decision.
    backlog: u32,
    /// How many do.
    waiting: u32,
}

impl Manager {
    /// A manager without connections.
    pub const fn new(settings: Settings) -> Self {
        Self {
            table: Table::new(settings.first_id, settings.connections),
            settings,
            listeners: BTreeMap::new(),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The next MAD that is to be sent.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`on_timeout`](Self::on_timeout) wants to be called at the latest, `None` if never.
    pub fn deadline(&self) -> Option<Time> {
        self.table.deadline()
    }

    /// How many connections it knows, those included that the application has nothing to do with any more.
    pub fn connections(&self) -> usize {
        self.table.len()
    }

    /// Where a connection stands, `None` if it isn't known.
    pub fn state(&self, id: ConnectionId) -> Option<State> {
        self.table.get(id).map(|connection| connection.state)
    }

    /// A connection that the application may speak of, in one of some states.
    fn owned(&mut self, id: ConnectionId, states: &[State]) -> Result<&mut Connection, Error> {
        let connection = self.table.get_mut(id).filter(|found| found.is_owned);
        let connection = connection.ok_or(Error::Unknown)?;
        if states.contains(&connection.state) {
            Ok(connection)
        } else {
            Err(Error::State)
        }
    }

    fn send(&mut self, to: Peer, mad: Mad) {
        self.transmits.push_back(Transmit { to, mad });
    }

    /// Says a message without remembering it.
    fn send_once(&mut self, to: Peer, transaction: u64, message: &Message) {
        // Our own answers are made of fields that have been read.
        if let Ok(mad) = message.emit(transaction) {
            self.send(to, mad);
        }
    }

    /// Refuses a message of a peer that there is no connection for.
    fn refuse(&mut self, to: Peer, transaction: u64, rej: Rej) {
        self.send_once(to, transaction, &Message::Rej(rej));
    }

    /// Says a message that the connection repeats later.
    fn say(&mut self, id: ConnectionId, mad: Mad) {
        if let Some(connection) = self.table.get_mut(id) {
            let to = connection.peer;
            connection.said = Some(Box::new(mad));
            self.send(to, mad);
        }
    }

    /// Says again what was said last.
    fn repeat(&mut self, id: ConnectionId) {
        let connection = self.table.get(id);
        let said = connection.and_then(|found| Some((found.peer, **found.said.as_ref()?)));
        if let Some((to, mad)) = said {
            self.send(to, mad);
        }
    }

    /// Tells the application something, if it still wants to hear of the connection.
    fn tell(&mut self, id: ConnectionId, kind: EventKind) {
        let connection = self.table.get(id);
        if connection.is_some_and(|connection| connection.is_owned) {
            let connection = id;
            self.events.push_back(Event { connection, kind });
        }
    }

    /// Tells the application the last about a connection.
    fn tell_last(&mut self, id: ConnectionId, kind: EventKind) {
        self.tell(id, kind);
        if let Some(connection) = self.table.get_mut(id) {
            connection.is_owned = false;
        }
        self.leave_backlog(id);
    }

    /// A request has been decided.
    fn leave_backlog(&mut self, id: ConnectionId) {
        let connection = self.table.get_mut(id);
        let service = connection.and_then(|connection| connection.listener.take());
        let listener = service.and_then(|service| self.listeners.get_mut(&service));
        if let Some(listener) = listener {
            listener.waiting = listener.waiting.saturating_sub(1);
        }
    }

    /// Moves a connection to another state, with a timer or without ([`Time::MAX`]).
    fn enter(&mut self, id: ConnectionId, state: State, deadline: Time) {
        if let Some(connection) = self.table.get_mut(id) {
            connection.state = state;
            connection.is_extended = false;
        }
        self.table.arm(id, deadline);
    }

    /// A REJ from a connection for a reason.
    fn rej_of(&self, id: ConnectionId, reason: Reason) -> Rej {
        let connection = self.table.get(id);
        let remote_id = connection.map_or(0, |connection| connection.remote_id);
        let message = match connection.map(|connection| connection.state) {
            Some(State::ReqRcvd) => Answered::Req,
            Some(State::RepRcvd) => Answered::Rep,
            _ => Answered::Other,
        };
        let rej = Rej::new((id.0, remote_id), message, reason);
        if reason == Reason::TIMEOUT {
            rej.with_guid(self.settings.guid)
        } else {
            rej
        }
    }
}

/// A transaction of a manager's own: a connection's name with a digit before it that says what for.
const fn transaction(id: ConnectionId, purpose: u8) -> u64 {
    (purpose as u64) << 32 | id.0 as u64
}

/// The purposes of transactions.
const OPENING: u8 = 1;
const ENDING: u8 = 2;

/// A connection whose fields aren't known yet.
fn blank(state: State, peer: Peer, is_active: bool) -> Connection {
    Connection {
        state,
        is_active,
        is_owned: true,
        peer,
        remote_id: 0,
        remote_guid: 0,
        remote_pair: QpNumber::new(0),
        own_pair: QpNumber::new(0),
        transaction: 0,
        said: None,
        left: 0,
        wait: Duration::from_ps(0),
        patience: Duration::from_ps(0),
        is_extended: false,
        listener: None,
        deadline: Time::MAX,
    }
}

impl Manager {
    /// Takes a MAD that has come.
    ///
    /// # Errors
    /// If it can't be understood; then nothing has changed.
    pub fn on_mad(&mut self, from: Peer, mad: &[u8], now: Time) -> Result<(), Malformed> {
        arrive::on_mad(self, from, mad, now)
    }

    /// Does what is due by `now`.
    pub fn on_timeout(&mut self, now: Time) {
        timers::on_timeout(self, now);
    }
}
