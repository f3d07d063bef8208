//! All that this library knows in a process, under one lock.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

use fairlane_cm::{ConnectionId, Mad, Manager, Peer, PortSpace, ServiceId};
use fairlane_units::Time;

use crate::dispatch;
use crate::guard::{Errno, one_line_for_panics};
use crate::held::Waiting;
use crate::id::{Id, Sharing};
use crate::inbox::Inbox;
use crate::layout::CmId;
use crate::nearby::Neighbour;
use crate::object::{Event, Ptr};
use crate::port::{Port, open_all};
use crate::signs::Sign;
use crate::{leave, nearby, signs, thread};

/// Ids, channels and ports of a process.
pub(crate) struct World {
    process: u32,
    start: Instant,
    pub(crate) ports: Vec<Port>,
    pub(crate) ids: BTreeMap<usize, Id>,
    pub(crate) channels: BTreeMap<usize, Inbox>,
    /// Which id a connection is of.
    pub(crate) connections: BTreeMap<(usize, ConnectionId), usize>,
    /// Which id listens to a service.
    pub(crate) listeners: BTreeMap<(usize, ServiceId), usize>,
    /// What tells other processes of listeners.
    pub(crate) signs: BTreeMap<(usize, ServiceId), Sign>,
    /// Where on this host a port number has last been found, by version of IP.
    homes: BTreeMap<(u16, bool), IpAddr>,
    /// Requests for services whose listeners have just gone.
    pub(crate) waiting: Waiting,
    /// Who connections are with, by device.
    pub(crate) neighbours: BTreeMap<(usize, IpAddr), Neighbour>,
    waker: Option<thread::Waker>,
}

static WORLD: Mutex<Option<World>> = Mutex::new(None);
/// An event has been acknowledged.
static ACKNOWLEDGED: Condvar = Condvar::new();

