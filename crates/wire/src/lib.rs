//! The bytes of RoCEv2 packets: InfiniBand transport headers in UDP in IP in Ethernet.
//!
//! Each header has a file of its own and a plain struct with `parse`, which takes the header off the
//! front of some bytes and returns what follows, and `emit`, which writes it to the front of a buffer and
//! returns the room behind it. [`Opcode`] says which headers a packet has.
//!
//! What this crate refuses: to allocate, to panic on any input, to read or write beyond what it was
//! given, and to know what a packet means: sequence numbers, keys and queue pairs are numbers here.
//!
//! Sources: InfiniBand Architecture Specification vol. 1, release 1.3 (IBTA), chapter 9 for headers and
//! 7.8 for the ICRC, and its annex A17 (RoCEv2); RFC 791, 768, 8200 and 3168; IEEE 802.1Q.
//!
//! ```
//! use fairlane_units::{Psn, QpNumber};
//! use fairlane_wire::{Bth, Opcode};
//!
//! let bth = Bth::new(Opcode::RcWriteMiddle, QpNumber::new(0x11), Psn::new(7));
//! let mut buffer = [0; Bth::LENGTH];
//! bth.emit(&mut buffer)?;
//! let (read, rest) = Bth::parse(&buffer)?;
//! assert_eq!(read, bth);
//! assert!(rest.is_empty());
//! # Ok::<(), fairlane_wire::Error>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod aeth;
mod bth;
mod bytes;
mod error;
mod opcode;
mod reth;
mod timer;

pub use aeth::{Aeth, NakCode, Syndrome};
pub use bth::Bth;
pub use error::{Error, Field, Reason};
pub use opcode::{ExtensionKind, Opcode, Operation, Position, Service};
pub use reth::Reth;
pub use timer::{AckTimeout, RnrTimer};
