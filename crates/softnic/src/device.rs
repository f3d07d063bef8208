//! A device as applications use it.

use std::net::IpAddr;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use fairlane_transport::State;
use fairlane_units::{Bytes, QpNumber, Rate, TenantId};

use crate::attached::Attached;
use crate::batch::Batches;
use crate::carrier::Carrier;
use crate::completion::{Completion, CompletionQueue};
use crate::engine::{Engine, Surroundings};
use crate::error::Error;
use crate::faults::{Faults, GidPlace};
use crate::fork;
use crate::interface::{self, HEADERS, Interface};
use crate::keys::Domain;
use crate::progress::{Inner, Shared};
use crate::queue_pair::{Adjustment, Attributes, Modify, QueuePairOptions};
use crate::receives::{SharedAttributes, SharedQueue};
use crate::settings::Settings;
use crate::signal::{let_others_go_first, start_thread};
use crate::socket::{self, Receiver, Sender};
use crate::stat::{StatServer, Subject};
use crate::sysfs::{Publisher, Tree};
use crate::work::{ReceiveRequest, SendRequest};

mod counters;
mod events;
mod memory;

/// A NIC in software at one address. Every thread of the process that opened it may use it; calls take turns. In a process that
/// has been forked off calls fail with [`Error::Forked`]; that may open a device of its own.
#[derive(Debug)]
pub struct Device {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Answers others that ask for counters.
    stat_server: Option<StatServer>,
    /// Adds what it counts to files.
    publisher: Option<Publisher>,
    address: IpAddr,
    /// The process that opened it, by the count of forks.
    forks: u32,
    /// The descriptor of asynchronous events.
    async_descriptor: RawFd,
    /// The number of its interface if the address holds for a link only.
    interface: u32,
    buffer: usize,
}

impl Device {
    /// Opens a device at an address of this machine.
    ///
    /// # Errors
    /// If UDP port 4791 of the address can't be had, or sockets can't be prepared.
    pub fn open(mut settings: Settings) -> Result<Self, Error> {
        let address = settings.address;
        let interface = interface::number_of(address);
        let (carrier, buffer) = carrier(&settings, interface)?;
        // The kernel counts more than bytes of packets, and packets of several peers come at a time.
        let usual = match &carrier {
            Carrier::Sockets { .. } => Bytes::new(buffer as u64 / 4),
            Carrier::Port(_) => Bytes::new(u64::MAX),
        };
        let window = settings.window.unwrap_or(usual);
        if let Carrier::Port(port) = &carrier {
            settings.line_rate = port.rate().unwrap_or(settings.line_rate);
            // Its switches see each packet, whose time has a meaning.
            settings.burst = fairlane_units::Duration::ZERO;
            settings.hear(&port.text())?;
        }
        let engine = Engine::new(
            &settings,
            Surroundings::sockets(&settings, window.max(Bytes::new(8192))),
        )?;
        let async_descriptor = engine.events.descriptor();
        let segmentation = settings.segmentation && settings.lab.is_none();
        let batches = Batches::new(address, segmentation);
        let inner = Inner::new(engine, carrier, batches);
        let shared = Arc::new(Shared::new(inner)?);
        let mut device = Self {
            shared,
            thread: None,
            stat_server: None,
            publisher: None,
            address,
            forks: fork::watch()?,
            async_descriptor,
            interface,
            buffer,
        };
        if settings.thread {
            let shared = device.shared.clone();
            let thread = std::thread::Builder::new().name("softnic".to_owned());
            let thread = start_thread(thread, move || shared.run());
            device.thread = Some(thread.map_err(|error| Error::System("thread", error))?);
        }
        if settings.lab.is_some() {
            let_others_go_first();
        }
        if let Some(folder) = settings.sysfs {
            let (shared, name) = (device.shared.clone(), settings.name.clone());
            device.publisher = Some(Publisher::start(shared, Tree::new(folder), name)?);
        }
        if settings.stat {
            let subject = Subject {
                name: settings.name,
                address,
                interface,
            };
            device.stat_server = StatServer::start(device.shared.clone(), subject)?;
        }
        Ok(device)
    }