/// The world of this process under lock.
pub(crate) struct Locked(MutexGuard<'static, Option<World>>);

impl std::ops::Deref for Locked {
    type Target = World;

    fn deref(&self) -> &World {
        self.0.as_ref().expect("`lock` has made it")
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut World {
        self.0.as_mut().expect("`lock` has made it")
    }
}

/// Locks the world.
pub(crate) fn lock() -> Locked {
    let mut world = WORLD.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    // A child has none of its parent's connections, nor the thread. What that has is left alone.
    if world.as_ref().is_none_or(|world| world.process != process) {
        std::mem::forget(world.replace(World::new(process)));
    }
    Locked(world)
}

/// The world of this process, if it has one and nobody has the lock.
pub(crate) fn try_lock() -> Option<Locked> {
    let world = match WORLD.try_lock() {
        Ok(world) => world,
        Err(TryLockError::Poisoned(world)) => world.into_inner(),
        Err(TryLockError::WouldBlock) => return None,
    };
    let process = std::process::id();
    let is_own = world.as_ref().is_some_and(|world| world.process == process);
    is_own.then_some(Locked(world))
}

impl Locked {
    /// Waits until some event is acknowledged.
    pub(crate) fn wait_for_acknowledgement(self) -> Self {
        Self(
            ACKNOWLEDGED
                .wait(self.0)
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}

/// Some event has been acknowledged.
pub(crate) fn acknowledged() {
    ACKNOWLEDGED.notify_all();
}

impl World {
    fn new(process: u32) -> Self {
        one_line_for_panics();
        leave::when_the_process_ends();
        Self {
            process,
            start: Instant::now(),
            ports: Vec::new(),
            ids: BTreeMap::new(),
            channels: BTreeMap::new(),
            connections: BTreeMap::new(),
            listeners: BTreeMap::new(),
            signs: BTreeMap::new(),
            homes: BTreeMap::new(),
            waiting: Waiting::default(),
            neighbours: BTreeMap::new(),
            waker: None,
        }
    }

    pub(crate) fn now(&self) -> Time {
        let ns = self.start.elapsed().as_nanos();
        Time::from_ns(u64::try_from(ns).unwrap_or(u64::MAX / 1_000))
    }

    /// Opens devices, if that hasn't been done.
    pub(crate) fn open(&mut self) -> Result<(), Errno> {
        if self.ports.is_empty() {
            self.ports = open_all();
        }
        if self.ports.is_empty() {
            Err(Errno::NO_DEVICE)
        } else {
            Ok(())
        }
    }

    /// The port at an address.
    pub(crate) fn port_at(&mut self, address: IpAddr) -> Result<usize, Errno> {
        self.open()?;
        let at = self.ports.iter().position(|port| port.address == address);
        at.ok_or(Errno(libc::EADDRNOTAVAIL))
    }

    pub(crate) fn id(&mut self, id: *mut CmId) -> Result<&mut Id, Errno> {
        self.ids.get_mut(&id.addr()).ok_or(Errno::INVALID)
    }

    /// Lets the manager of a port do something, and does what follows from it.
    pub(crate) fn manage<T>(
        &mut self,
        port: usize,
        act: impl FnOnce(&mut Manager, Time) -> Result<T, fairlane_cm::Error>,
    ) -> Result<T, Errno> {
        let done = self.act(port, act)?;
        self.settle(port);
        Ok(done)
    }

    /// Lets the manager of a port do something within [`settle`](Self::settle), which goes on to what follows from it after
    /// the event that it is at.
    pub(crate) fn act<T>(
        &mut self,
        port: usize,
        act: impl FnOnce(&mut Manager, Time) -> Result<T, fairlane_cm::Error>,
    ) -> Result<T, Errno> {
        let now = self.now();
        let (manager, _) = self
            .ports
            .get_mut(port)
            .ok_or(Errno::NO_DEVICE)?
            .manager()?;
        let done = act(manager, now);
        self.watch()?;
        Ok(done?)
    }

    /// Keeps an eye on whoever has an address, as long as there are connections with it.
    pub(crate) fn meet(&mut self, port: usize, peer: IpAddr) -> Option<&Neighbour> {
        let own = self.ports.get(port)?.address;
        if own == peer {
            return None;
        }
        let known = self.neighbours.entry((port, peer));
        let neighbour = known.or_insert_with(|| Neighbour::new(own, peer));
        if let Some(waker) = &self.waker {
            waker.wake();
        }
        Some(neighbour)
    }

    /// A connection is over, perhaps the last one with whoever has an address.
    pub(crate) fn part(&mut self, port: usize, peer: IpAddr) {
        let is_with = |id: &Id| {
            let destination = id.destination.map(|destination| destination.ip());
            id.connection.is_some() && id.port == Some(port) && destination == Some(peer)
        };
        if !self.ids.values().any(is_with) {
            self.neighbours.remove(&(port, peer));
        }
    }

    /// Ends connections with those who aren't there any more, by what descriptors have just said.
    pub(crate) fn miss(&mut self, woken: impl Fn(RawFd) -> bool) {
        let all = self.neighbours.iter();
        let gone = all.filter(|(_, neighbour)| neighbour.is_gone(&woken));
        let gone: Vec<(usize, IpAddr)> = gone.map(|(at, _)| *at).collect();
        for (port, peer) in gone {
            self.neighbours.remove(&(port, peer));
            let _ = self.manage(port, |manager, now| {
                manager.on_gone(peer, now);
                Ok(())
            });
        }
    }

    /// Lets a manager hear of requests that have waited.
    pub(crate) fn hear(&mut self, port: usize, requests: Vec<(Peer, Mad)>) {
        let now = self.now();
        let Some((manager, _)) = self.ports.get_mut(port).and_then(Port::running) else {
            return;
        };
        for (from, mad) in requests {
            // It has been read before.
            let _ = manager.on_mad(from, &mad, now);
        }
        self.settle(port);
    }

    /// Hands over what a manager has said, and tells ids what has happened.
    pub(crate) fn settle(&mut self, port: usize) {
        loop {
            let running = self.ports.get_mut(port).and_then(Port::running);
            let Some((manager, gsi)) = running else {
                return;
            };
            while let Some(transmit) = manager.poll_transmit() {
                gsi.send(transmit);
            }
            match manager.poll_event() {
                Some(event) => dispatch::on_event(self, port, event),
                None => return,
            }
        }
    }

    /// Sees to it that the thread runs and knows of timers.
    fn watch(&mut self) -> Result<(), Errno> {
        if self.waker.is_none() {
            self.waker = Some(thread::start()?);
        }
        if let Some(waker) = &self.waker {
            waker.wake();
        }
        Ok(())
    }

    /// Puts an event into the channel of an id.
    pub(crate) fn queue(&mut self, id: usize, event: Ptr<Event>) {
        let channel = self.ids.get(&id).map(|id| id.channel.key());
        let inbox = channel.and_then(|channel| self.channels.get_mut(&channel));
        match inbox {
            Some(inbox) => inbox.push(event),
            None => event.take(),
        }
    }

    /// A port of IP that nobody has in a space at an address.
    pub(crate) fn free_port(&self, space: u16, at: IpAddr) -> Result<u16, Errno> {
        // IANA's range of dynamic ports (RFC 6335, section 6).
        let first = crate::port::random() as u16;
        let ports = (0..=u16::MAX).map(|step| first.wrapping_add(step) | 0xc000);
        let mut free = ports.filter(|port| {
            let bound = Bound {
                space,
                at: SocketAddr::new(at, *port),
                sharing: Sharing::default(),
            };
            self.bars(&bound, 0).is_none()
        });
        free.next().ok_or(Errno(libc::EADDRNOTAVAIL))
    }

    /// Whether an address stands for all: it is unspecified, or one of loopback that none of the devices has.
    pub(crate) fn is_any(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_own = || self.ports.iter().any(|port| port.address == address);
        address.is_unspecified() || address.is_loopback() && !is_own()
    }

    /// Whether to ask for an address is to ask for whoever listens on this host. Of loopback it's the address that names stand
    /// for: others may be those of other processes that are about to begin, and so may this one if a device has it.
    pub(crate) fn is_here(&self, address: IpAddr) -> bool {
        let named = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let is_named = named.contains(&address.to_canonical());
        let is_theirs = || nearby::at(address.to_canonical()).is_some();
        address.is_unspecified() || is_named && self.is_any(address) && !is_theirs()
    }

    /// Where this host has a service, for an id at a device: there, unless only others listen to it.
    pub(crate) fn home_of(&mut self, space: u16, number: u16, port: usize) -> IpAddr {
        let own = self.ports[port].address;
        let service = ServiceId::of_port(PortSpace(space), number);
        if self.listeners.contains_key(&(port, service)) {
            return own;
        }
        let key = (number, own.is_ipv4());
        match signs::find(service, own) {
            Some(found) => {
                self.homes.insert(key, found);
                found
            }
            // Programs that connect twice may come before the next listener, for which their request waits there.
            None => self.homes.get(&key).copied().unwrap_or(own),
        }
    }

    /// Why an id can't be bound like this beside those that there are (the kernel's `cma_check_port`).
    pub(crate) fn bars(&self, bound: &Bound, own: usize) -> Option<Errno> {
        let others = self.ids.iter().filter(|(key, _)| **key != own);
        let bars = |id: &Id| {
            let at = id.bound.filter(|at| at.port() == bound.at.port())?;
            if id.is_accepted || id.space != bound.space || id.sharing.reuse && bound.sharing.reuse
            {
                return None;
            }
            let both_only = id.sharing.is_only(at) && bound.sharing.is_only(bound.at);
            if both_only && at.is_ipv4() != bound.at.is_ipv4() {
                return None;
            }
            if self.is_any(at.ip()) || self.is_any(bound.at.ip()) {
                return Some(Errno(libc::EADDRNOTAVAIL));
            }
            let is_same = at.ip().to_canonical() == bound.at.ip().to_canonical();
            is_same.then_some(Errno(libc::EADDRINUSE))
        };
        others.map(|(_, id)| id).find_map(bars)
    }
}

/// An address that an id is bound to, or wants to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) space: u16,
    pub(crate) at: SocketAddr,
    pub(crate) sharing: Sharing,
}
