//! Queue pairs of RDMA transport, as state machines without IO.
//!
//! A [`Requester`] turns posted work requests into packets and acknowledgements into completions; a
//! [`Responder`] turns packets into placements and acknowledgements. Neither carries payload: a
//! [`Segment`] says which bytes of which message a packet covers. Neither reads a clock, opens a
//! socket or decides a rate: the simulator and the software RNIC drive the same two machines.
//!
//! What is here: reliable connections with RDMA WRITE, cumulative acknowledgements, NAK on a
//! sequence error, go-back-N, acknowledgement timeout and retry limit.
//!
//! Source: InfiniBand Architecture Specification vol. 1, sections 9.7 (reliable service) and
//! 11.6.2 (completion status).
//!
//! # Driving it
//! ```
//! use fairlane_transport::{Config, Requester, Responder};
//! use fairlane_units::{Bytes, Psn, Time};
//!
//! let config = Config::default();
//! let (mut requester, mut responder) = (Requester::new(Psn::new(0)), Responder::new(Psn::new(0)));
//! requester.post_write(&config, 7, Bytes::new(3000));
//! let mut now = Time::ZERO;
//! while let Some(segment) = requester.poll_transmit(&config, now) {
//!     now += segment.payload.serialization(fairlane_units::Rate::from_gbps(100));
//!     if let Some(reply) = responder.on_packet(&config, now, &segment).reply {
//!         requester.on_reply(&config, now, &reply);
//!     }
//! }
//! assert_eq!(requester.poll_completion().map(|completion| completion.id), Some(7));
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod packet;
mod requester;
mod responder;

pub use config::Config;
pub use packet::{Reply, ReplyKind, Segment};
pub use requester::{Completion, Progress, Requester, Status};
pub use responder::{Received, Responder};
