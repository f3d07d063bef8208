//! What a device is without sockets: its objects, and the NIC that says what happens.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use fairlane_congestion::{Environment, Needs};
use fairlane_nic::{Event, Nic, PairId, Quantum};
use fairlane_transport::{Config, Service};
use fairlane_units::{Bytes, Duration, QpNumber, Time};

use crate::completion::{CompletionQueue, Completions};
use crate::counters::Counters;
use crate::error::Error;
use crate::event::{AsyncEvent, Channels, EventList};
use crate::faults::Faults;
use crate::icrc::Outer;
use crate::keys::{Domain, Keys};
use crate::limits::{self, Limits, MOST};
use crate::number;
use crate::queue_pair::{Destination, QueuePair, QueuePairOptions};
use crate::receives::{ReceiveQueue, SharedQueue};
use crate::report::WorkReport;
use crate::settings::Settings;
use crate::slots::Slots;
use crate::tenants::{self, Partitions};
use crate::work::Work;

mod arrive;
mod depart;
mod echoes;
mod events;
pub(crate) mod figures;
mod in_band;
mod link;
#[cfg(feature = "testing")]
mod live;
mod local;
mod modify;
mod peers;
mod post;
mod window;

pub(crate) use arrive::Incoming;
use in_band::InBand;
pub(crate) use in_band::TELEMETRY;
use link::Link;
#[cfg(feature = "testing")]
pub(crate) use live::live;
use window::Window;

/// The port of the NIC that everything leaves by.
pub(crate) const PORT: u8 = 0;

/// What a queue pair sends before others do: the packets of a batch at the largest path MTU. The gap is longer than a packet takes
/// at the rates that queue pairs begin with.
const QUANTUM: Quantum = Quantum {
    packets: 16,
    gap: Duration::from_us(1),
};
/// Everything of a device but its sockets.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) nic: Nic,
    pub(crate) keys: Keys,
    pub(crate) pairs: Slots<Box<QueuePair>>,
    pub(crate) completions: Slots<Completions>,
    pub(crate) receives: Slots<ReceiveQueue>,
    pub(crate) works: Slots<Work>,
    pub(crate) channels: Channels,
    pub(crate) events: EventList<AsyncEvent>,
    pub(crate) counters: Counters,
    pub(crate) settings: Settings,
    /// The slot of the queue pair for management datagrams, if an application has it.
    management: Option<u32>,
    environment: Environment,
    /// What queue pairs have unless they are told otherwise.
    transport: Config,
    /// Whether several packets leave together.
    batches: bool,
    /// What congestion control needs.
    needs: Needs,
    pub(crate) in_band: InBand,
    partitions: Partitions,
    /// The clock, as it was read last.
    clock: Time,
    /// The NIC's time, which may be ahead of the clock by a burst: packets leave when it has come to them.
    now: Time,
    link: Link,
    /// Who sent the packet that came last, and the headers in front of it.
    outer: Option<(SocketAddr, Outer)>,
    window: Window,
    /// Whether somebody who waits for completions is to be woken up.
    pub(crate) completed: bool,
    /// Whether a peer has changed memory of the application.
    pub(crate) written: bool,
    /// Parts of READs that have been asked for.
    reads: u64,
    /// Queue pairs that something has ended of.
    touched: Vec<u32>,
    /// Whether a completion has found no room since queue pairs were looked at.
    overrun: bool,
    /// Requests that have ended, if somebody is to be told.
    pub(crate) reports: Option<Vec<(Destination, WorkReport)>>,
    /// What goes wrong with requests and queues on purpose.
    pub(crate) faults: Option<Box<Faults>>,
}

/// What a device hangs on.
#[derive(Debug)]
pub(crate) struct Surroundings {
    nic: fairlane_nic::Settings,
    /// Bytes that all queue pairs together may have in flight.
    window: Bytes,
    link: Link,
    /// Whether its switches write telemetry into packets.
    writes_telemetry: bool,
}

