//! A queue pair of a NIC: both roles of the transport, and what sending its data takes.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;

use fairlane_congestion::dasr::Load;
use fairlane_congestion::scope::SenderId;
use fairlane_congestion::{Controller, NotificationPoint, Pacer, Window};
use fairlane_transport::{Config, Outgoing, Requester, Responder};
use fairlane_units::{Bytes, Duration, Psn, Rate, Time};

use crate::packet::{Meta, Opening, Role};
use crate::settings::{Settings, Timers};
use crate::subflows::Part;

/// No number.
pub(crate) const NONE: u32 = u32::MAX;

/// What a queue pair sends data of. Each stream has positions of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Its own work requests.
    Requests,
    /// READs of the other end, whose responses it owes.
    Responses,
}

impl Stream {
    pub(crate) const BOTH: [Self; 2] = [Self::Requests, Self::Responses];

    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Requests => Self::Responses,
            Self::Responses => Self::Requests,
        }
    }
}

/// A queue pair. What the arrival of data touches lies together.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Pair {
    /// The parameters of its transport.
    pub(crate) config: Arc<Config>,
    pub(crate) responder: Responder,
    pub(crate) notification_point: NotificationPoint,
    /// The latest request that has come, of those sent for the first time.
    pub(crate) latest: Psn,
    /// The latest response to a READ that has come, of those sent for the first time.
    pub(crate) latest_response: Option<Psn>,
    /// Whether a marked packet has arrived that no acknowledgement told of.
    pub(crate) pending_mark: bool,
    pub(crate) live: bool,
    pub(crate) class: u8,
    pub(crate) port: u8,
    /// The congestion control, as [`Start::control`](crate::Start::control).
    pub(crate) control: u8,
    /// Replies that told of marks.
    pub(crate) marks: u32,
    /// Bytes placed of what came in.
    pub(crate) placed: Bytes,
    /// Place in the round robin, or [`NONE`] before it has ever had something to send.
    pub(crate) position: u32,
    pub(crate) requester: Requester,
    pub(crate) sending: Sending,
    /// What READs ask for, once one has.
    pub(crate) reading: Option<Box<Reading>>,
    /// When the NIC looks at its deadline, [`Time::MAX`] if it doesn't.
    pub(crate) queued: Time,
    pub(crate) opening: Opening,
    /// Acknowledgement timeouts.
    pub(crate) timeouts: u32,
}

impl Pair {
    /// What is known of every packet that it sends.
    #[inline]
    pub(crate) const fn meta(&self, role: Role) -> Meta {
        Meta::new(self.opening.flow, self.opening.tenant, role, self.class)
    }

    /// Its requesting end.
    #[inline]
    pub const fn requester(&self) -> &Requester {
        &self.requester
    }

    /// Bytes placed of what came in.
    #[inline]
    pub const fn placed(&self) -> Bytes {
        self.placed
    }

    /// How many replies, and CNPs, have told it of marks; it wraps.
    #[inline]
    pub const fn marks(&self) -> u32 {
        self.marks
    }

    /// How many acknowledgement timeouts it has had; it wraps.
    #[inline]
    pub const fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Its responding end.
    #[inline]
    pub const fn responder(&self) -> &Responder {
        &self.responder
    }

    /// What it was opened with.
    pub const fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Shortest time between its CNPs, if those carry marks and not its replies.
    #[inline]
    pub(crate) fn cnp_interval(&self, settings: &Settings) -> Option<Duration> {
        let own = settings.cnp_interval_of(self.control);
        own.filter(|_| !self.opening.extensions.marks_in_replies)
    }

    /// Whether packets of READ responses, those that it sends and those that come, are answered with feedback.
    #[inline]
    pub(crate) fn has_read_feedback(&self, settings: &Settings) -> bool {
        self.opening.extensions.read_feedback && settings.read_feedback_of(self.control)
    }

    /// When its pacer lets the next packet go.
    pub const fn paced_until(&self) -> Time {
        self.sending.pacer.available()
    }

    /// The rate that its controller allows at `now`, with the timers that come up until then. It is a look:
    /// the controller stays as it is.
    pub fn rate_at(&self, now: Time) -> Rate {
        let mut controller = self.sending.controller.clone();
        while let Some((timer, at)) = controller.timers().first() {
            if at >= now {
                break;
            }
            controller.on_timer(at, timer);
        }
        self.sending.part_of(controller.rate())
    }

    /// Whether it has failed. Receives are the driver's: it ends them as flushed.
    pub const fn has_failed(&self) -> bool {
        self.responder.has_failed()
    }

    /// Has a packet ask for an acknowledgement if the window closes behind it: one that it `shares` may close
    /// with a packet of another queue pair.
    #[inline]
    pub(crate) fn ask_if_closed(&mut self, shares: bool, outgoing: &mut Outgoing) {
        let closes = self.in_flight() >= self.sending.window_limit;
        if closes {
            self.requester.ask();
        }
        outgoing.packet.ack_request |= closes || shares;
    }

