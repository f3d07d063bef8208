//! Queue pairs of RDMA transport, as state machines without IO.
//!
//! A [`Requester`] turns posted work requests into packets and responses into completions; a
//! [`Responder`] turns packets into placements, completions of receives and responses. `fairlane-nic` has
//! both for each queue pair; [`State`] is a driver's. None carries payload: a [`Source`] says
//! where the bytes of a packet come from, a [`Placement`] where they go. None reads a clock, opens a
//! socket or decides a rate: the simulator and the software RNIC drive the same machines.
//!
//! What is here: reliable connections with SEND, WRITE (both with immediate), SEND with invalidate,
//! READ, FETCH-ADD and CMP-SWAP; unreliable connections; datagrams. Acknowledgements that are asked
//! for every so many packets, NAKs, RNR, timeouts and retry limits, go-back-N, selective repeat of
//! WRITEs, and direct placement: WRITEs of which every packet carries its address.
//!
//! Source: InfiniBand Architecture Specification vol. 1, chapter 9 (transport), 10.3 (states) and
//! 11.6.2 (completion status). The clauses are named where they are implemented.
//!
//! # Deviations
//! - Timeouts alone count against the retry limit; a NAK proves that the peer lives.
//! - A queue pair that has failed is silent: a lost NAK ends in the requester's timeout.
//!
//! # Driving it
//! ```
//! use fairlane_transport::{Config, Operation, Remote, Requester, Responder, Unchecked, WorkRequest};
//! use fairlane_units::{Bytes, Psn, Time};
//!
//! let config = Config::default();
//! let mut requester = Requester::new(&config, Psn::new(0));
//! let mut responder = Responder::new(&config, Psn::new(0));
//! let target = Remote { address: 0x1000, key: 7 };
//! requester.post(&config, WorkRequest::new(1, Operation::Write(target), Bytes::new(3000)));
//! let now = Time::ZERO;
//! while let Some(outgoing) = requester.poll_transmit(&config, now) {
//!     let (memory, receives) = (&mut Unchecked, &mut Unchecked);
//!     let received = responder.on_packet(&config, now, &outgoing.packet, memory, receives);
//!     if let Some(reply) = received.reply {
//!         requester.on_reply(&config, now, &reply);
//!     }
//! }
//! assert_eq!(requester.poll_completion().map(|completion| completion.id), Some(1));
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bitmap;
mod check;
mod config;
mod encode;
mod memory;
mod messages;
mod out_of_order;
mod packet;
mod requester;
mod responder;
mod responses;
mod segment;
mod selective;
mod state;
mod work;

pub use config::{Config, Service};
pub use encode::Ends;
pub use memory::{Access, Memory, ReceiveQueue, Receives, Unchecked};
pub use packet::{Extension, Outgoing, Packet, Placement, Reply, Source};
pub use requester::{Progress, Requester};
pub use responder::{Received, Responder};
pub use state::{InvalidTransition, State};
pub use work::{
    Completion, Operation, PostError, Receive, ReceiveCompletion, Remote, Status, WorkRequest,
};
