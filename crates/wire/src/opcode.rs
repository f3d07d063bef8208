//! Operation codes of the BTH (IBTA 9.2.1, table 38; A17.9.3 for CNP).
//!
//! The upper three bits name the service (RC 000, UC 001, UD 011), the lower five the operation and
//! the packet's position in its message. CNP has a code of its own, outside the services.
//!
//! Codes that begin with 11 are for manufacturers. Fairlane uses those that begin with 110: the lower five
//! bits are those of RC, and a header of traffic management follows the extension headers (`docs/wire.md`). One of
//! them has no counterpart in RC: READ feedback, which always has that header.

use core::fmt;

use crate::error::{Error, Field, Reason};

/// The transport service that a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Unreliable datagram.
    Ud,
    /// Congestion notification of RoCEv2.
    Cnp,
}

/// What a packet does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// SEND: data for a buffer that the receiver has posted.
    Send,
    /// RDMA WRITE: data for an address in the receiver's memory.
    Write,
    /// RDMA READ request.
    ReadRequest,
    /// Data that answers an RDMA READ request.
    ReadResponse,
    /// Acknowledgement or negative acknowledgement.
    Acknowledge,
    /// The original value that answers an atomic operation.
    AtomicAcknowledge,
    /// Atomic compare and swap.
    CompareSwap,
    /// Atomic fetch and add.
    FetchAdd,
    /// Congestion notification.
    CongestionNotification,
    /// What a requester says of the data that answers its READ; Fairlane's own.
    ReadFeedback,
}

/// Where in its message a packet stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// The first of several.
    First,
    /// Neither first nor last.
    Middle,
    /// The last of several.
    Last,
    /// The only one.
    Only,
}

impl Position {
    /// Whether the packet begins a message.
    pub const fn begins(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    /// Whether the packet ends a message.
    pub const fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

/// Which extension headers follow the BTH, in the order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExtensionKind {
    /// None.
    None,
    /// ImmDt.
    Immediate,
    /// IETH.
    Invalidate,
    /// RETH.
    Rdma,
    /// RETH and ImmDt.
    RdmaImmediate,
    /// AETH.
    Acknowledge,
    /// AETH and AtomicAckETH.
    AtomicAcknowledge,
    /// AtomicETH.
    Atomic,
    /// DETH.
    Datagram,
    /// DETH and ImmDt.
    DatagramImmediate,
    /// The reserved bytes of a CNP.
    Cnp,
}

impl ExtensionKind {
    /// Length in bytes.
    pub const fn length(self) -> usize {
        match self {
            Self::None => 0,
            Self::Immediate | Self::Invalidate | Self::Acknowledge => 4,
            Self::Datagram => 8,
            Self::AtomicAcknowledge | Self::DatagramImmediate => 12,
            Self::Rdma | Self::Cnp => 16,
            Self::RdmaImmediate => 20,
            Self::Atomic => 28,
        }
    }
}

/// Which header of traffic management may stand between extension headers and payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrafficKind {
    /// None.
    None,
    /// TETH.
    Data,
    /// FETH.
    Feedback,
}