    pub(crate) fn new(
        (settings, config): (&Settings, Arc<Config>),
        now: Time,
        opening: &Opening,
        (control, [sends, expects]): (u8, [Psn; 2]),
    ) -> Self {
        Self {
            responder: Responder::new(&config, expects),
            notification_point: NotificationPoint::new(),
            latest: expects,
            latest_response: None,
            pending_mark: false,
            live: true,
            class: opening.class,
            port: opening.port,
            control,
            marks: 0,
            placed: Bytes::ZERO,
            position: NONE,
            requester: Requester::new(&config, sends),
            config,
            sending: Sending::new((settings, control), now, opening),
            reading: None,
            queued: Time::MAX,
            opening: *opening,
            timeouts: 0,
        }
    }

    /// Whether READ responses wait. What is behind them goes with the last one.
    #[inline]
    pub(crate) fn responds(&self) -> bool {
        self.responder.has_packet()
    }

    /// Bytes of data under way that nobody has confirmed.
    #[inline]
    pub fn in_flight(&self) -> Bytes {
        let read = self.reading.as_ref().map(|reading| reading.in_flight());
        self.requester.bytes_in_flight() + read.unwrap_or_default()
    }

    /// Bytes of data under way in one stream that nobody has confirmed.
    pub(crate) fn in_flight_of(&self, stream: Stream) -> Bytes {
        match (stream, &self.reading) {
            (Stream::Requests, _) => self.requester.bytes_in_flight(),
            (Stream::Responses, Some(reading)) => reading.in_flight(),
            (Stream::Responses, None) => Bytes::ZERO,
        }
    }

    /// Bytes of the message that the next packet of a stream is of.
    pub(crate) fn message_of(&self, stream: Stream) -> Bytes {
        match (stream, &self.reading) {
            (Stream::Requests, _) => self.requester.next_length(),
            (Stream::Responses, Some(reading)) => reading.next_length(),
            (Stream::Responses, None) => Bytes::ZERO,
        }
    }

    /// Positions in a stream: up to where the other end has confirmed it, and of the next byte to send.
    #[inline]
    pub(crate) fn positions(&self, stream: Stream) -> (Bytes, Bytes) {
        match (stream, &self.reading) {
            (Stream::Requests, _) => {
                let next = self.requester.next_position();
                (next - self.requester.bytes_in_flight(), next)
            }
            (Stream::Responses, Some(reading)) => reading.positions(),
            (Stream::Responses, None) => (Bytes::ZERO, Bytes::ZERO),
        }
    }

    /// When its next packet may be sent, if it has one and nothing stops it.
    #[inline]
    pub(crate) fn available(&self, paused: bool) -> Option<Time> {
        let requests = self.requests_at(paused);
        if self.reading.is_none() {
            return requests;
        }
        let both = requests.into_iter().chain(self.responses_at(paused));
        both.min()
    }

    /// When the next packet of a response may be sent, as [`available`](Self::available).
    pub(crate) fn responses_at(&self, paused: bool) -> Option<Time> {
        let within = || self.in_flight() < self.sending.window_limit;
        let open = self.responds() && !paused && within();
        open.then(|| self.sending.pacer.available())
    }

    /// When the next request may be sent, as [`available`](Self::available). Requests for data aren't paced: the rate is
    /// that of the data.
    #[inline]
    pub(crate) fn requests_at(&self, paused: bool) -> Option<Time> {
        let requester = &self.requester;
        // A window that shrinks may close with nothing asked: one packet more asks.
        let within =
            || self.in_flight() < self.sending.window_limit || !requester.awaits_acknowledgement();
        let open = requester.has_packet() && !paused && within();
        open.then(|| match requester.asks_for_data() {
            true => Time::ZERO,
            false => self.sending.pacer.available(),
        })
    }

    /// Which stream the next packet is of: they take turns while both may send.
    pub(crate) fn choose(&mut self, now: Time, paused: bool) -> Stream {
        if !self.requester.has_packet() {
            return Stream::Responses;
        }
        let ready = |at: Option<Time>| at.is_some_and(|at| at <= now);
        let (requests, responses) = (self.requests_at(paused), self.responses_at(paused));
        let Some(reading) = &mut self.reading else {
            return Stream::Requests;
        };
        let first = reading.yields || !ready(responses);
        let stream = match ready(requests) && first {
            true => Stream::Requests,
            false => Stream::Responses,
        };
        reading.yields = stream == Stream::Responses;
        stream
    }

