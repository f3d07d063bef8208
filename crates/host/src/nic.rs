//! One host's NIC.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use fairlane_congestion::{Environment, Timers as Deadline};
use fairlane_transport::{Requester, Source, WorkRequest};
use fairlane_units::{Bytes, Psn, Rate, Time};

use crate::counters::{Counters, Ledger, Tally};
use crate::deadlines::Deadlines;
use crate::packet::{Event, Opening, PairId};
use crate::pair::{NONE, Pair, Stream};
use crate::replies::Replies;
use crate::scoped::{Scoped, Tenants};
use crate::settings::{Settings, Timers};
use crate::turns::Turns;

/// One host's NIC: queue pairs with their controllers, whose turn it is, what is owed to others.
///
/// It has one port. A driver hands in [work requests](Self::post), [packets](Self::on_packet),
/// [pauses](Self::on_pause) and the [state of the link](Self::on_link); it asks for a
/// [packet to send](Self::poll_transmit) whenever the transmitter is free and
/// [`sends_at`](Self::sends_at) says that there may be one, for [events](Self::poll_event) after every
/// call, and calls [`on_deadline`](Self::on_deadline) when [`deadline`](Self::deadline) has come. Time
/// never goes back.
///
/// A queue pair may send requests and responses to READs at a time. They have one controller, pacer and window,
/// and take turns.
#[derive(Clone, Debug)]
pub struct Host {
    pub(crate) settings: Arc<Settings>,
    pub(crate) rate: Rate,
    pub(crate) pairs: Vec<Pair>,
    free: Vec<u32>,
    pub(crate) turns: Turns,
    pub(crate) replies: Replies,
    /// Where the payload of the packet sent last is; a driver without payload needn't carry it around.
    pub(crate) source: Source,
    /// Classes that are paused, as a bit set.
    pub(crate) paused: u8,
    up: bool,
    pub(crate) scoped: Option<Box<Scoped>>,
    pub(crate) deadlines: Deadlines,
    pub(crate) events: VecDeque<Event>,
    pub(crate) ledger: Ledger,
}

impl Host {
    /// A NIC whose link is up; `environment` is what holds for all that it sends.
    pub fn new(settings: Arc<Settings>, environment: &Environment, tenants: &Tenants) -> Self {
        let tallies = match tenants.all.len() {
            0 | 1 => Vec::new(),
            several => alloc::vec![Tally::default(); several],
        };
        Self {
            rate: environment.line_rate,
            pairs: Vec::new(),
            free: Vec::new(),
            turns: Turns::new(settings.leaving),
            replies: Replies::default(),
            source: Source::Nothing,
            paused: 0,
            up: true,
            scoped: Scoped::new(&settings, environment, tenants),
            deadlines: Deadlines::default(),
            events: VecDeque::new(),
            ledger: Ledger {
                all: Counters::default(),
                tallies,
            },
            settings,
        }
    }

    /// Opens a queue pair, which the other end does as well; both number packets from 0 on.
    pub fn open(&mut self, now: Time, opening: &Opening) -> PairId {
        self.open_at(now, opening, [Psn::new(0); 2])
    }

    /// Opens a queue pair that numbers its packets from the first of `psns` on, and the other end from the second.
    pub fn open_at(&mut self, now: Time, opening: &Opening, psns: [Psn; 2]) -> PairId {
        let pair = Pair::new(&self.settings, now, opening, psns);
        match self.free.pop() {
            Some(number) => {
                self.pairs[number as usize] = pair;
                PairId(number)
            }
            None => {
                self.pairs.push(pair);
                PairId::from_index(u32::try_from(self.pairs.len() - 1).unwrap_or(NONE))
            }
        }
    }

