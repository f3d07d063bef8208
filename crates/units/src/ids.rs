//! Identifiers. Each names one kind of thing, so that a port number can't be used as a host number.

use core::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The identifier with this number.
            pub const fn new(number: u32) -> Self {
                Self(number)
            }

            /// The number.
            pub const fn get(self) -> u32 {
                self.0
            }

            /// The number as an array index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A node of the fabric: a host or a switch, numbered from 0 in the order of the topology.
    NodeId
);
id!(
    /// A host, numbered from 0 among hosts.
    HostId
);
id!(
    /// One end of a link, numbered from 0 over the whole fabric.
    PortId
);
id!(
    /// A queue pair number as it stands in the BTH: 24 bits.
    QpNumber
);
id!(
    /// A tenant; on the wire it is the BTH partition key.
    TenantId
);
id!(
    /// One choice of route between two hosts.
    PathId
);
id!(
    /// A flow: the packets of one connection, which have a five-tuple in common. Its number is that of whoever opened it.
    FlowId
);
id!(
    /// A message of a run, numbered from 0 in the order in which its traffic was generated.
    MessageId
);
id!(
    /// A queue pair of a run that stays open for several messages, numbered from 0.
    QpId
);

/// A packet sequence number: 24 bits that wrap (IBTA vol. 1, 9.7.2).
///
/// Order is circular: of two numbers less than 2^23 apart, one comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Psn(u32);

impl Psn {
    const MASK: u32 = 0x00ff_ffff;

    /// The low 24 bits of `number`.
    pub const fn new(number: u32) -> Self {
        Self(number & Self::MASK)
    }

    /// The number, below 2^24.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number `count` packets later.
    #[must_use]
    pub const fn advance(self, count: u32) -> Self {
        Self(self.0.wrapping_add(count) & Self::MASK)
    }

    /// How far `self` is after `earlier` on the circle: in `-2^23 .. 2^23`.
    pub const fn distance(self, earlier: Self) -> i32 {
        let forward = self.0.wrapping_sub(earlier.0) & Self::MASK;
        // Moving the 24-bit sign bit to the top and back sign-extends it.
        ((forward << 8) as i32) >> 8
    }

    /// Whether `self` comes before `other` on the circle.
    pub const fn is_before(self, other: Self) -> bool {
        self.distance(other) < 0
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
