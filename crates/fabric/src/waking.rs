//! What events wake, and in which order of those at one time.

use fairlane_engine::Component;

const INDEX_BITS: u32 = 23;
const RANK_BITS: u32 = 35;

/// What an event wakes. The order of the kinds is the order of simultaneous events in the exact
/// profile: a transmitter that becomes free does so before anything else can ask it to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Waking {
    /// The transmitter of a port becomes free.
    PortFree,
    /// The first packet on the link of a (sending) port arrives.
    Arrival,
    /// A queue pair of a host may send.
    Nic,
    /// A deadline of a host; in profile `hpcc-ns3` also that of a controller.
    Alarm,
    /// Something about the run as a whole, see the constants.
    Control,
    /// A NIC has a work request done, or the state of a connection.
    Unit,
    /// The thread of an application is done with something, or that of a host's [`LIBRARY`].
    Client,
    /// The agent of a host has something to do.
    Agent,
}

impl Waking {
    #[inline]
    pub(crate) const fn component(self, index: u32) -> Component {
        Component::new((self as u32) << INDEX_BITS | index)
    }

    /// The rank of `number`, which must not depend on anything but the scenario.
    #[inline]
    pub(crate) const fn rank(self, number: u64) -> u64 {
        (self as u64) << RANK_BITS | number
    }

    #[inline]
    pub(crate) const fn index(component: Component) -> usize {
        (component.get() & ((1 << INDEX_BITS) - 1)) as usize
    }

    #[inline]
    pub(crate) const fn of(component: Component) -> (Self, u32) {
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

/// Of [`Waking::Client`], added to the number of a host: the thread that drives its connections with several paths.
pub(crate) const LIBRARY: u32 = 1 << (INDEX_BITS - 1);

/// Indices of [`Waking::Control`].
pub(crate) mod control {
    /// The next messages are due.
    pub(crate) const DUE: u32 = 0;
    /// Messages that are due are posted.
    pub(crate) const POST: u32 = 1;
    /// A message whose predecessor has arrived reaches its start time.
    pub(crate) const DELAYED: u32 = 2;
    /// A link goes down or comes back.
    pub(crate) const FAULT: u32 = 3;
    /// The time series gets a row.
    pub(crate) const SAMPLE: u32 = 4;
    /// Has anything progressed?
    pub(crate) const WATCH: u32 = 5;
    /// The scenario's end.
    pub(crate) const STOP: u32 = 6;
    /// A host that misuses pauses sends a frame.
    pub(crate) const STORM: u32 = 7;
    /// The watchdog of a port looks at it.
    pub(crate) const WATCHDOG: u32 = 8;
    /// A host hears of another out of band.
    pub(crate) const NOTICE: u32 = 9;
    /// Rates of messages are looked at.
    pub(crate) const RATES: u32 = 10;
    /// A switch that moves flows in order gives up what it holds, or sends a tail again.
    pub(crate) const DEFLECTION: u32 = 11;
    /// The time series of chosen ports gets a row.
    pub(crate) const CHOSEN: u32 = 12;
}
