//! What may be done with memory.

use std::ops::BitOr;

use fairlane_transport::Access;

/// A set of rights to memory (IBTA 10.6.3.1). Reading it locally is always allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights(u8);

impl Rights {
    /// None but to read locally.
    pub const NONE: Self = Self(0);
    /// Receives, responses to READs and results of atomics may be placed.
    pub const LOCAL_WRITE: Self = Self(1);
    /// Others may WRITE.
    pub const REMOTE_WRITE: Self = Self(2);
    /// Others may READ.
    pub const REMOTE_READ: Self = Self(4);
    /// Others may carry out atomics.
    pub const REMOTE_ATOMIC: Self = Self(8);
    /// Others may invalidate the key by a SEND with invalidate.
    pub const REMOTE_INVALIDATE: Self = Self(16);
    /// Memory windows may be bound to it.
    pub const BIND: Self = Self(32);
    /// Everything.
    pub const ALL: Self = Self(63);

    /// Whether these include all of `others`.
    #[inline]
    pub const fn include(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Whether others may write in some way, which takes [`LOCAL_WRITE`](Self::LOCAL_WRITE) (IBTA 11.2.8.2).
    pub const fn write_remotely(self) -> bool {
        self.0 & (Self::REMOTE_WRITE.0 | Self::REMOTE_ATOMIC.0) != 0
    }
}

impl BitOr for Rights {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl From<Access> for Rights {
    fn from(access: Access) -> Self {
        match access {
            Access::Read => Self::REMOTE_READ,
            Access::Write => Self::REMOTE_WRITE,
            Access::Atomic => Self::REMOTE_ATOMIC,
        }
    }
}
