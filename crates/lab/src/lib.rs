//! Software NICs as hosts of a simulated fabric.
//!
//! Links and switches are those of `fairlane-fabric`; packets are real: headers, payload and ICRC of `fairlane-softnic`, whose bytes
//! wait beside the fabric until it delivers, marks or loses them. A [`Replay`] has the messages of a scenario carried so.
//!
//! One packet: the fabric says that a host's port is free ([`Happening::Free`](fairlane_fabric::Happening)), and the host's NIC is
//! [asked](fairlane_softnic::DetachedDevice::poll_transmit) for one. Its bytes are kept in `frames`, and what switches read of them
//! goes into the fabric, where it waits, is marked or lost as a simulated packet is. When it has come to its host, the bytes are
//! handed to the NIC there, with the mark.
//!
//! What this crate refuses: rules of a protocol, and of switches.
#![forbid(unsafe_code)]

mod address;
mod connection;
mod contents;
mod frames;
mod lateness;
mod live;
mod partition;
mod payload;
mod replay;
mod requests;
mod roster;
mod scale;
mod soft_nic;

pub use address::Place;
pub use live::{Counts, Ended, Live};
pub use replay::Replay;
pub use roster::places;
pub use scale::scale;
