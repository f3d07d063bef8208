//! What is connected to, and by which kind of service.

/// What a request names that it wants to be connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceId(pub u64);

impl ServiceId {
    /// The service behind a port of the IP service (IBTA A11.2).
    pub const fn of_port(space: PortSpace, port: u16) -> Self {
        Self((space.0 as u64) << 16 | port as u64)
    }

    /// Port space and port, if it is one of the IP service.
    pub const fn port(self) -> Option<(PortSpace, u16)> {
        if self.0 >> 32 == 0 {
            Some((PortSpace((self.0 >> 16) as u16), self.0 as u16))
        } else {
            None
        }
    }
}

/// Ports of one space don't collide with those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortSpace(pub u16);

impl PortSpace {
    /// IP over InfiniBand.
    pub const IPOIB: Self = Self(0x0002);
    /// Connections.
    pub const TCP: Self = Self(0x0106);
    /// Datagrams.
    pub const UDP: Self = Self(0x0111);
    /// Any service.
    pub const IB: Self = Self(0x013f);
}

/// The kind of service of a connection, as REQ codes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// Reliable connection.
    #[default]
    Reliable,
    /// Unreliable connection.
    Unreliable,
    /// Reliable datagram.
    ReliableDatagram,
    /// One that the extended field names.
    Extended,
}

impl Service {
    /// The service of the low two bits.
    pub(crate) const fn of_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Reliable,
            1 => Self::Unreliable,
            2 => Self::ReliableDatagram,
            _ => Self::Extended,
        }
    }

    pub(crate) const fn bits(self) -> u8 {
        self as u8
    }
}