    /// Its address.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// All addresses of its interface, its own first: others may be those of other devices.
    pub fn addresses(&self) -> Vec<IpAddr> {
        let (own, all) = (Interface::of(self.address), Interface::all());
        let mut addresses = vec![self.address];
        if let (Some(own), Ok(all)) = (own, all) {
            let of_it = all.into_iter().filter(|one| one.number == own.number);
            addresses.extend(of_it.map(|one| one.address));
        }
        let mut seen = std::collections::BTreeSet::new();
        addresses.retain(|address| seen.insert(*address));
        addresses
    }

    /// The port's table of partition keys.
    pub fn partitions(&self) -> Vec<TenantId> {
        self.shared.lock().engine.settings.partitions()
    }

    /// The rate of its link.
    pub fn line_rate(&self) -> Rate {
        self.shared.lock().engine.settings.line_rate
    }

    /// The largest path MTU that packets of its interface have room for, or nothing if that has gone.
    pub fn largest_mtu(&self) -> Option<u16> {
        let largest = interface::largest_mtu(&Interface::of(self.address)?, self.address)?;
        Some(self.limited_mtu().map_or(largest, |mtu| mtu.min(largest)))
    }

    /// The receive buffer that the operating system grants, in its own count.
    pub const fn receive_buffer(&self) -> Bytes {
        Bytes::new(self.buffer as u64)
    }

    /// Does something under the lock, then what follows from it.
    fn with<T>(&self, act: impl FnOnce(&mut Inner) -> Result<T, Error>) -> Result<T, Error> {
        self.check_process()?;
        let mut inner = self.shared.lock();
        let result = act(&mut inner);
        self.shared.announce(&mut inner);
        result
    }

    /// Refuses a process that has it of another one: nobody there lets go of the lock, or keeps the device going.
    fn check_process(&self) -> Result<(), Error> {
        match fork::count() == self.forks {
            true => Ok(()),
            false => Err(Error::Forked),
        }
    }

    /// A new completion queue.
    ///
    /// # Errors
    /// If it has no room.
    pub fn create_completion_queue(&self, capacity: u32) -> Result<CompletionQueue, Error> {
        self.with(|inner| inner.engine.create_completions(capacity))
    }

