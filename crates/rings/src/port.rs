//! Both ends of two rings.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::event::Event;
use crate::memory::Memory;
use crate::ring::{RING, Receiver, Sender};

/// Words that the owner writes, and the other end reads.
const PAUSED: usize = 0;
const ORIGIN: usize = 8;
const SCALE: usize = 16;
const MTU: usize = 24;
const RATE: usize = 32;
/// The length of a text, and where it is.
const LENGTH: usize = 40;
const TEXT: usize = 64;
/// Bytes before the rings.
const WORDS: usize = 4096;
/// Bytes of all.
const WHOLE: usize = WORDS + 2 * RING;

/// What the owner of a port tells the other end beside packets.
#[derive(Clone, Debug)]
pub struct Shared(Arc<Memory>);

impl Shared {
    /// Bytes of the longest text.
    pub const MOST_TEXT: usize = WORDS - TEXT;

    /// The traffic classes that are paused, as a bit set.
    pub fn paused(&self) -> u8 {
        self.0.word(PAUSED).load(Ordering::Acquire) as u8
    }

    /// States which traffic classes are paused.
    pub fn set_paused(&self, paused: u8) {
        self.0.word(PAUSED).store(paused.into(), Ordering::Release);
    }

    /// The largest path MTU that packets may have.
    pub fn mtu(&self) -> u16 {
        self.0.word(MTU).load(Ordering::Acquire) as u16
    }

    /// States the largest path MTU that packets may have.
    pub fn set_mtu(&self, mtu: u16) {
        self.0.word(MTU).store(mtu.into(), Ordering::Release);
    }

    /// The rate of the port's link, in bits per second; 0 if nobody has said.
    pub fn rate(&self) -> u64 {
        self.0.long(RATE).load(Ordering::Acquire)
    }

    /// States the rate of the port's link.
    pub fn set_rate(&self, rate: u64) {
        self.0.long(RATE).store(rate, Ordering::Release);
    }

    /// A line of words for the other end.
    pub fn text(&self) -> String {
        let length = self.0.word(LENGTH).load(Ordering::Acquire) as usize;
        let mut bytes = vec![0; length.min(Self::MOST_TEXT)];
        self.0.read(TEXT, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// States a line of words.
    ///
    /// # Panics
    /// If it is longer than [`MOST_TEXT`](Self::MOST_TEXT).
    pub fn set_text(&self, text: &str) {
        assert!(text.len() <= Self::MOST_TEXT, "the text has no room");
        self.0.write(TEXT, text.as_bytes());
        self.0
            .word(LENGTH)
            .store(text.len() as u32, Ordering::Release);
    }

    /// The clock that both ends have: when it was zero, in nanoseconds of `CLOCK_MONOTONIC`, and how much slower than that it goes, in
    /// thousandths.
    pub fn clock(&self) -> (u64, u64) {
        let [origin, scale] = [ORIGIN, SCALE].map(|at| self.0.long(at).load(Ordering::Acquire));
        (origin, scale.max(1))
    }

    /// Sets the clock that both ends have.
    pub fn set_clock(&self, origin: u64, scale: u64) {
        self.0.long(ORIGIN).store(origin, Ordering::Release);
        self.0.long(SCALE).store(scale, Ordering::Release);
    }
}

#[cfg(feature = "testing")]
impl Shared {
    /// Bytes of the memory.
    pub const LENGTH: usize = WHOLE;

    /// Writes anywhere, as a process may that doesn't do as it should.
    ///
    /// # Panics
    /// If it is behind the end.
    pub fn scribble(&self, at: usize, bytes: &[u8]) {
        self.0.write(at, bytes);
    }
}

/// One of two ends.
#[derive(Debug)]
pub struct Port {
    /// What goes to the other end.
    pub sender: Sender,
    /// What comes from the other end.
    pub receiver: Receiver,
    /// What the owner tells the other end.
    pub shared: Shared,
}

impl Port {
    /// The owner's end of what `socket` joins, and the memory of the other one.
    pub(crate) fn own(socket: UnixStream) -> io::Result<(Self, OwnedFd)> {
        let (memory, file) = Memory::new(WHOLE)?;
        let (memory, event) = (Arc::new(memory), Event::new(socket));
        let port = Self {
            sender: Sender::new(memory.clone(), WORDS, event.clone()),
            receiver: Receiver::new(memory.clone(), WORDS + RING, event),
            shared: Shared(memory),
        };
        Ok((port, file))
    }

    /// The other end of what `socket` joins, with the memory that the owner has given.
    pub(crate) fn of(socket: UnixStream, file: &OwnedFd) -> io::Result<Self> {
        let memory = Arc::new(Memory::of(file.as_fd(), WHOLE)?);
        let event = Event::new(socket);
        Ok(Self {
            sender: Sender::new(memory.clone(), WORDS + RING, event.clone()),
            receiver: Receiver::new(memory.clone(), WORDS, event),
            shared: Shared(memory),
        })
    }

    /// Both ends, the owner's first, within a process.
    ///
    /// # Errors
    /// If the system has no memory or descriptors.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (here, there) = UnixStream::pair()?;
        let (owner, file) = Self::own(here)?;
        Ok((owner, Self::of(there, &file)?))
    }
}
