//! One host's NIC.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use fairlane_congestion::{Environment, Timers as Deadline};
use fairlane_transport::{Config, Source, WorkRequest};
use fairlane_units::{Rate, Time};

use crate::apportion;
use crate::counters::Ledger;
use crate::deadlines::Deadlines;
use crate::packet::{Event, Opening, PairId, Start};
use crate::pair::{NONE, Pair, Stream};
use crate::port::Port;
use crate::scoped::Tenants;
use crate::settings::{Settings, Timers};
use crate::subflows::{self, Subflows};

/// One host's NIC: queue pairs with their controllers, whose turn it is, what is owed to others.
///
/// A NIC has one or more ports, counted from 0, and every queue pair is [bound](Opening::port) to one: its
/// packets and its answers leave by that one. A driver hands in [work requests](Self::post),
/// [packets](Self::on_packet), [pauses](Self::on_pause) and the [state of links](Self::on_link); it asks
/// for a [packet to send](Self::poll_transmit) whenever the transmitter of a port is free and
/// [`sends_at`](Self::sends_at) says that there may be one, for [events](Self::poll_event) after every
/// call, and calls [`on_deadline`](Self::on_deadline) when [`deadline`](Self::deadline) has come, after
/// which any port may have something to send. Time never goes back. A number that no port has makes
/// calls panic.
///
/// A queue pair may send requests and responses to READs at a time. They have one controller, pacer and window,
/// and take turns.
#[derive(Clone, Debug)]
pub struct Nic {
    pub(crate) settings: Arc<Settings>,
    /// The parameters of queue pairs that [ask for no others](Start::transport).
    transport: Arc<Config>,
    pub(crate) pairs: Vec<Pair>,
    free: Vec<u32>,
    pub(crate) ports: Vec<Port>,
    /// Where the payload of the packet sent last is; a driver without payload needn't carry it around.
    pub(crate) source: Source,
    pub(crate) deadlines: Deadlines,
    pub(crate) events: VecDeque<Event>,
    subflows: Subflows,
    pub(crate) ledger: Ledger,
}

impl Nic {
    /// A NIC with links that are up, one for each of `environments`, which hold for all that its ports send.
    pub fn new(settings: Arc<Settings>, environments: &[Environment], tenants: &Tenants) -> Self {
        Self {
            pairs: Vec::new(),
            free: Vec::new(),
            ports: environments
                .iter()
                .map(|environment| Port::new(&settings, environment, tenants))
                .collect(),
            source: Source::Nothing,
            deadlines: Deadlines::default(),
            events: VecDeque::new(),
            subflows: Subflows::default(),
            ledger: Ledger::of(tenants.all.len()),
            transport: Arc::new(settings.transport.clone()),
            settings,
        }
    }

    /// Opens a queue pair, which the other end does as well; both number packets from 0 on.
    pub fn open(&mut self, now: Time, opening: &Opening) -> PairId {
        self.open_at(now, opening, Start::default())
    }

    /// Opens a queue pair that begins in its own way.
    pub fn open_at(&mut self, now: Time, opening: &Opening, start: Start) -> PairId {
        let config = start.transport.unwrap_or_else(|| self.transport.clone());
        let beginning = (start.control, [start.sends, start.expects]);
        let coupled = opening.group.filter(|_| self.settings.couples());
        let opening = &match coupled {
            Some(_) => subflows::opening(opening),
            None => *opening,
        };
        let mut pair = Pair::new((&self.settings, config), now, opening, beginning);
        pair.sending.part = coupled.map(|group| {
            Box::new(
                self.subflows
                    .open((group, opening.port), opening.environment.mtu),
            )
        });
        let id = match self.free.pop() {
            Some(number) => {
                self.pairs[number as usize] = pair;
                PairId(number)
            }
            None => {
                self.pairs.push(pair);
                PairId::from_index(u32::try_from(self.pairs.len() - 1).unwrap_or(NONE))
            }
        };
        if let Some(own) = self.ports[usize::from(opening.port)]
            .apportion
            .as_deref_mut()
        {
            own.join(id.0, &self.pairs[id.index()]);
        }
        id
    }

    /// Posts a work request.
    pub fn post(&mut self, now: Time, id: PairId, request: WorkRequest) {
        let pair = &mut self.pairs[id.index()];
        pair.requester.post(&pair.config, request);
        let asks = matches!(request.operation, fairlane_transport::Operation::Read(_));
        if !asks {
            self.enforce(now, id, Stream::Requests);
        }
        if self.pairs[id.index()].requester.has_failed() {
            self.complete(id);
        }
        self.join(id);
        self.refresh(now, id);
    }

