//! What has gone over the tap, as qemu writes it down: frames of both directions, whole and in order (format pcap).

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes before the first frame.
const FILE_HEADER: u64 = 24;
/// Bytes before each frame: time in seconds and microseconds, length in the file and on the wire.
const FRAME_HEADER: usize = 16;
/// Ethernet and IPv4 without options, as both kernels send them; UDP.
const HEADERS: usize = 14 + 20 + 8;
/// The opcode of acknowledgements of reliable connections.
const ACKNOWLEDGE: u8 = 17;
/// The port of RoCEv2.
const PORT: u16 = 4791;

/// A part of a capture.
#[derive(Debug)]
pub(super) struct Capture {
    header: Vec<u8>,
    frames: Vec<u8>,
}

/// How far a capture has come.
pub(super) fn length(path: &Path) -> u64 {
    let file = std::fs::metadata(path).expect("qemu writes it from the start");
    file.len().max(FILE_HEADER)
}

impl Capture {
    /// What a capture has from a place on that [`length`] has said.
    pub(super) fn since(path: &Path, start: u64) -> Self {
        let mut file = File::open(path).expect("qemu writes it from the start");
        let mut header = vec![0; FILE_HEADER as usize];
        file.read_exact(&mut header).expect("it has a header");
        file.seek(SeekFrom::Start(start)).expect("it is a file");
        let mut frames = Vec::new();
        file.read_to_end(&mut frames).expect("it can be read");
        Self { header, frames }
    }

    /// How many packets of RoCEv2 an address has sent.
    pub(super) fn sent_by(&self, address: &str) -> usize {
        self.opcodes(address).len()
    }

    /// How many of the last two packets of an address are acknowledgements, with nothing behind them.
    pub(super) fn last_acknowledgements(&self, address: &str) -> usize {
        let opcodes = self.opcodes(address);
        let last = opcodes.iter().rev().take(2);
        last.take_while(|opcode| **opcode == ACKNOWLEDGE).count()
    }

    fn opcodes(&self, address: &str) -> Vec<u8> {
        let address: std::net::Ipv4Addr = address.parse().expect("an address");
        let ours = |frame: &&[u8]| {
            frame.len() > HEADERS
                && frame[12..14] == [8, 0]
                && frame[14] == 0x45
                && frame[23] == 17
                && frame[26..30] == address.octets()
                && frame[36..38] == PORT.to_be_bytes()
        };
        let frames = self.each().filter(ours);
        frames.map(|frame| frame[HEADERS]).collect()
    }

    /// Writes it to a file that tshark reads.
    pub(super) fn write(&self, path: PathBuf) -> PathBuf {
        let all = [&self.header[..], &self.frames].concat();
        std::fs::write(&path, all).expect("target can be written");
        path
    }

    fn each(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.frames[..];
        std::iter::from_fn(move || {
            let length = rest.get(8..12)?.try_into().expect("four bytes");
            let (_, behind) = rest.split_at_checked(FRAME_HEADER)?;
            // The last one may not be whole yet.
            let (frame, behind) = behind.split_at_checked(u32::from_le_bytes(length) as usize)?;
            rest = behind;
            Some(frame)
        })
    }
}
