//! A device as applications use it.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairlane_transport::State;
use fairlane_units::{Bytes, QpNumber, Rate};

use crate::batch::Batches;
use crate::completion::{Completion, CompletionQueue};
use crate::counters::Counters;
use crate::engine::Engine;
use crate::error::Error;
use crate::keys::{Domain, Region};
use crate::memory::Span;
use crate::progress::{Inner, Shared};
use crate::queue_pair::{Modify, QueuePairOptions};
use crate::receives::SharedQueue;
use crate::rights::Rights;
use crate::settings::Settings;
use crate::socket::{self, Receiver, Sender, Waker};
use crate::work::{ReceiveRequest, SendRequest};

/// A NIC in software at one address. Every thread may use it; calls take turns.
#[derive(Debug)]
pub struct Device {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    address: Ipv4Addr,
    buffer: usize,
}

/// Headers of a packet beside its payload: IP, UDP, BTH, the longest extension headers and ICRC.
const HEADERS: u32 = 20 + 8 + 12 + 28 + 4;

impl Device {
    /// Opens a device at an address of this machine.
    ///
    /// # Errors
    /// If UDP port 4791 of the address can't be had, or sockets can't be prepared.
    pub fn open(settings: Settings) -> Result<Self, Error> {
        let address = settings.address;
        let receiver = Receiver::open(address, settings.receive_buffer.get(), settings.coalescing)?;
        let sender = Sender::open(address, settings.source_ports)?;
        let buffer = receiver.buffer;
        // The kernel counts more than bytes of packets, and packets of several peers come at a time.
        let window = settings
            .window
            .unwrap_or_else(|| Bytes::new(buffer as u64 / 4));
        let engine = Engine::new(&settings, window.max(Bytes::new(8192)));
        let batches = Batches::new(address, settings.segmentation);
        let inner = Inner::new(engine, receiver, sender, batches);
        let shared = Arc::new(Shared::new(inner, Waker::new()?));
        let mut device = Self {
            shared,
            thread: None,
            address,
            buffer,
        };
        if settings.thread {
            let shared = device.shared.clone();
            let thread = std::thread::Builder::new().name("softnic".to_owned());
            let thread = thread.spawn(move || shared.run());
            device.thread = Some(thread.map_err(|error| Error::System("thread", error))?);
        }
        Ok(device)
    }

    /// Its address.
    pub const fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The receive buffer that the operating system grants, in its own count.
    pub const fn receive_buffer(&self) -> Bytes {
        Bytes::new(self.buffer as u64)
    }

