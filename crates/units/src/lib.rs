//! Physical quantities and identifiers of an RDMA fabric.
//!
//! Time is an integer number of picoseconds, a rate is bits per second and a size is bytes, each a
//! newtype whose operators are the physics: `bytes.serialization(rate)` is a [`Duration`],
//! `Time - Time` is a [`Duration`], and adding two times doesn't compile.
//!
//! What this crate refuses: to know any protocol, to read a clock, to use floating point for a
//! quantity that has an exact integer.
//!
//! At 10, 25, 40, 50, 100, 200, 400 and 800 Gb/s one byte takes 800, 320, 200, 160, 80, 40, 20 and
//! 10 ps exactly; at other rates [`Bytes::serialization`] rounds up, so that a link never carries
//! more than its rate.
//!
//! ```
//! use fairlane_units::{Bytes, Duration, Rate, Time};
//!
//! let link = Rate::from_gbps(100);
//! let start = Time::ZERO + Duration::from_us(1);
//! let done = start + Bytes::new(1086).serialization(link);
//! assert_eq!(done - start, Duration::from_ps(86_880));
//! assert_eq!("100Gbps".parse::<Rate>(), Ok(link));
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod arithmetic;
mod bytes;
mod duration;
mod ids;
mod mistake;
mod parse;
mod rate;
#[cfg(feature = "serde")]
mod text;

pub use bytes::Bytes;
pub use duration::{Duration, Time};
pub use ids::{FlowId, HostId, MessageId, NodeId, PathId, PortId, Psn, QpId, QpNumber, TenantId};
pub use mistake::Mistake;
pub use parse::{Decimal, ParseError};
pub use rate::Rate;