impl Surroundings {
    /// Sockets with room for a `window` at the other end.
    pub(crate) fn sockets(settings: &Settings, window: Bytes) -> Self {
        let mut nic = nic_settings(settings);
        if settings.lab.is_some() {
            nic.quantum = Quantum::PACKET;
        }
        Self {
            nic,
            window,
            link: Link::new(Some(settings.line_rate)),
            writes_telemetry: settings.lab.is_some(),
        }
    }

    /// A link whose driver carries a packet at a time.
    pub(crate) const fn link(nic: fairlane_nic::Settings) -> Self {
        Self {
            nic,
            window: Bytes::new(u64::MAX),
            link: Link::new(None),
            writes_telemetry: true,
        }
    }
}

impl Engine {
    /// A device without objects in these surroundings.
    pub(crate) fn new(settings: &Settings, surroundings: Surroundings) -> Result<Self, Error> {
        let Surroundings {
            nic,
            window,
            link,
            writes_telemetry,
        } = surroundings;
        if settings.line_rate.is_zero() {
            return Err(Error::Invalid("line rate", "one above zero"));
        }
        let mut needs = nic.params.algorithm().needs();
        // Without CNPs, replies carry marks.
        needs.hears_cnps &= nic.cnp_interval.is_some();
        if needs.telemetry && !writes_telemetry {
            let expected = "one without telemetry, which no switch between sockets writes";
            return Err(Error::Invalid("congestion control", expected));
        }
        let environment = Environment {
            line_rate: settings.line_rate,
            base_rtt: settings.base_rtt,
            bdp: settings.line_rate.bytes_in(settings.base_rtt),
            mtu: Bytes::new(4096),
        };
        let (transport, batches) = (nic.transport.clone(), nic.quantum.packets > 1);
        let in_band = InBand::new(settings, needs, &nic.dasr);
        Ok(Self {
            nic: Nic::new(
                Arc::new(nic),
                &[environment],
                &tenants::entitlements(&settings.tenants),
            ),
            keys: Keys::new(),
            pairs: Slots::new(number::MOST),
            completions: Slots::new(MOST),
            receives: Slots::new(MOST),
            works: Slots::new(MOST),
            channels: Channels::new(),
            events: EventList::new()?,
            counters: Counters::default(),
            settings: settings.clone(),
            management: None,
            environment,
            transport,
            batches,
            needs,
            in_band,
            partitions: Partitions::new(&settings.tenants)?,
            clock: Time::ZERO,
            now: Time::ZERO,
            link,
            outer: None,
            window: Window {
                in_flight: 0,
                limit: window.get(),
            },
            completed: false,
            written: false,
            reads: 0,
            touched: Vec::new(),
            overrun: false,
            reports: settings.lab.is_some().then(Vec::new),
            faults: None,
        })
    }

    /// The NIC's time, now that the clock says `clock`.
    pub(crate) fn at(&mut self, clock: Time) -> Time {
        self.clock = clock;
        self.now = self.now.max(clock);
        self.now
    }

    /// The slot of a queue pair.
    pub(crate) fn slot(&self, number: QpNumber) -> Result<u32, Error> {
        let slot = match number {
            number::MANAGEMENT => self.management,
            _ => number::index(self.settings.process, number),
        };
        let slot = slot.filter(|&slot| self.pairs.get(slot).is_some());
        slot.ok_or(Error::Unknown("queue pair"))
    }

    pub(crate) fn pair(&self, number: QpNumber) -> Result<&QueuePair, Error> {
        let slot = self.slot(number)?;
        let pair = self.pairs.get(slot);
        pair.map(|pair| &**pair).ok_or(Error::Unknown("queue pair"))
    }

    pub(crate) fn create_completions(&mut self, capacity: u32) -> Result<CompletionQueue, Error> {
        if capacity == 0 {
            return Err(Error::Invalid("completion queue", "room for 1 or more"));
        }
        limits::check("completions", capacity, Limits::ALL.completions)?;
        let mut queue = Completions::new(capacity as usize);
        queue.most = at_most(self.faults.as_ref().and_then(|own| own.queue.completion));
        let slot = self.completions.insert(|_| queue);
        slot.map(CompletionQueue)
            .ok_or(Error::Exhausted("completion queue"))
    }

