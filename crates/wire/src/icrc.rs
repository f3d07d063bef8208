//! Invariant CRC: the last four bytes of a packet (IBTA 7.8.1; A17 for what it covers in RoCEv2).
//!
//! ```text
//! +-------------------+----+-----+-----+-------------------+---------+-----+
//! | 8 bytes of ones   | IP | UDP | BTH | extension headers | payload | pad |
//! +-------------------+----+-----+-----+-------------------+---------+-----+
//!   for the LRH         with ones for what routers may change
//! ```
//!
//! The CRC is Ethernet's, its least significant byte sent first. Ones stand for: type of service, time
//! to live and header checksum of IPv4; traffic class, flow label and hop limit of IPv6; the UDP checksum;
//! FECN, BECN and the six reserved bits of the BTH; and what switches add to a TETH.

use core::fmt;
use core::ops::Range;

use crate::bth::Bth;
use crate::error::{Error, Field, Reason};
use crate::ipv4::Ipv4;
use crate::ipv6::{Ipv6, NextHeader};
use crate::telemetry::Telemetry;
use crate::traffic;
use crate::udp::Udp;

/// Bytes that change on the way, by their place in their header.
mod field {
    use core::ops::Range;

    /// Version 4 and a header of five words.
    pub(super) const IPV4_WITHOUT_OPTIONS: u8 = 0x45;
    pub(super) const IPV4_TYPE_OF_SERVICE: usize = 1;
    pub(super) const IPV4_TTL: usize = 8;
    pub(super) const IPV4_CHECKSUM: Range<usize> = 10..12;
    pub(super) const IPV6_VERSION: usize = 0;
    /// The part of the traffic class beside the version.
    pub(super) const IPV6_CLASS_BITS: u8 = 0x0f;
    pub(super) const IPV6_CLASS_AND_LABEL: Range<usize> = 1..4;
    pub(super) const IPV6_NEXT_HEADER: usize = 6;
    pub(super) const IPV6_HOP_LIMIT: usize = 7;
    pub(super) const UDP_CHECKSUM: Range<usize> = 6..8;
    pub(super) const BTH_CONGESTION: usize = 4;
}

/// The polynomial of IEEE 802.3 3.2.9, reflected.
const POLYNOMIAL: u32 = 0xedb8_8320;
/// How many bytes are taken at once.
const SLICE: usize = 16;

/// `TABLES[n][b]`: what byte `b` contributes to the remainder `n` bytes later.
static TABLES: [[u32; 256]; SLICE] = tables();