    /// Posts a work request.
    pub fn post(&mut self, now: Time, id: PairId, request: WorkRequest) {
        let pair = &mut self.pairs[id.index()];
        pair.requester.post(&self.settings.transport, request);
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
        let pair = &mut self.pairs[id.index()];
        pair.live = false;
        pair.queued = Time::MAX;
        let position = pair.position;
        if let Some(scoped) = self.scoped.as_deref_mut() {
            for sender in pair.sending.take_senders() {
                scoped.close(now, sender, settled);
            }
        }
        if position != NONE {
            let pairs = &mut self.pairs;
            let moved = |pair: u32, position| pairs[pair as usize].position = position;
            self.turns.leave(position, moved);
        }
        self.free.push(id.0);
    }

    /// The link comes up or goes down; with it go the pauses, and answers that haven't been sent, whose
    /// echoes `lost` is told of.
    pub fn on_link(&mut self, now: Time, up: bool, lost: impl FnMut(u32)) {
        self.up = up;
        if !up {
            self.replies.clear(lost);
            self.on_pauses(now, 0);
        }
    }

    /// The switch pauses a class, or ends that.
    pub fn on_pause(&mut self, now: Time, class: u8, pause: bool) {
        let bit = 1 << class;
        let paused = if pause {
            self.paused | bit
        } else {
            self.paused & !bit
        };
        self.on_pauses(now, paused);
    }

    /// The classes that are paused have become these, as a bit set.
    pub fn on_pauses(&mut self, now: Time, paused: u8) {
        self.paused = paused;
        for position in 0..self.turns.len() as u32 {
            let number = self.turns.at(position);
            let pair = &self.pairs[number as usize];
            if pair.live && pair.position == position {
                self.refresh(now, PairId(number));
            }
        }
    }

    /// When [`on_deadline`](Self::on_deadline) is due; it may turn out that there is nothing to do then.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        Some(self.deadlines.first()).filter(|&at| at != Time::MAX)
    }

    /// From when on [`poll_transmit`](Self::poll_transmit) may have a packet, perhaps a time that has
    /// passed; `None` before something else happens.
    #[inline]
    pub fn sends_at(&mut self, now: Time) -> Option<Time> {
        if !self.up {
            return None;
        }
        if self.replies.may_leave(&self.settings, self.paused) {
            return Some(Time::ZERO);
        }
        let first = self.turns.earliest();
        match &mut self.scoped {
            None => first,
            Some(scoped) => {
                let enforced = scoped.enforcer.earliest(now);
                first.into_iter().chain(enforced).min()
            }
        }
    }

    /// Fires the deadlines that have come.
    pub fn on_deadline(&mut self, now: Time) {
        while let Some((at, number)) = self.deadlines.pop(now) {
            let pair = &mut self.pairs[number as usize];
            if pair.queued != at || !pair.live {
                continue;
            }
            pair.queued = Time::MAX;
            let id = PairId(number);
            self.advance(now, id, true);
            let due = self.pairs[id.index()].requester.deadline();
            if due.is_some_and(|due| due <= now) {
                self.on_ack_timeout(now, id);
            }
            let pair = &mut self.pairs[id.index()];
            let settles = pair.settles_at(self.settings.transport.ack_timeout);
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

    /// The requesting end of a queue pair.
    #[inline]
    pub fn requester(&self, id: PairId) -> &Requester {
        &self.pairs[id.index()].requester
    }

    /// What a queue pair was opened with.
    pub fn opening(&self, id: PairId) -> &Opening {
        &self.pairs[id.index()].opening
    }

    /// Queue pairs that are open.
    pub fn pairs(&self) -> impl Iterator<Item = PairId> + '_ {
        let open = (0..).zip(&self.pairs).filter(|(_, pair)| pair.live);
        open.map(|(number, _)| PairId(number))
    }

    /// Whether something other than a packet that arrives makes it send.
    pub fn will_act(&self) -> bool {
        let retries = |pair: &Pair| pair.live && pair.requester.deadline().is_some();
        (self.up && self.turns.earliest().is_some()) || self.pairs.iter().any(retries)
    }

    /// What it has counted.
    #[inline]
    pub const fn counters(&self) -> &Counters {
        &self.ledger.all
    }

    /// The same by tenant; empty if there is only one.
    pub fn tallies(&self) -> &[Tally] {
        &self.ledger.tallies
    }

    /// The deadlines of a queue pair's controller, for a driver that [fires them](Timers::Driven), and
    /// which of them have changed since the last call, as a bit set.
    pub fn changed_timers(&mut self, id: PairId) -> (u8, &Deadline) {
        let controller = &mut self.pairs[id.index()].sending.controller;
        let changed = controller.take_changed_timers();
        (changed, controller.timers())
    }

    /// When the pacer of a queue pair lets the next packet go.
    pub fn paced_until(&self, id: PairId) -> Time {
        self.pairs[id.index()].sending.pacer.available()
    }

    /// When the pacers of queue pairs with requests to send let them go, whatever else stops them.
    pub fn paced(&self) -> impl Iterator<Item = Time> + '_ {
        let waiting = (0..self.turns.len() as u32).filter_map(|position| {
            let pair = &self.pairs[self.turns.at(position) as usize];
            let here = pair.live && pair.position == position;
            (here && pair.requester.has_packet()).then_some(pair)
        });
        waiting.map(|pair| pair.sending.pacer.available())
    }

    /// Bytes that a queue pair has sent and that aren't confirmed.
    pub fn in_flight(&self, id: PairId) -> Bytes {
        self.pairs[id.index()].in_flight()
    }
}

