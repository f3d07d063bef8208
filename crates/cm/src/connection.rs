//! One connection, or one question for a service.

use alloc::boxed::Box;

use fairlane_units::{Duration, QpNumber, Time};

use crate::event::Peer;
use crate::format::{Mad, ServiceId};

/// Where a connection stands (IBTA 12.9.7; `docs/cm.md` has the ways between).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Active: REQ is sent, and repeated.
    ReqSent,
    /// Active: REP has come, the application is to confirm it.
    RepRcvd,
    /// Passive: REQ has come, the application is to accept it.
    ReqRcvd,
    /// Passive: REP is sent, and repeated.
    RepSent,
    /// Both sides may send.
    Established,
    /// DREQ is sent, and repeated.
    DreqSent,
    /// The connection is over; late packets may come.
    TimeWait,
    /// The connection never came to be; repeated messages of the peer are answered as the first.
    Refused,
    /// SIDR_REQ is sent, and repeated.
    SidrReqSent,
    /// SIDR_REQ has come, the application is to answer it.
    SidrReqRcvd,
    /// SIDR_REP is sent; repeated questions are answered again.
    SidrRepSent,
}

/// What a manager knows of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) state: State,
    pub(crate) is_active: bool,
    /// Whether the application still hears of it.
    pub(crate) is_owned: bool,
    pub(crate) peer: Peer,
    /// The peer's name of it, 0 while unknown.
    pub(crate) remote_id: u32,
    pub(crate) remote_guid: u64,
    pub(crate) remote_pair: QpNumber,
    pub(crate) own_pair: QpNumber,
    pub(crate) transaction: u64,
    /// What is repeated until an answer comes, or whenever the peer repeats itself.
    pub(crate) said: Option<Box<Mad>>,
    /// How often it may still be repeated by the timer.
    pub(crate) left: u8,
    /// How long an answer may take.
    pub(crate) wait: Duration,
    /// How long the peer may repeat itself.
    pub(crate) patience: Duration,
    /// Whether the peer has asked for more time since the last repetition.
    pub(crate) is_extended: bool,
    /// The listener in whose backlog it is.
    pub(crate) listener: Option<ServiceId>,
    /// When its timer fires, [`Time::MAX`] if never. Written by the table.
    pub(crate) deadline: Time,
}

impl Connection {
    /// Whether its queue pair may be in use.
    pub(crate) const fn is_connected(&self) -> bool {
        matches!(
            self.state,
            State::ReqRcvd | State::RepSent | State::RepRcvd | State::Established | State::DreqSent
        )
    }

    /// Whether nobody misses it.
    pub(crate) const fn is_dispensable(&self) -> bool {
        !self.is_owned
            && matches!(
                self.state,
                State::TimeWait | State::Refused | State::SidrRepSent
            )
    }
}
