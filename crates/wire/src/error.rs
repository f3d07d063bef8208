//! Why bytes aren't a packet, or a packet can't become bytes.

use core::fmt;

/// What is wrong with a packet, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Error {
    /// The header or field.
    pub field: Field,
    /// What is wrong with it.
    pub reason: Reason,
    /// What was found there: the number of bytes for [`Reason::Truncated`], [`Reason::NoRoom`] and
    /// [`Reason::Excess`], otherwise the value of the field.
    pub found: u32,
}

impl Error {
    pub(crate) const fn new(field: Field, reason: Reason, found: u32) -> Self {
        Self {
            field,
            reason,
            found,
        }
    }

    /// An error about a number of bytes.
    pub(crate) const fn counted(field: Field, reason: Reason, bytes: usize) -> Self {
        // More than 4 GiB is as wrong as 4 GiB.
        let found = if bytes > u32::MAX as usize {
            u32::MAX
        } else {
            bytes as u32
        };
        Self::new(field, reason, found)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, found, .. } = self;
        match self.reason {
            Reason::Truncated => write!(f, "{field}: ends after {found} bytes"),
            Reason::NoRoom => write!(f, "{field}: doesn't fit into {found} bytes"),
            Reason::Excess => write!(f, "{field}: {found} bytes where none belong"),
            Reason::Unsupported => write!(f, "{field}: {found:#x} isn't supported"),
            Reason::Reserved => write!(f, "{field}: {found:#x} is reserved"),
            Reason::OutOfRange => write!(f, "{field}: {found:#x} has too many bits"),
            Reason::Inconsistent => write!(f, "{field}: {found:#x} contradicts another field"),
            Reason::Corrupt => write!(f, "{field}: {found:#x} doesn't match the bytes it covers"),
        }?;
        write!(f, ", expected {}", field.expected())
    }
}

impl core::error::Error for Error {}

/// Defines an enum whose variants can be counted in an array.
macro_rules! countable {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// Every variant, at its [`index`](Self::index).
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
            /// How many variants there are, for arrays of counters.
            pub const COUNT: usize = Self::ALL.len();

            /// The position of this variant among all.
            pub const fn index(self) -> usize {
                self as usize
            }
        }
    };
}

countable! {
    /// What can be wrong with a field.
    Reason {
        /// The bytes end before the field does.
        Truncated,
        /// The buffer to write to is too small.
        NoRoom,
        /// There are bytes where this kind of packet has none.
        Excess,
        /// The value has a meaning, and no part in RoCEv2.
        Unsupported,
        /// The specification gives the value no meaning.
        Reserved,
        /// The value has more bits than the field.
        OutOfRange,
        /// The value contradicts another field.
        Inconsistent,
        /// A checksum differs from that of the bytes it covers.
        Corrupt,
    }
}

countable! {
    /// The headers and fields that can be wrong.
    Field {
        /// The base transport header as a whole.
        Bth,
        /// Its operation code.
        Opcode,
        /// Its number of pad bytes.
        PadCount,
        /// Its transport header version.
        Version,
        /// Its partition key.
        PartitionKey,
        /// Its destination queue pair.
        Destination,
        /// The RDMA extended transport header.
        Reth,
        /// The acknowledge extended transport header.
        Aeth,
        /// Its syndrome.
        Syndrome,
        /// Its message sequence number.
        Msn,
    }
}

impl Field {
    /// What a packet of RoCEv2 has there.
    const fn expected(self) -> &'static str {
        match self {
            Self::Bth => "12 bytes",
            Self::Opcode => "an opcode of RC, UC, UD or CNP",
            Self::PadCount => "0 to 3",
            Self::Version => "0",
            Self::PartitionKey => "16 bits",
            Self::Destination => "24 bits",
            Self::Reth => "16 bytes",
            Self::Aeth => "4 bytes",
            Self::Syndrome => "ACK, RNR NAK or NAK with a code of 0 to 4",
            Self::Msn => "24 bits",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bth => "BTH",
            Self::Opcode => "BTH opcode",
            Self::PadCount => "BTH pad count",
            Self::Version => "BTH version",
            Self::PartitionKey => "BTH partition key",
            Self::Destination => "BTH destination QP",
            Self::Reth => "RETH",
            Self::Aeth => "AETH",
            Self::Syndrome => "AETH syndrome",
            Self::Msn => "AETH MSN",
        })
    }
}