impl Host {
    /// Makes a queue pair that is about to send data of a stream known to the enforcer.
    pub(crate) fn enforce(&mut self, now: Time, id: PairId, stream: Stream) {
        let pair = &mut self.pairs[id.index()];
        if let Some(scoped) = self.scoped.as_deref_mut()
            && pair.sending.sender(stream).is_none()
        {
            scoped.open(now, (id.0, stream), pair);
        }
    }

    /// Lets a queue pair take part in the round robin.
    pub(crate) fn join(&mut self, id: PairId) {
        let pair = &mut self.pairs[id.index()];
        if pair.position == NONE {
            pair.position = self.turns.push(id.0);
        }
    }

    /// Brings the turn of a queue pair up to date, and its deadline.
    #[inline]
    pub(crate) fn refresh(&mut self, now: Time, id: PairId) {
        let pair = &mut self.pairs[id.index()];
        let paused = self.paused & 1 << pair.class != 0;
        if self.scoped.is_some() {
            self.offer(now, id, paused);
        } else if pair.position != NONE {
            self.turns.set(pair.position, pair.available(paused));
        }
        self.arm(id);
    }

    /// Brings the enforcer up to date on a queue pair, which waits there for its turn. Requests for data
    /// wait with those that nobody enforces.
    #[cold]
    fn offer(&mut self, now: Time, id: PairId, paused: bool) {
        let pair = &self.pairs[id.index()];
        let requests = pair.requests_at(paused);
        let asks = requests.is_some() && pair.requester.asks_for_data();
        if pair.position != NONE {
            self.turns.set(pair.position, requests.filter(|_| asks));
        }
        let Some(scoped) = self.scoped.as_deref_mut() else {
            return;
        };
        let (requests, responses) = (requests.is_some() && !asks, pair.responses_at(paused));
        let settings = &self.settings;
        scoped.offer(now, settings, (pair, Stream::Requests), requests);
        let responses = responses.is_some();
        scoped.offer(now, settings, (pair, Stream::Responses), responses);
    }

    /// Sees to it that a queue pair comes up in time: for its acknowledgement timeout, or when a timer
    /// may open its window.
    #[inline]
    fn arm(&mut self, id: PairId) {
        let pair = &mut self.pairs[id.index()];
        if let Some(at) = pair.requester.deadline() {
            self.deadlines.arm(id.0, at, &mut pair.queued);
        }
        if pair.reading.is_some()
            && let Some(at) = pair.settles_at(self.settings.transport.ack_timeout)
        {
            self.deadlines.arm(id.0, at, &mut pair.queued);
        }
        if self.settings.timers == Timers::Lazy && pair.is_closed() {
            let timer = pair.sending.controller.timers().first();
            if let Some((_, at)) = timer {
                self.deadlines.arm(id.0, at, &mut pair.queued);
            }
        }
    }
}