    /// Forgets a queue pair; `settled` says that all data that it sent has arrived. What doesn't know it
    /// any more is the driver's to drop: packets for it that are under way.
    pub fn close(&mut self, now: Time, id: PairId, settled: bool) {
        if self.ports[usize::from(self.pairs[id.index()].port)]
            .apportion
            .is_some()
        {
            apportion::close(self, now, id);
        }
        let pair = &mut self.pairs[id.index()];
        pair.live = false;
        pair.queued = Time::MAX;
        self.subflows.close(id.0, pair);
        let (position, class) = (pair.position, pair.class);
        let port = &mut self.ports[usize::from(pair.port)];
        port.service.close(id);
        if let Some(scoped) = port.scoped.as_deref_mut() {
            for sender in pair.sending.take_senders() {
                scoped.close(now, sender, settled);
            }
        }
        if position != NONE {
            let pairs = &mut self.pairs;
            let moved = |pair: u32, position| pairs[pair as usize].position = position;
            port.rounds.of_mut(class).leave(position, moved);
        }
        self.free.push(id.0);
    }

    /// The link of a port comes up or goes down; with it go the pauses, and answers that haven't been sent,
    /// whose echoes `lost` is told of.
    pub fn on_link(&mut self, now: Time, port: u8, up: bool, lost: impl FnMut(u32)) {
        let state = &mut self.ports[usize::from(port)];
        state.up = up;
        if !up {
            state.replies.clear(lost);
            self.on_pauses(now, port, 0);
        } else {
            let pairs = self.pairs.iter_mut().filter(|pair| pair.port == port);
            pairs.for_each(|pair| pair.requester.reconnect());
        }
    }

    /// The switch behind a port pauses a class, or ends that.
    pub fn on_pause(&mut self, now: Time, port: u8, class: u8, pause: bool) {
        let (bit, before) = (1 << class, self.ports[usize::from(port)].paused);
        let paused = if pause { before | bit } else { before & !bit };
        self.on_pauses(now, port, paused);
    }

    /// The classes that are paused at a port have become these, as a bit set.
    pub fn on_pauses(&mut self, now: Time, port: u8, paused: u8) {
        let at = usize::from(port);
        self.ports[at].paused = paused;
        let mut index = 0;
        while let Some((number, position)) = self.ports[at].rounds.nth(index) {
            let pair = &self.pairs[number as usize];
            if pair.live && pair.position == position {
                self.refresh(now, PairId(number));
            }
            index += 1;
        }
    }

    /// When [`on_deadline`](Self::on_deadline) is due; it may turn out that there is nothing to do then.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        Some(self.deadlines.first()).filter(|&at| at != Time::MAX)
    }

    /// From when on [`poll_transmit`](Self::poll_transmit) may have a packet for a port, perhaps a time that
    /// has passed; `None` before something else happens.
    #[inline]
    pub fn sends_at(&mut self, port: u8) -> Option<Time> {
        self.ports[usize::from(port)].sends_at(&self.settings, &self.pairs)
    }

    /// Fires the deadlines that have come.
    pub fn on_deadline(&mut self, now: Time) {
        while let Some((at, number)) = self.deadlines.pop(now) {
            if number as usize >= self.pairs.len() {
                apportion::on_deadline(self, now, (at, number));
                continue;
            }
            let pair = &mut self.pairs[number as usize];
            if pair.queued != at || !pair.live {
                continue;
            }
            pair.queued = Time::MAX;
            let id = PairId(number);
            self.pairs[number as usize]
                .sending
                .advance(&self.settings, now, true);
            let due = self.pairs[id.index()].requester.deadline();
            if due.is_some_and(|due| due <= now) {
                self.on_ack_timeout(now, id);
            }
            let pair = &mut self.pairs[id.index()];
            let settles = pair.settles_at(&self.settings);
            if let (true, Some(reading)) = (settles.is_some_and(|at| at <= now), &mut pair.reading)
            {
                reading.settle();
            }
            self.refresh(now, id);
        }
    }

    /// Takes the next thing that an application hears of.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// A queue pair, to look at.
    #[inline]
    pub fn pair(&self, id: PairId) -> &Pair {
        &self.pairs[id.index()]
    }

    /// The rate at `now` that a queue pair may send at: what its [controller allows](Pair::rate_at), and, where receivers
    /// apportion their links, no more than its host's share, which all queue pairs to that receiver have together. It is a look:
    /// nothing changes.
    pub fn rate_at(&self, now: Time, id: PairId) -> Rate {
        let pair = &self.pairs[id.index()];
        let own = self.ports[usize::from(pair.port)].apportion.as_deref();
        let share = own.and_then(|own| own.share_of(id));
        let allowed = pair.rate_at(now);
        share.map_or(allowed, |share| share.min(allowed))
    }

    /// A port, to look at.
    #[inline]
    pub fn port(&self, port: u8) -> &Port {
        &self.ports[usize::from(port)]
    }

    /// Queue pairs that are open.
    pub fn pairs(&self) -> impl Iterator<Item = PairId> + '_ {
        let open = (0..).zip(&self.pairs).filter(|(_, pair)| pair.live);
        open.map(|(number, _)| PairId(number))
    }

    /// Whether something other than a packet that arrives makes it send.
    pub fn will_act(&self) -> bool {
        let retries = |pair: &Pair| pair.live && pair.requester.deadline().is_some();
        let acts = |port: &Port| (port.apportion.as_ref()).is_some_and(|own| own.will_act());
        let sends = |port: &Port| port.up && (port.rounds.earliest().is_some() || acts(port));
        self.ports.iter().any(sends) || self.pairs.iter().any(retries)
    }

    /// What it has counted.
    #[inline]
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The deadlines of a queue pair's controller, for a driver that [fires them](Timers::Driven), and
    /// which of them have changed since the last call, as a bit set.
    pub fn changed_timers(&mut self, id: PairId) -> (u8, &Deadline) {
        let controller = &mut self.pairs[id.index()].sending.controller;
        let changed = controller.take_changed_timers();
        (changed, controller.timers())
    }

    /// When the pacers of queue pairs of a port with requests to send let them go, whatever else stops them.
    pub fn paced(&self, port: u8) -> impl Iterator<Item = Time> + '_ {
        let rounds = &self.ports[usize::from(port)].rounds;
        let all = (0..).map_while(|index| rounds.nth(index));
        let waiting = all.filter_map(|(number, position)| {
            let pair = &self.pairs[number as usize];
            let here = pair.live && pair.position == position;
            (here && pair.requester.has_packet()).then_some(pair)
        });
        waiting.map(|pair| pair.sending.pacer.available())
    }
}