const fn tables() -> [[u32; 256]; SLICE] {
    let mut tables = [[0; 256]; SLICE];
    let mut byte = 0;
    while byte < 256 {
        tables[0][byte] = shift(byte as u32, 8);
        byte += 1;
    }
    let mut slice = 1;
    while slice < SLICE {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[slice - 1][byte];
            tables[slice][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        slice += 1;
    }
    tables
}

/// The remainder after `bits` zero bits.
const fn shift(mut remainder: u32, bits: u32) -> u32 {
    let mut bit = 0;
    while bit < bits {
        let carry = remainder & 1;
        remainder = (remainder >> 1) ^ (carry * POLYNOMIAL);
        bit += 1;
    }
    remainder
}

/// The remainder after the eight bytes of ones that stand for the LRH.
const AFTER_LRH: u32 = {
    // The first four bytes cancel the initial ones.
    let mut remainder = shift(0, 32);
    let mut byte = 0;
    while byte < 4 {
        remainder = shift(remainder ^ 0xff, 8);
        byte += 1;
    }
    remainder
};

/// `BACK[k][b]`: what bit `b` of a remainder was `2^k` zero bytes earlier.
static BACK: [[u32; 32]; 16] = back();

const fn back() -> [[u32; 32]; 16] {
    let mut tables = [[0; 32]; 16];
    let mut bit = 0;
    while bit < 32 {
        tables[0][bit] = unshift(1 << bit);
        bit += 1;
    }
    let mut power = 1;
    while power < 16 {
        let half = tables[power - 1];
        let mut bit = 0;
        while bit < 32 {
            tables[power][bit] = combine(&half, half[bit]);
            bit += 1;
        }
        power += 1;
    }
    tables
}

/// The remainder before eight zero bits.
const fn unshift(mut remainder: u32) -> u32 {
    let mut bit = 0;
    while bit < 8 {
        let carry = remainder >> 31;
        remainder = (remainder ^ (carry * POLYNOMIAL)) << 1 | carry;
        bit += 1;
    }
    remainder
}

/// A table of [`BACK`] applied to a remainder.
const fn combine(table: &[u32; 32], remainder: u32) -> u32 {
    let (mut before, mut bit) = (0, 0);
    while bit < 32 {
        before ^= table[bit] * (remainder >> bit & 1);
        bit += 1;
    }
    before
}

/// Bytes of an IPv4 header up to the end of its identification.
const THROUGH_IDENTIFICATION: usize = 6;

/// The last four bytes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Icrc(u32);

impl Icrc {
    /// Length in bytes.
    pub const LENGTH: usize = 4;

    /// The ICRC with this value, the CRC as an integer.
    pub const fn new(value: u32) -> Self {
        Self(value)
    }

    /// The value as an integer.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The ICRC that has these bytes on the wire.
    pub const fn from_bytes(bytes: [u8; Self::LENGTH]) -> Self {
        Self(u32::from_le_bytes(bytes))
    }

    /// The bytes on the wire.
    pub const fn bytes(self) -> [u8; Self::LENGTH] {
        self.0.to_le_bytes()
    }

    /// The ICRC of a packet, given from its IP header to its pad.
    ///
    /// # Errors
    /// If the bytes end before the BTH does, or don't begin with an IP header that RoCEv2 has.
    #[inline]
    pub fn compute(bytes: &[u8]) -> Result<Self, Error> {
        Ok(IcrcDigest::new(bytes)?.finish())
    }

    /// Writes the ICRC of the packet in the first `length` bytes of `buffer`, from its IP header to its pad,
    /// behind it, and returns the length of both.
    ///
    /// # Errors
    /// As [`Icrc::compute`], and if there is no room for it.
    pub fn append(buffer: &mut [u8], length: usize) -> Result<usize, Error> {
        let there = buffer.len();
        let no_room = || Error::counted(Field::Icrc, Reason::NoRoom, there);
        let (packet, rest) = buffer.split_at_mut_checked(length).ok_or_else(no_room)?;
        let place = rest.first_chunk_mut().ok_or_else(no_room)?;
        *place = Self::compute(packet)?.bytes();
        Ok(length + Self::LENGTH)
    }

    /// Checks the ICRC in the last four bytes of a packet that is given from its IP header on.
    ///
    /// # Errors
    /// As [`Icrc::compute`], and [`Reason::Corrupt`] if the ICRC is wrong.
    pub fn verify(bytes: &[u8]) -> Result<(), Error> {
        let (packet, icrc) = bytes
            .split_last_chunk()
            .ok_or_else(|| Error::counted(Field::Icrc, Reason::Truncated, bytes.len()))?;
        Self::compute(packet)?.expect(Self::from_bytes(*icrc))
    }

    /// The identification of an IPv4 header for which a packet has the ICRC `found`, if this is the ICRC with
    /// identification `assumed`, over `length` bytes from the IP header to the pad; `None` if there is none.
    ///
    /// A UDP socket doesn't tell the identification. As the CRC is linear, it follows from the ICRC: 32 bits say 16
    /// and check 16. A packet that was altered at random passes once in 65,536 times.
    pub fn identification(self, found: Self, assumed: u16, length: usize) -> Option<u16> {
        let behind = length.checked_sub(THROUGH_IDENTIFICATION)?;
        // The two bytes themselves have been shifted out, too.
        let mut zeros = behind + 2;
        let mut remainder = self.0 ^ found.0;
        for table in &BACK {
            if zeros & 1 != 0 {
                remainder = combine(table, remainder);
            }
            zeros >>= 1;
        }
        let difference = u16::try_from(remainder).ok().filter(|_| zeros == 0)?;
        Some(difference.swap_bytes() ^ assumed)
    }

    /// An error unless `found`, which a packet carries, is the same.
    #[inline]
    pub(crate) fn expect(self, found: Self) -> Result<(), Error> {
        if self == found {
            Ok(())
        } else {
            Err(Error::new(Field::Icrc, Reason::Corrupt, found.0))
        }
    }
}

impl fmt::Display for Icrc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

/// An ICRC in the making, for packets whose bytes lie in several places.
#[derive(Clone, Copy, Debug)]
pub struct IcrcDigest {
    remainder: u32,
}

impl IcrcDigest {
    /// Begins with the IP header, everything up to the end of the BTH, and what follows it in `bytes`: of a
    /// packet that has a TETH at least that.
    ///
    /// # Errors
    /// If the bytes end before the BTH or the TETH does, or don't begin with an IP header that RoCEv2 has. Beside UDP,
    /// a BTH may follow an IPv6 header at once: that is the ICRC of the first RoCE.
    #[inline]
    pub fn new(bytes: &[u8]) -> Result<Self, Error> {
        let (masked, end) = masked(bytes)?;
        let mut digest = Self {
            remainder: AFTER_LRH,
        };
        digest.update(&masked[..end]);
        let bth = end - Bth::LENGTH;
        match traffic::collected(&bytes[bth..])? {
            None => digest.update(&bytes[end..]),
            Some(place) => digest.update_around(bytes, end, bth + place.start..bth + place.end),
        }
        Ok(digest)
    }

    /// Begins with IP and UDP header alone, of a packet of RoCEv2. The rest follows by [`base`](Self::base) and
    /// [`update`](Self::update).
    ///
    /// # Errors
    /// If these are no headers that RoCEv2 has.
    pub fn outer(headers: &[u8]) -> Result<Self, Error> {
        let mut bytes = [0; LONGEST];
        let length = headers.len().min(LONGEST - Bth::LENGTH);
        bytes[..length].copy_from_slice(&headers[..length]);
        let (masked, end) = masked(&bytes)?;
        if headers.len() + Bth::LENGTH != end {
            return Err(Error::counted(Field::Udp, Reason::Truncated, headers.len()));
        }
        let mut digest = Self {
            remainder: AFTER_LRH,
        };
        digest.update(&masked[..length]);
        Ok(digest)
    }

    /// The digest behind the headers of IPv4 and UDP with this identification, if this is that with identification 0: the
    /// CRC is linear.
    #[inline]
    #[must_use]
    pub const fn identified(self, identification: u16) -> Self {
        let [high, low] = identification.to_be_bytes();
        let difference = IDENTIFIED[0][high as usize] ^ IDENTIFIED[1][low as usize];
        Self {
            remainder: self.remainder ^ difference,
        }
    }

    /// Takes the BTH at the front of a packet, and returns what is behind it.
    ///
    /// # Errors
    /// If the packet ends before, or has a TETH, in which there are ones for what switches write.
    #[inline]
    pub fn base<'a>(&mut self, packet: &'a [u8]) -> Result<&'a [u8], Error> {
        let (bth, rest) = packet
            .split_first_chunk::<{ Bth::LENGTH }>()
            .ok_or_else(|| Error::counted(Field::Bth, Reason::Truncated, packet.len()))?;
        if traffic::collected(packet)?.is_some() {
            return Err(Error::new(Field::Teth, Reason::Unsupported, bth[0].into()));
        }
        let mut bth = *bth;
        bth[field::BTH_CONGESTION] = u8::MAX;
        self.remainder = after(self.remainder, &bth);
        Ok(rest)
    }

    /// Takes a packet from its BTH on, also one that has a TETH, in which there are ones for what switches write.
    ///
    /// # Errors
    /// If the bytes end before the BTH or the TETH does.
    pub fn whole(mut self, packet: &[u8]) -> Result<Self, Error> {
        let (bth, rest) = packet
            .split_first_chunk::<{ Bth::LENGTH }>()
            .ok_or_else(|| Error::counted(Field::Bth, Reason::Truncated, packet.len()))?;
        let mut bth = *bth;
        bth[field::BTH_CONGESTION] = u8::MAX;
        self.update(&bth);
        match traffic::collected(packet)? {
            None => self.update(rest),
            Some(place) => self.update_around(packet, Bth::LENGTH, place),
        }
        Ok(self)
    }

    /// Takes the bytes from `from` on, with ones for what switches write to `telemetry`.
    #[cold]
    fn update_around(&mut self, bytes: &[u8], from: usize, telemetry: Range<usize>) {
        let masked = Telemetry::masked(&bytes[telemetry.clone()]);
        self.update(&bytes[from..telemetry.start]);
        self.update(&masked[..telemetry.len()]);
        self.update(&bytes[telemetry.end..]);
    }

    /// Takes the next bytes of the packet.
    #[inline]
    pub fn update(&mut self, bytes: &[u8]) {
        let (slices, rest) = bytes.as_chunks::<SLICE>();
        for slice in slices {
            self.remainder = after(self.remainder, slice);
        }
        for byte in rest {
            let index = (self.remainder as u8 ^ byte) as usize;
            self.remainder = self.remainder >> 8 ^ TABLES[0][index];
        }
    }

    /// The ICRC of the bytes so far.
    #[inline]
    pub const fn finish(self) -> Icrc {
        Icrc(!self.remainder)
    }
}

