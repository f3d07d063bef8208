//! Why a call is refused.

use core::fmt;

use crate::format::Malformed;

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The connection isn't known, or has been forgotten.
    Unknown,
    /// The connection isn't in a state for this.
    State,
    /// The service is listened to already.
    InUse,
    /// There are as many connections as there may be.
    Full,
    /// A value doesn't fit its field.
    Malformed(Malformed),
}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("the connection isn't known"),
            Self::State => f.write_str("the connection is in another state"),
            Self::InUse => f.write_str("the service is in use"),
            Self::Full => f.write_str("there are too many connections"),
            Self::Malformed(malformed) => malformed.fmt(f),
        }
    }
}

impl core::error::Error for Error {}