impl Nic {
    /// Makes a queue pair that is about to send data of a stream known to the enforcer.
    pub(crate) fn enforce(&mut self, now: Time, id: PairId, stream: Stream) {
        let pair = &mut self.pairs[id.index()];
        if let Some(scoped) = self.ports[usize::from(pair.port)].scoped.as_deref_mut()
            && pair.sending.sender(stream).is_none()
        {
            scoped.open(now, (id.0, stream), pair);
        }
        if let Some(own) = self.ports[usize::from(pair.port)].apportion.as_deref_mut() {
            own.open(now, id.0, pair);
        }
    }

    /// Lets a queue pair take part in the round robin.
    pub(crate) fn join(&mut self, id: PairId) {
        let pair = &mut self.pairs[id.index()];
        if pair.position == NONE {
            pair.position = (self.ports[usize::from(pair.port)].rounds)
                .of_mut(pair.class)
                .push(id.0);
        }
    }

    /// Brings the turn of a queue pair up to date, and its deadline.
    #[inline]
    pub(crate) fn refresh(&mut self, now: Time, id: PairId) {
        let pair = &mut self.pairs[id.index()];
        let port = &mut self.ports[usize::from(pair.port)];
        let paused = port.paused & 1 << pair.class != 0;
        if pair.sending.part.is_some() {
            self.subflows.refresh(id.0, pair);
        }
        if port.arbitrated {
            apportion::refresh(self, now, id);
        } else if pair.position != NONE {
            port.rounds
                .of_mut(pair.class)
                .set(pair.position, pair.available(paused));
        }
        let pair = &mut self.pairs[id.index()];
        if !self.ports[usize::from(pair.port)].up {
            pair.requester.cut_off(&pair.config, now);
        }
        arm(&mut self.deadlines, &self.settings, (id.0, pair));
    }
}

/// Sees to it that a queue pair comes up in time: for its acknowledgement timeout, or when a timer
/// may open its window.
#[inline]
fn arm(deadlines: &mut Deadlines, settings: &Settings, (number, pair): (u32, &mut Pair)) {
    if let Some(at) = pair.requester.deadline() {
        deadlines.arm(number, at, &mut pair.queued);
    }
    if pair.reading.is_some()
        && let Some(at) = pair.settles_at(settings)
    {
        deadlines.arm(number, at, &mut pair.queued);
    }
    if settings.timers == Timers::Lazy && pair.is_closed() {
        let timer = pair.sending.controller.timers().first();
        if let Some((_, at)) = timer {
            deadlines.arm(number, at, &mut pair.queued);
        }
    }
}
