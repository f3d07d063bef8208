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
            Reason::OutOfRange => write!(f, "{field}: {found:#x} is out of range"),
            Reason::Inconsistent => write!(f, "{field}: {found:#x} contradicts another field"),
            Reason::Corrupt => write!(f, "{field}: {found:#x} doesn't match the bytes it covers"),
        }?;
        write!(f, ", expected {}", field.expected())
    }
}

impl core::error::Error for Error {}

/// Defines an enum whose variants have a name and can be counted in an array.
macro_rules! countable {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident: $text:literal,)*
    }) => {
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

            /// The name that people read.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

countable! {
    /// What can be wrong with a field.
    Reason {
        /// The bytes end before the field does.
        Truncated: "truncated",
        /// The buffer to write to is too small.
        NoRoom: "no room",
        /// There are bytes where this kind of packet has none.
        Excess: "excess bytes",
        /// The value has a meaning, and no part in RoCEv2.
        Unsupported: "unsupported",
        /// The specification gives the value no meaning.
        Reserved: "reserved",
        /// The value is larger than its field or than what the field may say.
        OutOfRange: "out of range",
        /// The value contradicts another field or the number of bytes.
        Inconsistent: "inconsistent",
        /// A checksum differs from that of the bytes it covers.
        Corrupt: "corrupt",
    }
}

countable! {
    /// The headers and fields that can be wrong.
    Field {
        /// The Ethernet header as a whole.
        Ethernet: "Ethernet",
        /// The 802.1Q tag.
        VlanTag: "802.1Q tag",
        /// The type of what Ethernet carries.
        EtherType: "EtherType",
        /// The IPv4 header as a whole.
        Ipv4: "IPv4",
        /// The IPv6 header as a whole.
        Ipv6: "IPv6",
        /// The version of the IP header.
        IpVersion: "IP version",
        /// The length of the IPv4 header, which tells whether there are options.
        HeaderLength: "IPv4 header length",
        /// The length that the IP header states.
        IpLength: "IP length",
        /// The IPv4 header checksum.
        HeaderChecksum: "IPv4 header checksum",
        /// The fragment offset and the flag for more fragments.
        Fragment: "IPv4 fragment",
        /// The protocol in the IPv4 header, the next header in the IPv6 header.
        Protocol: "IP protocol",
        /// The DSCP in the IP header.
        Dscp: "DSCP",
        /// The IPv6 flow label.
        FlowLabel: "IPv6 flow label",
        /// The UDP header as a whole.
        Udp: "UDP",
        /// The UDP destination port.
        UdpPort: "UDP destination port",
        /// The length that the UDP header states.
        UdpLength: "UDP length",
        /// The base transport header as a whole.
        Bth: "BTH",
        /// Its operation code.
        Opcode: "BTH opcode",
        /// Its number of pad bytes.
        PadCount: "BTH pad count",
        /// Its transport header version.
        Version: "BTH version",
        /// Its partition key.
        PartitionKey: "BTH partition key",
        /// Its destination queue pair.
        Destination: "BTH destination QP",
        /// The extension headers that follow the BTH.
        Extension: "extension headers",
        /// The RDMA extended transport header.
        Reth: "RETH",
        /// The acknowledge extended transport header.
        Aeth: "AETH",
        /// Its syndrome.
        Syndrome: "AETH syndrome",
        /// Its message sequence number.
        Msn: "AETH MSN",
        /// The atomic extended transport header.
        AtomicEth: "AtomicETH",
        /// The atomic acknowledge extended transport header.
        AtomicAckEth: "AtomicAckETH",
        /// The immediate data.
        ImmDt: "ImmDt",
        /// The invalidate extended transport header.
        Ieth: "IETH",
        /// The datagram extended transport header.
        Deth: "DETH",
        /// Its source queue pair.
        SourceQp: "DETH source QP",
        /// The reserved bytes of a CNP.
        Cnp: "CNP",
        /// The header of traffic management as a whole.
        Traffic: "traffic header",
        /// The traffic extended transport header.
        Teth: "TETH",
        /// The feedback extended transport header.
        Feth: "FETH",
        /// A time stamp in one of them.
        TimeStamp: "time stamp",
        /// The telemetry in one of them.
        Telemetry: "telemetry",
        /// The room that it states.
        TelemetryRoom: "telemetry room",
        /// A record of telemetry.
        Hop: "telemetry record",
        /// The bytes that its port has sent.
        HopSent: "telemetry bytes sent",
        /// The rate of its port.
        HopRate: "telemetry rate",
        /// A MAD that tells of the headers of traffic management.
        Hello: "hello",
        /// The payload, pad bytes included.
        Payload: "payload",
        /// The invariant CRC.
        Icrc: "ICRC",
    }
}

impl Field {
    /// What a packet of RoCEv2 has there.
    pub const fn expected(self) -> &'static str {
        match self {
            Self::Ethernet => "14 bytes",
            Self::VlanTag => "4 bytes: 3-bit priority, 12-bit VLAN",
            Self::EtherType => "0x800 (IPv4) or 0x86dd (IPv6), in accord with the packet",
            Self::Ipv4 => "20 bytes",
            Self::Ipv6 => "40 bytes",
            Self::IpVersion => "4 or 6, in accord with the EtherType",
            Self::HeaderLength => "5 words, since RoCEv2 has no IPv4 options",
            Self::IpLength => "the length of the packet",
            Self::HeaderChecksum => "the checksum of RFC 791",
            Self::Fragment => "a whole packet",
            Self::Protocol => "17 (UDP)",
            Self::Dscp => "6 bits",
            Self::FlowLabel => "20 bits",
            Self::Udp | Self::Deth | Self::AtomicAckEth => "8 bytes",
            Self::UdpPort => "4791",
            Self::UdpLength => "the length that the IP header leaves",
            Self::Bth => "12 bytes",
            Self::Opcode => "an opcode of RC, UC, UD or CNP",
            Self::PadCount => "0 to 3, so that payload and pad are whole words",
            Self::Version => "0",
            Self::PartitionKey => "16 bits",
            Self::Destination | Self::SourceQp | Self::Msn => "24 bits",
            Self::Extension => "those of the opcode",
            Self::Reth | Self::Cnp => "16 bytes",
            Self::Aeth | Self::ImmDt | Self::Ieth | Self::TimeStamp => "4 bytes",
            Self::Syndrome => "ACK, RNR NAK, or NAK with a code of 0 to 4",
            Self::AtomicEth => "28 bytes",
            Self::Traffic => "a TETH with data of RC, a FETH with its replies and READ feedback",
            Self::Teth | Self::Feth => "4 bytes, and what their flags ask for",
            Self::Telemetry => "4 bytes, and 20 for each hop",
            Self::TelemetryRoom => "0 to 9 hops",
            Self::Hop => "20 bytes",
            Self::HopSent => "40 bits",
            Self::HopRate => "24 bits, in Mb/s",
            Self::Hello => {
                "a MAD of 256 bytes, of Fairlane's class, vendor and version, with a line rate"
            }
            Self::Payload => "whole words, and none if the opcode has none",
            Self::Icrc => "4 bytes, the CRC of A17",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_counted_at_their_index() {
        for (index, field) in Field::ALL.iter().enumerate() {
            assert_eq!(field.index(), index);
        }
        for (index, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(reason.index(), index);
        }
        assert_eq!(
            (Field::ALL.len(), Reason::ALL.len()),
            (Field::COUNT, Reason::COUNT)
        );
    }
}
