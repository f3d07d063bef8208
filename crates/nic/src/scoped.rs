//! What a NIC has under scopes that share controllers: an enforcer.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use fairlane_congestion::Environment;
use fairlane_congestion::scope::{Enforcer, Offer, SenderId, Sent, Setting, Weight};
use fairlane_units::{Bytes, Time};

use crate::packet::Opening;
use crate::pair::{Pair, Stream};
use crate::settings::Settings;

/// The tenants that a NIC knows.
#[derive(Clone, Debug, Default)]
pub struct Tenants {
    /// All of the fabric, with what each is entitled to.
    pub all: Vec<Weight>,
    /// Tenants that send data from this host.
    pub here: Vec<Weight>,
}

/// The enforcer of a NIC, and whose queue pairs it has.
#[derive(Clone, Debug)]
pub(crate) struct Scoped {
    pub(crate) enforcer: Enforcer,
    /// Queue pairs by sender, and which of their streams it is.
    pairs: Vec<(u32, Stream)>,
    /// The stream of the queue pair whose turn it was last.
    pub(crate) stream: Stream,
}

impl Scoped {
    /// What the scope asks of a NIC with a link of `line_rate`; nothing if each queue pair is on its own.
    pub(crate) fn new(
        settings: &Settings,
        environment: &Environment,
        tenants: &Tenants,
    ) -> Option<Box<Self>> {
        if !settings.shares_controllers() {
            return None;
        }
        let setting: Arc<Setting> = Arc::new(settings.enforced());
        Some(Box::new(Self {
            enforcer: Enforcer::new(setting, *environment, &tenants.here),
            pairs: Vec::new(),
            stream: Stream::Requests,
        }))
    }

    /// A queue pair is to send data of a stream for the first time.
    pub(crate) fn open(&mut self, now: Time, (number, stream): (u32, Stream), pair: &mut Pair) {
        let Opening { tenant, peer, .. } = pair.opening;
        let sender = match pair.sending.sender(stream.other()) {
            Some(other) => self.enforcer.open_beside(other),
            None => {
                let environment = &pair.opening.environment;
                self.enforcer.open(now, tenant, peer, environment)
            }
        };
        if self.pairs.len() <= sender.index() {
            self.pairs.resize(sender.index() + 1, (number, stream));
        }
        self.pairs[sender.index()] = (number, stream);
        pair.sending.set_sender(stream, sender);
    }

    /// A queue pair has gone; `settled` says that all of its data has arrived.
    pub(crate) fn close(&mut self, now: Time, sender: SenderId, settled: bool) {
        if settled {
            self.enforcer.settle(sender);
        }
        self.enforcer.close(now, sender);
    }

    /// Tells the enforcer whether a queue pair has a packet of a stream that it may send.
    pub(crate) fn offer(&mut self, (pair, stream): (&Pair, Stream), open: bool) {
        let Some(sender) = pair.sending.sender(stream) else {
            return;
        };
        let in_flight = pair.in_flight_of(stream);
        if !open {
            // The data of a READ confirms what was posted before it, without an acknowledgement.
            if in_flight.is_zero() {
                self.enforcer.settle(sender);
            }
            self.enforcer.withdraw(sender);
            return;
        }
        let offer = Offer {
            in_flight,
            message: pair.message_of(stream),
        };
        self.enforcer.offer(sender, offer);
    }

    /// Whether a stream of a queue pair is at a message that may leave ahead of its pace.
    pub(crate) fn is_small(&self, pair: &Pair) -> bool {
        let small = |stream| self.enforcer.is_small(pair.message_of(stream));
        let requests = pair.requester.has_packet() && !pair.requester.asks_for_data();
        requests && small(Stream::Requests) || pair.responds() && small(Stream::Responses)
    }

    /// From when on a queue pair may send data of either stream.
    pub(crate) fn available(&self, pair: &Pair) -> Option<Time> {
        let both = Stream::BOTH
            .iter()
            .filter_map(|&of| self.stream_at(pair, of));
        both.min()
    }

    /// From when on a queue pair may send more of the stream that was chosen last.
    pub(crate) fn goes_on(&self, pair: &Pair) -> Option<Time> {
        self.stream_at(pair, self.stream)
    }

    fn stream_at(&self, pair: &Pair, stream: Stream) -> Option<Time> {
        self.enforcer.available(pair.sending.sender(stream)?)
    }

    /// Which stream of a queue pair that sends data its packet is of: that which was chosen last, if it may send.
    pub(crate) fn stream_of(&self, now: Time, pair: &Pair) -> Stream {
        match self.goes_on(pair).is_some_and(|at| at <= now) {
            true => self.stream,
            false => self.stream.other(),
        }
    }

    /// The queue pair whose turn it is.
    pub(crate) fn turn(&mut self, now: Time) -> Option<u32> {
        let sender = self.enforcer.next(now)?;
        let (pair, stream) = self.pairs[sender.index()];
        self.stream = stream;
        Some(pair)
    }

    /// A packet of `size` bytes of a queue pair is being sent.
    pub(crate) fn charge(&mut self, now: Time, (pair, stream): (&Pair, Stream), size: Bytes) {
        let Some(sender) = pair.sending.sender(stream) else {
            return;
        };
        let sent = Sent {
            size,
            in_flight: pair.in_flight_of(stream),
        };
        self.enforcer.on_sent(now, sender, sent);
    }
}
