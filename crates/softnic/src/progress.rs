//! What makes a device go on: packets that have come, deadlines, packets that may leave.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use fairlane_units::Time;

use crate::batch::Batches;
use crate::carrier::Carrier;
use crate::clock::Clock;
use crate::engine::{Engine, Incoming, PORT};
use crate::error::Error;
use crate::event::AsyncEvent;
use crate::faults::{Change, Chaos, Faults, GidPlace, Held};
use crate::port::Port;
use crate::signal::{Signal, precise_sleep};
use crate::socket::DATAGRAMS;

/// Calls for packets that have come, before others may have the lock.
const ROUNDS: usize = 8;
/// How long after the last poll of an application the thread takes over.
const PATIENCE: Duration = Duration::from_micros(200);
/// Within which time an application that polls does so again, unless it has been interrupted.
const MOMENT: Duration = Duration::from_micros(5);
/// How long the thread doesn't disturb an application that it has found at work: about as long as an acknowledgement takes.
const BREATH: Duration = Duration::from_micros(20);
/// How often the thread looks in vain until it leaves packets to an application that polls.
const VAIN: u32 = 64;
/// How long the thread sleeps if nothing is due.
const IDLE: Duration = Duration::from_millis(500);
/// After how long it looks again for room in a socket.
const BLOCKED: fairlane_units::Duration = fairlane_units::Duration::from_us(100);

/// Everything that the lock of a device protects.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) engine: Engine,
    pub(crate) carrier: Carrier,
    batches: Batches,
    /// When batches are tried again for which a socket has had no room.
    retry_at: Option<Time>,
    pub(crate) port: Port,
    /// When whoever makes the device go on wakes up by itself.
    sleeps_until: Time,
    /// Threads of the application that wait while another one drives.
    waiting: u32,
    /// How many drivers there were.
    drivers: u64,
    /// What happens to packets and the port on purpose.
    chaos: Option<Box<Chaos>>,
}

/// A device, as its threads share it.
#[derive(Debug)]
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    /// Whoever waits for completions.
    pub(crate) ended: Condvar,
    pub(crate) clock: Clock,
    /// Wakes the device's thread.
    pub(crate) waker: Signal,
    /// The application's thread that makes the device go on while it waits: how many there were with it, or 0.
    driver: AtomicU64,
    /// Wakes the driver.
    rouse: Signal,
    /// Whether the device's thread sleeps until the driver leaves.
    parked: AtomicBool,
    pub(crate) closing: AtomicBool,
    /// When an application has polled last, in nanoseconds of the clock; 0 for never.
    pub(crate) polled: AtomicU64,
}

impl Shared {
    pub(crate) fn new(inner: Inner) -> Result<Self, Error> {
        let clock = inner.carrier.clock();
        Ok(Self {
            inner: Mutex::new(inner),
            ended: Condvar::new(),
            clock,
            waker: Signal::new()?,
            driver: AtomicU64::new(0),
            rouse: Signal::new()?,
            parked: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            polled: AtomicU64::new(0),
        })
    }

