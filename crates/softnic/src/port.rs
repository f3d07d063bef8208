//! Whether packets can leave by the interface.

use std::net::IpAddr;

use fairlane_units::{Duration, Time};

use crate::event::AsyncEvent;
use crate::interface::Interface;

/// How often it is looked at while it is down.
const AGAIN: Duration = Duration::from_ms(100);

/// The interface, as far as sending has found out.
#[derive(Debug, Default)]
pub(crate) struct Port {
    /// Whether a packet couldn't leave, or wasn't answered, since it was looked at.
    pub(crate) doubted: bool,
    down: bool,
    /// Whether it is down on purpose.
    cut: bool,
    /// Timeouts of acknowledgements so far.
    timeouts: u64,
    /// Before this, it isn't looked at again.
    again: Time,
}

impl Port {
    /// There have been so many timeouts: some interfaces that are down take packets without an error.
    #[inline]
    pub(crate) const fn on_timeouts(&mut self, timeouts: u64) {
        self.doubted |= timeouts != self.timeouts;
        self.timeouts = timeouts;
    }

    pub(crate) const fn is_up(&self) -> bool {
        !(self.down || self.cut)
    }

    /// Looks at it if there is a reason to; returns what has changed.
    #[inline]
    pub(crate) fn watch(&mut self, now: Time, address: IpAddr) -> Option<AsyncEvent> {
        if !(self.doubted || self.down) || now < self.again {
            return None;
        }
        self.look(now, address)
    }

    #[cold]
    fn look(&mut self, now: Time, address: IpAddr) -> Option<AsyncEvent> {
        self.doubted = false;
        self.again = now.saturating_add(AGAIN);
        let before = self.down || self.cut;
        self.down = !Interface::of(address).is_some_and(|interface| interface.is_up);
        self.told(before)
    }

    /// The port goes down or comes up on purpose; returns what has changed.
    pub(crate) fn cut(&mut self, cut: bool) -> Option<AsyncEvent> {
        let before = self.down || self.cut;
        self.cut = cut;
        self.told(before)
    }

    /// Whether it is down on purpose.
    #[inline]
    pub(crate) const fn is_cut(&self) -> bool {
        self.cut
    }

    /// What applications are told that haven't been told otherwise `before`.
    const fn told(&self, before: bool) -> Option<AsyncEvent> {
        match (before, self.down || self.cut) {
            (false, true) => Some(AsyncEvent::PortError),
            (true, false) => Some(AsyncEvent::PortActive),
            _ => None,
        }
    }
}
