//! A queue pair: both ends, its receives and its state.

use alloc::collections::VecDeque;

use fairlane_units::{Bytes, Psn, Time};

use crate::config::{Config, Service};
use crate::memory::{Memory, ReceiveQueue, Receives};
use crate::out_of_order::packets;
use crate::packet::{Extension, Outgoing, Packet, Placement, Reply};
use crate::requester::Requester;
use crate::responder::Responder;
use crate::responder::answer::{LONGEST, WIDEST};
use crate::state::{InvalidTransition, State};
use crate::work::{
    Completion, Operation, PostError, Receive, ReceiveCompletion, Status, WorkRequest,
};

/// A change of state that an application asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modify {
    /// Forget everything.
    Reset,
    /// Take receives.
    Init,
    /// Take packets; the first one has this number.
    ReadyToReceive(Psn),
    /// Send packets; the first one has this number, which matters only on the way from RTR.
    ReadyToSend(Psn),
    /// End what has begun, begin nothing.
    SendQueueDrain,
    /// End everything.
    Error,
}

impl Modify {
    const fn state(self) -> State {
        match self {
            Self::Reset => State::Reset,
            Self::Init => State::Init,
            Self::ReadyToReceive(_) => State::ReadyToReceive,
            Self::ReadyToSend(_) => State::ReadyToSend,
            Self::SendQueueDrain => State::SendQueueDrain,
            Self::Error => State::Error,
        }
    }
}

/// How much a queue pair can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Work requests posted and not completed.
    pub requests: u32,
    /// Receives posted and not taken.
    pub receives: u32,
}

/// A queue pair of any service.
///
/// A driver repeats this until nothing happens: hand in packets with
/// [`on_packet`](Self::on_packet), then call [`poll_transmit`](Self::poll_transmit),
/// [`poll_completion`](Self::poll_completion) and
/// [`poll_receive_completion`](Self::poll_receive_completion) until each has nothing more, then wait
/// for a packet or for [`deadline`](Self::deadline), at which [`on_timeout`](Self::on_timeout) is due.
#[derive(Clone, Debug)]
pub struct QueuePair {
    state: State,
    capacity: Capacity,
    /// The key that datagrams must carry.
    queue_key: u32,
    requester: Requester,
    responder: Responder,
    receives: ReceiveQueue,
    /// Work requests that had ended when SQE was left, and have not been polled.
    completed: VecDeque<Completion>,
    /// Receives that have ended and not been polled.
    ended: VecDeque<ReceiveCompletion>,
}

/// What a packet led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Where its payload goes; `None` if it is not to be placed.
    pub placement: Option<Placement>,
    /// The response to send at once.
    pub reply: Option<Packet>,
}

impl QueuePair {
    /// A queue pair in state RESET.
    pub fn new(config: &Config, capacity: Capacity) -> Self {
        Self {
            state: State::Reset,
            capacity,
            queue_key: 0,
            requester: Requester::new(config, Psn::new(0)),
            responder: Responder::new(config, Psn::new(0)),
            receives: ReceiveQueue::default(),
            completed: VecDeque::new(),
            ended: VecDeque::new(),
        }
    }

    /// The state.
    #[inline]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Sets the key that datagrams must carry.
    pub fn set_queue_key(&mut self, queue_key: u32) {
        self.queue_key = queue_key;
    }

    /// Whether everything that has begun has ended, as SQD waits for.
    pub fn is_drained(&self) -> bool {
        self.requester.is_drained()
    }

    /// Changes the state.
    ///
    /// # Errors
    /// If there is no such transition from the present state.
    pub fn modify(&mut self, config: &Config, modify: Modify) -> Result<(), InvalidTransition> {
        let (from, to) = (self.state, modify.state());
        if !from.may_become(to) {
            return Err(InvalidTransition { from, to });
        }
        match modify {
            Modify::Reset => {
                let queue_key = self.queue_key;
                *self = Self::new(config, self.capacity);
                self.queue_key = queue_key;
            }
            Modify::Init => {}
            Modify::ReadyToReceive(expected) => self.responder = Responder::new(config, expected),
            Modify::ReadyToSend(initial) => match from {
                State::ReadyToReceive => self.requester = Requester::new(config, initial),
                State::SendQueueError => {
                    self.completed
                        .extend(core::iter::from_fn(|| self.requester.poll_completion()));
                    self.requester = Requester::new(config, self.requester.next_psn());
                }
                _ => self.requester.resume(config),
            },
            Modify::SendQueueDrain => self.requester.drain(config),
            Modify::Error => self.fail(),
        }
        self.state = to;
        Ok(())
    }

    fn fail(&mut self) {
        // Once in ERR, what the responder owes still leaves: perhaps the NAK that says why.
        if self.state == State::Error {
            return;
        }
        self.state = State::Error;
        self.requester.flush();
        self.ended.extend(self.responder.flush());
    }

    /// Ends the work request `id`, of which a packet has just been polled, because its data can't be
    /// read; that packet must not be sent. A reliable connection fails when the work requests before
    /// it have ended, an unreliable queue pair goes to SQE.
    pub fn on_local_error(&mut self, config: &Config, id: u64) {
        self.requester
            .fail_request(config, id, Status::LocalProtection);
        if !self.requester.has_failed() {
            return;
        }
        if config.service.is_reliable() {
            self.fail();
        } else {
            self.state = State::SendQueueError;
        }
    }