    /// The device's only lock. A thread that has panicked leaves it as it was.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Inner>> {
        match self.inner.try_lock() {
            Ok(inner) => Some(inner),
            Err(TryLockError::Poisoned(inner)) => Some(inner.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Wakes up whoever waits for what has happened.
    pub(crate) fn announce(&self, inner: &mut Inner) {
        let completed = std::mem::take(&mut inner.engine.completed);
        if completed && self.driver.load(Ordering::SeqCst) > 0 {
            // It may be what the driver waits for.
            self.rouse.raise();
        }
        self.announce_rest(inner, completed);
    }

    /// The part of [`announce`](Self::announce) that the driver needs, who has looked for itself.
    fn announce_rest(&self, inner: &mut Inner, completed: bool) {
        if completed {
            self.wake(inner);
        }
        if inner.next_time().is_some_and(|at| at < inner.sleeps_until) {
            inner.sleeps_until = Time::ZERO;
            match self.driver.load(Ordering::SeqCst) {
                0 => self.waker.raise(),
                _ => self.rouse.raise(),
            }
        }
    }

    /// An application makes the device go on: the thread leaves it alone for a while.
    pub(crate) fn on_poll(&self) {
        let now = self.clock.nanoseconds();
        self.polled.store(now, Ordering::Relaxed);
    }

    /// Calls `look` whenever something may have happened until it finds something, at most so long. The first who waits makes
    /// the device go on, so that no packet takes the detour by the device's thread; others sleep.
    ///
    /// # Errors
    /// As `look` has them.
    pub(crate) fn wait<T>(
        &self,
        most: Duration,
        mut look: impl FnMut(&mut Inner) -> Result<Option<T>, Error>,
    ) -> Result<Option<T>, Error> {
        let start = Instant::now();
        self.on_poll();
        let mut inner = self.lock();
        let mut drives = false;
        let found = loop {
            let driven = self.driver.load(Ordering::SeqCst) > 0;
            let mut found = look(&mut inner);
            if matches!(found, Ok(None)) && (drives || !driven) {
                inner.progress(&self.clock);
                found = look(&mut inner);
            }
            let left = most.saturating_sub(start.elapsed());
            if !matches!(found, Ok(None)) || left.is_zero() {
                break found;
            }
            if driven && !drives {
                inner.waiting += 1;
                let waited = self.ended.wait_timeout(inner, left);
                inner = waited.unwrap_or_else(PoisonError::into_inner).0;
                inner.waiting -= 1;
                continue;
            }
            if !drives {
                drives = true;
                inner.drivers += 1;
                self.driver.store(inner.drivers, Ordering::SeqCst);
            }
            let completed = std::mem::take(&mut inner.engine.completed);
            self.announce_rest(&mut inner, completed);
            let most = inner.sleep(self.clock.now(), &self.clock).min(left);
            let socket = inner.carrier.descriptor();
            drop(inner);
            self.rouse.wait(Some(socket), most);
            inner = self.lock();
        };
        if drives {
            self.leave(&inner);
        }
        self.announce(&mut inner);
        found
    }

    /// Lets whoever waits look; to notify nobody would be a system call, too.
    fn wake(&self, inner: &Inner) {
        if inner.waiting > 0 {
            self.ended.notify_all();
        }
    }

    /// The driver leaves: the next who waits takes over or, if none comes soon, the device's thread.
    fn leave(&self, inner: &Inner) {
        self.driver.store(0, Ordering::SeqCst);
        self.on_poll();
        self.wake(inner);
        if self.parked.swap(false, Ordering::SeqCst) {
            self.waker.raise();
        }
    }

    /// How long the thread leaves the device to a driver: `None` if there is none. One that is there for the second time is
    /// expected to stay, and says when it leaves.
    fn left_to_driver(&self, seen: &mut u64) -> Option<Duration> {
        let driver = self.driver.load(Ordering::SeqCst);
        if driver == 0 {
            return None;
        }
        if std::mem::replace(seen, driver) != driver {
            return Some(PATIENCE);
        }
        self.parked.store(true, Ordering::SeqCst);
        let stays = self.driver.load(Ordering::SeqCst) == driver;
        Some(if stays { IDLE } else { PATIENCE })
    }

    /// How long ago an application has polled last.
    fn since_poll(&self) -> Duration {
        let now = self.clock.nanoseconds();
        match self.polled.load(Ordering::Relaxed) {
            0 => Duration::MAX,
            polled => Duration::from_nanos(now.saturating_sub(polled)),
        }
    }

    /// What the thread does until the device closes.
    pub(crate) fn run(&self) {
        precise_sleep();
        let mut socket = self.lock().carrier.descriptor();
        let (mut seen, mut alert) = (0, Alert::default());
        while !self.closing.load(Ordering::Acquire) {
            if let Some(most) = self.left_to_driver(&mut seen) {
                self.waker.wait(None, most);
                continue;
            }
            let polls = self.since_poll() < PATIENCE;
            if polls && !alert.is_on() {
                self.waker.wait(None, PATIENCE);
                continue;
            }
            if polls && !self.is_left(socket) {
                alert.learn(false);
                continue;
            }
            // To wait for the lock would cost whoever has it a system call each time they let go.
            let Some(mut inner) = self.try_lock() else {
                self.waker.wait(None, if polls { BREATH } else { PATIENCE });
                continue;
            };
            let unattended = self.since_poll() >= MOMENT;
            inner.engine.written = false;
            inner.progress(&self.clock);
            alert.learn(inner.engine.written && unattended);
            self.announce(&mut inner);
            if polls {
                continue;
            }
            let most = inner.sleep(self.clock.now(), &self.clock);
            socket = inner.carrier.descriptor();
            drop(inner);
            self.waker.wait(Some(socket), most);
        }
    }

    /// Waits for a packet; returns whether one has come that the application doesn't take itself. While that polls, the thread
    /// doesn't watch the socket: to be woken by each packet would interrupt it, often with the lock in its hands.
    fn is_left(&self, socket: RawFd) -> bool {
        let polls = || self.since_poll() < MOMENT;
        let came = !polls() && self.waker.wait(Some(socket), PATIENCE);
        if polls() {
            self.waker.wait(None, BREATH);
            return false;
        }
        came
    }
}

/// Whether the device's thread takes packets at once though an application has polled a moment ago, as it has learned: one
/// that polls until its own request has ended, and then looks into memory for what others write, leaves their packets lying.
#[derive(Debug, Default)]
struct Alert {
    /// How often more the thread may look in vain.
    left: u32,
}

impl Alert {
    const fn is_on(&self) -> bool {
        self.left > 0
    }

    /// Learns whether what the thread has taken changed memory, of which no poll would have told the application.
    const fn learn(&mut self, written: bool) {
        self.left = match written {
            true => VAIN,
            false => self.left.saturating_sub(1),
        };
    }
}

impl Inner {
    pub(crate) fn new(engine: Engine, carrier: Carrier, batches: Batches) -> Self {
        Self {
            engine,
            carrier,
            batches,
            retry_at: None,
            port: Port::default(),
            sleeps_until: Time::MAX,
            waiting: 0,
            drivers: 0,
            chaos: None,
        }
    }

    /// Takes packets, does what is due, sends; returns whether a packet has come.
    pub(crate) fn progress(&mut self, clock: &Clock) -> bool {
        let mut heard = false;
        for _ in 0..ROUNDS {
            let count = self.receive(clock);
            heard |= count > 0;
            self.on_time(clock);
            // What comes meanwhile may say that what would follow is in vain.
            let more = self.send(clock);
            if count < DATAGRAMS && !more {
                break;
            }
        }
        heard
    }

    /// Does what is due, and sends some; what is left is for the thread.
    pub(crate) fn work(&mut self, clock: &Clock) {
        self.on_time(clock);
        for _ in 0..ROUNDS {
            if !self.send(clock) {
                break;
            }
        }
    }

    /// Does what is due.
    fn on_time(&mut self, clock: &Clock) {
        let now = self.engine.at(clock.now());
        self.go_wrong(now);
        if let Some(paused) = self.carrier.pauses() {
            self.engine.nic.on_pauses(now, PORT, paused);
        }
        self.engine.on_deadline(now);
        self.watch(now);
    }

    /// Sends some packets; returns whether more may leave.
    fn send(&mut self, clock: &Clock) -> bool {
        let ports = self.carrier.ports();
        let more = self.engine.transmit(clock.now(), ports, &mut self.batches);
        self.flush(clock);
        more && self.retry_at.is_none()
    }

    /// Hands packets that have come to the engine, then those that were held back; returns how many datagrams they came in.
    fn receive(&mut self, clock: &Clock) -> usize {
        let count = self.carrier.fill().unwrap_or(0);
        if count == 0 && self.chaos.is_none() {
            return 0;
        }
        let now = self.engine.at(clock.now());
        let held = self.release(now);
        for at in 0..count + held.len() {
            let held = at.checked_sub(count).and_then(|behind| held.get(behind));
            let datagram = match held {
                None => self.carrier.datagram(at),
                Some(held) => held.datagram(),
            };
            let mut guess: u16 = 0;
            for bytes in datagram.bytes.chunks(datagram.segment) {
                let mut incoming = Incoming {
                    source: datagram.source,
                    bytes,
                    marked: datagram.marked,
                };
                if let Some(chaos) = self.chaos.as_mut().filter(|_| held.is_none()) {
                    let Some(passed) = chaos.filter.pass(now, incoming) else {
                        guess = guess.wrapping_add(1);
                        continue;
                    };
                    incoming = passed;
                }
                self.engine.on_packet(now, &incoming, &mut guess);
                guess = guess.wrapping_add(1);
            }
        }
        if let Some(chaos) = &mut self.chaos {
            self.engine.counters.injected_faults += std::mem::take(&mut chaos.filter.injected);
        }
        count
    }

    /// Packets that have been held back for long enough.
    fn release(&mut self, now: Time) -> Vec<Held> {
        let chaos = self.chaos.as_mut();
        chaos.map_or_else(Vec::new, |chaos| chaos.filter.release(now))
    }

    /// Lets things go wrong on purpose from now on, or nothing any more.
    pub(crate) fn set_faults(&mut self, faults: Option<Faults>) {
        let address = self.engine.settings.address;
        let chaos = faults.as_ref().map(|faults| Chaos::new(faults, address));
        self.chaos = chaos.map(Box::new);
        let told = self.port.cut(false);
        self.tell(told);
        self.engine.faults = faults.map(Box::new);
    }

    /// Where the GID is.
    pub(crate) fn gid_place(&self) -> GidPlace {
        let chaos = self.chaos.as_ref();
        chaos.map_or(GidPlace::Usual, |chaos| chaos.gid)
    }

    /// The largest path MTU that the port has room for, on purpose or in a lab.
    pub(crate) fn limited_mtu(&self) -> Option<u16> {
        let faults = self.engine.faults.as_ref();
        let faulty = faults.and_then(|faults| faults.mtu.active);
        faulty.into_iter().chain(self.carrier.mtu()).min()
    }

    /// Whether the port is down on purpose.
    pub(crate) const fn is_cut(&self) -> bool {
        self.port.is_cut()
    }

    /// Changes port and GID on purpose, if that is due.
    fn go_wrong(&mut self, now: Time) {
        while let Some(chaos) = &mut self.chaos
            && let Some(change) = chaos.timeline.next(now)
        {
            let told = match change {
                Change::Gid(to) => {
                    chaos.gid = to.map_or(GidPlace::Gone, GidPlace::At);
                    Some(AsyncEvent::GidChange)
                }
                Change::Down | Change::Up => {
                    chaos.filter.closed = change == Change::Down;
                    self.port.cut(chaos.filter.closed)
                }
            };
            self.tell(told);
        }
    }

    /// Tells a lab of requests that have ended.
    pub(crate) fn report(&mut self) {
        if let Some(reports) = &mut self.engine.reports {
            self.carrier.report(reports);
        }
    }

    /// Sends batches until there are none or a socket has no room.
    fn flush(&mut self, clock: &Clock) {
        let (mut sent, mut cannot_cut) = (0, false);
        self.retry_at = None;
        self.report();
        if self.port.is_cut() {
            sent = self.batches.all().len();
        }
        while let Some(batch) = self.batches.all().get(sent) {
            match self.carrier.send(clock.now(), &self.batches, sent) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.retry_at = Some(clock.now().saturating_add(BLOCKED));
                    break;
                }
                Err(error) => {
                    // The packets come again as lost ones.
                    if let Carrier::Sockets { sender, .. } = &self.carrier {
                        cannot_cut |= batch.count > 1 && sender.cannot_cut(&error, batch);
                    }
                    self.engine.counters.send_err += batch.count as u64;
                    self.port.doubted = true;
                    sent += 1;
                }
            }
        }
        self.batches.forget(sent);
        if cannot_cut {
            self.batches.segmentation = false;
        }
    }