/// The remainder after so many more bytes: 4 to 16.
///
/// The first four wait for the remainder before them, so they are added last: meanwhile the processor
/// looks the others up. That doubles the speed.
#[inline]
fn after<const N: usize>(remainder: u32, bytes: &[u8; N]) -> u32 {
    const {
        assert!(4 <= N && N <= SLICE, "there is a table for each byte");
    }
    let (first, free) = bytes.split_at(4);
    let mut after = 0;
    for (byte, table) in free.iter().rev().zip(&TABLES) {
        after ^= table[*byte as usize];
    }
    let waiting = u32::from_le_bytes([first[0], first[1], first[2], first[3]]) ^ remainder;
    let [a, b, c, d] = waiting.to_le_bytes().map(usize::from);
    after ^ ((TABLES[N - 1][a] ^ TABLES[N - 2][b]) ^ (TABLES[N - 3][c] ^ TABLES[N - 4][d]))
}

/// What the bytes of an identification of IPv4 contribute to the remainder at the end of UDP's header.
static IDENTIFIED: [[u32; 256]; 2] = {
    const REST: usize = Ipv4::LENGTH + Udp::LENGTH - THROUGH_IDENTIFICATION;
    let mut tables = [[0; 256]; 2];
    let mut byte = 0;
    while byte < 256 {
        tables[0][byte] = shift(byte as u32, 8 * (REST as u32 + 2));
        tables[1][byte] = shift(byte as u32, 8 * (REST as u32 + 1));
        byte += 1;
    }
    tables
};

