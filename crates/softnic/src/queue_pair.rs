//! Queue pairs: what they are made with and what a device has of them.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use fairlane_congestion::Environment;
use fairlane_nic::{Nic, PairId};
use fairlane_transport::{Config, Service, State};
use fairlane_units::{Bytes, Duration, Psn, QpNumber, TenantId, Time};
use fairlane_wire::Bth;

use crate::completion::CompletionQueue;
use crate::counters::Counters;
use crate::event::AsyncEvent;
use crate::keys::Domain;
use crate::number;
use crate::receives::SharedQueue;
use crate::rights::Rights;
use crate::round_trips::RoundTrips;
use crate::slots::Slots;
use crate::work::{Operation, Work};

/// What a queue pair is made with.
#[derive(Clone, Debug)]
pub struct QueuePairOptions {
    /// Its protection domain.
    pub domain: Domain,
    /// Its service.
    pub service: Service,
    /// Where requests complete.
    pub send_queue: CompletionQueue,
    /// Where receives complete.
    pub receive_queue: CompletionQueue,
    /// The queue that receives come from; without, one of its own.
    pub shared: Option<SharedQueue>,
    /// Requests posted and not completed, at most.
    pub most_requests: u32,
    /// Receives posted and not taken, at most.
    pub most_receives: u32,
    /// Pieces of a request or receive, at most.
    pub most_pieces: u32,
    /// Bytes of inline data, at most.
    pub most_inline: u32,
    /// Its partition key, which is that of the tenant.
    pub partition: TenantId,
    /// The key that datagrams for it must carry.
    pub queue_key: u32,
}

impl QueuePairOptions {
    /// The queue key of management datagrams (IBTA 10.2.5).
    pub const MANAGEMENT_KEY: u32 = 0x8001_0000;

    /// A reliable connection of the usual size with one completion queue.
    pub const fn new(domain: Domain, queue: CompletionQueue) -> Self {
        Self {
            domain,
            service: Service::ReliableConnection,
            send_queue: queue,
            receive_queue: queue,
            shared: None,
            most_requests: 256,
            most_receives: 256,
            most_pieces: 16,
            most_inline: 256,
            partition: Bth::DEFAULT_PARTITION,
            queue_key: 0,
        }
    }
}

/// The other end of a connection and what this end takes from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The address of its device; of a datagram service without meaning.
    pub address: IpAddr,
    /// The number of its queue pair.
    pub number: QpNumber,
    /// The number of the first packet that it sends.
    pub first: Psn,
    /// Path MTU: 256, 512, 1024, 2048 or 4096.
    pub mtu: u16,
    /// READs and atomics of the other end that may be under way.
    pub most_reads: u8,
    /// How long it is asked to wait when no receive is posted.
    pub rnr_timer: Duration,
    /// Packets that may be kept out of order; 0 for go-back-N. Both ends must have the same.
    pub selective: u32,
    /// The traffic class of its packets, 1 to 7. Only who carries packets of a [`DetachedDevice`](crate::DetachedDevice) sees it.
    pub class: u8,
    /// Rate and round trip of the path as congestion control sees them; without, as of the device's link.
    pub environment: Option<Environment>,
}

impl Connection {
    /// The usual values.
    pub const fn new(address: IpAddr, number: QpNumber) -> Self {
        Self {
            address,
            number,
            first: Psn::new(0),
            mtu: 4096,
            most_reads: 16,
            rnr_timer: Duration::from_us(640),
            selective: 0,
            class: 3,
            environment: None,
        }
    }
}

/// How a queue pair sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// The number of its first packet.
    pub first: Psn,
    /// Time without progress after which packets are sent again; `None` for never.
    pub timeout: Option<Duration>,
    /// Timeouts in a row after which it fails.
    pub retries: u32,
    /// RNR NAKs in a row after which it fails; `None` for never.
    pub rnr_retries: Option<u32>,
    /// READs and atomics that may be under way; no more than the other end's [`most_reads`](Connection::most_reads).
    pub most_reads: u8,
}

impl Default for Sending {
    fn default() -> Self {
        Self {
            first: Psn::new(0),
            timeout: Some(Duration::from_ms(67)),
            retries: 7,
            rnr_retries: None,
            most_reads: 16,
        }
    }
}

