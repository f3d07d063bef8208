//! A transport packet: what stands in a UDP datagram (IBTA 5.2, A17).
//!
//! ```text
//! +-----+-------------------+----------------+---------+---------+------+
//! | BTH | extension headers | traffic header | payload | 0-3 pad | ICRC |
//! +-----+-------------------+----------------+---------+---------+------+
//!                             if the BTH       whole words of
//!                             says so          4 bytes
//! ```
//!
//! A UDP socket hands over just this; only with the IP header, which the socket keeps to itself, can the
//! ICRC be checked. [`Datagram`](crate::Datagram) has both.

use core::fmt;

use crate::bth::Bth;
use crate::error::{Error, Field, Reason};
use crate::feth::Feth;
use crate::headers::{Extension, Headers};
use crate::hop::Hop;
use crate::icrc::Icrc;
use crate::opcode::Opcode;
use crate::telemetry::Telemetry;
use crate::traffic::{self, Traffic};

/// Payload and pad are whole words.
const WORD: usize = 4;
/// The only version of the transport headers (IBTA 9.2).
const VERSION: u8 = 0;

/// Transport headers and payload, without the ICRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packet<'a> {
    /// The transport headers.
    pub headers: Headers,
    /// What hosts tell each other beside that; the BTH says whether there is any.
    pub traffic: Traffic<'a>,
    /// The data, without pad bytes.
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A packet whose pad count is that of its payload, without a header of traffic management; READ feedback,
    /// which must have one, has one that says nothing.
    pub const fn new(bth: Bth, extension: Extension, payload: &'a [u8]) -> Self {
        let pad_count = pad_length(payload.len()) as u8;
        let packet = Self {
            headers: Headers {
                bth: Bth { pad_count, ..bth },
                extension,
            },
            traffic: Traffic::None,
            payload,
        };
        packet.with_traffic(match bth.opcode {
            Opcode::RcReadFeedback => Traffic::Feedback(Feth::NOTHING),
            _ => Traffic::None,
        })
    }

    /// The packet with this header of traffic management, which its BTH announces.
    #[must_use]
    pub const fn with_traffic(mut self, traffic: Traffic<'a>) -> Self {
        self.headers.bth.traffic = !matches!(traffic, Traffic::None);
        self.traffic = traffic;
        self
    }

    /// The base transport header.
    pub const fn bth(&self) -> &Bth {
        &self.headers.bth
    }

    /// Length in bytes: headers, payload, pad and ICRC, which is the payload of the UDP datagram.
    #[inline]
    pub const fn length(&self) -> usize {
        let payload = self.payload.len();
        self.headers.length() + self.traffic.length() + payload + pad_length(payload) + Icrc::LENGTH
    }

    /// Reads the payload of a UDP datagram, and returns the packet and its ICRC, which isn't checked.
    ///
    /// The pad count of packets that have no payload is ignored. Whether payload lengths fit message and
    /// path MTU is for the transport to say.
    ///
    /// # Errors
    /// If the bytes end early, the opcode isn't known, a field is reserved, the version isn't 0, or there is
    /// payload where the opcode has none or that isn't whole words.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, Icrc), Error> {
        let (headers, rest) = Headers::parse(bytes)?;
        if headers.bth.version != VERSION {
            let found = headers.bth.version.into();
            return Err(Error::new(Field::Version, Reason::Unsupported, found));
        }
        let (traffic, rest) = Traffic::parse(headers.bth.traffic_kind(), rest)?;
        let (body, icrc) = rest
            .split_last_chunk()
            .ok_or_else(|| Error::counted(Field::Icrc, Reason::Truncated, rest.len()))?;
        let payload = payload(&headers.bth, body)?;
        let packet = Self {
            headers,
            traffic,
            payload,
        };
        Ok((packet, Icrc::from_bytes(*icrc)))
    }

    /// Writes headers, payload and pad to the front of `buffer` and returns the room behind them, where the
    /// ICRC belongs.
    ///
    /// # Errors
    /// If the buffer is too small, a value has more bits than its field, or extension, header of traffic
    /// management, payload or pad count contradict the BTH.
    #[inline]
    pub fn emit<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
        self.check()?;
        let rest = self.traffic.emit(self.headers.emit(buffer)?)?;
        let (payload, pad) = (self.payload.len(), pad_length(self.payload.len()));
        let there = rest.len();
        let (body, rest) = rest
            .split_at_mut_checked(payload + pad)
            .ok_or_else(|| Error::counted(Field::Payload, Reason::NoRoom, there))?;
        let (data, fill) = body.split_at_mut(payload);
        data.copy_from_slice(self.payload);
        fill.fill(0);
        Ok(rest)
    }

    /// Adds what a port says to a packet that passes it, given as the payload of its UDP datagram or its
    /// beginning, and returns whether the packet is one that collects telemetry. Length and ICRC stay
    /// the same; the UDP checksum must be zero. A record that finds no room is only counted.
    ///
    /// # Errors
    /// If the bytes end before the telemetry does, or a value has more bits than its field; nothing is changed then.
    pub fn stamp(bytes: &mut [u8], hop: &Hop) -> Result<bool, Error> {
        match traffic::collected(bytes)? {
            Some(place) => Telemetry::stamp(&mut bytes[place], hop).map(|()| true),
            None => Ok(false),
        }
    }

    /// The pad bytes.
    pub(crate) fn pad(&self) -> &'static [u8] {
        &[0; WORD - 1][..pad_length(self.payload.len())]
    }

    /// Whether header of traffic management, payload and pad count are such as the BTH has.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        let bth = &self.headers.bth;
        if bth.version != VERSION {
            let found = bth.version.into();
            return Err(Error::new(Field::Version, Reason::Unsupported, found));
        }
        if self.traffic.kind() != bth.traffic_kind() {
            let found = bth.opcode.code().into();
            return Err(Error::new(Field::Traffic, Reason::Inconsistent, found));
        }
        if !bth.opcode.has_payload() {
            return no_payload(self.payload);
        }
        if usize::from(bth.pad_count) != pad_length(self.payload.len()) {
            let found = bth.pad_count.into();
            return Err(Error::new(Field::PadCount, Reason::Inconsistent, found));
        }
        Ok(())
    }
}

