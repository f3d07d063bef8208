//! Events and their order.

use core::cmp::Ordering;

use fairlane_units::Time;

const COMPONENT_BITS: u32 = 26;

/// The part of a simulation that an event wakes: a number below 2^26.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Component(u32);

impl Component {
    /// How many components there can be.
    pub const LIMIT: u32 = 1 << COMPONENT_BITS;

    /// The component with this number.
    ///
    /// # Panics
    /// If the number is [`Component::LIMIT`] or more.
    #[inline]
    pub const fn new(number: u32) -> Self {
        assert!(number < Self::LIMIT, "component number beyond 2^26");
        Self(number)
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// What decides between simultaneous events (an order number of 38 bits), and the component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u64);

impl Key {
    /// The largest order number.
    pub const ORDER_MAX: u64 = (1 << (64 - COMPONENT_BITS)) - 1;
    /// Comes before every other key.
    pub const MIN: Self = Self(0);
    /// Comes after every key in use.
    pub const MAX: Self = Self(u64::MAX);

    #[inline]
    pub(crate) const fn new(order: u64, component: Component) -> Self {
        debug_assert!(
            order <= Self::ORDER_MAX,
            "order numbers of events are used up"
        );
        Self(order << COMPONENT_BITS | component.0 as u64)
    }

    /// The key of an event that a rank decides on; see [`Ties::Rank`](crate::Ties::Rank).
    #[inline]
    pub const fn ranked(rank: u64, component: Component) -> Self {
        Self::new(rank, component)
    }

    /// The component.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "masked to 26 bits")]
    pub const fn component(self) -> Component {
        Component(self.0 as u32 & (Component::LIMIT - 1))
    }
}

/// A component is woken at a time. Events are ordered by time, then key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// When.
    pub time: Time,
    /// In which order among simultaneous events, and whom.
    pub key: Key,
}

const _: () = assert!(size_of::<Event>() == 16);

impl Event {
    /// Earlier than all others.
    pub const FIRST: Self = Self {
        time: Time::ZERO,
        key: Key::MIN,
    };

    /// Later than all others.
    pub const NEVER: Self = Self {
        time: Time::MAX,
        key: Key::MAX,
    };

    /// Time and key in one number, which is compared without branches.
    #[inline]
    const fn place(&self) -> u128 {
        (self.time.as_ps() as u128) << 64 | self.key.0 as u128
    }

    /// The low `bits`, fewer than 64, of the time and as many of the key's high bits as there is room
    /// for: it orders events whose times are otherwise the same, but for some that it can't tell apart.
    /// This number isn't zero.
    #[inline]
    pub(crate) const fn abridged(&self, bits: u32) -> u64 {
        let place = match bits {
            0 => self.key.0,
            _ => self.time.as_ps() << (64 - bits) | self.key.0 >> bits,
        };
        1 << 63 | place >> 1
    }

    /// The component that is woken.
    #[inline]
    pub const fn component(&self) -> Component {
        self.key.component()
    }
}

impl Ord for Event {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn lt(&self, other: &Self) -> bool {
        self.place() < other.place()
    }

    #[inline]
    fn gt(&self, other: &Self) -> bool {
        self.place() > other.place()
    }
}
