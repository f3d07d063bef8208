//! A hello: the management datagram (MAD, IBTA 13.4) by which a device tells another that it knows the headers of traffic
//! management. Fairlane's own; `docs/wire.md` has the rules.
//!
//! ```text
//! +---------------+---------------+---------------+---------------+
//! |   version 1   |  class 0x30   |   version 1   | method 0x03   |
//! +---------------+---------------+---------------+---------------+
//! |      status, transaction, attribute, modifier: 20 bytes       |
//! +---------------------------------------------------------------+
//! |                     RMPP header: 12 bytes                     |
//! +---------------+-----------------------------------------------+
//! |    reserved   |                  OUI 02-46-4c                 |
//! +---------------+-+-+-+-+-------+-------------------------------+
//! |    version    |A|S|M|F| rsvd  |           reserved            |
//! +---------------+-+-+-+-+-------+-------------------------------+
//! |                      line rate, in Mb/s                       |
//! +---------------------------------------------------------------+
//! |                     reserved: 208 bytes                       |
//! +---------------------------------------------------------------+
//! A an answer is wanted  S shares  M marks in replies  F feedback to READ data
//! ```

use core::ops::Range;

use fairlane_units::{Psn, QpNumber, Rate};

use crate::bth::Bth;
use crate::bytes::{read_u32, room, take, write_u16, write_u32};
use crate::deth::Deth;
use crate::error::{Error, Field, Reason};
use crate::headers::{Extension, Headers};
use crate::opcode::Opcode;

mod field {
    use core::ops::Range;

    pub(super) const HEAD: Range<usize> = 0..4;
    pub(super) const ATTRIBUTE: Range<usize> = 16..18;
    pub(super) const OUI: Range<usize> = 37..40;
    pub(super) const VERSION: usize = 40;
    pub(super) const FLAGS: usize = 41;
    pub(super) const RATE: Range<usize> = 44..48;
}

/// Version of MADs, the first class of vendors that has an OUI (IBTA 13.4.4), version of the class, method `Send()`, which nobody
/// answers who doesn't know the class.
const HEAD: [u8; 4] = [1, 0x30, 1, 0x03];
const ATTRIBUTE: u16 = 0x0010;
/// Locally administered: assigned to nobody.
const OUI: [u8; 3] = [0x02, 0x46, 0x4c];

const ASKS: u8 = 0x80;
const SHARES: u8 = 0x40;
const MARKS: u8 = 0x20;
const FEEDBACK: u8 = 0x10;

const MEGA: u64 = 1_000_000;

/// What a device says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hello {
    /// Whether it wants to know the same of the other device.
    pub asks: bool,
    /// Whether it divides its link among senders or hears shares.
    pub shares: bool,
    /// Whether it hears marks in replies, and no CNPs.
    pub marks: bool,
    /// Whether it wants feedback to data that others READ from it.
    pub feedback: bool,
    /// The rate of its link: whole Mb/s, rounded down, of 1 to `u32::MAX`.
    pub line_rate: Rate,
}

impl Hello {
    /// Length in bytes: that of every MAD.
    pub const LENGTH: usize = 256;
    /// The version of the headers that is told of.
    pub const VERSION: u8 = 1;
    /// The queue pair that it comes from and goes to: that of general services.
    pub const QUEUE_PAIR: QpNumber = QpNumber::new(1);
    /// The queue key of that (IBTA 10.2.5).
    pub const QUEUE_KEY: u32 = 0x8001_0000;

    /// The transport headers of its packet, whose payload it is.
    pub const fn headers() -> Headers {
        let bth = Bth::new(Opcode::UdSendOnly, Self::QUEUE_PAIR, Psn::new(0));
        Headers {
            bth,
            extension: Extension::Datagram(Deth {
                queue_key: Self::QUEUE_KEY,
                source: Self::QUEUE_PAIR,
            }),
        }
    }

