//! What an application is told without asking: events of completion queues, and asynchronous ones.

use std::collections::VecDeque;
use std::os::fd::RawFd;

use fairlane_transport::Status;
use fairlane_units::QpNumber;

use crate::completion::{Completion, CompletionQueue, Completions};
use crate::error::Error;
use crate::limits;
use crate::receives::SharedQueue;
use crate::signal::Signal;
use crate::slots::Slots;

/// A completion channel: where completion queues tell that something has ended (IBTA 11.4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel(pub(crate) u32);

/// What a completion queue is to tell its channel of, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// The next completion.
    Any,
    /// The next completion that the other end asked an event for, or that isn't a success.
    Solicited,
}

impl Arm {
    /// Whether a completion is one of those.
    pub(crate) fn is_for(self, completion: &Completion) -> bool {
        match self {
            Self::Any => true,
            Self::Solicited => completion.solicited || completion.status != Status::Success,
        }
    }
}

/// Something that happened to an object, without a completion that says so (IBTA 11.6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsyncEvent {
    /// A queue pair failed because a completion found no room.
    Fatal(QpNumber),
    /// A queue pair failed because a request of the other end made no sense.
    RequestError(QpNumber),
    /// A queue pair failed because the other end asked for memory that it may not use.
    AccessError(QpNumber),
    /// The first packet has come for a queue pair that is ready to receive but not to send.
    Established(QpNumber),
    /// Everything that a queue pair had begun when it began to drain has ended.
    Drained(QpNumber),
    /// A queue pair with a shared queue has failed, and takes no more receives of it.
    LastReceive(QpNumber),
    /// A completion queue had no room for a completion.
    QueueError(CompletionQueue),
    /// A shared queue has fewer receives left than its limit, which is off from now on.
    LimitReached(SharedQueue),
    /// Packets can leave by the interface again.
    PortActive,
    /// The interface has gone down, or lost its address, as packets that couldn't leave or weren't answered have shown; or the port is
    /// down on purpose.
    PortError,
    /// The GID has moved to another index of the table, or has gone.
    GidChange,
}

impl AsyncEvent {
    /// The queue pair that it is about.
    pub const fn pair(self) -> Option<QpNumber> {
        match self {
            Self::Fatal(pair)
            | Self::RequestError(pair)
            | Self::AccessError(pair)
            | Self::Established(pair)
            | Self::Drained(pair)
            | Self::LastReceive(pair) => Some(pair),
            _ => None,
        }
    }
}

/// Events that wait to be taken, and a descriptor that is readable while there are any.
#[derive(Debug)]
pub(crate) struct EventList<T> {
    signal: Signal,
    waiting: VecDeque<T>,
    /// Completion queues that tell it.
    pub(crate) users: u32,
}

/// Events that are kept for an application that takes none; later ones are lost.
const MOST: usize = 1 << 16;

impl<T> EventList<T> {
    pub(crate) fn new() -> Result<Self, Error> {
        Ok(Self {
            signal: Signal::new()?,
            waiting: VecDeque::new(),
            users: 0,
        })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.signal.descriptor()
    }

    pub(crate) fn push(&mut self, event: T) {
        if self.waiting.len() < MOST {
            self.waiting.push_back(event);
            self.signal.raise();
        }
    }

    pub(crate) fn take(&mut self) -> Option<T> {
        let event = self.waiting.pop_front()?;
        self.settle();
        Some(event)
    }

    /// Forgets those of an object that goes.
    pub(crate) fn purge(&mut self, goes: impl Fn(&T) -> bool) {
        let before = self.waiting.len();
        self.waiting.retain(|event| !goes(event));
        if self.waiting.len() < before {
            self.settle();
        }
    }

    fn settle(&self) {
        if self.waiting.is_empty() {
            self.signal.lower();
        }
    }
}

/// The completion channels of a device.
#[derive(Debug)]
pub(crate) struct Channels(Slots<EventList<CompletionQueue>>);

impl Channels {
    pub(crate) const fn new() -> Self {
        Self(Slots::new(limits::MOST))
    }

    pub(crate) fn create(&mut self) -> Result<Channel, Error> {
        let list = EventList::new()?;
        let slot = self.0.insert(|_| list);
        slot.map(Channel)
            .ok_or(Error::Exhausted("completion channel"))
    }

    pub(crate) fn destroy(&mut self, channel: Channel) -> Result<(), Error> {
        if self.get(channel)?.users > 0 {
            return Err(Error::Busy("completion channel"));
        }
        self.0.remove(channel.0);
        Ok(())
    }

    pub(crate) fn get(
        &mut self,
        channel: Channel,
    ) -> Result<&mut EventList<CompletionQueue>, Error> {
        let own = self.0.get_mut(channel.0);
        own.ok_or(Error::Unknown("completion channel"))
    }

    /// A completion has come to a queue that was armed for it.
    pub(crate) fn tell(&mut self, queue: CompletionQueue, channel: Option<Channel>) {
        if let Some(own) = channel.and_then(|channel| self.0.get_mut(channel.0)) {
            own.push(queue);
        }
    }

    /// Tells of completions that a poll has left, if their queue was armed for one of them.
    pub(crate) fn tell_of_left(&mut self, number: CompletionQueue, queue: &mut Completions) {
        if queue.fires_for_left() {
            self.tell(number, queue.channel);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::signal::wait;

    #[test]
    fn its_descriptor_is_readable_while_events_wait() {
        let mut events = EventList::new().unwrap();
        let readable = |events: &EventList<u32>| {
            let descriptor = [events.descriptor()];
            wait(descriptor, Some(Duration::ZERO))[0]
        };
        assert!(!readable(&events) && events.take().is_none());
        (1..=4).for_each(|event| events.push(event));
        events.purge(|event| *event == 2);
        assert_eq!((events.take(), events.take()), (Some(1), Some(3)));
        assert!(readable(&events));
        events.purge(|_| false);
        assert!(readable(&events));
        events.purge(|event| *event == 4);
        assert!(!readable(&events) && events.take().is_none());
        events.purge(|_| true);
    }

    #[test]
    fn an_application_that_takes_nothing_costs_no_more_than_a_list() {
        let mut events = EventList::new().unwrap();
        (0..2 * MOST).for_each(|event| events.push(event));
        let taken = std::iter::from_fn(|| events.take());
        assert!(taken.eq(0..MOST));
    }
}