    /// Does something under the lock, then what follows from it.
    fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.shared.lock();
        let result = act(&mut inner);
        self.shared.announce(&mut inner);
        result
    }

    /// A new protection domain.
    pub fn allocate_domain(&self) -> Domain {
        self.with(|inner| inner.engine.keys.allocate_domain())
    }

    /// Forgets a protection domain.
    ///
    /// # Errors
    /// If it isn't known, or regions or queue pairs have it.
    pub fn free_domain(&self, domain: Domain) -> Result<(), Error> {
        self.with(|inner| {
            let mut pairs = inner.engine.pairs.iter();
            if pairs.any(|(_, pair)| pair.options.domain == domain) {
                return Err(Error::Busy("protection domain"));
            }
            inner.engine.keys.free_domain(domain)
        })
    }

    /// Registers new memory of zeros, which the device owns.
    ///
    /// # Errors
    /// If the domain isn't known, or others shall write what can't be written here.
    pub fn allocate(&self, domain: Domain, length: usize, rights: Rights) -> Result<Region, Error> {
        let span = Span::zeroed(length);
        let address = span.address();
        self.with(|inner| inner.engine.keys.register((domain, rights), address, span))
    }

    /// Registers memory of the application, which requests name by `name`, usually its address.
    ///
    /// # Safety
    /// `length` bytes at `start` must stay allocated for reads and writes by any thread until the region is
    /// deregistered or the device dropped. Rust references to them must not be used while requests or others may
    /// touch them.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate), and if the end is beyond 64 bits.
    #[expect(unsafe_code, reason = "memory of the application is known by address")]
    pub unsafe fn register(
        &self,
        domain: Domain,
        (start, length): (*mut u8, usize),
        name: u64,
        rights: Rights,
    ) -> Result<Region, Error> {
        // SAFETY: the caller promises it.
        let span = unsafe { Span::at(start, length) };
        self.with(|inner| inner.engine.keys.register((domain, rights), name, span))
    }

    /// Forgets a region. From then on nothing touches its memory; requests that name it fail.
    ///
    /// # Errors
    /// If it isn't known.
    pub fn deregister(&self, region: &Region) -> Result<(), Error> {
        self.with(|inner| inner.engine.keys.deregister(region.local_key))
    }

    /// Copies bytes out of a region.
    ///
    /// # Errors
    /// If it isn't known or too short.
    pub fn read(&self, region: &Region, offset: usize, into: &mut [u8]) -> Result<(), Error> {
        self.with(|inner| {
            let span = inner.engine.keys.span(region.local_key)?;
            let read = span.read(offset, into);
            read.then_some(()).ok_or(OUTSIDE)
        })
    }

    /// Copies bytes into a region.
    ///
    /// # Errors
    /// If it isn't known or too short.
    pub fn write(&self, region: &Region, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        self.with(|inner| {
            let span = inner.engine.keys.span(region.local_key)?;
            let written = span.write(offset, bytes);
            written.then_some(()).ok_or(OUTSIDE)
        })
    }

    /// A new completion queue.
    ///
    /// # Errors
    /// If it has no room.
    pub fn create_completion_queue(&self, capacity: u32) -> Result<CompletionQueue, Error> {
        self.with(|inner| inner.engine.create_completions(capacity))
    }

    /// Forgets a completion queue.
    ///
    /// # Errors
    /// If it isn't known or queue pairs complete to it.
    pub fn destroy_completion_queue(&self, queue: CompletionQueue) -> Result<(), Error> {
        self.with(|inner| inner.engine.destroy_completions(queue))
    }

    /// A new queue of receives for several queue pairs, with room for so many receives of so many pieces.
    ///
    /// # Errors
    /// If the domain isn't known.
    pub fn create_shared_queue(
        &self,
        domain: Domain,
        receives: u32,
        pieces: u32,
    ) -> Result<SharedQueue, Error> {
        self.with(|inner| inner.engine.create_shared(domain, (receives, pieces)))
    }

    /// Forgets a shared queue of receives.
    ///
    /// # Errors
    /// If it isn't known or queue pairs use it.
    pub fn destroy_shared_queue(&self, queue: SharedQueue) -> Result<(), Error> {
        self.with(|inner| inner.engine.destroy_shared(queue))
    }

    /// A new queue pair in state RESET.
    ///
    /// # Errors
    /// If what the options name isn't known.
    pub fn create_queue_pair(&self, options: &QueuePairOptions) -> Result<QpNumber, Error> {
        self.with(|inner| inner.engine.create_pair(options, inner.sender.ports.len()))
    }

    /// Forgets a queue pair and what it has begun, without completions.
    ///
    /// # Errors
    /// If it isn't known.
    pub fn destroy_queue_pair(&self, pair: QpNumber) -> Result<(), Error> {
        self.with(|inner| {
            let now = inner.engine.at(self.shared.clock.now());
            inner.engine.destroy_pair(pair, now)
        })
    }

    /// Changes the state of a queue pair.
    ///
    /// # Errors
    /// If it isn't known, has no such transition, or the path doesn't carry packets of the path MTU.
    pub fn modify(&self, pair: QpNumber, modify: &Modify) -> Result<(), Error> {
        if let Modify::ReadyToReceive(connection) = modify {
            let carries = socket::path_mtu(self.address, connection.address);
            let wanted = connection.mtu;
            // Without a route the packets themselves will say so.
            if let Ok(carries) = carries
                && u32::from(wanted) + HEADERS > carries
            {
                return Err(Error::PathMtu { wanted, carries });
            }
        }
        self.with(|inner| {
            let now = inner.engine.at(self.shared.clock.now());
            inner.engine.modify(pair, modify, now)?;
            inner.work(&self.shared.clock);
            Ok(())
        })
    }

    /// The state of a queue pair.
    ///
    /// # Errors
    /// If it isn't known.
    pub fn state(&self, pair: QpNumber) -> Result<State, Error> {
        self.with(|inner| inner.engine.pair(pair).map(|pair| pair.state))
    }

    /// The rate at which a queue pair may send, as its congestion control says.
    ///
    /// # Errors
    /// If it isn't known or isn't connected.
    pub fn rate(&self, pair: QpNumber) -> Result<Rate, Error> {
        self.with(|inner| {
            let now = inner.engine.at(self.shared.clock.now());
            let id = inner.engine.pair(pair)?.host;
            let id = id.ok_or(Error::Unknown("connection"))?;
            Ok(inner.engine.host.pair(id).rate_at(now))
        })
    }

    /// Posts a request, and sends what may be sent of it.
    ///
    /// # Errors
    /// If the queue pair isn't known, or state, room or service don't allow it.
    pub fn post_send(&self, pair: QpNumber, request: &SendRequest) -> Result<(), Error> {
        self.with(|inner| {
            let now = inner.engine.at(self.shared.clock.now());
            inner.engine.post_send(pair, request, now)?;
            inner.work(&self.shared.clock);
            Ok(())
        })
    }

    /// Posts a receive to a queue pair's own queue.
    ///
    /// # Errors
    /// If the queue pair isn't known or shares a queue, or state or room don't allow it.
    pub fn post_receive(&self, pair: QpNumber, request: ReceiveRequest) -> Result<(), Error> {
        self.with(|inner| inner.engine.post_receive(pair, request))
    }

    /// Posts a receive to a shared queue.
    ///
    /// # Errors
    /// If the queue isn't known or full.
    pub fn post_shared(&self, queue: SharedQueue, request: ReceiveRequest) -> Result<(), Error> {
        self.with(|inner| inner.engine.post_shared(queue, request))
    }

    /// Moves at most `most` completions to the end of `into`, and returns how many. If there are none, packets that
    /// have come are taken first.
    ///
    /// # Errors
    /// If the queue isn't known, or has had no room for a completion and the others have been polled.
    pub fn poll(
        &self,
        queue: CompletionQueue,
        most: usize,
        into: &mut Vec<Completion>,
    ) -> Result<usize, Error> {
        let now = self.shared.clock.nanoseconds();
        self.shared.polled.store(now, Ordering::Relaxed);
        self.with(|inner| {
            inner.poll(queue, most, into, |inner| {
                inner.progress(&self.shared.clock)
            })
        })
    }

    /// Moves completions that are there to the end of `into`, at most `most`, and returns how many. Unlike
    /// [`poll`](Self::poll) it takes no packets: those are left to the thread.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    pub fn take(
        &self,
        queue: CompletionQueue,
        most: usize,
        into: &mut Vec<Completion>,
    ) -> Result<usize, Error> {
        self.with(|inner| inner.poll(queue, most, into, |_| false))
    }

    /// Waits for a completion, at most so long.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    pub fn wait(
        &self,
        queue: CompletionQueue,
        most: Duration,
    ) -> Result<Option<Completion>, Error> {
        let start = Instant::now();
        let mut polled = Vec::new();
        // The thread is to go on at once.
        self.shared.polled.store(0, Ordering::Relaxed);
        self.shared.waker.wake();
        let mut inner = self.shared.lock();
        loop {
            inner.poll(queue, 1, &mut polled, |_| false)?;
            let left = most.saturating_sub(start.elapsed());
            if let Some(&completion) = polled.first() {
                return Ok(Some(completion));
            }
            if left.is_zero() {
                return Ok(None);
            }
            if self.thread.is_none() {
                inner.progress(&self.shared.clock);
                continue;
            }
            let waited = self.shared.ended.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    /// What it has counted.
    pub fn counters(&self) -> Counters {
        self.with(|inner| {
            let mut counters = inner.engine.counters;
            counters.local_ack_timeout_err = inner.engine.host.ledger().all.timeouts;
            counters
        })
    }

    /// Does to packets that come what networks do, from now on.
    #[cfg(feature = "testing")]
    pub fn set_faults(&self, faults: Option<crate::faults::Faults>) {
        self.with(|inner| inner.filter = faults.map(crate::faults::Filter::new));
    }
}

const OUTSIDE: Error = Error::Invalid("place in a memory region", "bytes inside of it");

impl Inner {
    /// Takes completions; if there are none, after `progress`.
    fn poll(
        &mut self,
        queue: CompletionQueue,
        most: usize,
        into: &mut Vec<Completion>,
        progress: impl FnOnce(&mut Self) -> bool,
    ) -> Result<usize, Error> {
        let unknown = || Error::Unknown("completion queue");
        let own = self.engine.completions.get(queue.0).ok_or_else(unknown)?;
        if own.is_empty() {
            progress(self);
        }
        let own = self.engine.completions.get_mut(queue.0);
        own.ok_or_else(unknown)?.poll(most, into)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Release);
        self.shared.waker.wake();
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked has said so.
            drop(thread.join());
        }
    }
}