/// IPv6, UDP and BTH.
const LONGEST: usize = Ipv6::LENGTH + Udp::LENGTH + Bth::LENGTH;

/// The bytes up to the end of the BTH with ones for what changes on the way, and how many there are.
#[inline]
fn masked(bytes: &[u8]) -> Result<([u8; LONGEST], usize), Error> {
    let (udp, bth) = places(bytes)?;
    let end = bth + Bth::LENGTH;
    let mut masked = [0; LONGEST];
    let headers = bytes
        .get(..end)
        .ok_or_else(|| Error::counted(Field::Bth, Reason::Truncated, bytes.len()))?;
    masked[..end].copy_from_slice(headers);
    if masked[0] >> 4 == 4 {
        masked[field::IPV4_TYPE_OF_SERVICE] = u8::MAX;
        masked[field::IPV4_TTL] = u8::MAX;
        masked[field::IPV4_CHECKSUM].fill(u8::MAX);
    } else {
        masked[field::IPV6_VERSION] |= field::IPV6_CLASS_BITS;
        masked[field::IPV6_CLASS_AND_LABEL].fill(u8::MAX);
        masked[field::IPV6_HOP_LIMIT] = u8::MAX;
    }
    if let Some(udp) = udp {
        masked[udp..][field::UDP_CHECKSUM].fill(u8::MAX);
    }
    masked[bth..][field::BTH_CONGESTION] = u8::MAX;
    Ok((masked, end))
}