    /// Gives a completion queue other room.
    ///
    /// # Errors
    /// If it isn't known, or more completions wait in it.
    pub fn resize_completion_queue(
        &self,
        queue: CompletionQueue,
        capacity: u32,
    ) -> Result<(), Error> {
        self.with(|inner| inner.engine.resize_completions(queue, capacity))
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
    /// If the domain isn't known, or the queue has no room or more than there is.
    pub fn create_shared_queue(
        &self,
        domain: Domain,
        receives: u32,
        pieces: u32,
    ) -> Result<SharedQueue, Error> {
        self.with(|inner| inner.engine.create_shared(domain, (receives, pieces)))
    }

    /// Changes how many receives a shared queue has room for, and of how few left it tells once
    /// ([`AsyncEvent::LimitReached`](crate::AsyncEvent::LimitReached)); 0 for never. `None` leaves it as it is.
    ///
    /// # Errors
    /// If the queue isn't known, has more receives than that, or no room for as many as the limit.
    pub fn modify_shared_queue(
        &self,
        queue: SharedQueue,
        receives: Option<u32>,
        limit: Option<u32>,
    ) -> Result<(), Error> {
        self.with(|inner| inner.engine.modify_shared(queue, receives, limit))
    }

    /// What a shared queue is like.
    ///
    /// # Errors
    /// If it isn't known.
    pub fn query_shared_queue(&self, queue: SharedQueue) -> Result<SharedAttributes, Error> {
        self.with(|inner| Ok(inner.engine.shared(queue)?.attributes()))
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
        self.with(|inner| {
            inner
                .engine
                .create_pair(options, inner.carrier.ports().len())
        })
    }

    /// The queue pair for management datagrams of the device, with number 1, whose messages of 256 bytes connection
    /// managers of others send: a datagram service with [its key](QueuePairOptions::MANAGEMENT_KEY), whatever the options say.
    ///
    /// # Errors
    /// If it exists already, or what the options name isn't known.
    pub fn create_management_pair(&self, options: &QueuePairOptions) -> Result<QpNumber, Error> {
        self.with(|inner| {
            let sockets = inner.carrier.ports().len();
            inner.engine.create_management(options, sockets)
        })
    }

    /// Forgets a queue pair, what it has begun, and completions of it that haven't been polled.
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
            let carries = socket::path_mtu(self.address, connection.address, self.interface);
            let wanted = connection.mtu;
            // Without a route the packets themselves will say so.
            let faulty = self.limited_mtu().map(|mtu| u32::from(mtu) + HEADERS);
            if let Some(carries) = carries.ok().into_iter().chain(faulty).min()
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

    /// Changes what may change of a queue pair in any state.
    ///
    /// # Errors
    /// If it isn't known.
    pub fn adjust(&self, pair: QpNumber, to: &Adjustment) -> Result<(), Error> {
        self.with(|inner| inner.engine.adjust(pair, to))
    }

    /// What a queue pair is like.
    ///
    /// # Errors
    /// If it isn't known.
    pub fn query(&self, pair: QpNumber) -> Result<Attributes, Error> {
        self.with(|inner| inner.engine.query(pair))
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
            let id = inner.engine.pair(pair)?.id;
            let id = id.ok_or(Error::Unknown("connection"))?;
            Ok(inner.engine.nic.pair(id).rate_at(now))
        })
    }

    /// Posts a request, and sends what may be sent of it.
    ///
    /// # Errors
    /// If the queue pair isn't known, or state, room or service don't allow it.
    pub fn post_send(&self, pair: QpNumber, request: SendRequest) -> Result<(), Error> {
        self.post_all(pair, [request])
    }

    /// Posts all requests or, if one of them can't be posted, none; and sends what may be sent of them.
    ///
    /// # Errors
    /// As [`post_send`](Self::post_send).
    pub fn post_all(
        &self,
        pair: QpNumber,
        requests: impl AsRef<[SendRequest]> + IntoIterator<Item = SendRequest>,
    ) -> Result<(), Error> {
        self.with(|inner| {
            let now = inner.engine.at(self.shared.clock.now());
            inner.engine.post_all(pair, requests, now)?;
            inner.work(&self.shared.clock);
            Ok(())
        })
    }

    /// Posts requests one after the other, and sends what may be sent of them.
    ///
    /// # Errors
    /// As [`post_send`](Self::post_send), with the number of requests that have been posted before.
    pub fn post_sends(
        &self,
        pair: QpNumber,
        requests: impl IntoIterator<Item = SendRequest>,
    ) -> Result<(), (usize, Error)> {
        let posted = self.with(|inner| {
            let now = inner.engine.at(self.shared.clock.now());
            let posted = one_by_one(requests, |request| {
                inner.engine.post_all(pair, [request], now)
            });
            inner.work(&self.shared.clock);
            Ok(posted)
        });
        posted.map_err(|error| (0, error))?
    }

    /// Posts a receive to a queue pair's own queue.
    ///
    /// # Errors
    /// If the queue pair isn't known or shares a queue, or state or room don't allow it.
    pub fn post_receive(&self, pair: QpNumber, request: ReceiveRequest) -> Result<(), Error> {
        self.with(|inner| inner.engine.post_receive(pair, request))
    }

    /// Posts receives to a queue pair's own queue, one after the other.
    ///
    /// # Errors
    /// As [`post_receive`](Self::post_receive), with the number of receives that have been posted before.
    pub fn post_receives(
        &self,
        pair: QpNumber,
        requests: impl IntoIterator<Item = ReceiveRequest>,
    ) -> Result<(), (usize, Error)> {
        let posted = self.with(|inner| {
            Ok(one_by_one(requests, |request| {
                inner.engine.post_receive(pair, request)
            }))
        });
        posted.map_err(|error| (0, error))?
    }

    /// Posts receives to a shared queue, one after the other.
    ///
    /// # Errors
    /// As [`post_shared`](Self::post_shared), with the number of receives that have been posted before.
    pub fn post_all_shared(
        &self,
        queue: SharedQueue,
        requests: impl IntoIterator<Item = ReceiveRequest>,
    ) -> Result<(), (usize, Error)> {
        let posted = self.with(|inner| {
            Ok(one_by_one(requests, |request| {
                inner.engine.post_shared(queue, request)
            }))
        });
        posted.map_err(|error| (0, error))?
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
        self.with(|inner| {
            inner.poll(queue, most, into, |inner, armed| {
                // Who has armed it is going to sleep.
                if !armed {
                    self.shared.on_poll();
                }
                inner.progress(&self.shared.clock);
                // That may have taken a while.
                if !armed {
                    self.shared.on_poll();
                }
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
        self.with(|inner| inner.poll(queue, most, into, |_, _| {}))
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
        self.check_process()?;
        let mut polled = Vec::new();
        self.shared.wait(most, |inner| {
            inner.poll(queue, 1, &mut polled, |_, _| {})?;
            Ok(polled.first().copied())
        })
    }

    /// How many it has of protection domains, regions and windows, completion queues, queue pairs, queues of receives,
    /// receives and requests.
    #[cfg(feature = "testing")]
    pub fn live(&self) -> [usize; 7] {
        let live = self.with(|inner| Ok(crate::engine::live(&inner.engine)));
        live.unwrap_or_default()
    }

    /// Lets things go wrong on purpose from now on, or nothing any more. What limits queues holds for those that are made later.
    pub fn set_faults(&self, faults: Option<Faults>) {
        // Another process has nothing that comes.
        drop(self.with(|inner| {
            inner.set_faults(faults);
            Ok(())
        }));
    }

    /// Where the GID of its address is in the table.
    pub fn gid_place(&self) -> GidPlace {
        let place = self.with(|inner| Ok(inner.gid_place()));
        place.unwrap_or(GidPlace::Usual)
    }

    /// Whether packets can leave and come: the interface is up, and the port isn't down on purpose.
    pub fn is_up(&self) -> bool {
        let cut = self.with(|inner| Ok(inner.is_cut()));
        !cut.unwrap_or(false) && Interface::of(self.address).is_some_and(|own| own.is_up)
    }

    /// The largest path MTU that the port has room for, if it isn't the interface that says so.
    fn limited_mtu(&self) -> Option<u16> {
        let mtu = self.with(|inner| Ok(inner.limited_mtu()));
        mtu.ok().flatten()
    }
}

/// Posts until one isn't taken, whose place is told.
fn one_by_one<T>(
    all: impl IntoIterator<Item = T>,
    mut post: impl FnMut(T) -> Result<(), Error>,
) -> Result<(), (usize, Error)> {
    let mut all = all.into_iter().enumerate();
    all.try_for_each(|(at, request)| post(request).map_err(|error| (at, error)))
}

impl Inner {
    /// Takes completions; if there are none, after `progress`, which hears whether the queue is armed.
    fn poll(
        &mut self,
        queue: CompletionQueue,
        most: usize,
        into: &mut Vec<Completion>,
        progress: impl FnOnce(&mut Self, bool),
    ) -> Result<usize, Error> {
        let unknown = || Error::Unknown("completion queue");
        let own = self.engine.completions.get(queue.0).ok_or_else(unknown)?;
        if own.is_empty() {
            let armed = own.armed.is_some();
            progress(self, armed);
        }
        let engine = &mut self.engine;
        let own = engine.completions.get_mut(queue.0).ok_or_else(unknown)?;
        let count = own.poll(most, into)?;
        engine.channels.tell_of_left(queue, own);
        Ok(count)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if self.check_process().is_err() {
            // The threads are the other process's, and so is what they sleep on.
            std::mem::forget((
                self.thread.take(),
                self.stat_server.take(),
                self.publisher.take(),
            ));
            return;
        }
        if let Some(stat_server) = self.stat_server.take() {
            stat_server.close();
        }
        self.shared.lock().report();
        self.shared.closing.store(true, Ordering::Release);
        self.shared.waker.raise();
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked has said so.
            drop(thread.join());
        }
        if let Some(publisher) = self.publisher.take() {
            publisher.close();
        }
    }
}

/// What carries the packets of a device, and the receive buffer that the operating system grants.
fn carrier(settings: &Settings, interface: u32) -> Result<(Carrier, usize), Error> {
    if let Some(path) = &settings.lab {
        let port = Attached::open(path, settings.address, settings.source_ports)?;
        return Ok((Carrier::Port(port), 0));
    }
    let at = (settings.address, interface);
    let receiver = Receiver::open(at, settings.receive_buffer.get(), settings.coalescing)?;
    let sender = Sender::open(at, settings.source_ports)?;
    let buffer = receiver.buffer;
    let receiver = Box::new(receiver);
    Ok((Carrier::Sockets { receiver, sender }, buffer))
}
