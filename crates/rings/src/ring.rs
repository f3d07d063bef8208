//! A ring of packets with one writer and one reader.

use std::fmt;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::event::Event;
use crate::memory::Memory;

/// Packets that a ring has room for.
pub const SLOTS: u32 = 256;
/// Bytes of the longest packet: a path MTU of 4096, with all headers and the ICRC.
pub const MOST_BYTES: usize = 4544;

/// What stands before the bytes of a packet.
const HEADER: usize = 32;
/// Room of a packet.
const SLOT: usize = HEADER + MOST_BYTES;
/// Each word of a ring has a cache line of its own.
const LINE: usize = 64;
/// How many packets the writer has written in all; it wraps.
const TAIL: usize = 0;
/// How many packets the reader has read in all; it wraps.
const HEAD: usize = LINE;
/// Whether the reader sleeps.
const SLEEPS: usize = 2 * LINE;
/// Bytes before the slots.
const WORDS: usize = 3 * LINE;

/// Bytes of a ring.
pub(crate) const RING: usize = WORDS + SLOT * SLOTS as usize;

/// What a packet carries beside its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// When it was sent, or has arrived, in picoseconds of a clock that both ends have.
    pub time: u64,
    /// The IPv4 address that it goes to, or comes from.
    pub peer: [u8; 4],
    /// Its UDP source port.
    pub source_port: u16,
    /// Its traffic class.
    pub class: u8,
    /// Whether it has been marked.
    pub marked: bool,
    /// Whether it is no packet, but says what one end has to tell the other.
    pub is_report: bool,
}

impl Frame {
    fn emit(&self, length: u16) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&self.time.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.peer);
        bytes[12..14].copy_from_slice(&self.source_port.to_ne_bytes());
        bytes[14..16].copy_from_slice(&length.to_ne_bytes());
        (bytes[16], bytes[17]) = (self.class, u8::from(self.marked));
        bytes[18] = self.is_report.into();
        bytes
    }

    fn parse(bytes: &[u8; HEADER]) -> (Self, usize) {
        let [
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
            p,
            q,
            r,
            s,
            t,
            u,
            v,
            w,
            class,
            marked,
            is_report,
            ..,
        ] = *bytes;
        let frame = Self {
            time: u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
            peer: [p, q, r, s],
            source_port: u16::from_ne_bytes([t, u]),
            class,
            marked: marked != 0,
            is_report: is_report != 0,
        };
        (frame, usize::from(u16::from_ne_bytes([v, w])))
    }
}

/// Why nothing more comes of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The other end has gone.
    Gone,
    /// The other end has written what nobody writes who does as it should.
    Nonsense,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "the other end of the ring has gone",
            Self::Nonsense => "the other end of the ring has written nonsense",
        })
    }
}

impl std::error::Error for Ended {}

/// Why a packet isn't sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no room now.
    Full,
    /// The packet is longer than [`MOST_BYTES`].
    TooLong,
    /// The other end has written nonsense.
    Nonsense,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the ring is full"),
            Self::TooLong => write!(f, "the packet has more than {MOST_BYTES} bytes"),
            Self::Nonsense => Ended::Nonsense.fmt(f),
        }
    }
}

impl std::error::Error for Refused {}

/// The end of a ring that writes.
#[derive(Debug)]
pub struct Sender {
    memory: Arc<Memory>,
    /// Where the ring begins.
    start: usize,
    /// How many packets were written.
    tail: u32,
    /// Wakes the reader.
    event: Event,
}

/// The end of a ring that reads.
#[derive(Debug)]
pub struct Receiver {
    memory: Arc<Memory>,
    start: usize,
    /// How many packets were read.
    head: u32,
    /// Is raised when this end has slept and a packet has come.
    event: Event,
}

impl Sender {
    pub(crate) const fn new(memory: Arc<Memory>, start: usize, event: Event) -> Self {
        Self {
            memory,
            start,
            tail: 0,
            event,
        }
    }

