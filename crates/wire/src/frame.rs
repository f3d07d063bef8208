//! Whole packets: transport in UDP in IP, and in Ethernet.
//!
//! ```text
//! +----------+-----------------------------------------------+
//! |          |                   Datagram                    |
//! | Ethernet +---------+-----+------------------------+------+
//! |          | Network | UDP |         Packet         | ICRC |
//! +----------+---------+-----+------------------------+------+
//! ```

use core::fmt;
use core::net::IpAddr;

use crate::bytes::room;
use crate::error::{Error, Field, Reason};
use crate::ethernet::{EtherType, Ethernet};
use crate::headers::Headers;
use crate::icrc::{Icrc, IcrcDigest};
use crate::ipv4::Ipv4;
use crate::ipv6::{Ipv6, NextHeader};
use crate::packet::Packet;
use crate::traffic::Traffic;
use crate::udp::Udp;

/// The IP header of a packet, of either version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    /// IPv4.
    Ipv4(Ipv4),
    /// IPv6.
    Ipv6(Ipv6),
}

impl Network {
    /// Length of a global route header in bytes.
    pub const GRH_LENGTH: usize = Ipv6::LENGTH;

    /// A header between these addresses with the defaults of [`Ipv4::new`] and [`Ipv6::new`], `None` if
    /// their versions differ.
    pub const fn between(source: IpAddr, destination: IpAddr) -> Option<Self> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                Some(Self::Ipv4(Ipv4::new(source, destination)))
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                Some(Self::Ipv6(Ipv6::new(source, destination)))
            }
            _ => None,
        }
    }

    /// Length in bytes.
    #[inline]
    pub const fn length(&self) -> usize {
        match self {
            Self::Ipv4(_) => Ipv4::LENGTH,
            Self::Ipv6(_) => Ipv6::LENGTH,
        }
    }

    /// What Ethernet calls it.
    #[inline]
    pub const fn ethertype(&self) -> EtherType {
        match self {
            Self::Ipv4(_) => EtherType::Ipv4,
            Self::Ipv6(_) => EtherType::Ipv6,
        }
    }

    /// Takes the header off the front of `bytes` and returns what it carries, as far as its length says.
    ///
    /// # Errors
    /// As [`Ipv4::parse`] and [`Ipv6::parse`].
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        match bytes.first().map(|first| first >> 4) {
            Some(6) => Ipv6::parse(bytes).map(|(header, rest)| (Self::Ipv6(header), rest)),
            _ => Ipv4::parse(bytes).map(|(header, rest)| (Self::Ipv4(header), rest)),
        }
    }

    /// Writes the header of a packet that carries `payload` bytes to the front of `buffer` and returns the
    /// room behind it.
    ///
    /// # Errors
    /// As [`Ipv4::emit`] and [`Ipv6::emit`].
    #[inline]
    pub fn emit<'a>(&self, payload: usize, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        match self {
            Self::Ipv4(header) => header.emit(payload, buffer),
            Self::Ipv6(header) => header.emit(payload, buffer),
        }
    }

    /// Writes what the first 40 bytes of a UD receive hold (A17.4.5.1): the IPv6 header as it is, or 20
    /// zero bytes and the IPv4 header. `payload` is what the packet carries.
    ///
    /// # Errors
    /// As [`Network::emit`].
    pub fn emit_grh<'a>(
        &self,
        payload: usize,
        buffer: &'a mut [u8],
    ) -> Result<&'a mut [u8], Error> {
        const UNUSED: usize = Network::GRH_LENGTH - Ipv4::LENGTH;
        let Self::Ipv4(header) = self else {
            return self.emit(payload, buffer);
        };
        let (unused, rest) = room::<UNUSED>(buffer, Field::Ipv4)?;
        unused.fill(0);
        header.emit(payload, rest)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ipv4(header) => header.fmt(f),
            Self::Ipv6(header) => header.fmt(f),
        }
    }
}

/// A packet of RoCEv2 from its IP header to its ICRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Datagram<'a> {
    /// The IP header.
    pub network: Network,
    /// The UDP header.
    pub udp: Udp,
    /// The packet.
    pub packet: Packet<'a>,
}

impl<'a> Datagram<'a> {
    /// Length of the longest headers in bytes, from IP to the last extension header.
    pub const MAX_HEADER_LENGTH: usize = Ipv6::LENGTH + Udp::LENGTH + Headers::MAX_LENGTH;

    /// Length in bytes.
    #[inline]
    pub const fn length(&self) -> usize {
        self.network.length() + Udp::LENGTH + self.packet.length()
    }

