//! What makes a device go on: packets that have come, deadlines, packets that may leave.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fairlane_units::Time;

use crate::batch::Batches;
use crate::clock::Clock;
use crate::engine::{Engine, Incoming};
#[cfg(feature = "testing")]
use crate::faults::Filter;
use crate::socket::{DATAGRAMS, Receiver, Sender, Waker};

/// Calls for packets that have come, before others may have the lock.
const ROUNDS: usize = 8;
/// How long after the last poll of an application the thread takes over, in nanoseconds.
const PATIENCE: u64 = 200_000;
/// How long the thread sleeps if nothing is due.
const IDLE: Duration = Duration::from_millis(500);
/// How long it waits for room in a socket.
const BLOCKED: Duration = Duration::from_micros(100);

/// Everything that the lock of a device protects.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) engine: Engine,
    pub(crate) sender: Sender,
    receiver: Receiver,
    batches: Batches,
    /// Whether a socket has had no room for a batch.
    blocked: bool,
    /// When the thread wakes up by itself.
    sleeps_until: Time,
    #[cfg(feature = "testing")]
    pub(crate) filter: Option<Filter>,
}

/// A device, as its threads share it.
#[derive(Debug)]
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    /// Whoever waits for completions.
    pub(crate) ended: Condvar,
    pub(crate) clock: Clock,
    pub(crate) waker: Waker,
    pub(crate) closing: AtomicBool,
    /// When an application has polled last, in nanoseconds of the clock; 0 for never.
    pub(crate) polled: AtomicU64,
}

impl Shared {
    pub(crate) fn new(inner: Inner, waker: Waker) -> Self {
        Self {
            inner: Mutex::new(inner),
            ended: Condvar::new(),
            clock: Clock::new(),
            waker,
            closing: AtomicBool::new(false),
            polled: AtomicU64::new(0),
        }
    }

    /// The device's only lock. A thread that has panicked leaves it as it was.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes up whoever waits for what has happened.
    pub(crate) fn announce(&self, inner: &mut Inner) {
        if std::mem::take(&mut inner.engine.completed) {
            self.ended.notify_all();
        }
        if inner.next_time().is_some_and(|at| at < inner.sleeps_until) {
            inner.sleeps_until = Time::ZERO;
            self.waker.wake();
        }
    }

    /// What the thread does until the device closes.
    pub(crate) fn run(&self) {
        while !self.closing.load(Ordering::Acquire) {
            let polled = self.polled.load(Ordering::Relaxed);
            let now = self.clock.nanoseconds();
            if polled > 0 && now.saturating_sub(polled) < PATIENCE {
                self.waker.wait(None, Duration::from_nanos(PATIENCE));
                continue;
            }
            let (socket, most) = {
                let mut inner = self.lock();
                inner.progress(&self.clock);
                self.announce(&mut inner);
                let most = inner.sleep(self.clock.now());
                (inner.receiver.descriptor(), most)
            };
            self.waker.wait(Some(socket), most);
        }
    }
}

impl Inner {
    pub(crate) fn new(
        engine: Engine,
        receiver: Receiver,
        sender: Sender,
        batches: Batches,
    ) -> Self {
        Self {
            engine,
            sender,
            receiver,
            batches,
            blocked: false,
            sleeps_until: Time::MAX,
            #[cfg(feature = "testing")]
            filter: None,
        }
    }

    /// Takes packets, does what is due, sends; returns whether a packet has come.
    pub(crate) fn progress(&mut self, clock: &Clock) -> bool {
        let mut heard = false;
        for _ in 0..ROUNDS {
            let count = self.receive(clock);
            heard |= count > 0;
            self.work(clock);
            if count < DATAGRAMS {
                break;
            }
        }
        heard
    }

    /// Does what is due, and sends.
    pub(crate) fn work(&mut self, clock: &Clock) {
        let now = self.engine.at(clock.now());
        self.release(now);
        self.engine.on_deadline(now);
        loop {
            let more = self
                .engine
                .transmit(clock.now(), &self.sender.ports, &mut self.batches);
            self.flush();
            if !more || self.blocked {
                return;
            }
        }
    }

    /// Hands packets that have come to the engine; returns how many datagrams they came in.
    fn receive(&mut self, clock: &Clock) -> usize {
        let Ok(count) = self.receiver.fill() else {
            return 0;
        };
        let now = self.engine.at(clock.now());
        for at in 0..count {
            let datagram = self.receiver.datagram(at);
            let mut guess = 0;
            for bytes in datagram.bytes.chunks(datagram.segment) {
                let incoming = Incoming {
                    source: datagram.source,
                    bytes,
                    marked: datagram.marked,
                };
                #[cfg(feature = "testing")]
                if let Some(filter) = &mut self.filter {
                    let engine = &mut self.engine;
                    filter.pass(now, &incoming, |incoming| {
                        engine.on_packet(now, incoming, &mut 0);
                    });
                    continue;
                }
                self.engine.on_packet(now, &incoming, &mut guess);
                guess = guess.wrapping_add(1);
            }
        }
        count
    }

    /// Lets out what the filter has held back.
    #[cfg_attr(
        not(feature = "testing"),
        expect(
            clippy::unused_self,
            clippy::needless_pass_by_ref_mut,
            reason = "there is no filter"
        )
    )]
    fn release(&mut self, now: Time) {
        #[cfg(feature = "testing")]
        if let Some(filter) = &mut self.filter {
            let engine = &mut self.engine;
            filter.release(now, |incoming| engine.on_packet(now, incoming, &mut 0));
        }
        #[cfg(not(feature = "testing"))]
        let _ = now;
    }

    /// Sends batches until there are none or a socket has no room.
    fn flush(&mut self) {
        let segmentation = self.batches.segmentation;
        let (mut sent, mut cannot_cut) = (0, false);
        self.blocked = false;
        for batch in self.batches.all() {
            match self.sender.send(batch, segmentation) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.blocked = true;
                    break;
                }
                Err(error) => {
                    // These say that the interface can't cut; the packets come again as lost ones.
                    let codes = [libc::EIO, libc::EINVAL].map(Some);
                    cannot_cut |= batch.count > 1 && codes.contains(&error.raw_os_error());
                    self.engine.counters.send_err += batch.count as u64;
                }
            }
            sent += 1;
        }
        self.batches.forget(sent);
        if cannot_cut {
            self.batches.segmentation = false;
        }
    }

    fn next_time(&mut self) -> Option<Time> {
        let engine = self.engine.next_time();
        #[cfg(feature = "testing")]
        let held = self.filter.as_ref().and_then(Filter::next_time);
        #[cfg(not(feature = "testing"))]
        let held = None;
        engine.into_iter().chain(held).min()
    }

    /// How long the thread may sleep, which is remembered.
    fn sleep(&mut self, now: Time) -> Duration {
        let due = self.next_time();
        let until = due.map(|at| Duration::from_nanos(at.saturating_since(now).as_ns()));
        let most = until.map_or(IDLE, |until| until.min(IDLE));
        let most = if self.blocked {
            most.min(BLOCKED)
        } else {
            most
        };
        let span = fairlane_units::Duration::from_ns(most.as_nanos() as u64);
        self.sleeps_until = now.saturating_add(span);
        most
    }
}