/// What fills a payload up to whole words.
const fn pad_length(payload: usize) -> usize {
    payload.wrapping_neg() % WORD
}

/// The payload between headers and ICRC.
#[inline]
fn payload<'a>(bth: &Bth, body: &'a [u8]) -> Result<&'a [u8], Error> {
    if !bth.opcode.has_payload() {
        no_payload(body)?;
        return Ok(body);
    }
    if !body.len().is_multiple_of(WORD) {
        let reason = Reason::Inconsistent;
        return Err(Error::counted(Field::Payload, reason, body.len()));
    }
    let length = body.len().checked_sub(bth.pad_count.into());
    length
        .and_then(|length| body.get(..length))
        .ok_or_else(|| Error::new(Field::PadCount, Reason::Inconsistent, bth.pad_count.into()))
}

fn no_payload(bytes: &[u8]) -> Result<(), Error> {
    if bytes.is_empty() {
        Ok(())
    } else {
        Err(Error::counted(Field::Payload, Reason::Excess, bytes.len()))
    }
}

impl fmt::Display for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.headers.fmt(f)?;
        if self.traffic != Traffic::None {
            write!(f, " {}", self.traffic)?;
        }
        match self.payload.len() {
            0 => Ok(()),
            length => write!(f, " payload={length}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aeth::{Aeth, Syndrome};
    use crate::frame::{Datagram, Network};
    use crate::icrc::{Icrc, IcrcDigest};
    use crate::ipv4::Ipv4;
    use crate::teth::Teth;
    use crate::time_stamp::TimeStamp;
    use crate::udp::Udp;
    use fairlane_units::{Psn, QpNumber};

    fn send(payload: &[u8]) -> Packet<'_> {
        let bth = Bth::new(Opcode::RcSendOnly, QpNumber::new(7), Psn::new(9));
        Packet::new(bth, Extension::None, payload)
    }

    /// The bytes of a SEND with a payload of `N` bytes and an ICRC.
    fn bytes(payload: &[u8]) -> ([u8; 64], usize) {
        let (mut buffer, packet) = ([0xee; 64], send(payload));
        packet.emit(&mut buffer).expect("it is a packet");
        (buffer, packet.length())
    }

    #[test]
    fn payloads_are_filled_up_to_whole_words() {
        for length in 0..9 {
            let payload = &[1, 2, 3, 4, 5, 6, 7, 8, 9][..length];
            let (buffer, total) = bytes(payload);
            assert_eq!(total, 12 + length.next_multiple_of(4) + 4);
            let (packet, icrc) = Packet::parse(&buffer[..total]).expect("it is a packet");
            assert_eq!(packet, send(payload));
            assert_eq!(icrc.bytes(), [0xee; 4]);
        }
    }

    #[test]
    fn pad_counts_that_contradict_the_payload_are_refused() {
        let (mut buffer, _) = bytes(&[]);
        buffer[1] |= 0x10;
        let error = Packet::parse(&buffer[..16]).expect_err("nothing to cut off");
        assert_eq!(
            (error.field, error.reason),
            (Field::PadCount, Reason::Inconsistent)
        );
        let mut packet = send(&[1]);
        packet.headers.bth.pad_count = 2;
        let error = packet.emit(&mut [0; 64]).expect_err("3 are needed");
        assert_eq!(
            (error.field, error.reason),
            (Field::PadCount, Reason::Inconsistent)
        );
    }

    #[test]
    fn payloads_that_are_not_whole_words_are_refused() {
        let (buffer, _) = bytes(&[1, 2, 3, 4]);
        let error = Packet::parse(&buffer[..19]).expect_err("3 bytes");
        assert_eq!(error, Error::new(Field::Payload, Reason::Inconsistent, 3));
    }

    #[test]
    fn payload_of_packets_that_have_none_is_refused() {
        for opcode in Opcode::ALL.iter().filter(|opcode| !opcode.has_payload()) {
            let mut buffer = [0; 64];
            buffer[0] = opcode.code();
            let bth = Bth::new(*opcode, QpNumber::new(0), Psn::new(0));
            // A header of traffic management that says nothing is a word of zeros.
            let length = opcode.header_length() + usize::from(bth.traffic) * 4 + Icrc::LENGTH;
            assert!(Packet::parse(&buffer[..length]).is_ok(), "{opcode}");
            let error = Packet::parse(&buffer[..length + 4]).expect_err("4 bytes too many");
            assert_eq!(error, Error::new(Field::Payload, Reason::Excess, 4));
        }
    }

    #[test]
    fn the_pad_count_of_packets_without_payload_is_ignored() {
        let mut buffer = [0; 20];
        (buffer[0], buffer[1]) = (Opcode::RcAcknowledge.code(), 0x60);
        let (packet, _) = Packet::parse(&buffer).expect("an acknowledgement");
        assert_eq!((packet.bth().pad_count, packet.payload), (2, &[][..]));
        let mut again = [0; 20];
        packet.emit(&mut again).expect("it was one");
        assert_eq!(again, buffer);
    }

    #[test]
    fn feedback_has_its_header_behind_the_bth() {
        let (responder, partition) = (QpNumber::new(0x12_3456), Bth::DEFAULT_PARTITION);
        let bth = Feth::bth(responder, partition, Psn::new(0x01_0203), true);
        let feth = Feth {
            share: Some(0xabcd),
            switches: 3,
            time: Some(TimeStamp::new(0x0405_0607)),
            telemetry: None,
        };
        let packet = Packet::new(bth, Extension::None, &[]);
        let packet = packet.with_traffic(Traffic::Feedback(feth));
        let bytes = [
            0xd5, 0, 0xff, 0xff, 0x40, 0x12, 0x34, 0x56, 0, 1, 2, 3, 0xc0, 3, 0xab, 0xcd, 4, 5, 6,
            7, 0xee, 0xee, 0xee, 0xee,
        ];
        let mut buffer = [0xee; 24];
        assert_eq!(packet.emit(&mut buffer).map(|rest| rest.len()), Ok(4));
        assert_eq!((buffer, packet.length()), (bytes, 24));
        assert_eq!(Packet::parse(&bytes).map(|(packet, _)| packet), Ok(packet));
    }

    #[test]
    fn an_acknowledgement_has_its_header_behind_the_aeth() {
        let bth = Bth::new(Opcode::RcAcknowledge, QpNumber::new(7), Psn::new(9));
        let aeth = Extension::Acknowledge(Aeth {
            syndrome: Syndrome::ACK,
            msn: 5,
        });
        let feth = Feth {
            share: Some(0),
            ..Feth::NOTHING
        };
        let packet = Packet::new(bth, aeth, &[]).with_traffic(Traffic::Feedback(feth));
        let mut buffer = [0xee; 20];
        assert!(packet.emit(&mut buffer).is_ok());
        assert_eq!(buffer[0], 0xd1);
        assert_eq!(buffer[12..], [0x1f, 0, 0, 5, 0x80, 0, 0, 0]);
    }

    #[test]
    fn a_traffic_header_that_contradicts_the_bth_is_refused() {
        let data = Traffic::Data(Teth::NOTHING);
        let unannounced = Packet {
            traffic: data,
            ..send(&[1])
        };
        let mut missing = send(&[1]);
        missing.headers.bth.traffic = true;
        let bth = Feth::bth(QpNumber::new(1), Bth::DEFAULT_PARTITION, Psn::new(0), false);
        let other = Packet::new(bth, Extension::None, &[]).with_traffic(data);
        for packet in [unannounced, missing, other] {
            let error = packet.emit(&mut [0; 64]).expect_err("it contradicts");
            assert_eq!(
                (error.field, error.reason),
                (Field::Traffic, Reason::Inconsistent)
            );
        }
    }

    #[test]
    fn only_data_with_room_for_telemetry_is_stamped() {
        let hop = Hop::default();
        let stamped = |packet: &Packet<'_>| {
            let mut buffer = [0; 64];
            packet.emit(&mut buffer).expect("it is a packet");
            let is_stamped = Packet::stamp(&mut buffer, &hop).expect("it is one");
            let (packet, _) = Packet::parse(&buffer[..packet.length()]).expect("it still is");
            let Traffic::Data(teth) = packet.traffic else {
                return (is_stamped, None);
            };
            (is_stamped, teth.telemetry.map(|records| records.passed()))
        };
        let with = |telemetry| {
            let teth = Teth {
                telemetry,
                ..Teth::NOTHING
            };
            send(&[1]).with_traffic(Traffic::Data(teth))
        };
        assert_eq!(stamped(&send(&[1])), (false, None));
        assert_eq!(stamped(&with(None)), (false, None));
        assert_eq!(stamped(&with(Telemetry::collecting(1))), (true, Some(1)));
        let telemetry = Telemetry::of(0, &[]);
        let echo = Traffic::Feedback(Feth {
            telemetry,
            ..Feth::NOTHING
        });
        let bth = Feth::bth(QpNumber::new(1), Bth::DEFAULT_PARTITION, Psn::new(0), false);
        let feedback = Packet::new(bth, Extension::None, &[]).with_traffic(echo);
        assert_eq!(stamped(&feedback), (false, None));
        let error = Packet::stamp(&mut [0xc4; 15], &hop).expect_err("3 of 4 bytes");
        assert_eq!(
            (error.field, error.reason),
            (Field::Teth, Reason::Truncated)
        );
        assert_eq!(Packet::stamp(&mut [], &hop), Ok(false));
    }

    #[test]
    fn the_icrc_of_data_that_collects_telemetry_stays_right_on_its_way() {
        let teth = Teth {
            telemetry: Telemetry::collecting(3),
            ..Teth::NOTHING
        };
        let there = core::net::Ipv4Addr::new(10, 0, 0, 1);
        let datagram = Datagram {
            network: Network::Ipv4(Ipv4::new(there, there)),
            udp: Udp::new(0xc000),
            packet: send(&[1, 2, 3, 4, 5]).with_traffic(Traffic::Data(teth)),
        };
        let mut bytes = [0; 256];
        let length = datagram.emit(&mut bytes).expect("there is room");
        let (outer, end) = (Ipv4::LENGTH + Udp::LENGTH, length - Icrc::LENGTH);
        let hop = Hop::default();
        for passed in 0..5 {
            let digest = IcrcDigest::outer(&bytes[..outer]).expect("headers");
            let digest = digest.whole(&bytes[outer..end]).expect("a packet");
            assert_eq!(digest.finish().bytes(), bytes[end..length], "{passed}");
            assert!(Datagram::parse(&bytes[..length]).is_ok());
            assert_eq!(Packet::stamp(&mut bytes[outer..length], &hop), Ok(true));
        }
    }

    #[test]
    fn another_version_is_refused() {
        let (mut buffer, total) = bytes(&[]);
        buffer[1] |= 1;
        let error = Packet::parse(&buffer[..total]).expect_err("version 1");
        assert_eq!(error, Error::new(Field::Version, Reason::Unsupported, 1));
    }
}
