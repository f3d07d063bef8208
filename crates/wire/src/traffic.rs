//! The header of traffic management, between extension headers and payload: Fairlane's own.
//!
//! Packets of RC that have one have an opcode for manufacturers (IBTA table 38): the usual one with 110 for
//! the upper three bits. Data has a [`Teth`], replies have a [`Feth`]; both are made alike:
//!
//! ```text
//! +-+-+-+-+-------+---------------+-------------------------------+
//! |R|T|H|B| rsvd  |   switches    |              rate             |
//! +-+-+-+-+-------+---------------+-------------------------------+
//! |                    if T: time stamp, in ns                    |
//! +---------------------------------------------------------------+
//! |                   if B: backlog, in bytes                     |
//! +---------------------------------------------------------------+
//! |               if H: telemetry, 4 bytes and records            |
//! +---------------------------------------------------------------+
//! R the rate is said  T a time stamp follows  H telemetry (hops) follows
//! B the backlog follows, only with data
//! ```

use core::fmt;
use core::ops::Range;

use crate::bytes::{read_u16, read_u32, room, take, write_u16, write_u32};
use crate::error::{Error, Field};
use crate::feth::Feth;
use crate::opcode::{Opcode, TrafficKind};
use crate::telemetry::Telemetry;
use crate::teth::Teth;
use crate::time_stamp::TimeStamp;

mod field {
    use core::ops::Range;

    pub(super) const FLAGS: usize = 0;
    pub(super) const SWITCHES: usize = 1;
    pub(super) const RATE: Range<usize> = 2..4;
}

const RATE: u8 = 0x80;
const TIME: u8 = 0x40;
const TELEMETRY: u8 = 0x20;
const BACKLOG: u8 = 0x10;

const HEAD: usize = 4;
const BACKLOG_LENGTH: usize = 4;

/// What hosts tell each other of a packet's way and of rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Traffic<'a> {
    /// Nothing: an ordinary packet.
    #[default]
    None,
    /// With data, from its sender and the switches.
    Data(Teth<'a>),
    /// Back to the sender.
    Feedback(Feth<'a>),
}

impl<'a> Traffic<'a> {
    /// Length of the longest header in bytes.
    pub const MAX_LENGTH: usize = HEAD + TimeStamp::LENGTH + BACKLOG_LENGTH + Telemetry::MAX_LENGTH;

    /// Which header this is.
    #[inline]
    pub const fn kind(&self) -> TrafficKind {
        match self {
            Self::None => TrafficKind::None,
            Self::Data(_) => TrafficKind::Data,
            Self::Feedback(_) => TrafficKind::Feedback,
        }
    }

    /// Length in bytes.
    #[inline]
    pub const fn length(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Data(teth) => teth.length(),
            Self::Feedback(feth) => feth.length(),
        }
    }

    /// Takes the header of this kind off the front of `bytes` and returns what follows it.
    ///
    /// # Errors
    /// As [`Teth::parse`] and [`Feth::parse`].
    #[inline]
    pub fn parse(kind: TrafficKind, bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        match kind {
            TrafficKind::None => Ok((Self::None, bytes)),
            TrafficKind::Data => Teth::parse(bytes).map(|(teth, rest)| (Self::Data(teth), rest)),
            TrafficKind::Feedback => {
                Feth::parse(bytes).map(|(feth, rest)| (Self::Feedback(feth), rest))
            }
        }
    }

    /// Writes the header to the front of `buffer` and returns the room behind it.
    ///
    /// # Errors
    /// If the buffer is too small.
    #[inline]
    pub fn emit<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
        match self {
            Self::None => Ok(buffer),
            Self::Data(teth) => teth.emit(buffer),
            Self::Feedback(feth) => feth.emit(buffer),
        }
    }
}

impl fmt::Display for Traffic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Data(teth) => teth.fmt(f),
            Self::Feedback(feth) => feth.fmt(f),
        }
    }
}

/// Where the telemetry stands that switches write to, in a packet that is given from its BTH on to the
/// end of its headers or further.
#[inline]
pub(crate) fn collected(packet: &[u8]) -> Result<Option<Range<usize>>, Error> {
    let opcode = packet
        .first()
        .copied()
        .and_then(Opcode::from_code_with_traffic);
    match opcode {
        Some(opcode) if matches!(opcode.traffic(), TrafficKind::Data) => behind(opcode, packet),
        _ => Ok(None),
    }
}

