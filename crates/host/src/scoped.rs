//! What a NIC has under scopes that share controllers: an enforcer, and its own downlink to divide.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use fairlane_congestion::Environment;
use fairlane_congestion::scope::{
    Enforcer, Offer, ReceiverShares, Scope, SenderId, Sent, Setting, Share, Weight,
};
use fairlane_units::{Bytes, Rate, TenantId, Time};

use crate::packet::{Arrival, Opening};
use crate::pair::{Pair, Stream};
use crate::settings::Settings;

/// The tenants that a NIC knows.
#[derive(Clone, Debug, Default)]
pub struct Tenants {
    /// All of the fabric, with what each is entitled to.
    pub all: Vec<Weight>,
    /// Those that send data from here.
    pub here: Vec<Weight>,
}

/// The enforcer of a NIC and its receiver's part.
#[derive(Clone, Debug)]
pub(crate) struct Scoped {
    pub(crate) enforcer: Enforcer,
    /// If receivers divide their links.
    receiver: Option<ReceiverShares>,
    /// Queue pairs by sender, and which of their streams it is.
    pairs: Vec<(u32, Stream)>,
    /// The stream of the queue pair whose turn it was last.
    pub(crate) stream: Stream,
    /// Payload sent of messages with parts.
    wholes: BTreeMap<u32, Bytes>,
    full: Bytes,
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
        let divides =
            settings.scope == Scope::Tenant && settings.tenant.shares && tenants.all.len() > 1;
        let target = settings.params.target_utilization();
        let line_rate = environment.line_rate;
        Some(Box::new(Self {
            receiver: divides
                .then(|| ReceiverShares::new(&settings.tenant, target, line_rate, &tenants.all)),
            enforcer: Enforcer::new(setting, *environment, &tenants.here),
            pairs: Vec::new(),
            stream: Stream::Requests,
            wholes: BTreeMap::new(),
            full: settings.full,
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
    pub(crate) fn offer(&mut self, now: Time, (pair, stream): (&Pair, Stream), open: bool) {
        let Some(sender) = pair.sending.sender(stream) else {
            return;
        };
        let in_flight = pair.in_flight_of(stream);
        if !open {
            // The data of a READ confirms what was posted before it, without an acknowledgement.
            if in_flight.is_zero() {
                self.enforcer.settle(sender);
            }
            self.enforcer.withdraw(now, sender);
            return;
        }
        let part = pair.opening.whole.map(|whole| self.wholes.get(&whole));
        let offer = Offer {
            size: self.full,
            message_sent: match part {
                Some(sent) => sent.copied().unwrap_or_default(),
                None => pair.message_sent(stream),
            },
            in_flight,
        };
        self.enforcer.offer(now, sender, offer);
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
        if let Some(whole) = pair.opening.whole {
            *self.wholes.entry(whole).or_default() += size;
        }
        let sent = Sent {
            size,
            in_flight: pair.in_flight_of(stream),
        };
        self.enforcer.on_sent(now, sender, sent);
    }

    /// Counts a data packet that has arrived, if the link is divided.
    pub(crate) fn on_data(&mut self, now: Time, pair: &Pair, arrival: &Arrival<'_>) {
        if let Some(receiver) = &mut self.receiver {
            let size = Bytes::new(u64::from(arrival.wire));
            let data = (size, arrival.marked);
            receiver.on_data(now, arrival.tenant, pair.opening.peer, data);
        }
    }

    /// The share that a reply to a sender of `tenant` carries, whose link has `rate`; 0 for none.
    pub(crate) fn share(&self, tenant: TenantId, rate: Rate) -> u16 {
        let level = self
            .receiver
            .as_ref()
            .and_then(|receiver| receiver.level(tenant));
        level.map_or(0, |level| Share::from_rate(level, rate).get())
    }
}
