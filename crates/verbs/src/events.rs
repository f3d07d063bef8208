//! Asynchronous events, each for the context whose object it is about.
//!
//! A device has one list for all contexts. The descriptor of a context is readable while that list or its own inbox has
//! something; whoever looks first puts events of others into their inboxes.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairlane_softnic::AsyncEvent as Told;
use nix::errno::Errno as Failed;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::abi::{AsyncEvent, OrMinus};
use crate::args::{Handle, Out};
use crate::context::Context;
use crate::guard::{Errno, entry};
use crate::nic::Nic;
use crate::owed::Owed;
use crate::pair::Qp;
use crate::queue::Cq;
use crate::shared_queue::Srq;

/// An event for a program.
#[derive(Debug)]
struct Event {
    /// The object's address, or the number of the port.
    element: usize,
    kind: c_int,
    owed: Option<Arc<Owed>>,
}

/// Events of a context.
#[derive(Debug)]
pub(crate) struct Inbox {
    waiting: Mutex<VecDeque<Event>>,
    signal: EventFd,
    both: Epoll,
}

impl From<Failed> for Errno {
    fn from(failed: Failed) -> Self {
        Self(failed as c_int)
    }
}

impl Inbox {
    pub(crate) fn new(nic: &Nic) -> Result<Self, Errno> {
        let signal =
            EventFd::from_value_and_flags(0, EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let both = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let readable = EpollEvent::new(EpollFlags::EPOLLIN, 0);
        both.add(&signal, readable)?;
        both.add(borrow(nic.device.async_descriptor()), readable)?;
        let waiting = Mutex::default();
        Ok(Self {
            waiting,
            signal,
            both,
        })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.both.0.as_raw_fd()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, event: Event) {
        self.lock().push_back(event);
        // That it is full doesn't matter: then it is readable.
        let _ = self.signal.write(1);
    }

    fn settle(&self, waiting: &VecDeque<Event>) {
        if waiting.is_empty() {
            // Nothing to read is what is wanted.
            let _ = self.signal.read();
        }
    }

    fn take(&self) -> Option<Event> {
        let mut waiting = self.lock();
        let event = waiting.pop_front();
        if let Some(owed) = event.as_ref().and_then(|event| event.owed.as_ref()) {
            owed.add();
        }
        self.settle(&waiting);
        event
    }

    /// Forgets events of an object.
    pub(crate) fn purge(&self, element: usize) {
        let mut waiting = self.lock();
        waiting.retain(|event| event.owed.is_none() || event.element != element);
        self.settle(&waiting);
    }
}

#[allow(unsafe_code, reason = "the device lends its descriptors as numbers")]
fn borrow<'a>(descriptor: RawFd) -> BorrowedFd<'a> {
    // SAFETY: the device or program that has lent it keeps it open during the call.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
}

/// Waits until a descriptor is readable. `EAGAIN` if the program has said that it doesn't wait.
pub(crate) fn wait(descriptor: RawFd) -> Result<(), Errno> {
    let descriptor = borrow(descriptor);
    let flags = fcntl(descriptor, FcntlArg::F_GETFL)?;
    if OFlag::from_bits_retain(flags).contains(OFlag::O_NONBLOCK) {
        return Err(Errno(libc::EAGAIN));
    }
    poll(
        &mut [PollFd::new(descriptor.as_fd(), PollFlags::POLLIN)],
        PollTimeout::NONE,
    )?;
    Ok(())
}

/// `enum ibv_event_type`, as far as there are such events.
mod kind {
    use std::ffi::c_int;

    pub(super) const CQ_ERR: c_int = 0;
    pub(super) const QP_FATAL: c_int = 1;
    pub(super) const QP_REQ_ERR: c_int = 2;
    pub(super) const QP_ACCESS_ERR: c_int = 3;
    pub(super) const COMM_EST: c_int = 4;
    pub(super) const SQ_DRAINED: c_int = 5;
    pub(super) const PORT_ACTIVE: c_int = 9;
    pub(super) const PORT_ERR: c_int = 10;
    pub(super) const SRQ_LIMIT_REACHED: c_int = 15;
    pub(super) const QP_LAST_WQE_REACHED: c_int = 16;
    pub(super) const GID_CHANGE: c_int = 18;
}

const fn kind_of(told: Told) -> c_int {
    match told {
        Told::QueueError(_) => kind::CQ_ERR,
        Told::Fatal(_) => kind::QP_FATAL,
        Told::RequestError(_) => kind::QP_REQ_ERR,
        Told::AccessError(_) => kind::QP_ACCESS_ERR,
        Told::Established(_) => kind::COMM_EST,
        Told::Drained(_) => kind::SQ_DRAINED,
        Told::PortActive => kind::PORT_ACTIVE,
        Told::PortError => kind::PORT_ERR,
        Told::LimitReached(_) => kind::SRQ_LIMIT_REACHED,
        Told::GidChange => kind::GID_CHANGE,
        Told::LastReceive(_) => kind::QP_LAST_WQE_REACHED,
    }
}

/// Hands what the device tells to those whom it concerns; `own` hears of the port, too.
fn distribute(nic: &Nic) {
    while let Some(told) = nic.device.take_async_event() {
        let tell = |known: &crate::known::Known| {
            known.inbox.push(Event {
                element: known.address,
                kind: kind_of(told),
                owed: Some(known.events.clone()),
            });
        };
        match told {
            Told::QueueError(queue) => nic.queues.with(&queue.index(), tell),
            Told::LimitReached(queue) => nic.shared.with(&queue.index(), tell),
            told => match told.pair() {
                Some(pair) => nic.pairs.with(&pair.get(), tell),
                None => {
                    nic.each_inbox(|inbox| {
                        inbox.push(Event {
                            element: 1,
                            kind: kind_of(told),
                            owed: None,
                        });
                    });
                    None
                }
            },
        };
    }
}

entry! {
    fn ibv_get_async_event(context: Handle<Context>, event: Out<AsyncEvent>) -> OrMinus<c_int> {
        let own = &context.get()?.own;
        loop {
            distribute(&own.nic);
            if let Some(taken) = own.inbox.take() {
                event.set(AsyncEvent {
                    element: std::ptr::with_exposed_provenance(taken.element),
                    event_type: taken.kind,
                })?;
                return Ok(OrMinus(0));
            }
            wait(own.inbox.descriptor())?;
        }
    }

    fn ibv_ack_async_event(event: Out<AsyncEvent>) {
        let event = event.filled()?;
        let element: *const c_void = event.element;
        let owed = match event.event_type {
            kind::CQ_ERR => &Handle::<Cq>(element.cast()).get()?.own.owed_events,
            kind::SRQ_LIMIT_REACHED => &Handle::<Srq>(element.cast()).get()?.own.owed_events,
            kind::QP_FATAL
            | kind::QP_REQ_ERR
            | kind::QP_ACCESS_ERR
            | kind::COMM_EST
            | kind::SQ_DRAINED
            | kind::QP_LAST_WQE_REACHED => &Handle::<Qp>(element.cast()).get()?.own.owed_events,
            // Nothing waits for others.
            _ => return Ok(()),
        };
        owed.pay(1);
        Ok(())
    }
}