    /// Hands a packet to the other end.
    ///
    /// # Errors
    /// If there is no room, now or ever.
    pub fn send(&mut self, frame: &Frame, bytes: &[u8]) -> Result<(), Refused> {
        if bytes.len() > MOST_BYTES {
            return Err(Refused::TooLong);
        }
        let head = self.memory.word(self.start + HEAD).load(Ordering::Acquire);
        match self.tail.wrapping_sub(head) {
            SLOTS => return Err(Refused::Full),
            0..SLOTS => {}
            _ => return Err(Refused::Nonsense),
        }
        let slot = slot(self.start, self.tail);
        self.memory.write(slot, &frame.emit(bytes.len() as u16));
        self.memory.write(slot + HEADER, bytes);
        self.tail = self.tail.wrapping_add(1);
        let tail = self.memory.word(self.start + TAIL);
        // Either the reader sees the packet before it sleeps, or its sleep is seen here.
        tail.store(self.tail, Ordering::SeqCst);
        let sleeps = self.memory.word(self.start + SLEEPS);
        if sleeps.load(Ordering::SeqCst) != 0 && sleeps.swap(0, Ordering::SeqCst) != 0 {
            self.event.raise();
        }
        Ok(())
    }

    /// How many packets wait to be read.
    ///
    /// # Errors
    /// If the other end has written nonsense.
    pub fn waiting(&self) -> Result<u32, Ended> {
        let head = self.memory.word(self.start + HEAD).load(Ordering::Acquire);
        let waiting = self.tail.wrapping_sub(head);
        (waiting <= SLOTS).then_some(waiting).ok_or(Ended::Nonsense)
    }
}

impl Receiver {
    pub(crate) const fn new(memory: Arc<Memory>, start: usize, event: Event) -> Self {
        Self {
            memory,
            start,
            head: 0,
            event,
        }
    }

    /// When the next packet was sent, as its sender says; `None` if there is none.
    pub fn peek_time(&self) -> Option<u64> {
        let tail = self.memory.word(self.start + TAIL).load(Ordering::Acquire);
        let mut time = [0; 8];
        (tail != self.head).then(|| {
            self.memory.read(slot(self.start, self.head), &mut time);
            u64::from_ne_bytes(time)
        })
    }

    /// Takes the next packet, if there is one, with the number of its bytes.
    ///
    /// # Errors
    /// If the other end has written nonsense.
    pub fn receive(
        &mut self,
        into: &mut [u8; MOST_BYTES],
    ) -> Result<Option<(Frame, usize)>, Ended> {
        let tail = self.memory.word(self.start + TAIL).load(Ordering::Acquire);
        match tail.wrapping_sub(self.head) {
            0 => return Ok(None),
            1..=SLOTS => {}
            _ => return Err(Ended::Nonsense),
        }
        let slot = slot(self.start, self.head);
        let mut header = [0; HEADER];
        self.memory.read(slot, &mut header);
        let (frame, length) = Frame::parse(&header);
        let bytes = into.get_mut(..length).ok_or(Ended::Nonsense)?;
        self.memory.read(slot + HEADER, bytes);
        self.head = self.head.wrapping_add(1);
        let head = self.memory.word(self.start + HEAD);
        head.store(self.head, Ordering::Release);
        Ok(Some((frame, length)))
    }

    /// Has the [descriptor](Self::descriptor) become readable when a packet comes; `false` if one is there already.
    ///
    /// # Errors
    /// If the other end has gone, and all its packets were taken.
    pub fn sleep(&self) -> Result<bool, Ended> {
        let is_there = self.event.lower();
        let sleeps = self.memory.word(self.start + SLEEPS);
        sleeps.store(1, Ordering::SeqCst);
        let tail = self.memory.word(self.start + TAIL);
        let is_empty = tail.load(Ordering::SeqCst) == self.head;
        if !is_empty {
            sleeps.store(0, Ordering::SeqCst);
        }
        match is_there || !is_empty {
            true => Ok(is_empty),
            false => Err(Ended::Gone),
        }
    }

    /// The descriptor that wakes who [sleeps](Self::sleep), also when the other end goes.
    pub fn descriptor(&self) -> RawFd {
        self.event.descriptor()
    }
}

/// Where a packet is.
const fn slot(start: usize, number: u32) -> usize {
    start + WORDS + (number % SLOTS) as usize * SLOT
}