    /// Posts a work request.
    ///
    /// # Errors
    /// If state, room, service or length don't allow it.
    pub fn post_request(&mut self, config: &Config, request: WorkRequest) -> Result<(), PostError> {
        if !self.state.takes_requests() {
            return Err(PostError::State);
        }
        if self.requester.outstanding() >= self.capacity.requests as usize {
            return Err(PostError::Full);
        }
        request.check(config)?;
        self.requester.post(config, request);
        Ok(())
    }

    /// Posts a receive.
    ///
    /// # Errors
    /// If state or room don't allow it.
    pub fn post_receive(&mut self, receive: Receive) -> Result<(), PostError> {
        if !self.state.takes_receives() {
            return Err(PostError::State);
        }
        if self.receives.len() >= self.capacity.receives as usize {
            return Err(PostError::Full);
        }
        self.receives.post(receive);
        Ok(())
    }

    /// Takes a packet; its checksums, partition and destination have been checked. Receives come from
    /// the queue pair's own queue.
    pub fn on_packet(
        &mut self,
        config: &Config,
        now: Time,
        packet: &Packet,
        memory: &mut impl Memory,
    ) -> Heard {
        let mut receives = core::mem::take(&mut self.receives);
        let heard = self.on_packet_with(config, now, packet, memory, &mut receives);
        self.receives = receives;
        heard
    }

    /// The same with receives from a shared queue.
    #[inline]
    pub fn on_packet_with(
        &mut self,
        config: &Config,
        now: Time,
        packet: &Packet,
        memory: &mut impl Memory,
        receives: &mut impl Receives,
    ) -> Heard {
        if !self.state.hears() || !self.belongs(config, packet) {
            return Heard::default();
        }
        if packet.opcode.is_response() {
            let (_, placement) = self.requester.on_packet(config, now, packet);
            if self.requester.has_failed() {
                self.fail();
            }
            return Heard {
                placement,
                reply: None,
            };
        }
        let received = self
            .responder
            .on_packet(config, now, packet, memory, receives);
        self.ended.extend(received.completion);
        if received.fault.is_some() {
            // What the responder owes still leaves, the NAK behind it.
            self.state = State::Error;
            self.requester.flush();
        }
        Heard {
            placement: received.placement,
            reply: received.reply.map(Reply::packet),
        }
    }

    /// Whether a packet is of the queue pair's service and has its key.
    #[inline]
    fn belongs(&self, config: &Config, packet: &Packet) -> bool {
        use fairlane_wire::Service as Wire;
        match (config.service, packet.opcode.service()) {
            (Service::ReliableConnection, Wire::Rc) | (Service::UnreliableConnection, Wire::Uc) => {
                true
            }
            (Service::UnreliableDatagram, Wire::Ud) => matches!(
                packet.extension,
                Extension::Datagram { queue_key, .. } if queue_key == self.queue_key
            ),
            _ => false,
        }
    }

    /// Whether a packet waits to be sent.
    #[inline]
    pub fn has_packet(&self) -> bool {
        self.responder.has_packet() || (self.state.sends() && self.requester.has_packet())
    }

    /// The next packet: responses first, then requests.
    #[inline]
    pub fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Outgoing> {
        if let Some(outgoing) = self.responder.poll_transmit(config) {
            return Some(outgoing);
        }
        if self.state.sends() {
            return self.requester.poll_transmit(config, now);
        }
        None
    }

    /// When [`on_timeout`](Self::on_timeout) is due.
    #[inline]
    pub const fn deadline(&self) -> Option<Time> {
        self.requester.deadline()
    }

    /// Fires the deadline.
    pub fn on_timeout(&mut self, config: &Config, now: Time) {
        self.requester.on_timeout(config, now);
        if self.requester.has_failed() {
            self.fail();
        }
    }

    /// The next finished work request to report, in the order of posting.
    #[inline]
    pub fn poll_completion(&mut self) -> Option<Completion> {
        let before = self.completed.pop_front();
        before.or_else(|| self.requester.poll_completion())
    }

    /// The next finished receive, in the order of posting; in state ERR also those never used.
    pub fn poll_receive_completion(&mut self) -> Option<ReceiveCompletion> {
        if let Some(ended) = self.ended.pop_front() {
            return Some(ended);
        }
        if self.state != State::Error {
            return None;
        }
        let receive = self.receives.take()?;
        Some(ReceiveCompletion::failed(receive.id, Status::Flushed))
    }
}

impl WorkRequest {
    /// Refuses what the service or the protocol doesn't have.
    ///
    /// # Errors
    /// If the service has no such operation, or length or address aren't such as it has.
    pub fn check(&self, config: &Config) -> Result<(), PostError> {
        let operation = &self.operation;
        let known = match config.service {
            Service::ReliableConnection => !matches!(operation, Operation::Datagram { .. }),
            Service::UnreliableConnection => matches!(
                operation,
                Operation::Send
                    | Operation::SendImmediate(_)
                    | Operation::Write(_)
                    | Operation::WriteImmediate(..)
            ),
            Service::UnreliableDatagram => matches!(operation, Operation::Datagram { .. }),
        };
        if !known || (operation.awaits_response() && config.max_reads == 0) {
            return Err(PostError::Operation);
        }
        let fits = match operation {
            Operation::FetchAdd { remote, .. } | Operation::CompareSwap { remote, .. } => {
                if !remote.address.is_multiple_of(8) {
                    return Err(PostError::Alignment);
                }
                self.length == Bytes::new(8)
            }
            Operation::Datagram { .. } => self.length <= config.mtu,
            Operation::Read(_) => {
                self.length <= LONGEST && packets(self.length, config.mtu) <= WIDEST
            }
            _ => self.length <= LONGEST,
        };
        if fits { Ok(()) } else { Err(PostError::Length) }
    }
}