/// Where the UDP header, if there is one, and the BTH begin.
#[inline]
fn places(bytes: &[u8]) -> Result<(Option<usize>, usize), Error> {
    let behind = |ip: usize| (Some(ip), ip + Udp::LENGTH);
    let refuse = |field, found: u8| Err(Error::new(field, Reason::Unsupported, found.into()));
    let first = bytes.first().copied();
    let first = first.ok_or_else(|| Error::new(Field::IpVersion, Reason::Truncated, 0))?;
    match (first >> 4, bytes.get(field::IPV6_NEXT_HEADER)) {
        (4, _) if first == field::IPV4_WITHOUT_OPTIONS => Ok(behind(Ipv4::LENGTH)),
        (4, _) => refuse(Field::HeaderLength, first & 0x0f),
        (6, Some(&Udp::PROTOCOL)) => Ok(behind(Ipv6::LENGTH)),
        (6, Some(&NextHeader::INFINIBAND)) => Ok((None, Ipv6::LENGTH)),
        (6, Some(&other)) => refuse(Field::Protocol, other),
        (6, None) => Err(Error::counted(Field::Ipv6, Reason::Truncated, bytes.len())),
        (other, _) => refuse(Field::IpVersion, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The CRC of some bytes by its definition, bit by bit.
    fn slow(remainder: u32, bytes: &[u8]) -> u32 {
        let next = |remainder, byte: &u8| shift(remainder ^ u32::from(*byte), 8);
        bytes.iter().fold(remainder, next)
    }

    #[test]
    fn the_crc_is_that_of_ethernet() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(!slow(u32::MAX, b"123456789"), 0xcbf4_3926);
        assert_eq!(slow(u32::MAX, &[0xff; 8]), AFTER_LRH);
    }

    #[test]
    fn the_identification_follows_from_the_icrc() {
        let mut packet = [0x5a; 1000];
        packet[0] = 0x45;
        for length in [40, 41, 100, 999, 1000] {
            let icrc = |packet: &[u8; 1000]| Icrc::compute(&packet[..length]).expect("a packet");
            for identification in [0, 1, 63, 0x0100, 0xb70d, u16::MAX] {
                packet[4..6].copy_from_slice(&7_u16.to_be_bytes());
                let assumed = icrc(&packet);
                packet[4..6].copy_from_slice(&identification.to_be_bytes());
                let found = icrc(&packet);
                let solved = assumed.identification(found, 7, length);
                assert_eq!(solved, Some(identification), "{length} bytes");
                packet[33] ^= 1;
                let altered = icrc(&packet);
                assert_eq!(assumed.identification(altered, 7, length), None);
                packet[33] ^= 1;
            }
        }
        assert_eq!(Icrc(0).identification(Icrc(1), 0, 5), None);
    }

    #[test]
    fn headers_one_after_the_other_give_what_they_give_together() {
        for (first, next, length) in [(0x45, 0, 28), (0x60, 17, 48)] {
            let mut packet = [0x3c; 48 + 12 + 5];
            (packet[0], packet[6]) = (first, next);
            packet[4..6].fill(0);
            let end = length + 17;
            let digest = IcrcDigest::outer(&packet[..length]).expect("headers");
            for identification in [0, 1, 63, 0xb70d, u16::MAX] {
                let mut digest = digest;
                if first == 0x45 {
                    packet[4..6].copy_from_slice(&identification.to_be_bytes());
                    digest = digest.identified(identification);
                }
                let rest = digest.base(&packet[length..end]).expect("a BTH");
                digest.update(rest);
                assert_eq!(Icrc::compute(&packet[..end]), Ok(digest.finish()));
            }
            assert!(IcrcDigest::outer(&packet[..length - 1]).is_err());
            assert!(IcrcDigest::outer(&packet[..length + 1]).is_err());
            assert!({ digest }.base(&packet[..11]).is_err());
        }
    }

    #[test]
    fn slices_give_what_single_bits_give() {
        let mut bytes = [0; 100];
        for (value, byte) in (7_u8..).zip(&mut bytes) {
            *byte = value.wrapping_mul(29);
        }
        // Miri takes a minute for all of them.
        let step = if cfg!(miri) { 7 } else { 1 };
        for start in 0..20 {
            for end in (start..bytes.len()).step_by(step) {
                let mut digest = IcrcDigest { remainder: 0x1234 };
                digest.update(&bytes[start..end]);
                assert_eq!(digest.remainder, slow(0x1234, &bytes[start..end]));
            }
        }
    }
}