    /// Reads a packet from its IP header on and checks its ICRC. Bytes behind it are ignored.
    ///
    /// # Errors
    /// If it isn't a packet of RoCEv2, or the ICRC is wrong.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let (network, rest) = Network::parse(bytes)?;
        if let Network::Ipv6(header) = network {
            expect_udp(&header)?;
        }
        let (udp, payload) = Udp::parse(rest)?;
        if udp.destination_port != Udp::ROCE_PORT {
            let found = udp.destination_port.into();
            return Err(Error::new(Field::UdpPort, Reason::Unsupported, found));
        }
        let (packet, icrc) = Packet::parse(payload)?;
        let covered = network.length() + rest.len() - Icrc::LENGTH;
        Icrc::compute(&bytes[..covered])?.expect(icrc)?;
        Ok(Self {
            network,
            udp,
            packet,
        })
    }

    /// Writes the packet with its ICRC to the front of `buffer` and returns its length.
    ///
    /// # Errors
    /// If the buffer is too small, a value doesn't fit its field, or fields contradict each other.
    #[inline]
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let rest = self.emit_lower(buffer)?;
        self.packet.emit(rest)?;
        Icrc::append(buffer, self.length() - Icrc::LENGTH)
    }

    /// Writes the payload of the UDP datagram, from the BTH to the ICRC, to the front of `buffer` and returns
    /// its length: what a UDP socket sends that makes the IP and UDP header that are given here.
    ///
    /// # Errors
    /// As [`Datagram::emit`].
    #[inline]
    pub fn emit_payload(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let rest = self.packet.emit(buffer)?;
        let there = rest.len();
        let place = rest
            .first_chunk_mut()
            .ok_or_else(|| Error::counted(Field::Icrc, Reason::NoRoom, there))?;
        *place = self.icrc()?.bytes();
        Ok(self.packet.length())
    }

    /// The ICRC of the packet, wherever its payload lies.
    ///
    /// # Errors
    /// If a value doesn't fit its field, or fields contradict each other.
    #[inline]
    pub fn icrc(&self) -> Result<Icrc, Error> {
        const USUAL: usize = Datagram::MAX_HEADER_LENGTH;
        const LONGEST: usize = USUAL + Traffic::MAX_LENGTH;
        self.packet.check()?;
        let mut digest = match self.packet.traffic {
            Traffic::None => self.digest::<USUAL>()?,
            _ => self.digest::<LONGEST>()?,
        };
        digest.update(self.packet.payload);
        digest.update(self.packet.pad());
        Ok(digest.finish())
    }

    /// The ICRC of all headers in the making, which fit in so many bytes.
    #[inline]
    fn digest<const ROOM: usize>(&self) -> Result<IcrcDigest, Error> {
        let mut headers = [0; ROOM];
        let rest = self.packet.headers.emit(self.emit_lower(&mut headers)?)?;
        let rest = self.packet.traffic.emit(rest)?;
        let length = ROOM - rest.len();
        IcrcDigest::new(&headers[..length])
    }

    /// Writes the IP and UDP header and returns the room behind them.
    #[inline]
    fn emit_lower<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
        if let Network::Ipv6(header) = self.network {
            expect_udp(&header)?;
        }
        let payload = self.packet.length();
        let rest = self.network.emit(Udp::LENGTH + payload, buffer)?;
        self.udp.emit(payload, rest)
    }
}

fn expect_udp(header: &Ipv6) -> Result<(), Error> {
    match header.next_header {
        NextHeader::Udp => Ok(()),
        other => {
            let found = other as u32;
            Err(Error::new(Field::Protocol, Reason::Unsupported, found))
        }
    }
}

impl fmt::Display for Datagram<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} | {} | {}", self.network, self.udp, self.packet)
    }
}

/// A packet of RoCEv2 from its Ethernet header to its ICRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame<'a> {
    /// The Ethernet header.
    pub ethernet: Ethernet,
    /// What it carries.
    pub datagram: Datagram<'a>,
}

impl<'a> Frame<'a> {
    /// Length in bytes, without frame check sequence and without what fills short frames up.
    #[inline]
    pub const fn length(&self) -> usize {
        self.ethernet.length() + self.datagram.length()
    }

    /// Reads a frame and checks its ICRC. Bytes behind the packet are ignored.
    ///
    /// # Errors
    /// If it doesn't carry a packet of RoCEv2, or the ICRC is wrong.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let (ethernet, rest) = Ethernet::parse(bytes)?;
        let datagram = Datagram::parse(rest)?;
        check_ethertype(&ethernet, &datagram.network)?;
        Ok(Self { ethernet, datagram })
    }

    /// Writes the frame to the front of `buffer` and returns its length. Neither frame check sequence nor
    /// what fills short frames up is written: NICs add both.
    ///
    /// # Errors
    /// If the buffer is too small, a value doesn't fit its field, or fields contradict each other.
    #[inline]
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        check_ethertype(&self.ethernet, &self.datagram.network)?;
        let rest = self.ethernet.emit(buffer)?;
        Ok(self.ethernet.length() + self.datagram.emit(rest)?)
    }
}

fn check_ethertype(ethernet: &Ethernet, network: &Network) -> Result<(), Error> {
    if ethernet.ethertype == network.ethertype() {
        Ok(())
    } else {
        let found = ethernet.ethertype as u32;
        Err(Error::new(Field::EtherType, Reason::Inconsistent, found))
    }
}

impl fmt::Display for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} | {}", self.ethernet, self.datagram)
    }
}