    /// When READ responses count as arrived that have all been sent, or that may keep others from being sent: the
    /// other end asks for what is missing, but what it asks with may wait for the same at its end.
    pub(crate) fn settles_at(&self, settings: &Settings) -> Option<Time> {
        let counts = || self.sending.sender(Stream::Responses).is_some();
        let waits = || self.is_closed() || counts() || settings.dasr.mode.is_on();
        let reading = self.reading.as_ref();
        let reading = reading.filter(|_| !self.responds() || waits())?;
        reading.settles_at(self.config.ack_timeout)
    }

    /// What it has in flight and to send: none of it once nothing more is sent.
    pub(crate) fn load(&self) -> Load {
        let (mut load, requester) = (Load::default(), &self.requester);
        if !requester.has_failed() {
            load.in_flight = requester.bytes_in_flight();
            load.backlog = requester.bytes_to_send();
        }
        if let Some(reading) = self.reading.as_ref().filter(|_| !self.has_failed()) {
            load.in_flight += reading.in_flight();
            if self.responds() {
                load.backlog += reading.bytes_to_send();
            }
        }
        load
    }

    /// Whether only the window keeps it from sending.
    pub(crate) fn is_closed(&self) -> bool {
        self.sending.is_window_limited() && self.in_flight() >= self.sending.window_limit
    }
}

/// What sending the data of a queue pair takes.
#[derive(Clone, Debug)]
pub(crate) struct Sending {
    pub(crate) pacer: Pacer,
    /// The window at the current rate.
    pub(crate) window_limit: Bytes,
    /// The number of each [`Stream`] at the enforcer, or [`NONE`].
    senders: [u32; 2],
    pub(crate) window: Window,
    pub(crate) controller: Controller,
    /// The part of a subflow that is coupled with others.
    pub(crate) part: Option<Box<Part>>,
}

impl Sending {
    fn new((settings, control): (&Settings, u8), now: Time, opening: &Opening) -> Self {
        let environment = &opening.environment;
        let (params, window) = settings.algorithm_of(control);
        let mut sending = Self {
            pacer: Pacer::new(now),
            window_limit: Bytes::new(u64::MAX),
            senders: [NONE; 2],
            window: Window::new(window, environment.bdp, environment.line_rate),
            controller: Controller::new(params, environment),
            part: None,
        };
        // An enforcer keeps windows itself.
        if !settings.shares_controllers() {
            sending.update_window();
        }
        sending
    }

    /// A stream at the enforcer, once it has sent.
    pub(crate) fn sender(&self, stream: Stream) -> Option<SenderId> {
        let number = self.senders[stream as usize];
        (number != NONE).then(|| SenderId::from_index(number))
    }

    pub(crate) const fn set_sender(&mut self, stream: Stream, id: SenderId) {
        self.senders[stream as usize] = id.index() as u32;
    }

    /// The queue pair has gone; returns what the enforcer has of it.
    pub(crate) fn take_senders(&mut self) -> impl Iterator<Item = SenderId> + use<> {
        let senders = core::mem::replace(&mut self.senders, [NONE; 2]);
        let known = senders.into_iter().filter(|&number| number != NONE);
        known.map(SenderId::from_index)
    }

    /// The rate that it may send at.
    #[inline]
    pub(crate) fn rate(&self) -> Rate {
        self.part_of(self.controller.rate())
    }

    /// What it may send at where its controller allows `rate`.
    #[inline]
    fn part_of(&self, rate: Rate) -> Rate {
        match &self.part {
            None => rate,
            Some(part) => part.rate(rate),
        }
    }

    /// Whether a change of the rate can change what the window permits.
    #[inline]
    pub(crate) const fn is_window_limited(&self) -> bool {
        self.window_limit.get() != u64::MAX
    }

    /// Fires the timers of the controller that have come up before `now`, or by then if they are `due`: what
    /// happens at an instant comes before the timers of that instant.
    #[inline]
    pub(crate) fn advance(&mut self, settings: &Settings, now: Time, due: bool) {
        if settings.timers == Timers::Driven {
            return;
        }
        let mut fired = false;
        while let Some((timer, at)) = self.controller.timers().first() {
            if at > now || (at == now && !due) {
                break;
            }
            self.controller.on_timer(at, timer);
            fired = true;
        }
        if fired && self.is_window_limited() {
            self.update_window();
        }
    }

    /// Follows a change of rate from `before`; `shifts` says that a packet already paced moves too.
    #[inline]
    pub(crate) fn on_rate(&mut self, settings: &Settings, before: Rate, shifts: bool) -> bool {
        if self.is_window_limited() {
            self.update_window();
        }
        if shifts {
            let (before, rate) = (self.part_of(before), self.rate());
            self.pacer.on_rate_change(before, rate, settings.rounding);
        }
        shifts
    }