/// A change of state (IBTA 10.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modify {
    /// Forget everything.
    Reset,
    /// Take receives. The other end will have these rights.
    Init(Rights),
    /// Take packets.
    ReadyToReceive(Connection),
    /// Send packets.
    ReadyToSend(Sending),
    /// End what has begun, begin nothing.
    SendQueueDrain {
        /// Whether [`AsyncEvent::Drained`](crate::AsyncEvent::Drained) tells that it has ended.
        tell: bool,
    },
    /// End everything.
    Error,
}

impl Modify {
    pub(crate) const fn state(&self) -> State {
        match self {
            Self::Reset => State::Reset,
            Self::Init(_) => State::Init,
            Self::ReadyToReceive(_) => State::ReadyToReceive,
            Self::ReadyToSend(_) => State::ReadyToSend,
            Self::SendQueueDrain { .. } => State::SendQueueDrain,
            Self::Error => State::Error,
        }
    }
}

/// What may change of a queue pair in any state; `None` leaves it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adjustment {
    /// Rights of the other end.
    pub rights: Option<Rights>,
    /// The key that datagrams for it must carry.
    pub queue_key: Option<u32>,
    /// Its partition key.
    pub partition: Option<TenantId>,
    /// How long the other end is asked to wait when no receive is posted.
    pub rnr_timer: Option<Duration>,
}

/// What a queue pair is like.
#[derive(Clone, Debug)]
pub struct Attributes {
    /// Its state.
    pub state: State,
    /// What it was made with, and [adjusted](Adjustment) to.
    pub options: QueuePairOptions,
    /// Rights of the other end.
    pub rights: Rights,
    /// The other end, from RTR on.
    pub connection: Option<Connection>,
    /// How it sends, from RTS on.
    pub sending: Option<Sending>,
    /// The number of the next new packet that it sends.
    pub sends: Psn,
    /// The number of the next packet that it takes.
    pub expects: Psn,
    /// Whether it is in SQD and something that had begun hasn't ended.
    pub draining: bool,
    /// Payload of requests that the other end has confirmed.
    pub confirmed: Bytes,
    /// Payload that has been placed in memory here.
    pub placed: Bytes,
    /// Packets of requests that it has sent more than once.
    pub retransmitted: u64,
}

/// Where a work request has gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destination {
    pub(crate) peer: Ipv4Addr,
    /// The number of the socket that stands for a source port.
    pub(crate) socket: usize,
    pub(crate) class: u8,
}

/// What a device has of a queue pair.
#[derive(Debug)]
pub(crate) struct QueuePair {
    pub(crate) number: QpNumber,
    pub(crate) options: QueuePairOptions,
    pub(crate) state: State,
    /// Access rights of the other end to memory here.
    pub(crate) rights: Rights,
    /// Its queue of receives.
    pub(crate) receives: u32,
    /// Its number at the NIC, from RTR on.
    pub(crate) id: Option<PairId>,
    pub(crate) peer: Connection,
    pub(crate) config: Config,
    pub(crate) sending: Option<Sending>,
    /// The source port that it sends by, as the number of a socket.
    pub(crate) socket: usize,
    /// Works that haven't been handed to the NIC completely, oldest first.
    pub(crate) waiting: VecDeque<u32>,
    /// Works that haven't ended.
    pub(crate) outstanding: u32,
    /// Works that were posted while something went wrong on purpose.
    pub(crate) posted: u64,
    /// Whether the work that was handed over last fails on purpose.
    pub(crate) fails: bool,
    /// Parts of READs at the NIC.
    pub(crate) reads: u32,
    /// Where datagrams at the NIC go, in their order.
    pub(crate) addresses: VecDeque<IpAddr>,
    /// Whether the end of draining is to be told.
    pub(crate) drains: bool,
    /// Whether a packet has come.
    pub(crate) established: bool,
    /// Round trips of its packets, where congestion control needs them.
    pub(crate) round_trips: RoundTrips,
    /// When the last packet with a header of traffic management has come.
    pub(crate) heard: Time,
    /// Timeouts of acknowledgements, as far as they have been looked at.
    pub(crate) timeouts: u32,
    /// Whether the next reply counts as one that tells of a mark.
    pub(crate) pending_mark: bool,
    /// Bytes that it has in flight, as they were counted last.
    pub(crate) in_flight: u64,
    /// Packets sent more than once, as far as a lab was told of them.
    pub(crate) reported: u64,
    /// What it has counted; acknowledgement timeouts only of times before it was reset.
    pub(crate) counters: Counters,
}