    pub(crate) fn completions(
        &mut self,
        queue: CompletionQueue,
    ) -> Result<&mut Completions, Error> {
        let own = self.completions.get_mut(queue.0);
        own.ok_or(Error::Unknown("completion queue"))
    }

    pub(crate) fn resize_completions(
        &mut self,
        queue: CompletionQueue,
        capacity: u32,
    ) -> Result<(), Error> {
        limits::check("completions", capacity, Limits::ALL.completions)?;
        self.completions(queue)?.resize(capacity as usize)
    }

    pub(crate) fn destroy_completions(&mut self, queue: CompletionQueue) -> Result<(), Error> {
        match self.completions.get(queue.0) {
            None => Err(Error::Unknown("completion queue")),
            Some(queue) if queue.users > 0 => Err(Error::Busy("completion queue")),
            Some(_) => {
                self.set_channel(queue, None)?;
                self.events
                    .purge(|event| *event == AsyncEvent::QueueError(queue));
                self.completions.remove(queue.0);
                Ok(())
            }
        }
    }

    pub(crate) fn create_shared(
        &mut self,
        domain: Domain,
        (capacity, pieces): (u32, u32),
    ) -> Result<SharedQueue, Error> {
        self.keys.check_domain(domain)?;
        if capacity == 0 {
            return Err(Error::Invalid("queue of receives", "room for 1 or more"));
        }
        limits::check("receives", capacity, Limits::ALL.receives)?;
        limits::check("pieces", pieces, Limits::ALL.pieces)?;
        let mut queue = ReceiveQueue::new(domain, capacity, pieces);
        queue.most = at_most(self.faults.as_ref().and_then(|own| own.queue.receive));
        queue.shared = true;
        let slot = self.receives.insert(|_| queue);
        slot.map(SharedQueue)
            .ok_or(Error::Exhausted("queue of receives"))
    }

    pub(crate) fn shared(&mut self, queue: SharedQueue) -> Result<&mut ReceiveQueue, Error> {
        let own = self.receives.get_mut(queue.0).filter(|own| own.shared);
        own.ok_or(Error::Unknown("queue of receives"))
    }

    pub(crate) fn modify_shared(
        &mut self,
        queue: SharedQueue,
        receives: Option<u32>,
        limit: Option<u32>,
    ) -> Result<(), Error> {
        limits::check("receives", receives.unwrap_or(0), Limits::ALL.receives)?;
        let own = self.shared(queue)?;
        own.modify(receives, limit)?;
        if own.reached_limit() {
            self.events.push(AsyncEvent::LimitReached(queue));
        }
        Ok(())
    }

    pub(crate) fn destroy_shared(&mut self, queue: SharedQueue) -> Result<(), Error> {
        match self.receives.get(queue.0).filter(|own| own.shared) {
            None => Err(Error::Unknown("queue of receives")),
            Some(own) if own.users > 0 => Err(Error::Busy("queue of receives")),
            Some(_) => {
                self.events
                    .purge(|event| *event == AsyncEvent::LimitReached(queue));
                self.receives.remove(queue.0);
                Ok(())
            }
        }
    }