    /// Looks whether packets can leave, if some couldn't or weren't answered.
    fn watch(&mut self, now: Time) {
        if self.carrier.is_gone() && !self.port.is_cut() {
            let told = self.port.cut(true);
            self.tell(told);
        }
        self.port.on_timeouts(self.engine.nic.ledger().all.timeouts);
        let address = self.engine.settings.address;
        let told = self.port.watch(now, address);
        self.tell(told);
    }

    /// Tells applications what has changed.
    fn tell(&mut self, told: Option<AsyncEvent>) {
        if let Some(event) = told {
            self.engine.counters.link_downed += u64::from(event == AsyncEvent::PortError);
            self.engine.events.push(event);
        }
    }

    /// When something is to be done: packets that wait for room let no others out.
    fn next_time(&mut self) -> Option<Time> {
        let engine = match self.retry_at {
            Some(at) => self.engine.nic.deadline().into_iter().chain([at]).min(),
            None => self.engine.next_time(),
        };
        let Some(chaos) = &self.chaos else {
            return engine;
        };
        engine.into_iter().chain(chaos.next_time()).min()
    }

    /// How long the thread may sleep; it is remembered.
    fn sleep(&mut self, now: Time, clock: &Clock) -> Duration {
        if !self.carrier.may_sleep() {
            return Duration::ZERO;
        }
        let due = self.next_time();
        let until = due.map(|at| clock.wall(at.saturating_since(now)));
        let most = until.map_or(IDLE, |until| until.min(IDLE));
        self.sleeps_until = now.saturating_add(clock.span(most));
        most
    }
}

