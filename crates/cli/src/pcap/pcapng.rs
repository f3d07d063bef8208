//! The pcapng file format, as far as a capture on Ethernet needs it (IETF draft-ietf-opsawg-pcapng,
//! sections 3.1 to 3.5, 4.1 to 4.3).
//!
//! ```text
//! +------+--------+------ ... ------+--------+
//! | type | length |      body       | length |     words of 4 bytes, little-endian
//! +------+--------+------ ... ------+--------+
//! ```

use std::io::{self, Write};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const VERSION_MAJOR: u16 = 1;
const VERSION_MINOR: u16 = 0;
/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;
/// Time stamps count units of 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Codes of options.
mod option {
    pub(super) const END: u16 = 0;
    pub(super) const APPLICATION: u16 = 4;
    pub(super) const NAME: u16 = 2;
    pub(super) const DESCRIPTION: u16 = 3;
    pub(super) const SPEED: u16 = 8;
    pub(super) const RESOLUTION: u16 = 9;
    pub(super) const FCS_LENGTH: u16 = 13;
    pub(super) const FLAGS: u16 = 2;
}

/// The direction in the flags of a packet.
mod direction {
    pub(super) const INBOUND: u32 = 1;
    pub(super) const OUTBOUND: u32 = 2;
}

/// A captured packet.
#[derive(Debug)]
pub(super) struct Packet<'a> {
    /// Number of its interface, in the order in which interfaces were written.
    pub(super) interface: u32,
    /// When.
    pub(super) time_ns: u64,
    /// Whether the interface sent it.
    pub(super) outbound: bool,
    /// From its first byte on, without frame check sequence.
    pub(super) bytes: &'a [u8],
}

/// Writes a file of one section.
pub(super) struct Writer<W> {
    out: W,
    interfaces: u32,
    body: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    pub(super) fn begin(out: W) -> io::Result<Self> {
        let mut writer = Self {
            out,
            interfaces: 0,
            body: Vec::new(),
        };
        let body = &mut writer.body;
        body.extend(BYTE_ORDER.to_le_bytes());
        body.extend(VERSION_MAJOR.to_le_bytes());
        body.extend(VERSION_MINOR.to_le_bytes());
        // The length of the section isn't stated.
        body.extend(u64::MAX.to_le_bytes());
        append(body, option::APPLICATION, b"fairlane");
        append(body, option::END, &[]);
        writer.block(SECTION)?;
        Ok(writer)
    }

    /// Describes an interface by a short name, what it is and its rate, and returns its number.
    pub(super) fn interface(
        &mut self,
        name: &str,
        description: &str,
        speed_bps: u64,
    ) -> io::Result<u32> {
        let body = &mut self.body;
        body.extend(u32::from(ETHERNET).to_le_bytes());
        // No packet is cut.
        body.extend(0u32.to_le_bytes());
        append(body, option::NAME, name.as_bytes());
        append(body, option::DESCRIPTION, description.as_bytes());
        append(body, option::SPEED, &speed_bps.to_le_bytes());
        append(body, option::RESOLUTION, &[NANOSECONDS]);
        append(body, option::FCS_LENGTH, &[0]);
        append(body, option::END, &[]);
        self.block(INTERFACE)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Appends a packet.
    pub(super) fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let length = u32::try_from(packet.bytes.len()).map_err(io::Error::other)?;
        let [high, low] = [packet.time_ns >> 32, packet.time_ns & 0xffff_ffff];
        let direction = match packet.outbound {
            true => direction::OUTBOUND,
            false => direction::INBOUND,
        };
        let body = &mut self.body;
        for word in [packet.interface, high as u32, low as u32, length, length] {
            body.extend(word.to_le_bytes());
        }
        body.extend(packet.bytes);
        pad(body);
        append(body, option::FLAGS, &direction.to_le_bytes());
        append(body, option::END, &[]);
        self.block(ENHANCED_PACKET)
    }

    /// Writes the body that has been prepared as a block.
    fn block(&mut self, kind: u32) -> io::Result<()> {
        let length = u32::try_from(self.body.len() + 12).map_err(io::Error::other)?;
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(&self.body)?;
        self.out.write_all(&length.to_le_bytes())?;
        self.body.clear();
        Ok(())
    }
}

/// Appends an option; its value has less than 2^16 bytes.
fn append(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

/// Fills up to a whole word.
fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}