    /// Brings the window up to date with the controller.
    #[inline]
    pub(crate) fn update_window(&mut self) {
        let limit = self.window.limit(self.controller.rate());
        let own = self.controller.window();
        let limit = own.map_or(limit, |own| own.min(limit));
        self.window_limit = match &self.part {
            None => limit,
            Some(part) => part.window(limit),
        };
    }
}

/// One READ that has been asked for.
#[derive(Clone, Copy, Debug)]
struct Read {
    /// The PSN of the first packet of the response.
    first: Psn,
    /// Its place in the stream of all responses.
    start: u64,
    length: u64,
}

/// What READs of a queue pair ask for, and how far the data has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// READs whose data isn't confirmed, oldest first.
    reads: VecDeque<Read>,
    /// Where the next READ starts.
    end: u64,
    /// Place of the next byte to send.
    next: u64,
    /// Place up to which the data has arrived, as far as this host has heard.
    heard: u64,
    /// The furthest that it has ever been.
    furthest: u64,
    /// When the last packet was sent.
    sent: Time,
    /// Whether the queue pair sends a request next if it may send both.
    yields: bool,
}

impl Reading {
    /// A READ of `length` bytes is asked for, whose response begins with packet `psn`.
    pub(crate) fn ask(&mut self, psn: Psn, length: Bytes) {
        self.reads.push_back(Read {
            first: psn,
            start: self.end,
            length: length.get(),
        });
        self.end += length.get();
    }

    /// The place of the byte that the response packet `psn` begins with.
    pub(crate) fn position(&self, psn: Psn, mtu: u64) -> u64 {
        let behind = self
            .reads
            .partition_point(|read| psn.distance(read.first) >= 0);
        let Some(read) = behind.checked_sub(1).and_then(|at| self.reads.get(at)) else {
            return self.heard;
        };
        let packets = u64::from(psn.distance(read.first).unsigned_abs());
        read.start + (packets * mtu).min(read.length)
    }

    /// Sending goes on with packet `psn`.
    pub(crate) fn go_to(&mut self, psn: Psn, mtu: u64) {
        self.next = self.position(psn, mtu);
    }

    /// Who asks again from packet `psn` on has everything before it.
    pub(crate) fn confirm_before(&mut self, psn: Psn, mtu: u64) {
        self.heard = self.position(psn, mtu).min(self.next);
    }

    /// The response packet `psn` has arrived; returns the place that this confirms, and that of the next byte
    /// to send.
    pub(crate) fn confirm(&mut self, psn: Psn, mtu: u64) -> (Bytes, Bytes) {
        let behind = self
            .reads
            .partition_point(|read| psn.distance(read.first) >= 0);
        let read = behind.checked_sub(1).and_then(|at| self.reads.get(at));
        let confirmed = read.map_or(self.heard, |read| {
            let packets = u64::from(psn.distance(read.first).unsigned_abs()) + 1;
            read.start + (packets * mtu).min(read.length)
        });
        // Feedback from before a repeat confirms no more than the repeat has sent.
        self.heard = self.heard.max(confirmed.min(self.next));
        self.furthest = self.furthest.max(self.heard);
        while self.reads.len() > 1 && self.reads[1].start <= self.heard {
            self.reads.pop_front();
        }
        (Bytes::new(confirmed), Bytes::new(self.next))
    }

    /// A packet of a response leaves.
    #[inline]
    pub(crate) const fn on_sent(&mut self, now: Time, payload: Bytes) {
        self.next += payload.get();
        self.sent = now;
    }

    /// When the data under way counts as arrived if nothing is heard of it: feedback may be lost, and nobody
    /// sends it again.
    pub(crate) fn settles_at(&self, timeout: Option<Duration>) -> Option<Time> {
        let open = !self.in_flight().is_zero();
        timeout
            .filter(|_| open)
            .map(|timeout| self.sent.saturating_add(timeout))
    }

    /// Everything that was sent has arrived.
    pub(crate) fn settle(&mut self) {
        self.heard = self.next;
        self.furthest = self.furthest.max(self.heard);
    }

    /// Up to where responses have ever been confirmed, and the place of the next byte to send.
    const fn positions(&self) -> (Bytes, Bytes) {
        (Bytes::new(self.furthest), Bytes::new(self.next))
    }

    /// Bytes sent that nobody has confirmed.
    pub(crate) const fn in_flight(&self) -> Bytes {
        Bytes::new(self.next.saturating_sub(self.heard))
    }

    /// Bytes of the READ that the next packet answers.
    fn next_length(&self) -> Bytes {
        let behind = self.reads.partition_point(|read| read.start <= self.next);
        let read = behind.checked_sub(1).and_then(|at| self.reads.get(at));
        Bytes::new(read.map_or(0, |read| read.length))
    }

    /// Bytes asked for that are to be sent, or sent again.
    const fn bytes_to_send(&self) -> Bytes {
        Bytes::new(self.end.saturating_sub(self.next))
    }
}
