//! What a manager tells its owner, and who it talks to.

use core::net::IpAddr;

use fairlane_units::QpNumber;

use crate::format::{Mad, Rej, Rep, Req, SidrRep, SidrReq};

/// A manager's own name of a connection, or of a question for a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// Where a MAD comes from or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// The address of its port.
    pub address: IpAddr,
    /// Its queue pair, nearly always 1.
    pub queue_pair: QpNumber,
}

impl Peer {
    /// The manager at an address.
    pub const fn at(address: IpAddr) -> Self {
        Self {
            address,
            queue_pair: QpNumber::new(1),
        }
    }
}

/// A MAD that wants to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Who gets it.
    pub to: Peer,
    /// Its bytes.
    pub mad: Mad,
}

/// Something that has happened to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Which one.
    pub connection: ConnectionId,
    /// What.
    pub kind: EventKind,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Somebody wants to be connected to a service that is listened to: accept or reject it.
    Requested(Peer, Req),
    /// The passive side has accepted: confirm or reject it.
    Replied(Rep),
    /// The active side is ready.
    Established,
    /// The peer refuses. The connection is forgotten.
    Rejected(Rej),
    /// The peer doesn't answer. The connection is forgotten.
    Unreachable,
    /// The connection has ended, whoever wanted it.
    Disconnected,
    /// After it has been disconnected: no packet of it is under way any more. It is forgotten.
    Ended,
    /// Somebody asks for a datagram service that is listened to: answer it.
    Asked(Peer, SidrReq),
    /// A question for a service is answered. It is forgotten.
    Resolved(SidrRep),
}