    pub(crate) fn create_pair(
        &mut self,
        options: &QueuePairOptions,
        sockets: usize,
    ) -> Result<QpNumber, Error> {
        limits::check_pair(options)?;
        self.keys.check_domain(options.domain)?;
        for queue in [options.send_queue, options.receive_queue] {
            let known = self.completions.get(queue.0);
            known.ok_or(Error::Unknown("completion queue"))?;
        }
        let faults = self.faults.as_ref().map(|faults| faults.queue);
        let faults = faults.unwrap_or_default();
        let receives = match options.shared {
            Some(shared) => {
                let own = self.receives.get(shared.0).filter(|own| own.shared);
                own.map(|_| shared.0)
                    .ok_or(Error::Unknown("queue of receives"))?
            }
            None => {
                let (receives, pieces) = (options.most_receives, options.most_pieces);
                let mut queue = ReceiveQueue::new(options.domain, receives, pieces);
                queue.most = at_most(faults.receive);
                let slot = self.receives.insert(|_| queue);
                slot.ok_or(Error::Exhausted("queue of receives"))?
            }
        };
        let process = self.settings.process;
        let slot = self.pairs.insert(|slot| {
            let socket = slot as usize % sockets;
            let mut pair =
                QueuePair::new(number::of(process, slot), options, socket, &self.transport);
            pair.receives = receives;
            let granted = options.most_requests;
            pair.options.most_requests = granted.min(faults.send.unwrap_or(granted));
            Box::new(pair)
        });
        let slot = slot.ok_or(Error::Exhausted("queue pair"))?;
        self.use_queues(slot, 1);
        Ok(number::of(process, slot))
    }

    pub(crate) fn create_management(
        &mut self,
        options: &QueuePairOptions,
        sockets: usize,
    ) -> Result<QpNumber, Error> {
        if self.management.is_some() {
            return Err(Error::Busy("queue pair for management"));
        }
        let mut options = options.clone();
        options.service = Service::UnreliableDatagram;
        options.queue_key = QueuePairOptions::MANAGEMENT_KEY;
        let number = self.create_pair(&options, sockets)?;
        let slot = self.slot(number)?;
        // Who establishes connections must come through: it has all the room that was granted.
        for queue in [options.send_queue, options.receive_queue] {
            if let Some(queue) = self.completions.get_mut(queue.0) {
                queue.most = usize::MAX;
            }
        }
        if let Some(pair) = self.pairs.get_mut(slot) {
            pair.number = number::MANAGEMENT;
            pair.options.most_requests = options.most_requests;
            if let Some(queue) = self.receives.get_mut(pair.receives) {
                queue.most = usize::MAX;
            }
        }
        self.management = Some(slot);
        Ok(number::MANAGEMENT)
    }

    /// Counts a queue pair among the users of its queues, or takes it out.
    fn use_queues(&mut self, slot: u32, by: i32) {
        let Some(pair) = self.pairs.get(slot) else {
            return;
        };
        let add = |users: &mut u32| *users = users.saturating_add_signed(by);
        for queue in [pair.options.send_queue, pair.options.receive_queue] {
            if let Some(queue) = self.completions.get_mut(queue.0) {
                add(&mut queue.users);
            }
        }
        if let Some(queue) = self.receives.get_mut(pair.receives) {
            add(&mut queue.users);
        }
    }

    pub(crate) fn destroy_pair(&mut self, number: QpNumber, now: Time) -> Result<(), Error> {
        let slot = self.slot(number)?;
        self.forget(slot, now);
        self.use_queues(slot, -1);
        self.management = self.management.filter(|&own| own != slot);
        self.events.purge(|event| event.pair() == Some(number));
        if let Some(pair) = self.pairs.remove(slot)
            && pair.options.shared.is_none()
        {
            self.receives.remove(pair.receives);
        }
        Ok(())
    }

    /// Brings up to date how much a queue pair has in flight.
    #[inline]
    fn account(&mut self, slot: u32, id: PairId) {
        let own = self.nic.pair(id);
        // Nobody will say of a queue pair that has failed what has arrived.
        let in_flight = match own.requester().has_failed() {
            true => 0,
            // What is READ from here is limited by who asks for it.
            false => own.requester().bytes_in_flight().get(),
        };
        if let Some(pair) = self.pairs.get_mut(slot) {
            self.window.in_flight = self.window.in_flight - pair.in_flight + in_flight;
            pair.in_flight = in_flight;
        }
    }