#[cfg(test)]
mod tests {
    use fairlane_units::Bytes;

    use super::*;
    use crate::engine::Surroundings;
    use crate::queue_pair::{Connection, Modify, QueuePairOptions, Sending};
    use crate::rights::Rights;
    use crate::settings::Settings;
    use crate::socket::{Receiver, Sender};
    use crate::work::SendRequest;

    #[test]
    fn packets_that_wait_for_room_are_tried_again_soon_and_not_at_once() {
        let address = "127.73.0.1".parse().unwrap();
        let settings = Settings::new(address);
        let mut engine = Engine::new(
            &settings,
            Surroundings::sockets(&settings, Bytes::new(8192)),
        )
        .unwrap();
        let domain = engine.keys.allocate_domain().unwrap();
        let queue = engine.create_completions(1).unwrap();
        let options = QueuePairOptions::new(domain, queue);
        let pair = engine.create_pair(&options, 1).unwrap();
        let clock = Clock::new();
        for modify in [
            Modify::Init(Rights::ALL),
            Modify::ReadyToReceive(Connection::new(address, pair)),
            Modify::ReadyToSend(Sending::default()),
        ] {
            engine.modify(pair, &modify, clock.now()).unwrap();
        }
        let request = SendRequest::send(1, Vec::new());
        engine.post_all(pair, [request], clock.now()).unwrap();
        let receiver = Receiver::open((address, 1), 1 << 16, false).unwrap();
        let sender = Sender::open((address, 1), 1).unwrap();
        let batches = Batches::new(address, true);
        let receiver = Box::new(receiver);
        let carrier = Carrier::Sockets { receiver, sender };
        let mut inner = Inner::new(engine, carrier, batches);
        let now = clock.now();
        assert!(inner.next_time().is_some_and(|at| at <= now));
        let retry_at = now.saturating_add(BLOCKED);
        inner.retry_at = Some(retry_at);
        assert_eq!(inner.next_time(), Some(retry_at));
        assert!(inner.sleep(now, &clock) > Duration::from_micros(90));
        inner.flush(&clock);
        assert!(inner.next_time().is_some_and(|at| at <= now));
    }
}
