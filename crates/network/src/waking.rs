//! What events wake, and in which order of those at one time.

use fairlane_engine::{Component, Event, Key};
use fairlane_units::Time;

/// Bits of an index.
pub const INDEX_BITS: u32 = 23;
const RANK_BITS: u32 = 35;

/// What an event wakes. The order of the kinds is the order of simultaneous events in the exact
/// profile: a transmitter that becomes free does so before anything else can ask it to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Waking {
    /// The transmitter of a port becomes free.
    PortFree,
    /// The first packet on the link of a (sending) port arrives.
    Arrival,
    /// A queue pair of a host may send.
    Nic,
    /// A deadline of a host; in profile `hpcc-ns3` also that of a controller.
    Alarm,
    /// Something about the network or the run as a whole.
    Control,
    /// A NIC has a work request done, or the state of a connection.
    Unit,
    /// The thread of an application, or of a host's library, is done with something.
    Client,
    /// The agent of a host has something to do.
    Agent,
}

impl Waking {
    /// The component of what has this index.
    #[inline]
    pub const fn component(self, index: u32) -> Component {
        Component::new((self as u32) << INDEX_BITS | index)
    }

    /// An event of this kind in profile `exact`.
    pub fn event(self, time: Time, index: u32) -> Event {
        let rank = self.rank(u64::from(index));
        Event {
            time,
            key: Key::ranked(rank, self.component(index)),
        }
    }

    /// The rank of `number`, which must not depend on anything but the scenario.
    #[inline]
    pub const fn rank(self, number: u64) -> u64 {
        (self as u64) << RANK_BITS | number
    }

    #[inline]
    pub(crate) const fn index(component: Component) -> usize {
        (component.get() & ((1 << INDEX_BITS) - 1)) as usize
    }

    /// What a component wakes, and its index.
    #[inline]
    pub const fn of(component: Component) -> (Self, u32) {
        let index = Self::index(component) as u32;
        let kind = match component.get() >> INDEX_BITS {
            0 => Self::PortFree,
            1 => Self::Arrival,
            2 => Self::Nic,
            3 => Self::Alarm,
            4 => Self::Control,
            5 => Self::Unit,
            6 => Self::Client,
            _ => Self::Agent,
        };
        (kind, index)
    }
}

/// Indices of [`Waking::Control`] that are the network's own; the driver has others. They don't follow each other, since the order of
/// simultaneous events is that of indices.
pub mod timer {
    /// The watchdog of a port looks at it.
    pub const WATCHDOG: u32 = 8;
    /// A switch that moves flows in order gives up what it holds, or sends a tail again.
    pub const DEFLECTION: u32 = 11;
}