impl QueuePair {
    /// One by a socket's port, in a device whose queue pairs have this `config` but for what they are told.
    pub(crate) fn new(
        number: QpNumber,
        options: &QueuePairOptions,
        socket: usize,
        config: &Config,
    ) -> Self {
        let config = Config {
            service: options.service,
            ..config.clone()
        };
        Self {
            number,
            options: options.clone(),
            state: State::Reset,
            rights: Rights::NONE,
            receives: 0,
            id: None,
            peer: Connection::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), QpNumber::new(0)),
            config,
            sending: None,
            socket,
            waiting: VecDeque::new(),
            outstanding: 0,
            posted: 0,
            fails: false,
            reads: 0,
            addresses: VecDeque::new(),
            drains: false,
            established: false,
            round_trips: RoundTrips::default(),
            heard: Time::ZERO,
            timeouts: 0,
            pending_mark: false,
            in_flight: 0,
            reported: 0,
            counters: Counters::default(),
        }
    }

    /// Takes over what the other end is.
    pub(crate) fn connect(&mut self, connection: &Connection) {
        self.peer = *connection;
        self.config.mtu = Bytes::new(connection.mtu.into());
        self.config.max_destination_reads = connection.most_reads;
        self.config.rnr_timer = connection.rnr_timer;
        self.config.selective_window = connection.selective;
    }

    /// Takes over how it sends.
    pub(crate) fn send_by(&mut self, sending: &Sending) {
        self.sending = Some(*sending);
        self.config.ack_timeout = sending.timeout;
        self.config.retry_limit = sending.retries;
        self.config.rnr_retry_limit = sending.rnr_retries.unwrap_or(Config::FOREVER);
        self.config.max_reads = sending.most_reads;
    }

    /// The key that a datagram of it carries: its own if the highest bit says that it is a privileged one (IBTA 10.2.5).
    pub(crate) const fn datagram_key(&self, asked: u32) -> u32 {
        const PRIVILEGED: u32 = 1 << 31;
        match asked & PRIVILEGED {
            0 => asked,
            _ => self.options.queue_key,
        }
    }

    /// The first packet for it while it is ready to receive says that the other end is there, which is told of a connection.
    pub(crate) fn establish(&mut self) -> Option<AsyncEvent> {
        let is_first = self.state == State::ReadyToReceive && !self.established;
        self.established |= is_first;
        let tells = is_first && !self.is_datagram();
        tells.then_some(AsyncEvent::Established(self.number))
    }

    /// Where such a request of a program goes, if it has an IPv4 address; those of connection managers have none.
    pub(crate) fn destination(&self, operation: &Operation) -> Option<Destination> {
        let peer = match operation {
            Operation::Datagram { address, .. } => *address,
            _ => self.peer.address,
        };
        match peer {
            IpAddr::V4(peer) if self.number != number::MANAGEMENT => Some(Destination {
                peer,
                socket: self.socket,
                class: self.peer.class,
            }),
            _ => None,
        }
    }

    /// Whether every request that has begun has ended.
    pub(crate) fn is_drained(&self, nic: &Nic) -> bool {
        let own = self.id.map(|id| nic.pair(id));
        self.reads == 0 && own.is_some_and(|own| own.requester().is_drained())
    }

    /// Whether its next request may be handed over: while it drains, only one goes on that has begun.
    pub(crate) fn may_begin(&self, works: &Slots<Work>) -> bool {
        if self.fails {
            return false;
        }
        let next = self.waiting.front().and_then(|work| works.get(*work));
        self.state != State::SendQueueDrain || next.is_some_and(|work| work.handed > 0)
    }

    pub(crate) const fn is_datagram(&self) -> bool {
        matches!(self.options.service, Service::UnreliableDatagram)
    }
}