/// Defines the opcodes from one table: name, code, service, operation, position, extension headers.
macro_rules! opcodes {
    ($($(#[$doc:meta])* $name:ident = $code:literal,
        $service:ident $operation:ident $position:ident $extension:ident;)*) => {
        /// An operation code: service, operation and position in one byte.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Opcode { $($(#[$doc])* $name = $code,)* }

        impl Opcode {
            /// Every opcode, in the order of codes.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The opcode with this code, `None` if there is none.
            #[inline]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The service that the packet belongs to.
            #[inline]
            pub const fn service(self) -> Service {
                match self { $(Self::$name => Service::$service,)* }
            }

            /// What the packet does.
            #[inline]
            pub const fn operation(self) -> Operation {
                match self { $(Self::$name => Operation::$operation,)* }
            }

            /// Where in its message the packet stands.
            #[inline]
            pub const fn position(self) -> Position {
                match self { $(Self::$name => Position::$position,)* }
            }

            /// Which extension headers follow the BTH.
            #[inline]
            pub const fn extension(self) -> ExtensionKind {
                match self { $(Self::$name => ExtensionKind::$extension,)* }
            }
        }
    };
}

opcodes! {
    /// RC SEND First.
    RcSendFirst = 0x00, Rc Send First None;
    /// RC SEND Middle.
    RcSendMiddle = 0x01, Rc Send Middle None;
    /// RC SEND Last.
    RcSendLast = 0x02, Rc Send Last None;
    /// RC SEND Last with Immediate.
    RcSendLastWithImmediate = 0x03, Rc Send Last Immediate;
    /// RC SEND Only.
    RcSendOnly = 0x04, Rc Send Only None;
    /// RC SEND Only with Immediate.
    RcSendOnlyWithImmediate = 0x05, Rc Send Only Immediate;
    /// RC RDMA WRITE First.
    RcWriteFirst = 0x06, Rc Write First Rdma;
    /// RC RDMA WRITE Middle.
    RcWriteMiddle = 0x07, Rc Write Middle None;
    /// RC RDMA WRITE Last.
    RcWriteLast = 0x08, Rc Write Last None;
    /// RC RDMA WRITE Last with Immediate.
    RcWriteLastWithImmediate = 0x09, Rc Write Last Immediate;
    /// RC RDMA WRITE Only.
    RcWriteOnly = 0x0a, Rc Write Only Rdma;
    /// RC RDMA WRITE Only with Immediate.
    RcWriteOnlyWithImmediate = 0x0b, Rc Write Only RdmaImmediate;
    /// RC RDMA READ Request.
    RcReadRequest = 0x0c, Rc ReadRequest Only Rdma;
    /// RC RDMA READ response First.
    RcReadResponseFirst = 0x0d, Rc ReadResponse First Acknowledge;
    /// RC RDMA READ response Middle.
    RcReadResponseMiddle = 0x0e, Rc ReadResponse Middle None;
    /// RC RDMA READ response Last.
    RcReadResponseLast = 0x0f, Rc ReadResponse Last Acknowledge;
    /// RC RDMA READ response Only.
    RcReadResponseOnly = 0x10, Rc ReadResponse Only Acknowledge;
    /// RC Acknowledge.
    RcAcknowledge = 0x11, Rc Acknowledge Only Acknowledge;
    /// RC ATOMIC Acknowledge.
    RcAtomicAcknowledge = 0x12, Rc AtomicAcknowledge Only AtomicAcknowledge;
    /// RC CmpSwap.
    RcCompareSwap = 0x13, Rc CompareSwap Only Atomic;
    /// RC FetchAdd.
    RcFetchAdd = 0x14, Rc FetchAdd Only Atomic;
    /// RC SEND Last with Invalidate.
    RcSendLastWithInvalidate = 0x16, Rc Send Last Invalidate;
    /// RC SEND Only with Invalidate.
    RcSendOnlyWithInvalidate = 0x17, Rc Send Only Invalidate;
    /// UC SEND First.
    UcSendFirst = 0x20, Uc Send First None;
    /// UC SEND Middle.
    UcSendMiddle = 0x21, Uc Send Middle None;
    /// UC SEND Last.
    UcSendLast = 0x22, Uc Send Last None;
    /// UC SEND Last with Immediate.
    UcSendLastWithImmediate = 0x23, Uc Send Last Immediate;
    /// UC SEND Only.
    UcSendOnly = 0x24, Uc Send Only None;
    /// UC SEND Only with Immediate.
    UcSendOnlyWithImmediate = 0x25, Uc Send Only Immediate;
    /// UC RDMA WRITE First.
    UcWriteFirst = 0x26, Uc Write First Rdma;
    /// UC RDMA WRITE Middle.
    UcWriteMiddle = 0x27, Uc Write Middle None;
    /// UC RDMA WRITE Last.
    UcWriteLast = 0x28, Uc Write Last None;
    /// UC RDMA WRITE Last with Immediate.
    UcWriteLastWithImmediate = 0x29, Uc Write Last Immediate;
    /// UC RDMA WRITE Only.
    UcWriteOnly = 0x2a, Uc Write Only Rdma;
    /// UC RDMA WRITE Only with Immediate.
    UcWriteOnlyWithImmediate = 0x2b, Uc Write Only RdmaImmediate;
    /// UD SEND Only.
    UdSendOnly = 0x64, Ud Send Only Datagram;
    /// UD SEND Only with Immediate.
    UdSendOnlyWithImmediate = 0x65, Ud Send Only DatagramImmediate;
    /// Congestion notification packet of RoCEv2.
    Cnp = 0x81, Cnp CongestionNotification Only Cnp;
    /// Feedback for a packet of an RC RDMA READ response; Fairlane's own.
    RcReadFeedback = 0xd5, Rc ReadFeedback Only None;
}

/// The upper three bits of an RC packet with a header of traffic management.
const WITH_TRAFFIC: u8 = 0b110;
const OPERATION_BITS: u32 = 5;

impl Opcode {
    /// The code, as the first byte of the BTH.
    #[inline]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Whether a responder sends the packet: data of a READ, or an acknowledgement.
    #[inline]
    pub const fn is_response(self) -> bool {
        matches!(
            self.operation(),
            Operation::ReadResponse | Operation::Acknowledge | Operation::AtomicAcknowledge
        )
    }

    /// Whether a requester asks something with the packet. A CNP and READ feedback are neither request nor
    /// response.
    #[inline]
    pub const fn is_request(self) -> bool {
        !self.is_response() && !matches!(self, Self::Cnp | Self::RcReadFeedback)
    }

    /// Which header of traffic management the packet may have; READ feedback must have it.
    #[inline]
    pub const fn traffic(self) -> TrafficKind {
        match (self.service(), self.operation()) {
            (
                Service::Rc,
                Operation::Acknowledge | Operation::AtomicAcknowledge | Operation::ReadFeedback,
            ) => TrafficKind::Feedback,
            (Service::Rc, Operation::ReadRequest) => TrafficKind::None,
            (Service::Rc, _) => TrafficKind::Data,
            _ => TrafficKind::None,
        }
    }

    /// The code of the packet with a header of traffic management, `None` if it can't have one.
    #[inline]
    pub const fn code_with_traffic(self) -> Option<u8> {
        match self.traffic() {
            TrafficKind::None => None,
            // READ feedback has these bits already.
            _ => Some(WITH_TRAFFIC << OPERATION_BITS | self.code()),
        }
    }

    /// The opcode whose code with a header of traffic management this is, `None` if there is none.
    #[inline]
    pub const fn from_code_with_traffic(code: u8) -> Option<Self> {
        if code >> OPERATION_BITS != WITH_TRAFFIC {
            return None;
        }
        let usual = match Self::from_code(code) {
            None => Self::from_code(code & !(WITH_TRAFFIC << OPERATION_BITS)),
            own => own,
        };
        match usual {
            Some(opcode) if !matches!(opcode.traffic(), TrafficKind::None) => Some(opcode),
            _ => None,
        }
    }

    /// Whether the packet may carry payload.
    #[inline]
    pub const fn has_payload(self) -> bool {
        matches!(
            self.operation(),
            Operation::Send | Operation::Write | Operation::ReadResponse
        )
    }

    /// Whether a RETH follows: address, key and length of an RDMA operation.
    #[inline]
    pub const fn has_reth(self) -> bool {
        matches!(
            self.extension(),
            ExtensionKind::Rdma | ExtensionKind::RdmaImmediate
        )
    }

    /// Whether an AETH follows: syndrome and message sequence number.
    #[inline]
    pub const fn has_aeth(self) -> bool {
        matches!(
            self.extension(),
            ExtensionKind::Acknowledge | ExtensionKind::AtomicAcknowledge
        )
    }

    /// Whether an AtomicETH follows: address, key and operands.
    #[inline]
    pub const fn has_atomic_eth(self) -> bool {
        matches!(self.extension(), ExtensionKind::Atomic)
    }

    /// Whether an AtomicAckETH follows: the original value.
    #[inline]
    pub const fn has_atomic_ack_eth(self) -> bool {
        matches!(self.extension(), ExtensionKind::AtomicAcknowledge)
    }

    /// Whether immediate data follows.
    #[inline]
    pub const fn has_immediate(self) -> bool {
        matches!(
            self.extension(),
            ExtensionKind::Immediate
                | ExtensionKind::RdmaImmediate
                | ExtensionKind::DatagramImmediate
        )
    }

    /// Whether an IETH follows: the key to invalidate.
    #[inline]
    pub const fn has_ieth(self) -> bool {
        matches!(self.extension(), ExtensionKind::Invalidate)
    }

    /// Whether a DETH follows: queue key and source queue pair.
    #[inline]
    pub const fn has_deth(self) -> bool {
        matches!(
            self.extension(),
            ExtensionKind::Datagram | ExtensionKind::DatagramImmediate
        )
    }

    /// Bytes of the BTH and all extension headers.
    #[inline]
    pub const fn header_length(self) -> usize {
        crate::Bth::LENGTH + self.extension().length()
    }
}

impl TryFrom<u8> for Opcode {
    type Error = Error;

    #[inline]
    fn try_from(code: u8) -> Result<Self, Error> {
        Self::from_code(code)
            .ok_or_else(|| Error::new(Field::Opcode, Reason::Unsupported, code.into()))
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_opcodes_are_one_to_one() {
        let known = (0..=u8::MAX).filter_map(Opcode::from_code);
        assert!(known.eq(Opcode::ALL.iter().copied()));
        for code in 0..=u8::MAX {
            match Opcode::try_from(code) {
                Ok(opcode) => assert_eq!(opcode.code(), code),
                Err(error) => assert_eq!(error.found, u32::from(code)),
            }
        }
    }

    #[test]
    fn the_upper_bits_name_the_service() {
        for opcode in Opcode::ALL {
            let service = match opcode.code() >> 5 {
                0b000 => Service::Rc,
                0b001 => Service::Uc,
                0b011 => Service::Ud,
                WITH_TRAFFIC => Service::Rc,
                _ => Service::Cnp,
            };
            assert_eq!(opcode.service(), service, "{opcode}");
        }
    }

    /// IBTA table 38 lists the same operations for UC as for RC, as far as UC has them.
    #[test]
    fn unreliable_connections_repeat_the_codes_of_reliable_ones() {
        for unreliable in Opcode::ALL.iter().filter(|o| o.service() == Service::Uc) {
            let reliable = Opcode::from_code(unreliable.code() & 0x1f).expect("RC has it");
            assert_eq!(unreliable.operation(), reliable.operation());
            assert_eq!(unreliable.position(), reliable.position());
            assert_eq!(unreliable.extension(), reliable.extension());
        }
    }

    #[test]
    fn header_lengths_are_the_sum_of_headers() {
        for opcode in Opcode::ALL {
            let parts = [
                (opcode.has_reth(), 16),
                (opcode.has_aeth(), 4),
                (opcode.has_atomic_eth(), 28),
                (opcode.has_atomic_ack_eth(), 8),
                (opcode.has_immediate(), 4),
                (opcode.has_ieth(), 4),
                (opcode.has_deth(), 8),
                (*opcode == Opcode::Cnp, 16),
            ];
            let sum: usize = parts
                .iter()
                .map(|(there, length)| if *there { *length } else { 0 })
                .sum();
            assert_eq!(opcode.header_length(), 12 + sum, "{opcode}");
        }
    }

    #[test]
    fn requests_responses_and_notifications_are_told_apart() {
        let count = |test: fn(Opcode) -> bool| Opcode::ALL.iter().filter(|o| test(**o)).count();
        assert_eq!(count(Opcode::is_response), 6);
        assert_eq!(count(Opcode::is_request), Opcode::ALL.len() - 8);
        assert_eq!(count(Opcode::has_payload), Opcode::ALL.len() - 7);
    }

    /// IBTA table 38: codes from 0xc0 on are for manufacturers.
    #[test]
    fn codes_with_a_traffic_header_are_those_of_manufacturers() {
        assert_eq!(Opcode::RcWriteMiddle.code_with_traffic(), Some(0xc7));
        assert_eq!(Opcode::RcAcknowledge.code_with_traffic(), Some(0xd1));
        assert_eq!(Opcode::RcReadFeedback.code_with_traffic(), Some(0xd5));
        for code in 0..=u8::MAX {
            let opcode = Opcode::from_code_with_traffic(code);
            assert!(
                opcode.is_none() || (0xc0..0xe0).contains(&code),
                "{code:#x}"
            );
            assert!(opcode.is_none_or(|it| it.code_with_traffic() == Some(code)));
        }
        for opcode in Opcode::ALL {
            let code = opcode.code_with_traffic();
            assert_eq!(code.is_some(), opcode.traffic() != TrafficKind::None);
            assert!(code.is_none_or(|code| Opcode::from_code_with_traffic(code) == Some(*opcode)));
        }
    }

    #[test]
    fn data_of_reliable_connections_and_replies_may_have_a_traffic_header() {
        let kinds = [
            (Opcode::RcSendLastWithInvalidate, TrafficKind::Data),
            (Opcode::RcWriteOnly, TrafficKind::Data),
            (Opcode::RcFetchAdd, TrafficKind::Data),
            (Opcode::RcReadResponseMiddle, TrafficKind::Data),
            (Opcode::RcReadRequest, TrafficKind::None),
            (Opcode::RcAcknowledge, TrafficKind::Feedback),
            (Opcode::RcAtomicAcknowledge, TrafficKind::Feedback),
            (Opcode::RcReadFeedback, TrafficKind::Feedback),
            (Opcode::UcWriteOnly, TrafficKind::None),
            (Opcode::UdSendOnly, TrafficKind::None),
            (Opcode::Cnp, TrafficKind::None),
        ];
        for (opcode, kind) in kinds {
            assert_eq!(opcode.traffic(), kind, "{opcode}");
        }
    }
}