    /// Reads a MAD. Reserved fields are ignored.
    ///
    /// # Errors
    /// If it is shorter or longer, one of another class or vendor, of another version, or has no line rate.
    pub fn parse(mad: &[u8]) -> Result<Self, Error> {
        let (mad, rest) = take::<{ Self::LENGTH }>(mad, Field::Hello)?;
        if !rest.is_empty() {
            return Err(Error::counted(Field::Hello, Reason::Excess, rest.len()));
        }
        let is = |field: Range<usize>, expected: &[u8]| &mad[field] == expected;
        if !is(field::HEAD, &HEAD) || !is(field::OUI, &OUI) {
            let found = read_u32(mad, field::HEAD);
            return Err(Error::new(Field::Hello, Reason::Unsupported, found));
        }
        if mad[field::VERSION] != Self::VERSION {
            let found = mad[field::VERSION].into();
            return Err(Error::new(Field::Hello, Reason::Unsupported, found));
        }
        let rate = read_u32(mad, field::RATE);
        if rate == 0 {
            return Err(Error::new(Field::Hello, Reason::OutOfRange, rate));
        }
        let flags = mad[field::FLAGS];
        Ok(Self {
            asks: flags & ASKS != 0,
            shares: flags & SHARES != 0,
            marks: flags & MARKS != 0,
            feedback: flags & FEEDBACK != 0,
            line_rate: Rate::from_bps(u64::from(rate) * MEGA),
        })
    }

    /// Writes the MAD to the front of `buffer` and returns the room behind it.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn emit<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
        let (mad, rest) = room::<{ Self::LENGTH }>(buffer, Field::Hello)?;
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let rate = (self.line_rate.as_bps() / MEGA).clamp(1, u32::MAX.into());
        mad.fill(0);
        mad[field::HEAD].copy_from_slice(&HEAD);
        mad[field::OUI].copy_from_slice(&OUI);
        write_u16(mad, field::ATTRIBUTE, ATTRIBUTE);
        mad[field::VERSION] = Self::VERSION;
        mad[field::FLAGS] = flag(self.asks, ASKS)
            | flag(self.shares, SHARES)
            | flag(self.marks, MARKS)
            | flag(self.feedback, FEEDBACK);
        write_u32(mad, field::RATE, rate as u32);
        Ok(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: Hello = Hello {
        asks: true,
        shares: false,
        marks: true,
        feedback: false,
        line_rate: Rate::from_gbps(100),
    };

    #[test]
    fn every_field_has_its_place() {
        let mut mad = [0xff; 260];
        assert_eq!(HELLO.emit(&mut mad).map(|rest| rest.len()), Ok(4));
        assert_eq!(mad[..4], [1, 0x30, 1, 3]);
        assert_eq!(
            mad[4..24],
            [
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0
            ]
        );
        // 100,000 Mb/s.
        assert_eq!(
            mad[36..48],
            [0, 2, 0x46, 0x4c, 1, 0xa0, 0, 0, 0, 1, 0x86, 0xa0]
        );
        assert!(mad[48..256].iter().all(|&byte| byte == 0));
        assert_eq!(Hello::parse(&mad[..256]), Ok(HELLO));
    }

    #[test]
    fn other_mads_are_refused() {
        let mut mad = [0; 257];
        assert!(HELLO.emit(&mut mad).is_ok());
        assert!(Hello::parse(&mad[..255]).is_err() && Hello::parse(&mad).is_err());
        // Class of communication management, another vendor, another version, no rate.
        for (at, value) in [(1, 7), (38, 1), (40, 2), (45, 0)] {
            let mut other = mad;
            other[at] = value;
            if at == 45 {
                other[46..48].fill(0);
            }
            assert!(Hello::parse(&other[..256]).is_err(), "{at}");
        }
    }

    #[test]
    fn rates_beyond_the_field_are_its_ends() {
        for (rate, said) in [(Rate::from_bps(1), 1), (Rate::from_bps(u64::MAX), u32::MAX)] {
            let hello = Hello {
                line_rate: rate,
                ..HELLO
            };
            let mut mad = [0; 256];
            assert!(hello.emit(&mut mad).is_ok());
            let said = Rate::from_bps(u64::from(said) * MEGA);
            assert_eq!(Hello::parse(&mad).map(|hello| hello.line_rate), Ok(said));
        }
    }
}