    /// Does what is due at `now`.
    pub(crate) fn on_deadline(&mut self, now: Time) {
        let (pairs, nic) = (&mut self.pairs, &mut self.nic);
        self.in_band.on_deadline(now, pairs, nic);
        let timeouts = nic.ledger().all.timeouts;
        nic.on_deadline(now);
        let went_back = nic.ledger().all.timeouts != timeouts;
        if went_back {
            self.in_band.on_timeouts(now, pairs, nic);
        }
        // Those that went back have less in flight; the NIC doesn't say which.
        if self.window.in_flight > 0 && went_back {
            let all = self.pairs.iter();
            let open: Vec<_> = all
                .filter(|(_, pair)| pair.in_flight > 0)
                .filter_map(|(slot, pair)| Some((slot, pair.id?)))
                .collect();
            for (slot, id) in open {
                self.account(slot, id);
            }
        }
        self.hear_events(now, None);
    }

    /// When something is due or may be sent, if nothing else happens before.
    pub(crate) fn next_time(&mut self) -> Option<Time> {
        let sends = match self.window.is_open() || self.nic.port(PORT).has_answers() {
            true => self.nic.sends_at(PORT),
            false => None,
        };
        let ahead =
            |at: Time| Time::from_ps(at.as_ps().saturating_sub(self.settings.burst.as_ps()));
        let sends = sends.map(|at| ahead(at.max(self.link.free_at)));
        let peers = &self.in_band.peers;
        let hellos = peers.has_hellos().then_some(self.now);
        let all = [sends, hellos, peers.deadline(), self.nic.deadline()];
        all.into_iter().flatten().min()
    }

    /// Hears of everything that has ended; `from` says who sent the datagram that was taken last.
    fn hear_events(&mut self, now: Time, from: Option<IpAddr>) {
        loop {
            while let Some(event) = self.nic.poll_event() {
                match event {
                    Event::Completed {
                        flow, id, status, ..
                    } => self.on_completed(flow.get(), id, status),
                    Event::Received {
                        flow,
                        completion: Some(ended),
                        ..
                    } => self.on_received(flow.get(), &ended, from),
                    Event::Received { .. } => {}
                }
                let (Event::Completed { flow, .. } | Event::Received { flow, .. }) = event;
                let slot = flow.get();
                if self.touched.last() != Some(&slot) {
                    self.touched.push(slot);
                }
            }
            // What the NIC never got is flushed behind what it had.
            let Some(slot) = self.touched.pop() else {
                break;
            };
            self.follow(slot, now);
        }
        if std::mem::take(&mut self.overrun) {
            self.fail_overrun(now);
        }
    }

    /// Ends queue pairs that complete to a queue which has had no room (IBTA 11.6.3.1).
    #[cold]
    fn fail_overrun(&mut self, now: Time) {
        let completions = &self.completions;
        let overrun = |queue: CompletionQueue| {
            let own = completions.get(queue.0);
            own.is_some_and(|own| own.overrun)
        };
        let all = self.pairs.iter().filter(|(_, pair)| {
            let options = &pair.options;
            overrun(options.send_queue) || overrun(options.receive_queue)
        });
        let open: Vec<_> = all
            .filter_map(|(slot, pair)| Some((slot, pair.id?)))
            .filter(|(_, id)| !self.nic.pair(*id).has_failed())
            .collect();
        for (slot, id) in open {
            self.nic.fail(now, id);
            if let Some(pair) = self.pairs.get(slot) {
                self.events.push(AsyncEvent::Fatal(pair.number));
            }
            self.follow(slot, now);
        }
        self.hear_events(now, None);
    }
}

/// The room that a queue really has.
fn at_most(room: Option<u32>) -> usize {
    room.map_or(usize::MAX, |room| room as usize)
}

/// What the NIC is told of its surroundings.
fn nic_settings(settings: &Settings) -> fairlane_nic::Settings {
    let mut own = fairlane_nic::Settings::new(settings.congestion.algorithm());
    own.params = settings.congestion.clone();
    own.scope = settings.scope;
    // Whatever this end does, the other one may need them.
    own.cnp_interval = settings.cnp_interval;
    own.quantum = QUANTUM;
    own.transport.ack_interval = settings.ack_interval;
    own.dasr = own.tenant.apportioning(settings.scope, &settings.dasr);
    own
}
