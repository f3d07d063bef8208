//! The bytes of RoCEv2 packets: InfiniBand transport headers in UDP in IP in Ethernet.
//!
//! Each header has a file of its own and a plain struct with `parse`, which takes the header off the
//! front of some bytes and returns what follows, and `emit`, which writes it to the front of a buffer and
//! returns the room behind it. [`Opcode`] says which headers a packet has, [`Headers`] are those of the
//! transport; [`Traffic`] is what hosts and switches tell each other of rates and of packets' paths, in headers that
//! are Fairlane's own. Whole packets are three:
//!
//! - [`Packet`]: headers and payload, what a UDP socket carries. Its ICRC is read, and can't be checked.
//! - [`Datagram`]: with IP and UDP; the ICRC is written and checked.
//! - [`Frame`]: with Ethernet.
//!
//! What this crate refuses: to allocate, to panic on any input, to read or write beyond what it was
//! given, and to know what a packet means: sequence numbers, keys and queue pairs are numbers here.
//!
//! Sources: InfiniBand Architecture Specification vol. 1, release 1.3 (IBTA), chapter 9 for headers and
//! 7.8 for the ICRC, and its annex A17 (RoCEv2); RFC 791, 768, 8200 and 3168; IEEE 802.1Q. What is
//! Fairlane's own is in `docs/wire.md`.
//!
//! ```
//! use core::net::Ipv4Addr;
//!
//! use fairlane_units::{Psn, QpNumber};
//! use fairlane_wire::{Bth, Datagram, Extension, Ipv4, Network, Opcode, Packet, Reth, Udp};
//!
//! let bth = Bth::new(Opcode::RcWriteOnly, QpNumber::new(0x11), Psn::new(7));
//! let reth = Reth { address: 0x7f00_0000_1000, key: 0x42, length: 5 };
//! let (here, there) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
//! let datagram = Datagram {
//!     network: Network::Ipv4(Ipv4::new(here, there)),
//!     udp: Udp::new(49_152),
//!     packet: Packet::new(bth, Extension::Rdma(reth), b"hello"),
//! };
//! let mut buffer = [0; 128];
//! let length = datagram.emit(&mut buffer)?;
//! assert_eq!(Datagram::parse(&buffer[..length])?, datagram);
//! buffer[length - 8] ^= 1;
//! assert!(Datagram::parse(&buffer[..length]).is_err());
//! # Ok::<(), fairlane_wire::Error>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod aeth;
mod atomic_ack_eth;
mod atomic_eth;
mod bth;
mod bytes;
mod cnp;
mod deth;
mod error;
mod ethernet;
mod feth;
mod frame;
mod headers;
mod hello;
mod hop;
mod icrc;
mod ieth;
mod immdt;
mod ipv4;
mod ipv6;
mod opcode;
mod packet;
mod reth;
mod telemetry;
mod teth;
mod time_stamp;
mod timer;
mod traffic;
mod traffic_class;
mod udp;
mod word;

pub use aeth::{Aeth, NakCode, Syndrome};
pub use atomic_ack_eth::AtomicAckEth;
pub use atomic_eth::AtomicEth;
pub use bth::Bth;
pub use cnp::Cnp;
pub use deth::Deth;
pub use error::{Error, Field, Reason};
pub use ethernet::{EtherType, Ethernet, MacAddress, VlanTag};
pub use feth::Feth;
pub use frame::{Datagram, Frame, Network};
pub use headers::{Extension, Headers};
pub use hello::Hello;
pub use hop::Hop;
pub use icrc::{Icrc, IcrcDigest};
pub use ieth::Ieth;
pub use immdt::ImmDt;
pub use ipv4::Ipv4;
pub use ipv6::{Ipv6, NextHeader};
pub use opcode::{ExtensionKind, Opcode, Operation, Position, Service, TrafficKind};
pub use packet::Packet;
pub use reth::Reth;
pub use telemetry::Telemetry;
pub use teth::Teth;
pub use time_stamp::TimeStamp;
pub use timer::{AckTimeout, RnrTimer};
pub use traffic::Traffic;
pub use traffic_class::{Ecn, TrafficClass};
pub use udp::Udp;