#[cold]
fn behind(opcode: Opcode, packet: &[u8]) -> Result<Option<Range<usize>>, Error> {
    let start = opcode.header_length();
    let (teth, _) = Teth::parse(packet.get(start..).unwrap_or_default())?;
    let end = start + teth.length();
    let range = |telemetry: Telemetry<'_>| end - telemetry.length()..end;
    Ok(teth.telemetry.map(range))
}

/// What both headers have, without its meaning.
pub(crate) struct Words<'a> {
    pub(crate) rate: Option<u16>,
    pub(crate) switches: u8,
    pub(crate) time: Option<TimeStamp>,
    pub(crate) backlog: Option<u32>,
    pub(crate) telemetry: Option<Telemetry<'a>>,
}

impl<'a> Words<'a> {
    #[inline]
    pub(crate) const fn length(&self) -> usize {
        let time = match self.time {
            Some(_) => TimeStamp::LENGTH,
            None => 0,
        };
        let backlog = match self.backlog {
            Some(_) => BACKLOG_LENGTH,
            None => 0,
        };
        let telemetry = match &self.telemetry {
            Some(telemetry) => telemetry.length(),
            None => 0,
        };
        HEAD + time + backlog + telemetry
    }

    #[inline]
    pub(crate) fn parse(bytes: &'a [u8], field: Field) -> Result<(Self, &'a [u8]), Error> {
        let (head, mut rest) = take::<HEAD>(bytes, field)?;
        let flags = head[field::FLAGS];
        let mut words = Self {
            rate: (flags & RATE != 0).then(|| read_u16(head, field::RATE)),
            switches: head[field::SWITCHES],
            time: None,
            backlog: None,
            telemetry: None,
        };
        if flags & TIME != 0 {
            let (time, behind) = TimeStamp::parse(rest)?;
            (words.time, rest) = (Some(time), behind);
        }
        if flags & BACKLOG != 0 && matches!(field, Field::Teth) {
            let (backlog, behind) = take::<BACKLOG_LENGTH>(rest, field)?;
            (words.backlog, rest) = (Some(read_u32(backlog, 0..BACKLOG_LENGTH)), behind);
        }
        if flags & TELEMETRY != 0 {
            let (telemetry, behind) = Telemetry::parse(rest)?;
            (words.telemetry, rest) = (Some(telemetry), behind);
        }
        Ok((words, rest))
    }

    #[inline]
    pub(crate) fn emit<'b>(
        &self,
        buffer: &'b mut [u8],
        field: Field,
    ) -> Result<&'b mut [u8], Error> {
        let (head, mut rest) = room::<HEAD>(buffer, field)?;
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        head[field::FLAGS] = flag(self.rate.is_some(), RATE)
            | flag(self.time.is_some(), TIME)
            | flag(self.backlog.is_some(), BACKLOG)
            | flag(self.telemetry.is_some(), TELEMETRY);
        head[field::SWITCHES] = self.switches;
        write_u16(head, field::RATE, self.rate.unwrap_or(0));
        if let Some(time) = self.time {
            rest = time.emit(rest)?;
        }
        if let Some(backlog) = self.backlog {
            let (bytes, behind) = room::<BACKLOG_LENGTH>(rest, field)?;
            write_u32(bytes, 0..BACKLOG_LENGTH, backlog);
            rest = behind;
        }
        if let Some(telemetry) = self.telemetry {
            rest = telemetry.emit(rest)?;
        }
        Ok(rest)
    }
}

/// Both headers in words; those that aren't there are left out.
pub(crate) fn describe(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    words: &Words<'_>,
    rate: &str,
    switches: &str,
) -> fmt::Result {
    f.write_str(name)?;
    if let Some(value) = words.rate {
        write!(f, " {rate}={value}")?;
    }
    if words.switches != 0 {
        write!(f, " {switches}={}", words.switches)?;
    }
    if let Some(time) = words.time {
        write!(f, " time={time}")?;
    }
    if let Some(backlog) = words.backlog {
        write!(f, " backlog={backlog}")?;
    }
    match words.telemetry {
        Some(telemetry) => write!(f, " {telemetry}"),
        None => Ok(()),
    }
}
