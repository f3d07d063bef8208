//! What goes in and comes out of a NIC.

use alloc::sync::Arc;

use fairlane_congestion::Reading;
use fairlane_transport::{Config, Packet, ReceiveCompletion, Status};
use fairlane_units::{Bytes, Duration, FlowId, HostId, Psn, Rate, TenantId};

use fairlane_congestion::Environment;

/// A queue pair of one NIC; numbers of closed ones are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairId(pub(crate) u32);

impl PairId {
    /// Its number.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The queue pair with this [`index`](Self::index).
    #[inline]
    pub const fn from_index(index: u32) -> Self {
        Self(index)
    }
}

/// What a queue pair is opened with: what both ends agree on before the first packet.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// The driver's number for the connection, which packets and events come with.
    pub flow: FlowId,
    /// The port that it is bound to: by it go its packets and its answers.
    pub port: u8,
    /// The traffic class of its packets.
    pub class: u8,
    /// The tenant that it belongs to.
    pub tenant: TenantId,
    /// The host at the other end.
    pub peer: HostId,
    /// What both ends use beside plain RoCEv2.
    pub extensions: Extensions,
    /// What a controller of data sent from here knows.
    pub environment: Environment,
    /// A number that queue pairs have in common if they are the subflows of one connection, where subflows are
    /// [coupled](crate::Settings::coupled): they take one share together.
    pub group: Option<u32>,
}

/// What both ends of a queue pair use beside plain RoCEv2 (`docs/wire.md`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// The rate of the other end's link, of which shares are parts; `None` if that end hears no shares, and no receiver has a
    /// part of its link for it.
    pub shares: Option<Rate>,
    /// Whether READ responses are answered with feedback where [settings](crate::Settings::read_feedback) ask for that.
    pub read_feedback: bool,
    /// Whether replies carry marks even where others have [CNPs](crate::Settings::cnp_interval).
    pub marks_in_replies: bool,
}

impl Extensions {
    /// Nothing.
    pub const NONE: Self = Self {
        shares: None,
        read_feedback: false,
        marks_in_replies: false,
    };

    /// What settings ask for, with a host whose link has this rate.
    pub const fn with(peer_rate: Rate) -> Self {
        Self {
            shares: Some(peer_rate),
            read_feedback: true,
            marks_in_replies: false,
        }
    }
}

/// How the packets of a queue pair begin, and the parameters of its transport and congestion control.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The number of the first packet that it sends.
    pub sends: Psn,
    /// The number of the first packet that it takes.
    pub expects: Psn,
    /// Its own parameters; without, [those of all](crate::Settings::transport).
    pub transport: Option<Arc<Config>>,
    /// Its congestion control: one of [`Settings::controls`](crate::Settings::controls), counted from 1; 0 is that of all. Both ends
    /// must have the same.
    pub control: u8,
}

/// What a packet is to a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A packet of a requester, for the responder.
    Request,
    /// A packet of a responder, for the requester: acknowledgement, NAK or response.
    Response,
    /// A packet of a requester about a READ response which has arrived: it confirms the response with its
    /// PSN, and says what an acknowledgement says.
    Feedback,
    /// A congestion notification.
    Cnp,
}

/// No [echo](Meta::echo).
pub const NO_ECHO: u32 = u32::MAX;

/// What a NIC and its driver tell each other of a packet beside its transport headers, whichever way it goes.
#[derive(Clone, Copy, Debug)]
pub struct Meta {
    /// The [flow](Opening::flow) that it belongs to.
    pub flow: FlowId,
    /// The tenant that it belongs to (its partition key).
    pub tenant: TenantId,
    /// What it is.
    pub role: Role,
    /// Its traffic class.
    pub class: u8,
    /// Its size on the wire.
    pub wire: u16,
    /// Congestion experienced; in a reply the echo of that.
    pub marked: bool,
    /// Whether it was sent before. Real packets don't say so; it only keeps [reordering] from being counted.
    ///
    /// [reordering]: crate::Counters::reordered
    pub retransmitted: bool,
    /// What a reply says of the receiver's share, in units of [`Share`](fairlane_congestion::scope::Share); 0
    /// for none. In a data packet it has no meaning.
    pub share: u16,
    /// The rate that the sender of a data packet could use towards this host, in parts of 65535 of its line rate, 0 if
    /// nothing follows; as the TETH has it.
    pub demand: Option<u16>,
    /// The payload that the sender of a data packet has yet to send to this host, in bytes, [`u32::MAX`] for as much or
    /// more; as the TETH has it.
    pub backlog: Option<u32>,
    /// What the driver has of a packet that the answer to it brings back to its sender: telemetry, time
    /// stamp. [`NO_ECHO`] for nothing.
    pub echo: u32,
}

impl Meta {
    /// Metadata of a packet of a flow that says nothing else, and whose size isn't known yet.
    #[inline]
    pub const fn new(flow: FlowId, tenant: TenantId, role: Role, class: u8) -> Self {
        Self {
            flow,
            tenant,
            role,
            class,
            wire: 0,
            marked: false,
            retransmitted: false,
            share: 0,
            demand: None,
            backlog: None,
            echo: NO_ECHO,
        }
    }
}

/// A packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Its transport headers.
    pub packet: &'a Packet,
    /// What else is known of it.
    pub meta: Meta,
    /// In a reply, what the packet that it answers brought back.
    pub measured: Measured<'a>,
}

/// What the network said of a packet, as the answer to it brings it back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured<'a> {
    /// From the sending of the packet to the arrival of the answer.
    pub round_trip: Option<Duration>,
    /// Switches that the packet passed.
    pub hops: u8,
    /// In-band telemetry.
    pub telemetry: Option<Reading<'a>>,
}

/// What a packet that arrived led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reception {
    /// Where its payload goes; `None` if it isn't to be placed.
    pub placement: Option<fairlane_transport::Placement>,
    /// Whether its [echo](Meta::echo) is under way back; else the driver may forget it.
    pub echoed: bool,
    /// Whether the time of a packet that is already paced has moved.
    pub shifted: bool,
}

/// A packet to send.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// The queue pair that sends it; perhaps closed by now if it is a reply.
    pub pair: PairId,
    /// Its transport headers.
    pub packet: Packet,
    /// What else is to be known of it.
    pub meta: Meta,
    /// Whether it goes from the responder of its connection to the requester.
    pub from_responder: bool,
    /// Whether it is the first transmission of the last packet of a work request.
    pub ends: bool,
    /// Whether others are served next, where a [`Quantum`](crate::Quantum) is several packets.
    pub ends_quantum: bool,
}

/// Something that an application hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A work request has ended.
    Completed {
        /// Its queue pair.
        pair: PairId,
        /// Its flow.
        flow: FlowId,
        /// Its number.
        id: u64,
        /// How it ended.
        status: Status,
    },
    /// Messages have arrived completely, or a receive has ended without.
    Received {
        /// The queue pair that they came in.
        pair: PairId,
        /// Its flow.
        flow: FlowId,
        /// How many.
        messages: u32,
        /// Bytes placed so far of everything that came in.
        placed: Bytes,
        /// How a receive has ended, if one has.
        completion: Option<ReceiveCompletion>,
    },
}

impl<'a> Arrival<'a> {
    /// A packet that has come to the other end as it was sent.
    pub const fn from_departure(departure: &'a Departure, measured: Measured<'a>) -> Self {
        Self {
            packet: &departure.packet,
            meta: departure.meta,
            measured,
        }
    }
}
