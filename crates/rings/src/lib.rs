//! Packets between two processes through shared memory.
//!
//! A [`Port`] is one of two ends: what one [sends](Sender::send), the other [receives](Receiver::receive), through two rings with one
//! writer and one reader each. Nobody waits: who finds no room comes again, and who has slept is woken. Beside the rings
//! there are words that the owner writes and the other end reads, such as the traffic classes that are paused.
//!
//! The owner makes the memory and [gives](give) it through a Unix socket; who has connected [takes](take) it. A byte through the same
//! socket wakes who sleeps, and its end tells that a process has ended.
//!
//! Neither end trusts the other. The memory can't be resized, each index of the other end is checked when it is read, lengths
//! are read once, and a packet is copied out before anybody looks at it. Whatever the other end writes, a call returns
//! an error or bytes.
//!
//! What this crate refuses: to know what the bytes are, to block.
//!
//! ```
//! use fairlane_rings::{Frame, MOST_BYTES, Port};
//!
//! let (mut owner, mut other) = Port::pair()?;
//! let frame = Frame { peer: [127, 0, 0, 2], source_port: 49152, ..Frame::default() };
//! owner.sender.send(&frame, b"packet")?;
//! let mut bytes = [0; MOST_BYTES];
//! let (received, length) = other.receiver.receive(&mut bytes)?.expect("it was sent");
//! assert_eq!((received, &bytes[..length]), (frame, &b"packet"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attach;
mod event;
mod memory;
mod port;
mod ring;
mod wait;

pub use attach::{give, refuse, take};
pub use port::{Port, Shared};
pub use ring::{Ended, Frame, MOST_BYTES, Receiver, Refused, SLOTS, Sender};
pub use wait::{Waiter, monotonic, precise_sleep};
